// A value, or an error: a code for programs and one sentence for people. The library throws nothing.
//
//   Result<GemmPlan> plan = plan_gemm(problem);
//   if (!plan && plan.code() == ErrorCode::out_of_memory) return retry_later();
//   if (!plan) puts(plan.error().c_str());
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace warploom {

/// The numbers are part of the interface: the C API (warploom/c_api.h) returns them. New ones are added at the end.
enum class ErrorCode : int32_t {
  none = 0,           ///< no error
  bad_argument = 1,   ///< what was handed over makes no sense: a null pointer, a size that is negative, tensors overlap
  unsupported = 2,    ///< it makes sense, and no kernel, chip or version of the library does it
  not_found = 3,      ///< there is nothing of that name
  not_built = 4,      ///< there is, but this build leaves it out
  out_of_memory = 5,  ///< memory or address space ran out; nothing that the call returns is half done
  no_threads = 6,     ///< the operating system makes no more threads
  no_device = 7,      ///< no GPU, or none that the library has kernels for
  device_failed = 8,  ///< CUDA reports an error
  io = 9,             ///< a file cannot be read or written
  finding = 10,       ///< the C API only: a kernel ran on the loom, and its report has findings
  internal = 11       ///< an error of the library itself
};

constexpr const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::none: return "none";
    case ErrorCode::bad_argument: return "bad_argument";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::not_built: return "not_built";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::no_threads: return "no_threads";
    case ErrorCode::no_device: return "no_device";
    case ErrorCode::device_failed: return "device_failed";
    case ErrorCode::io: return "io";
    case ErrorCode::finding: return "finding";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

struct Error {
  std::string message;
  ErrorCode code = ErrorCode::bad_argument;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const std::string& error() const { return std::get<1>(state_).message; }
  /// ErrorCode::none where there is a value.
  ErrorCode code() const { return state_.index() == 0 ? ErrorCode::none : std::get<1>(state_).code; }
  /// Sentence and code, to hand on. There is no value.
  const Error& why() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace warploom
