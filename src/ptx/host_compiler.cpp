#include "ptx/host_compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "types/no_throw.hpp"

extern char** environ;

namespace warploom::ptx {
namespace {

namespace fs = std::filesystem;

constexpr const char* marker = "warploom/ptx/abi.hpp";

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

bool runs(const std::string& path) {
  std::error_code nothing_there;
  return fs::is_regular_file(path, nothing_there) && access(path.c_str(), X_OK) == 0;
}

/// As a shell would find it: a name with a slash is a path.
std::optional<std::string> on_path(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return runs(name) ? std::optional(fs::absolute(name).string()) : std::nullopt;
  const std::string all = value_of("PATH");
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find(':', at), all.size());
    const std::string path = fs::path(all.substr(at, end - at)) / name;
    if (end > at && runs(path)) return fs::absolute(path).string();
    at = end + 1;
  }
  return std::nullopt;
}

/// The environment without what would lead a compiler astray: libraries that are meant for a CUDA program.
std::vector<char*> environment() {
  std::vector<char*> words;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!text.starts_with("LD_LIBRARY_PATH=") && !text.starts_with("LD_PRELOAD=")) words.push_back(*word);
  }
  words.push_back(nullptr);
  return words;
}

struct FileActions {
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t actions;
};
struct Attributes {
  Attributes() { posix_spawnattr_init(&attributes); }
  ~Attributes() { posix_spawnattr_destroy(&attributes); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t attributes;
};

Result<int> spawn(const std::vector<std::string>& words, const std::string& log) {
  FileActions files;
  posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files.actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files.actions, STDOUT_FILENO, STDERR_FILENO);
  // Whoever waits for signals on a thread of its own has them blocked in all others.
  Attributes how;
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&how.attributes, &none);
  posix_spawnattr_setsigdefault(&how.attributes, &usual);
  posix_spawnattr_setflags(&how.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables = environment();
  pid_t child = 0;
  if (const int error = posix_spawn(&child, words.front().c_str(), &files.actions, &how.attributes, arguments.data(),
                                    variables.data());
      error != 0)
    return Error{fmt::format("{} cannot be run: {}", words.front(), std::strerror(error)), ErrorCode::io};
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 0;  // somebody else has waited for it: what it made tells how it ended
  if (WIFSIGNALED(status))
    return Error{fmt::format("{} was ended by signal {}", words.front(), WTERMSIG(status)), ErrorCode::io};
  return WEXITSTATUS(status);
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Result<HostCompiler> look_for_compiler() {
  HostCompiler compiler;
  if (const std::string asked = value_of("WARPLOOM_CXX"); !asked.empty()) {
    const std::optional<std::string> found = on_path(asked);
    if (!found)
      return Error{fmt::format("WARPLOOM_CXX is '{}', and there is no such program", asked), ErrorCode::not_found};
    compiler.path = *found;
  } else {
    for (const char* name : {"c++", "g++", "clang++"})
      if (const std::optional<std::string> found = on_path(name); found && compiler.path.empty())
        compiler.path = *found;
    if (compiler.path.empty())
      return Error{
          "PTX is translated to C++ and compiled, which needs a C++ compiler on this machine; none of c++, g++ and "
          "clang++ is on PATH: install g++ (12 or newer), or name a compiler in WARPLOOM_CXX",
          ErrorCode::not_found};
  }
  std::string log = (fs::temp_directory_path() / "warploom-compiler-XXXXXX").string();
  const int file = mkstemp(log.data());
  if (file < 0) return Error{fmt::format("{}: {}", log, std::strerror(errno)), ErrorCode::io};
  close(file);
  const Result<int> code = run_program({compiler.path, "--version"}, log);
  compiler.version = first_line_of(log);
  unlink(log.c_str());
  if (!code) return code.why();
  if (*code != 0 || compiler.version.empty())
    return Error{fmt::format("{} does not say which compiler it is (--version); name another one in WARPLOOM_CXX",
                             compiler.path),
                 ErrorCode::unsupported};
  // Rounding as PTX has it; and a report finds the line of an operation by its return address: calls must not be merged
  // or become jumps (docs/install.md).
  compiler.flags = {"-std=c++20",
                    "-O1",
                    "-march=native",
                    "-g1",
                    "-w",
                    "-fPIC",
                    "-shared",
                    "-ffp-contract=off",
                    "-fwrapv",
                    "-fno-exceptions",
                    "-fno-rtti",
                    "-fno-strict-aliasing",
                    "-fno-math-errno",
                    "-fno-optimize-sibling-calls",
                    "-fvisibility=hidden"};
  if (compiler.version.find("clang") == std::string::npos)
    for (const char* flag : {"-fno-crossjumping", "-fno-tree-tail-merge", "-fno-ipa-icf", "-fno-var-tracking",
                             "-fno-semantic-interposition"})
      compiler.flags.emplace_back(flag);
  Result<std::string> headers = header_folder();
  if (!headers) return headers.why();
  compiler.headers = *headers;
  return compiler;
}

}  // namespace

