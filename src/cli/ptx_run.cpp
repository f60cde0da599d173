// `warploom ptx run ./program`: starts it with a CUDA runtime that launches on the loom, and tells what that reports.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "cli/ptx.hpp"
#include "cli/ptx_file.hpp"
#include "cli/ptx_sites.hpp"
#include "cli/session.hpp"
#include "cli/tell.hpp"
#include "cli/text.hpp"

extern char** environ;

namespace warploom::cli {
namespace {

namespace fs = std::filesystem;

/// Beside this program, in a build folder or where it is installed; WARPLOOM_CUDART names another folder.
Result<fs::path> runtime_folder() {
  constexpr const char* name = "libcudart.so.13";
  std::error_code nothing_there;
  if (const char* asked = std::getenv("WARPLOOM_CUDART"); asked != nullptr && *asked != '\0') {
    if (fs::exists(fs::path(asked) / name, nothing_there)) return fs::absolute(asked);
    return Error{fmt::format("WARPLOOM_CUDART is '{}', and there is no {} in it", shown(asked), name),
                 ErrorCode::not_found};
  }
  const fs::path bin = fs::canonical("/proc/self/exe", nothing_there).parent_path();
  for (const char* folder : {"../lib/warploom/cudart", "../" WARPLOOM_LIBRARY_FOLDER "/warploom/cudart"})
    if (fs::exists(bin / folder / name, nothing_there)) return fs::canonical(bin / folder);
  return Error{fmt::format("{} of the loom is not installed beside this program (component cli; in the build folder: "
                           "cmake --build build --target warploom_cudart)",
                           name),
               ErrorCode::not_found};
}

/// A program as a shell finds it.
Result<std::string> found_program(const std::string& name) {
  const auto runs = [](const fs::path& path) {
    std::error_code nothing_there;
    return fs::is_regular_file(path, nothing_there) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return fs::absolute(name).string();
    return Error{fmt::format("'{}' is no program that can be run", shown(name))};
  }
  const char* const paths = std::getenv("PATH");
  std::string_view rest = paths == nullptr ? "" : paths;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path path = fs::path(rest.substr(0, end)) / name;
    if (end > 0 && runs(path)) return fs::absolute(path).string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error{
      fmt::format("there is no program '{}' on PATH; for one in this folder, type ./{}", shown(name), shown(name))};
}

/// What the runtime in the program wrote.
struct Told {
  std::vector<Json> launches = {};
  std::vector<std::string> troubles = {};
  std::vector<std::string> not_translated = {};
  std::string unsupported = {};
  std::string schedule = {};
  uint32_t chip = 0;
  bool ended = false;

