#include "ptx/emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "ptx/emit_body.hpp"
#include "types/no_throw.hpp"

namespace warploom::ptx {

using Kind = Operand::Kind;

namespace {

std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text;
}

template <class F>
void for_each_operand(const Operand& operand, F&& f) {
  f(operand);
  for (const Operand& part : operand.parts) for_each_operand(part, f);
}
template <class F>
void for_each_operand(const Function& function, F&& f) {
  for (const Instruction& instruction : function.body)
    for (const Operand& operand : instruction.operands) for_each_operand(operand, f);
}

/// The function and all that it calls.
std::vector<uint32_t> reachable(const Module& module, uint32_t from) {
  std::vector<uint32_t> order{from};
  std::vector<bool> seen(module.functions.size());
  seen[from] = true;
  for (size_t i = 0; i < order.size(); ++i)
    for_each_operand(module.functions[order[i]], [&](const Operand& operand) {
      if (!operand.is(Kind::function) || operand.index >= seen.size() || seen[operand.index]) return;
      seen[operand.index] = true;
      order.push_back(operand.index);
    });
  return order;
}

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/// The shared variables of a kernel. Those of functions it calls come first and lie where they lie for all kernels of a
/// translation: the functions are translated once.
Layout layout_of(const Module& module, uint32_t kernel, const std::vector<bool>& of_functions) {
  Layout layout;
  layout.shared_offset.assign(module.variables.size(), no_index);
  std::vector<bool> mine(module.variables.size());
  for (const uint32_t function : reachable(module, kernel))
    for_each_operand(module.functions[function], [&](const Operand& operand) {
      if (operand.is(Kind::variable)) mine[operand.index] = true;
    });
  uint64_t end = 0;
  const auto place = [&](uint32_t v) {
    const Variable& variable = module.variables[v];
    if (variable.space != Space::shared) return;
    const uint32_t align = std::max(variable.align, 1u);
    if (variable.bytes == 0 || variable.linkage == Linkage::external) {
      layout.dynamic_align = std::max(layout.dynamic_align, align);
      return;
    }
    end = round_up(end, align);
    layout.shared_offset[v] = static_cast<uint32_t>(end);
    end += variable.bytes;
  };
  for (uint32_t v = 0; v < mine.size(); ++v)
    if (of_functions[v]) place(v);
  for (uint32_t v = 0; v < mine.size(); ++v)
    if (mine[v] && !of_functions[v]) place(v);
  layout.static_shared = static_cast<uint32_t>(end);
  layout.dynamic_offset = end == 0 ? 0 : static_cast<uint32_t>(round_up(end, layout.dynamic_align));
  return layout;
}

bool is_global_space(const Opcode& opcode) {
  for (const std::string_view part : opcode.parts)
    if (part.starts_with("shared") || part == "local" || part.starts_with("param") || part == "const") return false;
  return true;
}
/// Global atomics, and loads and stores by which threads of several clusters may wait for each other.
bool talks(const Opcode& opcode) {
  if (!is_global_space(opcode)) return false;
  const std::string_view base = opcode.base();
  if (base == "atom" || (base == "red" && !opcode.has("async"))) return true;
  if (base != "ld" && base != "st") return false;
  return opcode.has("volatile") || opcode.has("acquire") || opcode.has("release") || opcode.has("relaxed");
}

class ModuleText {
 public:
  ModuleText(const Module& module, const std::vector<std::string>& wanted) : module_(module) {
    for (uint32_t f = 0; f < module.functions.size(); ++f) {
      const Function& function = module.functions[f];
      if (!function.entry || !function.defined) continue;
      if (!wanted.empty() && std::ranges::find(wanted, function.name) == wanted.end()) continue;
      kernels_.push_back(f);
      for (const uint32_t called : reachable(module, f))
        if (!module.functions[called].entry && module.functions[called].defined &&
            std::ranges::find(functions_, called) == functions_.end())
          functions_.push_back(called);
    }
    for (const std::string& name : wanted)
      if (const Function* function = module.find(name); function == nullptr || !function->entry || !function->defined)
        failure_ = fmt::format("{}: there is no kernel called {}", module.name, name);
  }

