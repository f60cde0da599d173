#include "warploom/types/result.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <system_error>

#include "types/no_throw.hpp"

namespace warploom {
namespace {

TEST(Result, HasAValueOrACodeAndASentence) {
  const Result<int> value = 7;
  EXPECT_TRUE(value);
  EXPECT_EQ(value.code(), ErrorCode::none);
  const Result<int> plain = Error{"no such thing"};
  EXPECT_FALSE(plain);
  EXPECT_EQ(plain.error(), "no such thing");
  EXPECT_EQ(plain.code(), ErrorCode::bad_argument);
  const Result<int> with_code = Error{"no such chip", ErrorCode::no_device};
  EXPECT_EQ(with_code.code(), ErrorCode::no_device);
  const Result<std::string> handed_on = with_code.why();
  EXPECT_EQ(handed_on.error(), "no such chip");
  EXPECT_EQ(handed_on.code(), ErrorCode::no_device);
}

TEST(Result, EveryCodeHasAName) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i)
    EXPECT_STRNE(to_string(static_cast<ErrorCode>(i)), "unknown") << i;
  EXPECT_STREQ(to_string(static_cast<ErrorCode>(1 + static_cast<int>(ErrorCode::internal))), "unknown");
}

template <class Exception>
Error error_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return current_error();
  }
}

TEST(Result, ExceptionsBecomeErrors) {
  EXPECT_EQ(error_of(std::bad_alloc()).code, ErrorCode::out_of_memory);
  EXPECT_EQ(error_of(std::length_error("vector")).code, ErrorCode::out_of_memory);
  EXPECT_EQ(error_of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))).code,
            ErrorCode::no_threads);
  EXPECT_EQ(error_of(std::system_error(std::make_error_code(std::errc::not_enough_memory))).code,
            ErrorCode::out_of_memory);
  const Error other = error_of(std::runtime_error("a callback's"));
  EXPECT_EQ(other.code, ErrorCode::internal);
  EXPECT_EQ(other.message, "a callback's");
  EXPECT_EQ(error_of(7).code, ErrorCode::internal);
  // No allocation: there may be no memory for one.
  EXPECT_LE(std::strlen(out_of_memory_sentence), std::string().capacity());
}

}  // namespace
}  // namespace warploom
