// Where exceptions end: every function that a user calls is made of one that may throw, inside of `no_throw`.
//
//   Result<GemmPlan> plan_gemm(const GemmProblem& problem) {
//     return no_throw<Result<GemmPlan>>([&] { return plan(problem); }, [](Error error) { return error; });
//   }
//
// What is thrown is what the standard library throws: nobody here throws on purpose, save bad_alloc where an allocation
// that is not operator new fails.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "warploom/types/result.hpp"

namespace warploom {

/// Fits into a string without an allocation.
inline constexpr const char* out_of_memory_sentence = "out of memory";

/// The exception that is being handled, as an error. It needs no memory where there is none.
inline Error current_error() noexcept {
  const auto sentence = [](const char* text, ErrorCode code) noexcept -> Error {
    try {
      return {text, code};
    } catch (...) {
      return {out_of_memory_sentence, ErrorCode::out_of_memory};
    }
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {out_of_memory_sentence, ErrorCode::out_of_memory};
  } catch (const std::length_error&) {  // more than a container may ever hold
    return {out_of_memory_sentence, ErrorCode::out_of_memory};
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return sentence("the operating system makes no more threads", ErrorCode::no_threads);
    if (error.code() == std::errc::not_enough_memory) return {out_of_memory_sentence, ErrorCode::out_of_memory};
    return sentence(error.what(), ErrorCode::internal);
  } catch (const std::exception& error) {
    return sentence(error.what(), ErrorCode::internal);
  } catch (...) {
    return sentence("an exception of an unknown type", ErrorCode::internal);
  }
}

/// `body()`, or what `otherwise` makes of the exception that came instead.
template <class R, class Body, class Otherwise>
R no_throw(Body&& body, Otherwise&& otherwise) noexcept {
  try {
    return body();
  } catch (...) {
    return std::forward<Otherwise>(otherwise)(current_error());
  }
}

/// A Result, or the exception's error.
template <class Body>
auto no_throw(Body&& body) noexcept -> decltype(body()) {
  return no_throw<decltype(body())>(std::forward<Body>(body), [](Error error) { return error; });
}

/// A sentence, "" where all is well, or the exception's.
template <class Body>
std::string sentence_of(Body&& body) noexcept {
  return no_throw<std::string>(std::forward<Body>(body), [](Error error) { return std::move(error.message); });
}

}  // namespace warploom