  Result<std::string> write() {
    if (!failure_.empty()) return Error{failure_, ErrorCode::not_found};
    if (kernels_.empty()) return Error{fmt::format("{}: there is no kernel", module_.name), ErrorCode::not_found};
    if (module_.address_size != 64)
      return Error{fmt::format("{}: addresses of 32 bits are not translated", module_.name), ErrorCode::unsupported};
    std::vector<bool> of_functions(module_.variables.size());
    for (const uint32_t function : functions_)
      for_each_operand(module_.functions[function], [&](const Operand& operand) {
        if (operand.is(Kind::variable)) of_functions[operand.index] = true;
      });

    std::string bodies;
    for (const uint32_t f : functions_) {
      const Layout layout = layout_of(module_, kernels_.front(), of_functions);
      if (!write_body(f, layout, bodies)) return Error{failure_, ErrorCode::unsupported};
    }
    std::vector<Layout> layouts;
    for (const uint32_t f : kernels_) {
      layouts.push_back(layout_of(module_, f, of_functions));
      if (!write_body(f, layouts.back(), bodies)) return Error{failure_, ErrorCode::unsupported};
    }

    std::string& text = text_;
    text =
        "#include \"warploom/ptx/runtime.hpp\"\n\nnamespace {\nusing namespace ::warploom::ptx::rt;\nnamespace abi = "
        "::warploom::ptx::abi;\n\n";
    const std::vector<std::string>& forms = wgmma_forms_.all();
    for (size_t i = 0; i < forms.size(); ++i)
      fmt::format_to(std::back_inserter(text), "constexpr native::WgmmaForm wgmma_form_{}{{{}}};\n", i, forms[i]);
    write_storage(text);
    for (const uint32_t f : functions_)
      fmt::format_to(std::back_inserter(text), "{};\n", signature(module_, module_.functions[f]));
    text += bodies;
    text += "#line 1 \"warploom ptx table\"\n";
    write_table(text, layouts);
    return std::move(text_);
  }

 private:
  bool write_body(uint32_t f, const Layout& layout, std::string& bodies) {
    const Function& function = module_.functions[f];
    const Plan plan = plan_of(module_, function);
    if (!plan.failure.empty()) {
      failure_ = fmt::format("{}: {}", module_.name, plan.failure);
      return false;
    }
    Body body(module_, function, plan, layout, wgmma_forms_);
    body.write();
    failure_ = body.failure;
    bodies += body.text;
    return failure_.empty();
  }

  bool has_storage(const Variable& variable) const {
    return (variable.space == Space::global || variable.space == Space::constant) && variable.function == no_index &&
           variable.linkage != Linkage::external && variable.bytes != 0;
  }

  void write_storage(std::string& text) {
    for (uint32_t v = 0; v < module_.variables.size(); ++v) {
      const Variable& variable = module_.variables[v];
      if (!(variable.space == Space::global || variable.space == Space::constant) || variable.bytes == 0) continue;
      const std::string name = variable_name(module_, v);
      fmt::format_to(std::back_inserter(text), "alignas({}) u8 {}_data[{}] = {{", std::max(variable.align, 16u), name,
                     variable.bytes);
      for (const uint8_t byte : variable.image) fmt::format_to(std::back_inserter(text), "{},", byte);
      fmt::format_to(std::back_inserter(text), "}};\nvoid* {0} = {0}_data;\n", name);
      storage_.push_back(v);
    }
  }

