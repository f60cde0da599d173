#include "fuzz/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "warploom/types/reduction.hpp"

namespace warploom::loom::fuzz {
namespace {

constexpr const char* domain_names[domain_count] = {"lanes",          "clusters",  "tensor-memory", "wgmma",
                                                    "global",         "atomics",   "tests",         "registers",
                                                    "launch-control", "dependents"};

struct OpText {
  const char *name, *operands, *text;
};
constexpr OpText op_texts[op_count] = {
#define X(name, operands, text) {#name, operands, text},
    WARPLOOM_FUZZ_OPERATIONS(X)
#undef X
};

Operands parse(std::string_view letters) {
  Operands parsed;
  if (letters.starts_with('L')) {
    parsed.whole_warp = true;
    letters.remove_prefix(1);
  }
  for (size_t i = 0; i < 5 && !letters.empty(); ++i) {
    parsed.kind[i] = letters.front();
    letters.remove_prefix(1);
    if (parsed.kind[i] != 'm') continue;
    parsed.forms[i] = 4;
    if (letters.empty() || std::isxdigit(static_cast<unsigned char>(letters.front())) == 0) continue;
    const char digit = letters.front();
    parsed.forms[i] = static_cast<uint8_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    letters.remove_prefix(1);
  }
  return parsed;
}

const char* one_of(std::initializer_list<const char*> list, uint32_t i) {
  return i < list.size() ? list.begin()[i] : "?";
}

const char* scope_name(MemoryScope scope) {
  return one_of({"cta", "cluster", "gpu", "sys"}, static_cast<uint32_t>(scope));
}

std::string to_text(const AtomicForm& form) {
  const char* const name = form.operation == Atomic::exchange ? "exch"
                           : form.operation == Atomic::compare_exchange
                               ? "cas"
                               : name_of(static_cast<Reduction>(form.operation));
  return fmt::format("{}.{}.{}.{} of {} bytes", form.returns ? "r = atom" : "red",
                     one_of({"relaxed", "acquire", "release", "acq_rel"}, static_cast<uint32_t>(form.order)),
                     scope_name(form.scope), name, size_of(form));
}

/// Operand `value` in the form that the letter behind the colon asks for.
std::string formatted(char form, uint32_t value) {
  switch (form) {
    case '8': return fmt::format("{}", 8 * value);
    case 'P': return value != 0 ? " (cta_group::2)" : "";
    case 's': return value != 0 ? " + r" : "";
    case 'S': return value != 0 ? " (cluster)" : "";
    case '#': return fmt::format("{:#x}", value);
    case 'g': return value != 0 ? "g" : "in";
    case 'c': return one_of({"4", "8", "16"}, value);
    case 'i': return value != 0 ? "" : ".noinc";
    case 'r':
      return fmt::format("{}.{}", name_of(static_cast<Reduction>(value % 8)),
                         one_of({"u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "b32"}, value / 8));
    case 'f':
      return one_of({"fence.acq_rel.cluster", "fence.proxy.async", "fence.shared.release", "fence.shared.acquire",
                     "fence.proxy.async.release", "fence.proxy.async.acquire", "fence.proxy.async.shared::cta",
                     "fence.proxy.async.global", "fence.acq_rel.gpu", "fence.mbarrier_init", "fence.acq_rel.cta"},
                    value);
    case 'o': return value == 8 ? "exch" : name_of(static_cast<Reduction>(value));
    case 'a': return one_of({"relaxed", "acquire", "release", "acq_rel"}, value);
    case 'b': return one_of({"cta", "cluster", "gpu"}, value);
    case 'F': return to_text(AtomicCode{static_cast<uint8_t>(value)}.form());
    case 'L': {
      const AtomicForm atomic = AtomicCode{static_cast<uint8_t>(value)}.form();
      return fmt::format("{}.{}", atomic.order == MemoryOrder::relaxed ? "relaxed" : "ordered",
                         scope_name(atomic.scope));
    }
    case 'R': return one_of({"add.u32", "max.s32", "inc.u32", "and.b32", "min.u32", "add.u64"}, value);
    case 'h': return one_of({"idx", "bfly", "up", "down"}, value);
    case 'w': return fmt::format("{} threads", 32 * value);
    case 'x': return value != 0 ? ".relaxed" : "";
    case 'd': return fmt::format("{}", 4 * value);
    case 't': return value != 0 ? "after_thread_sync" : "before_thread_sync";
    case 'A': return (value & 2) != 0 ? "copy of A" : "A";
    case 'z': return (value & 1) != 0 ? ", odd lanes disabled" : "";
    case 'u': return value != 0 ? "B" : "A";
    case 'p': return value != 0 ? "+=" : "=";
    case 'v': return value != 0 ? "inc" : "dec";
    case 'y': return value != 0 ? ".multicast" : "";
    case 'q': return one_of({"==", "!=", "<", ">="}, value);
    default: return fmt::format("{}", value);
  }
}

std::string lanes_text(uint32_t lanes) {
  if (lanes == all_lanes) return "all lanes";
  if (std::has_single_bit(lanes)) return fmt::format("lane {}", std::countr_zero(lanes));
  return fmt::format("lanes {:#x}", lanes);
}

}  // namespace

AtomicForm AtomicCode::form() const {
  struct Kind {
    Atomic operation;
    AtomicType type;
  };
  using Type = AtomicType;
  static constexpr Kind kinds[16] = {{Atomic::add, Type::u32},
                                     {Atomic::max, Type::u32},
                                     {Atomic::min, Type::s32},
                                     {Atomic::inc, Type::u32},
                                     {Atomic::dec, Type::u32},
                                     {Atomic::bit_and, Type::b32},
                                     {Atomic::bit_or, Type::b32},
                                     {Atomic::bit_xor, Type::b32},
                                     {Atomic::exchange, Type::b32},
                                     {Atomic::compare_exchange, Type::b32},
                                     {Atomic::add, Type::u64},
                                     {Atomic::max, Type::s64},
                                     {Atomic::add, Type::f32},
                                     {Atomic::add, Type::f16x2},
                                     {Atomic::compare_exchange, Type::b16},
                                     {Atomic::exchange, Type::b128}};
  const Kind& kind = kinds[bits & 15];
  AtomicForm form{kind.operation, kind.type};
  form.returns = (bits & 16) == 0 || kind.operation >= Atomic::exchange;
  form.order = (bits & 32) == 0 ? MemoryOrder::relaxed : form.returns ? MemoryOrder::acq_rel : MemoryOrder::release;
  form.scope = static_cast<MemoryScope>(bits >> 6);
  return form;
}

const char* to_string(Domain domain) { return domain_names[static_cast<uint32_t>(domain)]; }
uint32_t parse_domain(std::string_view name) {
  return static_cast<uint32_t>(std::find(std::begin(domain_names), std::end(domain_names), name) -
                               std::begin(domain_names));
}
const char* to_string(Op op) { return op_texts[static_cast<uint32_t>(op)].name; }

const Operands& operands_of(Op op) {
  static const auto all = [] {
    std::array<Operands, op_count> table;
    for (uint32_t i = 0; i < op_count; ++i) table[i] = parse(op_texts[i].operands);
    return table;
  }();
  return all[static_cast<uint32_t>(op)];
}

size_t Program::steps() const {
  size_t sum = 0;
  for (const Bodies& bodies : grids)
    for (const auto& body : bodies) sum += body.size();
  return sum;
}

bool Program::uses_any(std::initializer_list<Op> ops) const {
  return std::any_of(ops.begin(), ops.end(), [&](Op op) { return uses(op); });
}

bool Program::uses(Op op) const {
  for (const Bodies& bodies : grids)
    for (const auto& body : bodies)
      if (std::any_of(body.begin(), body.end(), [&](const Step& step) { return step.op == op; })) return true;
  return false;
}

bool Program::uses_tensors() const {
  for (const Bodies& bodies : grids)
    for (const auto& body : bodies)
      if (std::any_of(body.begin(), body.end(),
                      [](const Step& step) { return step.op >= Op::tmem_alloc && step.op <= Op::wgmma_read; }))
        return true;
  return false;
}

std::string to_text(const Step& step) {
  std::string text;
  for (std::string_view rest = op_texts[static_cast<uint32_t>(step.op)].text; !rest.empty();) {
    const size_t open = rest.find('{');
    text += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const uint32_t i = static_cast<uint32_t>(rest[open + 1] - '0');
    text += formatted(rest[open + 2] == ':' ? rest[open + 3] : ' ', i == 4 ? step.n : step.x[i]);
    rest.remove_prefix(rest.find('}', open) + 1);
  }
  if (step.cluster >= 0) text += fmt::format("   (cluster {} only)", step.cluster);
  return text;
}

std::string to_text(const Program& program) {
  std::string text = fmt::format("{} seed {}: {} cluster(s) of {} CTA(s), {} warp(s) each", to_string(program.domain),
                                 program.seed, program.clusters, program.ctas, program.warps);
  if (program.processors != 1) text += fmt::format(", {} processors", program.processors);
  if (program.registers != 0) text += fmt::format(", {} registers per thread", program.registers);
  if (!program.fill_cells) text += ", cells not written before";
  text += '\n';
  for (uint32_t b = 0; b < barrier_count; ++b)
    if (program.counts[b] != 0) text += fmt::format("  bar{} counts {}\n", b, program.counts[b]);
  for (size_t g = 0; g < program.grids.size(); ++g)
    for (size_t w = 0; w < program.grids[g].size(); ++w) {
      const auto& body = program.grids[g][w];
      if (body.empty()) continue;
      text += "  ";
      if (program.grids.size() > 1) text += fmt::format("grid {}, ", g);
      text += fmt::format("CTA {}, warp {}:\n", w / program.warps, w % program.warps);
      for (const Step& step : body) text += fmt::format("    {:<12} {}\n", lanes_text(step.lanes), to_text(step));
    }
  return text;
}

}  // namespace warploom::loom::fuzz
