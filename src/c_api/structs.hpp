// Structs that begin with their size and grow from version to version.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "c_api/answer.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::c_api {

/// As this library has it: what an older caller's struct lacks are the defaults of `init`; what a newer one's has
/// beyond must be zero. `first`: bytes of the first version.
template <class Struct>
Result<Struct> received(const Struct* given, size_t first, void (*init)(Struct*), const char* name,
                        const char* begin_with) {
  constexpr size_t most = 4096;  // beyond, it is not a size that anybody wrote
  if (given == nullptr) return null_pointer((std::string("the ") + name).c_str());
  size_t bytes = 0;
  std::memcpy(&bytes, given, sizeof(bytes));
  if (bytes < first || bytes > most || bytes % alignof(Struct) != 0)
    return Error{std::string("struct_size of the ") + name + " is " + std::to_string(bytes) +
                 ", and this library's is " + std::to_string(sizeof(Struct)) + ": begin with " + begin_with +
                 ", which sets it and the defaults"};
  const auto* const beyond = reinterpret_cast<const std::byte*>(given);
  for (size_t i = sizeof(Struct); i < bytes; ++i)
    if (beyond[i] != std::byte{0})
      return Error{std::string("the ") + name + " has fields that this library does not know, and they are not zero; " +
                       "Warploom " + WARPLOOM_VERSION_STRING + " is older than the program",
                   ErrorCode::unsupported};
  Struct known;
  init(&known);
  std::memcpy(&known, given, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
  return known;
}

/// One of an enum's values, or a sentence.
template <class Enum>
Error set_enum(Enum& to, int32_t value, Enum last, const char* what) {
  if (value < 0 || value > static_cast<int32_t>(last))
    return {std::string(what) + " is " + std::to_string(value) + "; there are 0 to " +
            std::to_string(static_cast<int>(last))};
  to = static_cast<Enum>(value);
  return {{}, ErrorCode::none};
}

Result<GemmProblem> problem_of(const warploom_gemm_problem* given);
Result<ChipLimits> chip_of(int32_t chip, int32_t sms);
/// Of the chip, for a key or, where there is none, the best.
Result<GemmPlan> plan_of(const GemmProblem& problem, const char* config, const ChipLimits& chip);

}  // namespace warploom::c_api
