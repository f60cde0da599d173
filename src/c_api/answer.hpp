// What functions of the C API end with: a status, and its sentence for this thread.
#pragma once

#include "types/no_throw.hpp"
#include "warploom/c_api.h"

extern "C" {
/// Where a program has loaded two libraries of ours, both find the same one: what either of them notes,
/// warploom_error() says.
WARPLOOM_EXPORT int warploom_note_answer(int code, const char* sentence) noexcept;
}

namespace warploom::c_api {

inline int answer(ErrorCode code, const char* sentence) noexcept {
  return warploom_note_answer(static_cast<int>(code), sentence);
}
inline int answer(const Error& error) noexcept { return answer(error.code, error.message.c_str()); }
inline int ok() noexcept { return answer(ErrorCode::none, ""); }

/// The status that `body` returns, or that of an exception that it did not catch.
template <class Body>
int guarded(Body&& body) noexcept {
  return no_throw<int>(std::forward<Body>(body), [](const Error& error) { return answer(error); });
}

Error null_pointer(const char* what);

}  // namespace warploom::c_api
