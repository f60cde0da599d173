#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>

namespace warploom::cli {
namespace {

/// A variable of the environment; one that is empty counts as none.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool names_utf8(std::string locale) {
  std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) { return std::tolower(c); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

uint32_t columns_of_terminal() {
  const std::string text = variable("COLUMNS");
  uint32_t columns = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error == std::errc{} && stop == text.data() + text.size() && columns > 0) return columns;
  winsize size = {};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

Terminal Terminal::look() {
  const std::string term = variable("TERM");
  const bool knows_escapes = !term.empty() && term != "dumb";
  // The first of the three that is set decides, as for every program.
  std::string locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  return {.color = knows_escapes && variable("NO_COLOR").empty() && isatty(STDOUT_FILENO) != 0,
          .moves = knows_escapes && isatty(STDERR_FILENO) != 0,
          .utf8 = names_utf8(locale),
          .columns = columns_of_terminal()};
}

const Terminal& terminal() {
  static const Terminal found = Terminal::look();
  return found;
}

}  // namespace warploom::cli