  void write_table(std::string& text, const std::vector<Layout>& layouts) {
    const auto out = std::back_inserter(text);
    for (const uint32_t f : kernels_) {
      const Function& kernel = module_.functions[f];
      if (kernel.parameters.empty()) continue;
      fmt::format_to(out, "constexpr abi::Parameter parameters_{}[] = {{", f);
      for (const Parameter& parameter : kernel.parameters)
        fmt::format_to(out, "{{\"{}\", {}, {}, {}}}, ", parameter.name, parameter.offset, parameter.bytes,
                       parameter.align);
      text += "};\n";
    }
    fmt::format_to(out, "constexpr abi::Kernel kernels[] = {{\n");
    for (size_t k = 0; k < kernels_.size(); ++k) write_kernel(text, kernels_[k], layouts[k]);
    text += "};\n";
    if (!storage_.empty()) {
      text += "const abi::Variable variables[] = {\n";
      for (const uint32_t v : storage_) {
        const Variable& variable = module_.variables[v];
        fmt::format_to(out, "{{\"{0}\", {1}_data, &{1}, {2}, {3}, abi::VariableSpace::{4}}},\n", variable.name,
                       variable_name(module_, v), variable.bytes, std::max(variable.align, 16u),
                       variable.space == Space::constant ? "constant" : "global");
      }
      text += "};\n";
    }
    uint32_t relocations = 0;
    std::string list;
    for (uint32_t s = 0; s < storage_.size(); ++s)
      for (const Relocation& relocation : module_.variables[storage_[s]].relocations) {
        const auto target = std::ranges::find(storage_, relocation.index);
        if (relocation.is_function || target == storage_.end()) continue;  // whoever uses it is refused
        fmt::format_to(std::back_inserter(list), "{{{}, {}, {}, {}}}, ", s, target - storage_.begin(),
                       relocation.offset, relocation.addend);
        ++relocations;
      }
    if (relocations != 0) fmt::format_to(out, "constexpr abi::Relocation relocations[] = {{{}}};\n", list);
    fmt::format_to(out,
                   "}}  // namespace\n\nextern \"C\" __attribute__((visibility(\"default\"))) const "
                   "::warploom::ptx::abi::Module warploom_ptx_module = "
                   "{{::warploom::ptx::abi::version, {}, \"{}\", kernels, {}, {}, {}, {}, {}}};\n",
                   module_.target_number(), module_.name, kernels_.size(), storage_.empty() ? "nullptr" : "variables",
                   storage_.size(), relocations == 0 ? "nullptr" : "relocations", relocations);
  }

  void write_kernel(std::string& text, uint32_t f, const Layout& layout) {
    const Function& kernel = module_.functions[f];
    const KernelFacts facts = facts_of(module_, kernel);
    const auto triple = [](const std::optional<Triple>& given) {
      const Triple t = given.value_or(Triple{});
      return fmt::format("{{{}, {}, {}}}", t[0], t[1], t[2]);
    };
    const Directives& directives = kernel.directives;
    fmt::format_to(std::back_inserter(text),
                   "{{\"{}\", {}, \"{}\", {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", kernel.name,
                   function_name(module_, f), module_.name, kernel.line,
                   kernel.parameters.empty() ? "nullptr" : fmt::format("parameters_{}", f), kernel.parameters.size(),
                   kernel.parameter_bytes, layout.static_shared, layout.dynamic_offset, layout.dynamic_align,
                   triple(directives.maxntid), triple(directives.reqntid), triple(directives.reqnctapercluster),
                   directives.maxnreg.value_or(0), directives.explicitcluster, facts.uses_launch_control,
                   facts.talks_across_clusters, facts.instructions);
  }

  const Module& module_;
  std::vector<uint32_t> kernels_, functions_, storage_;
  WgmmaForms wgmma_forms_;
  std::string failure_;
  std::string text_;
};

}  // namespace

uint32_t index_of(const Module& module, const Function& function) {
  return static_cast<uint32_t>(&function - module.functions.data());
}
std::string variable_name(const Module& module, uint32_t variable) {
  return fmt::format("v{}_{}", variable, identifier(module.variables[variable].name));
}
std::string function_name(const Module& module, uint32_t function) {
  return fmt::format("f{}_{}", function, identifier(module.functions[function].name));
}
std::string signature(const Module& module, const Function& function) {
  std::string text = fmt::format("static void {}(", function_name(module, index_of(module, function)));
  for (size_t i = 0; i < function.results.size(); ++i) text += fmt::format("u8* p{}, ", i);
  for (size_t i = 0; i < function.parameters.size(); ++i) text += fmt::format("u8* a{}, ", i);
  return text + "[[maybe_unused]] const Launch* const L)";
}

KernelFacts facts_of(const Module& module, const Function& kernel) {
  KernelFacts facts;
  const Layout layout = layout_of(module, index_of(module, kernel), std::vector<bool>(module.variables.size()));
  facts.static_shared = layout.static_shared;
  facts.dynamic_offset = layout.dynamic_offset;
  facts.dynamic_align = layout.dynamic_align;
  for (const uint32_t f : reachable(module, index_of(module, kernel)))
    for (const Instruction& instruction : module.functions[f].body) {
      ++facts.instructions;
      if (instruction.op().base() == "clusterlaunchcontrol") facts.uses_launch_control = true;
      if (talks(instruction.op())) facts.talks_across_clusters = true;
    }
  return facts;
}

Result<std::string> emit(const Module& module, const EmitOptions& options) {
  return no_throw<Result<std::string>>([&] { return ModuleText(module, options.kernels).write(); },
                                       [](Error error) { return error; });
}

}  // namespace warploom::ptx
