// What is in a PTX module: `warploom ptx info`. Kernels with their parameters, registers, shared memory and launch
// bounds, the forms that they use, and what of them cannot be translated.
//
//   puts(describe(module, [](const Module& m, const Instruction& i) { return why_not(m, i); }).c_str());
//
// The callback says why an instruction is not supported, or "" where it is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

using Refusal = std::function<std::string(const Module&, const Instruction&)>;

struct FormCount {
  std::string_view form;
  uint64_t count = 0;
};

struct Unsupported {
  uint32_t line = 0;  ///< of the first
  uint64_t count = 0;
  std::string_view form;
  std::string why;
};

struct FunctionFacts {
  const Function* function = nullptr;
  std::vector<std::pair<Type, uint64_t>> registers;  ///< those that are used
  uint64_t static_shared = 0;                        ///< bytes, with the functions that it calls
  bool dynamic_shared = false;
  uint64_t local = 0;  ///< bytes for each lane
  uint64_t forms = 0;  ///< different ones
  uint64_t waits = 0;  ///< loops that wait for an mbarrier
  uint64_t polls = 0;  ///< mbarrier waits in no such loop
  uint64_t loads_without_wait = 0;
  std::string failure;  ///< why it cannot be translated, apart from what single instructions say
};

struct ModuleFacts {
  std::vector<FunctionFacts> functions;  ///< those with a body, kernels first
  std::vector<FormCount> forms;          ///< the most frequent first
  std::vector<Unsupported> unsupported;  ///< in the order of their lines, one entry for each form and reason
};

ModuleFacts facts_of(const Module& module, const Refusal& refusal);

/// For people.
std::string describe(const Module& module, const Refusal& refusal);
/// The same as JSON.
std::string describe_json(const Module& module, const Refusal& refusal);

/// `void gemm<128>(Params)` of a mangled name, or the name itself.
std::string demangled(std::string_view name);

}  // namespace warploom::ptx