  size_t warned() const {
    return static_cast<size_t>(
        std::count_if(launches.begin(), launches.end(), [](const Json& one) { return one["warnings"] != 0; }));
  }
  size_t failed() const {
    return static_cast<size_t>(
        std::count_if(launches.begin(), launches.end(), [](const Json& one) { return !one["clean"].get<bool>(); }));
  }
};

Told read_report(const std::string& path) {
  Told told;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;  // the program was ended in the middle of it
    if (json.contains("chip")) {
      told.chip = json["chip"];
      told.schedule = json["schedule"];
    } else if (json.contains("trouble")) {
      told.troubles.push_back(json["trouble"]);
    } else if (json.contains("not_translated")) {
      told.not_translated.push_back(json["not_translated"]);
    } else if (json.contains("unsupported")) {
      told.unsupported = json["unsupported"];
    } else if (json.contains("end")) {
      told.ended = true;
    } else if (json.contains("kernel")) {
      told.launches.push_back(std::move(json));
    }
  }
  return told;
}

/// A file of our own for what the program's runtime reports, gone when this is.
class ReportFile {
 public:
  ReportFile() : path_((fs::temp_directory_path() / "warploom-ptx-run-XXXXXX").string()) {
    const int file = mkstemp(path_.data());
    if (file < 0) throw std::system_error(errno, std::generic_category(), path_);
    close(file);
  }
  ~ReportFile() { unlink(path_.c_str()); }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Run {
  std::string program = {};
  std::vector<std::string> words = {};
  std::map<std::string, std::string> environment = {};
  bool quiet = false;  ///< nothing that the program says is shown
  bool json = false;   ///< what it says goes to standard error
};

struct Ended {
  int code = 0;
  int signal = 0;
  Told told = {};
};

Result<Ended> start(Run run) {
  const ReportFile report;
  run.environment["WARPLOOM_PTX_REPORT"] = report.path();
  std::vector<std::string> variables;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!run.environment.contains(std::string(text.substr(0, text.find('='))))) variables.emplace_back(text);
  }
  for (const auto& [name, value] : run.environment) variables.push_back(name + "=" + value);
  std::vector<char*> words, all;
  for (std::string& word : run.words) words.push_back(word.data());
  for (std::string& variable : variables) all.push_back(variable.data());
  words.push_back(nullptr);
  all.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (run.quiet)
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  else if (run.json)
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  if (run.quiet) posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&how, &usual);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
  // The terminal sends both of us its signals: the program ends, and we tell what it had done.
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  pid_t child = 0;
  const int error = posix_spawn(&child, run.program.c_str(), &files, &how, words.data(), all.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  int status = 0;
  if (error == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  std::signal(SIGINT, interrupt);
  if (error != 0)
    return Error{fmt::format("'{}' cannot be started: {}", shown(run.program), std::strerror(error)), ErrorCode::io};
  return Ended{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
               .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
               .told = read_report(report.path())};
}

Result<Run> prepare(const PtxArguments& a) {
  if (a.program.empty()) return Error{"name the program behind the options: warploom ptx run ./a.out its arguments"};
  if (a.sites && (!a.mutate.empty() || a.timeline))
    return Error{"--sites lists barrier operations and does no more; leave --mutate and --timeline out"};
  const Result<loom::Schedule> schedule = ptx_schedule_of(a);
  if (!schedule) return schedule.why();
  if (const Result<loom::Numerics> numerics = loom::parse_numerics(a.numerics); !numerics)
    return Error{fmt::format("--numerics is fast or exact, not '{}'", shown(a.numerics))};
  const Result<std::vector<loom::Suppression>> suppressed = ptx_suppressions_of(a);
  if (!suppressed) return suppressed.why();
  const Result<uint32_t> chip = ptx_chip_of(a);
  if (!chip) return chip.why();
  Result<std::string> program = found_program(a.program.front());
  if (!program) return program.why();
  const Result<fs::path> folder = runtime_folder();
  if (!folder) return folder.why();
  Run run{.program = *program, .words = a.program, .json = a.json};
  auto& e = run.environment;
  const char* const paths = std::getenv("LD_LIBRARY_PATH");
  e["LD_LIBRARY_PATH"] = folder->string() + (paths == nullptr || *paths == '\0' ? "" : std::string(":") + paths);
  // A program may say where its libraries are, which comes before LD_LIBRARY_PATH (DT_RPATH).
  const char* const preloaded = std::getenv("LD_PRELOAD");
  e["LD_PRELOAD"] = (*folder / "libcudart.so.13").string() +
                    (preloaded == nullptr || *preloaded == '\0' ? "" : std::string(":") + preloaded);
  e["WARPLOOM_PTX_SCHEDULE"] = schedule->text();
  e["WARPLOOM_PTX_NUMERICS"] = a.numerics;
  e["WARPLOOM_PTX_CHECK"] = a.check ? "1" : "0";
  e["WARPLOOM_PTX_STRICT"] = a.strict ? "1" : "0";
  e["WARPLOOM_PTX_SITES"] = a.sites ? "1" : "0";
  e["WARPLOOM_PTX_TIMELINE"] = a.timeline ? "1" : "0";
  e["WARPLOOM_PTX_VERBOSE"] = a.verbose ? "1" : "0";
  e["WARPLOOM_PTX_SECONDS"] = fmt::format("{}", a.seconds);
  e["WARPLOOM_PTX_WORKERS"] = fmt::format("{}", a.workers);
  e["WARPLOOM_PTX_SMS"] = fmt::format("{}", a.sms);
  e["WARPLOOM_PTX_SUPPRESS"] = fmt::format("{}", fmt::join(a.suppress, ","));
  e["WARPLOOM_PTX_CHIP"] = *chip == 0 ? "" : fmt::format("{}", *chip);
  e["WARPLOOM_PTX_MUTATION"] = "";
  return run;
}

/// All barrier operations of all launches, each once.
std::vector<PtxSite> sites_of(const Told& told) {
  std::vector<PtxSite> sites;
  std::map<std::pair<std::string, std::string>, size_t> known;
  for (const Json& launch : told.launches) {
    for (const Json& site : launch.value("sites", Json::array())) {
      const auto [entry, added] = known.try_emplace({launch["kernel"], site["key"]}, sites.size());
      if (!added) {
        sites[entry->second].executions += site["executions"].get<uint64_t>();
        continue;
      }
      sites.push_back({.kernel = launch["name"],
                       .mangled = launch["kernel"],
                       .key = site["key"],
                       .operation = site["operation"],
                       .object = site["object"],
                       .file = site["file"],
                       .ptx_file = site["ptx_file"],
                       .line = site["line"],
                       .ptx_line = site["ptx_line"],
                       .executions = site["executions"]});
    }
  }
  return sites;
}

Result<std::pair<PtxSite, std::string>> mutation_of(const std::string& text, const std::vector<PtxSite>& sites) {
  std::vector<loom::Site> plain;
  for (const PtxSite& site : sites) {
    loom::Site& one = plain.emplace_back(loom::Site{.operation = site.operation, .object = site.object});
    one.at.user.file = site.key;  // so that its key names this one
  }
  const Result<loom::Mutation> mutation = parse_mutation(text, plain);
  if (!mutation) return mutation.why();
  for (size_t i = 0; i < plain.size(); ++i)
    if (plain[i].key() == mutation->site) return std::pair(sites[i], std::string(to_string(mutation->kind)));
  return Error{"there is no such site"};
}

/// Reports of launches, each once, with how many launches it is about.
struct Distinct {
  const Json* launch = nullptr;
  uint64_t times = 0;
};
std::vector<Distinct> distinct_reports(const Told& told) {
  std::vector<Distinct> list;
  std::map<std::string, size_t> known;
  for (const Json& launch : told.launches) {
    if (!launch.contains("identity")) continue;
    const auto [entry, added] = known.try_emplace(launch["identity"].get<std::string>(), list.size());
    if (added) list.push_back({&launch, 0});
    ++list[entry->second].times;
  }
  return list;
}

/// "" or why the loom never saw the program.
std::string never_seen(const Ended& ended, const std::string& program) {
  const Told& told = ended.told;
  if (told.chip != 0 || told.ended || !told.unsupported.empty() || !told.troubles.empty()) return {};
  return fmt::format(
      "'{}' never called this CUDA runtime: it must load libcudart.so.13; build it with nvcc -cudart shared (CUDA 13), "
      "and with its PTX (-gencode arch=compute_90a,code=[sm_90a,compute_90a])",
      shown(program));
}

int code_of(const Ended& ended) {
  if (!ended.told.unsupported.empty()) return could_not;
  if (ended.told.failed() > 0) return finding;
  if (!ended.told.not_translated.empty()) return could_not;
  return ended.signal != 0 ? interrupted + ended.signal : ended.code;
}

void print_json(const PtxArguments& a, const Ended& ended, int code) {
  const Told& told = ended.told;
  Json launches = Json::array(), reports = Json::array();
  for (Json launch : told.launches) {
    for (const char* field : {"identity", "text", "report", "sites"}) launch.erase(field);
    launches.push_back(std::move(launch));
  }
  for (const Distinct& one : distinct_reports(told)) {
    Json report = (*one.launch)["report"];
    reports.push_back({{"kernel", (*one.launch)["name"]}, {"launches", one.times}, {"report", std::move(report)}});
  }
  Json json{{"program", shown(a.program.front())},
            {"target", fmt::format("loom:sm{}", told.chip)},
            {"schedule", told.schedule},
            {"checked", a.check},
            {"correct", code == right},
            {"program_exit", ended.code},
            {"launches", launches},
            {"reports", reports},
            {"troubles", told.troubles},
            {"not_translated", told.not_translated}};
  if (ended.signal != 0) json["program_signal"] = ended.signal;
  if (!told.unsupported.empty()) json["unsupported"] = told.unsupported;
  put_json(json);
}

void print(const Ended& ended, const PtxArguments& a) {
  const Told& told = ended.told;
  double seconds = 0, compiling = 0;
  uint64_t steps = 0;
  for (const Json& launch : told.launches) {
    seconds += launch["seconds"].get<double>();
    compiling += launch["compile_seconds"].get<double>();
    steps += launch["steps"].get<uint64_t>();
    if (launch.contains("timeline"))
      say("{}\n{}\n", launch["name"].get<std::string>(), launch["timeline"].get<std::string>());
  }
  for (const Distinct& one : distinct_reports(told)) {
    put((*one.launch)["text"].get<std::string>());
    if (one.times > 1) say("  ... and so in {} more launches\n", one.times - 1);
  }
  flush();  // what was found, and then in short
  std::string what = told.failed() == 0 ? "no finding" : fmt::format("{} with a finding", told.failed());
  if (told.warned() > 0) what += fmt::format(", {} with warnings", told.warned());
  remark(fmt::format("{} launch{} on loom:sm{}, schedule {}{}: {}; {:.2f} s on this CPU, {} operations{}",
                     told.launches.size(), told.launches.size() == 1 ? "" : "es", told.chip, told.schedule,
                     a.check ? ", checked" : "", what, seconds, steps,
                     compiling > 0 ? fmt::format("; {:.1f} s of translating and compiling", compiling) : ""));
  if (ended.signal != 0) remark(fmt::format("the program was ended by signal {}", ended.signal));
}

}  // namespace

