// What holds of the program's end whatever its input was.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "input_fuzz/input_fuzz.hpp"
#include "support/json.hpp"

namespace warploom::test::input_fuzz {
namespace {

constexpr const char* with_values[] = {"--m",      "--n",      "--k",        "--batch", "--alpha",  "--beta",    "--on",
                                       "--config", "--policy", "--schedule", "--out",   "--d-type", "--numerics"};

/// Options with their values, "--m 5" and "--m=5"; of one that comes twice, both.
std::multimap<std::string, std::string> values_of(const std::vector<std::string>& words) {
  std::multimap<std::string, std::string> values;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (std::find(std::begin(with_values), std::end(with_values), name) == std::end(with_values)) continue;
    if (equals != std::string::npos)
      values.emplace(name, words[i].substr(equals + 1));
    else if (i + 1 < words.size())
      values.emplace(name, words[++i]);
  }
  return values;
}

/// As an option: what stands behind "--" is none.
bool has(const std::vector<std::string>& words, std::string_view word) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, word) != end;
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Bytes that a terminal would obey.
bool commands_a_terminal(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7f;
  });
}

/// What a sanitizer said before it ended the program: its first lines.
std::string sanitizers_word(const std::string& error) {
  const size_t at = std::min(error.find("ERROR: "), error.find("runtime error: "));
  return at == std::string::npos ? "" : ": " + error.substr(at, 1500);
}

std::string of_json(const Ended& ended) {
  const json document = json::parse(ended.out, nullptr, false);
  if (!document.is_object()) return "--json prints something else than one object";
  if (document.value("schema", 0) != 1) return "the document has no schema";
  if (!std::all_of(ended.out.begin(), ended.out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return "the document is not ASCII";
  if (ended.code < 2) return document.contains("error") ? "an error with an exit code of 0 or 1" : "";
  if (!document.contains("error") || !document["error"].is_string() || document["error"].get<std::string>().empty())
    return "no sentence says why";
  return document.value("exit", 0) == ended.code ? "" : "the document has another exit code";
}

}  // namespace

std::string broken_by(const std::vector<std::string>& words, const Ended& ended) {
  if (ended.hung) return fmt::format("it had not ended after {} s", longest_seconds);
  if (ended.signal != 0) return fmt::format("signal {} ended it{}", ended.signal, sanitizers_word(ended.error));
  if (ended.code < 0 || ended.code > 3) return fmt::format("exit code {}", ended.code);
  if (commands_a_terminal(ended.out) || commands_a_terminal(ended.error)) return "it prints what a terminal would obey";
  if (ended.error.find("this should not happen") != std::string::npos ||
      ended.out.find("this should not happen") != std::string::npos)
    return "an exception that nobody expected";
  const bool helps = ended.code == 0 && (has(words, "--help") || has(words, "-h") || has(words, "--version"));
  if (has(words, "--json") && words.front() != "bench" && !helps) return of_json(ended);
  if (ended.code >= 2 && ended.error.size() < 10) return "no sentence says why";
  return {};
}

std::string unlike_asked(const std::vector<std::string>& words, const Ended& ended) {
  const std::multimap<std::string, std::string> asked = values_of(words);
  const auto value = [&](const char* option, const std::string& usual) {
    const auto found = asked.find(option);
    return found == asked.end() ? usual : found->second;
  };
  for (const auto& [name, text] : asked)
    if (asked.count(name) > 1) return fmt::format("{} was given twice", name);
  for (const char* extent : {"--m", "--n", "--k", "--batch"})
    if (!is_whole_number(value(extent, "1"))) return fmt::format("{} is no number", extent);
  for (const char* real : {"--alpha", "--beta"}) {
    const std::string text = value(real, "1");
    char* end = nullptr;
    if (!std::isfinite(std::strtod(text.c_str(), &end)) || *end != '\0' || text.empty())
      return fmt::format("{} is no number", real);
  }
  if (has(words, "--tensors")) return {};  // the file has the extents; what became of it is judged with it
  const std::string shape = fmt::format("{} x {} x {}", std::stoull(value("--m", "512")),
                                        std::stoull(value("--n", "512")), std::stoull(value("--k", "1024")));
  if (!has(words, "--json"))
    return ended.out.find(shape) != std::string::npos ? "" : fmt::format("it says nothing of {}", shape);
  const json document = json::parse(ended.out, nullptr, false);
  if (!document.is_object()) return "no document";
  if (!document.value("correct", false)) return "it does not say that the result is correct";
  if (fmt::format("{} x {} x {}", document.value("m", -1), document.value("n", -1), document.value("k", -1)) != shape)
    return fmt::format("it ran something else than {}", shape);
  if (document.value("batch", -1) != std::stoll(value("--batch", "1"))) return "it ran another batch";
  for (const char* real : {"alpha", "beta"}) {
    const std::string text = value(fmt::format("--{}", real).c_str(), real == std::string("alpha") ? "1" : "0");
    const double asked_for = std::strtod(text.c_str(), nullptr), ran = document.value(real, 0.0);
    if (static_cast<float>(ran) != static_cast<float>(asked_for) || (ran == 0) != (asked_for == 0))
      return fmt::format("another {}", real);
  }
  const std::string config = value("--config", "auto");
  if (config != "auto" && document.value("config", "") != config) return "it ran another configuration";
  const std::string on = value("--on", document.value("target", ""));
  if (document.value("target", "") != on) return "it ran elsewhere";
  if (document.value("numerics", "") != value("--numerics", "fast")) return "other numerics";
  if (asked.contains("--policy") && document.value("schedule", "").find(value("--policy", "")) != 0)
    return "another schedule";
  const uint64_t elements =
      document.value("m", uint64_t{0}) * document.value("n", uint64_t{0}) * document.value("batch", uint64_t{0});
  if (document.value("elements_compared", uint64_t{0}) != elements) return "not all elements were compared";
  return {};
}

std::string quoted(const std::vector<std::string>& words) {
  std::string line = "warploom";
  for (const std::string& word : words) {
    line += " $'";
    for (const char c : word.substr(0, 200))
      if (c == '\'' || c == '\\')
        line += fmt::format("\\{}", c);
      else if (c >= 0x20 && c < 0x7f)
        line += c;
      else
        line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    line += word.size() > 200 ? fmt::format("'... ({} bytes)", word.size()) : "'";
  }
  return line;
}

Ended run_limited(const std::vector<std::string>& words, const Folder& folder, double& seconds) {
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = run(
      words,
      [&] {
        if (chdir(folder.path.c_str()) != 0) _exit(97);
        if (!sanitized) limit(RLIMIT_AS, rlim_t{4} << 30);  // a sanitizer takes terabytes of addresses
        limit(RLIMIT_CORE, 0);
        setenv("LC_ALL", "C", 1);
        // What a stopped cluster's stacks own is never freed, by design. A sanitizer's word is told apart.
        setenv("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=1", 1);
        setenv("UBSAN_OPTIONS", "abort_on_error=1:print_stacktrace=1", 1);
      },
      longest_seconds);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ended;
}

}  // namespace warploom::test::input_fuzz
