#include "cli/tell.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/terminal.hpp"
#include "cli/text.hpp"

namespace warploom::cli {
namespace {

[[noreturn]] void output_failed() {
  throw OutputFailed(fmt::format("cannot write standard output: {}", std::strerror(errno)));
}

}  // namespace

void put(std::string_view text) {
  const std::string ascii = terminal().utf8 ? std::string() : in_ascii(text);
  const std::string_view bytes = terminal().utf8 ? text : ascii;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) output_failed();
}

void flush() {
  if (std::fflush(stdout) != 0) output_failed();
}

void put_json(const Json& fields, int indent) {
  Json document{{"schema", json_schema}};
  document.update(fields);
  // Names come from command lines and files: what is not UTF-8 is replaced, and all else is escaped, so that a document
  // can be read, and shown, anywhere.
  put(document.dump(indent, ' ', true, Json::error_handler_t::replace) + "\n");
}

void remark(std::string_view sentence) {
  const std::string line = "warploom: " + shown(sentence) + "\n";
  const std::string text = terminal().utf8 ? line : in_ascii(line);
  // Whether this arrives is nobody's business: there is no place left to say so.
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

int fail(const Trouble& trouble, bool json, int signal) {
  const int code = signal != 0 ? interrupted + signal : static_cast<int>(trouble.exit);
  if (!json) {
    remark(trouble.sentence);
    return code;
  }
  Json fields{{"error", shown(trouble.sentence)}, {"exit", code}};
  if (signal != 0) fields["interrupted"] = true;
  put_json(fields, -1);
  return code;
}

void Progress::show(uint64_t done, uint64_t total, std::string_view what) {
  if (!terminal().moves || seconds_since(start_) < 1.0) return;
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("{} of {} {}", done, total, what);
  const size_t width = text.size();
  if (width < width_) text.resize(width_, ' ');
  width_ = width;
  std::fputs(("\r" + text).c_str(), stderr);
  std::fflush(stderr);
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (width_ == 0) return;
  std::fputs(("\r" + std::string(width_, ' ') + "\r").c_str(), stderr);
  std::fflush(stderr);
  width_ = 0;
}

std::string in_words(const std::vector<std::string>& list) {
  if (list.size() < 2) return list.empty() ? "" : list.front();
  return fmt::format("{} and {}", fmt::join(list.begin(), list.end() - 1, ", "), list.back());
}

}  // namespace warploom::cli