int ptx_run(const PtxArguments& a) {
  Result<Run> run = prepare(a);
  if (!run) return bad(run, a.json);
  if (a.sites || !a.mutate.empty()) {
    Run listing = *run;
    listing.environment["WARPLOOM_PTX_SITES"] = "1";
    listing.quiet = true;
    const Result<Ended> listed = start(listing);
    if (!listed) return bad(listed, a.json);
    if (std::string reason = never_seen(*listed, a.program.front()); !reason.empty()) return bad(reason, a.json);
    if (listed->told.failed() > 0)
      return bad("the program as it is has findings; run it without --sites and --mutate to see them", a.json);
    const std::vector<PtxSite> sites = sites_of(listed->told);
    if (a.sites) {
      print_ptx_sites(sites, a.json);
      return right;
    }
    const auto mutation = mutation_of(a.mutate, sites);
    if (!mutation) return bad(mutation, a.json);
    run->environment["WARPLOOM_PTX_MUTATION"] = mutation->second;
    run->environment["WARPLOOM_PTX_MUTATION_SITE"] = mutation->first.key;
    run->environment["WARPLOOM_PTX_MUTATION_KERNEL"] = mutation->first.mangled;
  }
  const Result<Ended> ended = start(*run);
  if (!ended) return bad(ended, a.json);
  if (std::string reason = never_seen(*ended, a.program.front()); !reason.empty()) return bad(reason, a.json);
  const int code = code_of(*ended);
  if (a.json)
    print_json(a, *ended, code);
  else
    print(*ended, a);
  return code;
}

}  // namespace warploom::cli
