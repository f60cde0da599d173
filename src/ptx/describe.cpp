#include "ptx/describe.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "types/no_throw.hpp"

namespace warploom::ptx {
namespace {

using Json = nlohmann::ordered_json;

std::string type_of(const Parameter& parameter) {
  if (parameter.array) return fmt::format("{} bytes, aligned to {}", parameter.bytes, parameter.align);
  std::string text = fmt::format(".{}", to_string(parameter.type));
  if (parameter.points_to != Space::none) text += fmt::format(", pointer to {}", to_string(parameter.points_to));
  return text;
}

std::string times(const Triple& size) { return fmt::format("{} x {} x {}", size[0], size[1], size[2]); }

std::vector<std::string> bounds_of(const Directives& d) {
  std::vector<std::string> bounds;
  if (d.reqntid) bounds.push_back(fmt::format("exactly {} threads", times(*d.reqntid)));
  if (d.maxntid) bounds.push_back(fmt::format("at most {} threads", times(*d.maxntid)));
  if (d.minnctapersm) bounds.push_back(fmt::format("at least {} CTAs on an SM", *d.minnctapersm));
  if (d.maxnctapersm) bounds.push_back(fmt::format("at most {} CTAs on an SM", *d.maxnctapersm));
  if (d.maxnreg) bounds.push_back(fmt::format("at most {} registers", *d.maxnreg));
  if (d.reqnctapercluster) bounds.push_back(fmt::format("clusters of {} CTAs", times(*d.reqnctapercluster)));
  if (d.explicitcluster && !d.reqnctapercluster) bounds.emplace_back("clusters of the launch's size");
  if (d.maxclusterrank) bounds.push_back(fmt::format("at most {} CTAs in a cluster", *d.maxclusterrank));
  if (d.blocksareclusters) bounds.emplace_back("the grid counts clusters");
  return bounds;
}

void add_function(std::string& out, const FunctionFacts& facts) {
  const auto put = [&]<class... Arguments>(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
  };
  const Function& function = *facts.function;
  const std::string readable = demangled(function.name);
  put("\n{} {}\n", function.entry ? "kernel" : "function", function.name);
  if (readable != function.name) put("  {}\n", readable);
  put("  parameters     {} in {} bytes\n", function.parameters.size(), function.parameter_bytes);
  for (const Parameter& parameter : function.parameters)
    put("    {:>5}  {}: {}\n", fmt::format("+{}", parameter.offset), parameter.name, type_of(parameter));
  std::string registers;
  for (const auto& [type, count] : facts.registers)
    registers += fmt::format("{}{} .{}", registers.empty() ? "" : ", ", count, to_string(type));
  put("  registers      {}\n", registers.empty() ? "none" : registers);
  put("  shared memory  {} bytes{}\n", facts.static_shared, facts.dynamic_shared ? ", and what the launch gives" : "");
  if (facts.local != 0) put("  local memory   {} bytes for each lane\n", facts.local);
  const std::vector<std::string> bounds = bounds_of(function.directives);
  for (size_t i = 0; i < bounds.size(); ++i) put("  {:<13}  {}\n", i == 0 ? "launch" : "", bounds[i]);
  put("  instructions   {} of {} forms\n", function.body.size(), facts.forms);
  if (facts.waits + facts.polls != 0)
    put("  mbarrier       {} loops that wait, {} single tests\n", facts.waits, facts.polls);
  if (facts.loads_without_wait != 0)
    put("  tcgen05.ld     {} read before a tcgen05.wait::ld\n", facts.loads_without_wait);
}

std::string plural(uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string text_of(const Module& module, const ModuleFacts& facts) {
  std::string out;
  uint64_t kernels = 0, failures = 0;
  for (const FunctionFacts& function : facts.functions) {
    kernels += function.function->entry ? 1 : 0;
    failures += function.failure.empty() ? 0 : 1;
  }
  fmt::format_to(std::back_inserter(out), "{}: PTX {}.{} for {}, {}, {}, {}\n", module.name, module.version_major,
                 module.version_minor, module.target, plural(kernels, "kernel"),
                 plural(facts.functions.size() - kernels, "function"), plural(facts.forms.size(), "form"));
  for (const FunctionFacts& function : facts.functions) add_function(out, function);
  out += "\nforms\n";
  for (const FormCount& form : facts.forms)
    fmt::format_to(std::back_inserter(out), "  {:>7}  {}\n", form.count, form.form);
  out += facts.unsupported.empty() && failures == 0 ? "\neverything in it is supported\n" : "\nnot supported\n";
  for (const Unsupported& entry : facts.unsupported)
    fmt::format_to(std::back_inserter(out), "  {}:{}: {}: {}{}\n", module.name, entry.line, entry.form, entry.why,
                   entry.count > 1 ? fmt::format(" ({} times)", entry.count) : "");
  for (const FunctionFacts& function : facts.functions)
    if (!function.failure.empty()) fmt::format_to(std::back_inserter(out), "  {}:{}\n", module.name, function.failure);
  return out;
}

Json json_of(const FunctionFacts& facts) {
  const Function& function = *facts.function;
  const Directives& d = function.directives;
  Json json{{"name", function.name},
            {"demangled", demangled(function.name)},
            {"kernel", function.entry},
            {"line", function.line}};
  json["parameters"] = Json::array();
  for (const Parameter& p : function.parameters)
    json["parameters"].push_back({{"name", p.name},
                                  {"type", to_string(p.type)},
                                  {"offset", p.offset},
                                  {"bytes", p.bytes},
                                  {"align", p.align},
                                  {"array", p.array},
                                  {"points_to", to_string(p.points_to)}});
  json["parameter_bytes"] = function.parameter_bytes;
  json["registers"] = Json::object();
  for (const auto& [type, count] : facts.registers) json["registers"][std::string(to_string(type))] = count;
  json["static_shared_bytes"] = facts.static_shared;
  json["dynamic_shared"] = facts.dynamic_shared;
  json["local_bytes"] = facts.local;
  Json bounds = Json::object();
  const auto add = [&](const char* name, const auto& value) {
    if (value) bounds[name] = *value;
  };
  add("maxntid", d.maxntid);
  add("reqntid", d.reqntid);
  add("reqnctapercluster", d.reqnctapercluster);
  add("maxclusterrank", d.maxclusterrank);
  add("minnctapersm", d.minnctapersm);
  add("maxnctapersm", d.maxnctapersm);
  add("maxnreg", d.maxnreg);
  if (d.explicitcluster) bounds["explicitcluster"] = true;
  if (d.blocksareclusters) bounds["blocksareclusters"] = true;
  json["launch_bounds"] = std::move(bounds);
  json["instructions"] = function.body.size();
  json["forms"] = facts.forms;
  json["mbarrier_wait_loops"] = facts.waits;
  json["mbarrier_tests"] = facts.polls;
  json["loads_without_wait"] = facts.loads_without_wait;
  return json;
}

}  // namespace

std::string demangled(std::string_view name) {
  const std::string mangled(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable ? std::string(readable.get()) : mangled;
}

std::string describe(const Module& module, const Refusal& refusal) {
  return sentence_of([&] { return text_of(module, facts_of(module, refusal)); });
}

std::string describe_json(const Module& module, const Refusal& refusal) {
  return sentence_of([&] {
    const ModuleFacts facts = facts_of(module, refusal);
    Json json{{"format", 1},
              {"file", module.name},
              {"version", fmt::format("{}.{}", module.version_major, module.version_minor)},
              {"target", module.target}};
    json["functions"] = Json::array();
    json["forms"] = Json::object();
    json["unsupported"] = Json::array();
    for (const FunctionFacts& function : facts.functions) json["functions"].push_back(json_of(function));
    for (const FormCount& form : facts.forms) json["forms"][std::string(form.form)] = form.count;
    for (const Unsupported& entry : facts.unsupported)
      json["unsupported"].push_back(
          {{"line", entry.line}, {"form", entry.form}, {"count", entry.count}, {"why", entry.why}});
    for (const FunctionFacts& function : facts.functions)
      if (!function.failure.empty())
        json["unsupported"].push_back(
            {{"line", function.function->line}, {"form", ""}, {"count", 1}, {"why", function.failure}});
    // A name may be any bytes.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  });
}

}  // namespace warploom::ptx
