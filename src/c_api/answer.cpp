#include "c_api/answer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace {

/// A sentence that is longer than there is memory for is cut.
class Answer {
 public:
  void note(int code, const char* sentence) noexcept {
    code_ = code;
    in_full_ = false;
    const size_t length = std::strlen(sentence);
    if (length >= short_.size()) {
      try {
        full_.assign(sentence, length);
        in_full_ = true;
        return;
      } catch (...) {
      }
    }
    const size_t kept = std::min(length, short_.size() - 1);
    std::memcpy(short_.data(), sentence, kept);
    short_[kept] = '\0';
  }
  int code() const { return code_; }
  const char* sentence() const { return in_full_ ? full_.c_str() : short_.data(); }

 private:
  int code_ = 0;
  bool in_full_ = false;
  std::array<char, 256> short_ = {};
  std::string full_;
};

thread_local Answer last;

}  // namespace

warploom::Error warploom::c_api::null_pointer(const char* what) {
  std::string sentence(what);
  sentence += " is a null pointer";
  return {std::move(sentence)};
}

extern "C" {

int warploom_note_answer(int code, const char* sentence) noexcept {
  last.note(code, sentence);
  return code;
}

const char* warploom_error(void) { return last.sentence(); }
int warploom_error_code(void) { return last.code(); }
const char* warploom_code_name(int code) { return to_string(static_cast<warploom::ErrorCode>(code)); }
const char* warploom_version(void) { return WARPLOOM_VERSION_STRING; }

}  // extern "C"