Result<int> run_program(const std::vector<std::string>& words, const std::string& log) {
  return no_throw([&] { return spawn(words, log); });
}

Result<std::string> header_folder() {
  return no_throw([]() -> Result<std::string> {
    std::error_code nothing_there;
    const auto holds = [&](const fs::path& folder) { return fs::is_regular_file(folder / marker, nothing_there); };
    if (const std::string asked = value_of("WARPLOOM_INCLUDE"); !asked.empty()) {
      if (holds(asked)) return fs::absolute(asked).string();
      return Error{fmt::format("WARPLOOM_INCLUDE is '{}', and there is no {} in it", asked, marker),
                   ErrorCode::not_found};
    }
    Dl_info here;
    if (dladdr(reinterpret_cast<const void*>(&header_folder), &here) != 0 && here.dli_fname != nullptr) {
      // The program's own name is the one it was called by.
      fs::path object = fs::canonical(here.dli_fname, nothing_there);
      if (object.empty()) object = fs::canonical("/proc/self/exe", nothing_there);
      constexpr int levels = 5;  // <prefix>/lib/<triple>/warploom/cudart/libcudart.so.13
      for (int up = 0; up < levels && object.has_relative_path(); ++up) {
        object = object.parent_path();
        if (holds(object / "include")) return (object / "include").string();
      }
    }
    const fs::path source = fs::path(__FILE__).parent_path().parent_path().parent_path() / "include";
    if (source.is_absolute() && holds(source)) return source.string();
    return Error{
        "the headers that translated PTX is compiled with are not where this library is; name the folder that holds "
        "warploom/ptx/abi.hpp in WARPLOOM_INCLUDE",
        ErrorCode::not_found};
  });
}

std::string cpu_identity() {
  std::ifstream info("/proc/cpuinfo");
  std::string all, line;
  while (std::getline(info, line) && !line.empty())  // the first CPU
    for (const char* field : {"vendor_id", "cpu family", "model\t", "flags", "Features", "CPU part"})
      if (line.starts_with(field)) all += line + '\n';
  return all;
}

Result<HostCompiler> host_compiler() {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, HostCompiler>;
  return no_throw([]() -> Result<HostCompiler> {
    const std::string asked =
        fmt::format("{}\n{}\n{}", value_of("WARPLOOM_CXX"), value_of("PATH"), value_of("WARPLOOM_INCLUDE"));
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(asked); found != known.end()) return found->second;
    Result<HostCompiler> found = look_for_compiler();
    if (found) known.emplace(asked, *found);
    return found;
  });
}

Result<bool> HostCompiler::compile(const std::string& source, const std::string& object, const std::string& log,
                                   const std::vector<std::string>& more_flags) const {
  return no_throw([&]() -> Result<bool> {
    std::vector<std::string> words{path};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), more_flags.begin(), more_flags.end());
    words.insert(words.end(), {"-I" + headers, "-o", object, source});
    const Result<int> code = run_program(words, log);
    if (!code) return code.why();
    return *code == 0 && runs(object);
  });
}

}  // namespace warploom::ptx
