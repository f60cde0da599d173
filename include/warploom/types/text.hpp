// Text put together at compile time. Policies say with it in reports who signals a barrier; device code cannot refer to
// arrays of characters, so it is a value in a type.
//
//   static constexpr Text text = Text{"every thread of "} + Text{Role::name};
#pragma once

#include <cstddef>

namespace warploom {

template <size_t n>
struct Text {
  char data[n + 1] = {};

  constexpr Text() = default;
  constexpr Text(const char (&literal)[n + 1]) {
    for (size_t i = 0; i <= n; ++i) data[i] = literal[i];
  }
};
template <size_t n>
Text(const char (&)[n]) -> Text<n - 1>;

template <size_t a, size_t b>
constexpr Text<a + b> operator+(const Text<a>& first, const Text<b>& second) {
  Text<a + b> sum;
  for (size_t i = 0; i <= a; ++i) sum.data[i] = first.data[i];
  for (size_t i = 0; i <= b; ++i) sum.data[a + i] = second.data[i];
  return sum;
}

}  // namespace warploom
