#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cli/interruption.hpp"
#include "cli/lines.hpp"
#include "cli/ptx.hpp"
#include "cli/ptx_file.hpp"
#include "cli/ptx_memory.hpp"
#include "cli/ptx_sites.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "ptx/parser.hpp"
#include "ptx/program.hpp"
#include "warploom/loom/event.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::cli {

Result<loom::Schedule> ptx_schedule_of(const PtxArguments& a) {
  if (!a.schedule.empty()) {
    if (a.gave("--policy") || a.gave("--seed")) return Error{"give --schedule, or --policy and --seed, not both"};
    return loom::Schedule::parse(a.schedule);
  }
  if (a.policy.empty() && !a.gave("--seed")) return loom::Schedule{.policy = loom::Policy::lazy};
  return loom::Schedule::parse(fmt::format("{}:{:x}", a.policy.empty() ? "random" : a.policy, a.seed));
}

Result<std::vector<loom::Suppression>> ptx_suppressions_of(const PtxArguments& a) {
  std::vector<loom::Suppression> list;
  for (const std::string& text : a.suppress) {
    if (!is_utf8(text) || text.find(',') != std::string::npos)
      return Error{fmt::format("--suppress: '{}' is no CODE, CODE@file or CODE@file:line", shown(text))};
    Result<loom::Suppression> one = loom::Suppression::parse(text);
    if (!one) return one.why();
    list.push_back(std::move(*one));
  }
  return list;
}

namespace {

/// A kernel of the file: the only one, or the one that is asked for.
struct Chosen {
  const ptx::Image* image = nullptr;
  std::string name = {};
};

Result<Chosen> choose_kernel(const PtxFile& file, const PtxArguments& a) {
  std::vector<Chosen> all, exact;
  std::vector<std::string> names;
  for (const ptx::Image& image : file.images) {
    const Result<ptx::Module> module = ptx::parse(image.text, a.file);
    if (!module) return module.why();
    for (const ptx::Function& function : module->functions) {
      if (!function.entry || !function.defined) continue;
      const std::string mangled(function.name), plain = ptx::shown_kernel_name(mangled.c_str());
      all.push_back({&image, mangled});
      names.push_back(plain);
      if (a.kernel == mangled || a.kernel == plain || a.kernel == plain.substr(plain.rfind(':') + 1))
        exact.push_back(all.back());
    }
  }
  if (all.empty()) return Error{fmt::format("'{}' has no kernel", shown(a.file)), ErrorCode::not_found};
  if (a.kernel.empty() && all.size() == 1) return all.front();
  if (a.kernel.empty())
    return Error{fmt::format("'{}' has {} kernels; name one with --kernel: {}", shown(a.file), all.size(),
                             in_words(names.size() > 8 ? std::vector(names.begin(), names.begin() + 8) : names))};
  if (exact.size() == 1) return exact.front();
  if (exact.size() > 1)
    return Error{fmt::format("there are {} kernels '{}'; give the mangled name of one, such as {}", exact.size(),
                             shown(a.kernel), exact.front().name)};
  return Error{fmt::format("'{}' has no kernel '{}'; the nearest are {} (warploom ptx info lists all)", shown(a.file),
                           shown(a.kernel), in_words(nearest(a.kernel, names))),
               ErrorCode::not_found};
}

/// Everything that the command needs before it runs.
struct Prepared {
  std::unique_ptr<ptx::Program> program = {};
  const ptx::abi::Kernel* kernel = nullptr;
  std::unique_ptr<KernelArguments> memory = {};
  ptx::LaunchRequest request = {};
  loom::Options options = {};
  uint32_t chip = 90;

  loom::Outcome launch(const loom::Options& with) {
    memory->reset();
    return ptx::launch(*program, *kernel, request, memory->tensors(), with);
  }
  std::string name() const { return ptx::shown_kernel_name(kernel->name); }
};

Result<Prepared> prepare(const PtxArguments& a) {
  if (a.sites && !a.mutate.empty())
    return Error{"--sites lists barrier operations and does no more; leave --mutate out"};
  if (a.sites && a.timeline) return Error{"--sites lists barrier operations and does no more; leave --timeline out"};
  if (a.explore && !a.check) return Error{"--explore is for --check: without the checker there is no verdict"};
  if (a.explore && (a.timeline || a.sites)) return Error{"--explore tries schedules; leave --timeline and --sites out"};
  Prepared p;
  const Result<loom::Schedule> schedule = ptx_schedule_of(a);
  if (!schedule) return schedule.why();
  const Result<loom::Numerics> numerics = loom::parse_numerics(a.numerics);
  if (!numerics) return Error{fmt::format("--numerics is fast or exact, not '{}'", shown(a.numerics))};
  Result<std::vector<loom::Suppression>> suppressed = ptx_suppressions_of(a);
  if (!suppressed) return suppressed.why();
  const Result<Dim3> grid = parse_extents("--grid", a.grid), block = parse_extents("--block", a.block);
  if (!grid) return grid.why();
  if (!block) return block.why();
  p.request.grid = *grid;
  p.request.block = *block;
  if (!a.cluster.empty()) {
    const Result<Dim3> cluster = parse_extents("--cluster", a.cluster);
    if (!cluster) return cluster.why();
    p.request.cluster = *cluster;
  }
  p.request.dynamic_shared = a.shared;
  p.request.processors = static_cast<uint32_t>(a.sms);
  const Result<PtxFile> file = open_ptx(a);
  if (!file) return file.why();
  p.chip = file->chip;
  Result<KernelArguments> memory = KernelArguments::parse(a.arguments, p.chip);
  if (!memory) return memory.why();
  p.memory = std::make_unique<KernelArguments>(std::move(*memory));
  if (const Trouble trouble = p.memory->try_to_save()) return Error{trouble.sentence};
  const Result<Chosen> chosen = choose_kernel(*file, a);
  if (!chosen) return chosen.why();
  // Text of an executable lies where reports can name it; a file of PTX is named itself.
  const bool is_text = chosen->image->text.size() + 1 >= std::filesystem::file_size(a.file);
  std::string name = std::filesystem::canonical(a.file).string();
  if (!is_text) {
    Result<std::string> listing =
        ptx::write_listing(chosen->image->text, std::filesystem::path(a.file).stem().string());
    if (!listing) return listing.why();
    name = *listing;
  }
  p.program = std::make_unique<ptx::Program>(chosen->image->text, name);
  const Result<const ptx::abi::Kernel*> kernel = p.program->kernel(chosen->name);
  if (!kernel) return kernel.why();
  p.kernel = *kernel;
  Result<std::vector<std::byte>> parameters = p.memory->block_for(*p.kernel);
  if (!parameters) return parameters.why();
  p.request.parameters = std::move(*parameters);
  if (std::string reason = ptx::why_no_launch(*p.kernel, p.request); !reason.empty()) return Error{reason};
  if (std::string reason = p.program->why_no_partial_warp(*p.kernel, p.request.block); !reason.empty())
    return Error{reason, ErrorCode::unsupported};
  p.options.schedule = *schedule;
  p.options.numerics = *numerics;
  p.options.check = a.check;
  p.options.foreign = !a.strict;
  p.options.workers = a.workers;
  p.options.seconds_limit = a.seconds;
  p.options.processors = static_cast<uint32_t>(a.sms);
  p.options.suppressed = std::move(*suppressed);
  return p;
}

Json heading(const Prepared& p, const PtxArguments& a) {
  const auto list = [](const Dim3& d) { return Json::array({d.x, d.y, d.z}); };
  return {{"file", shown(a.file)},
          {"kernel", p.kernel->name},
          {"name", p.name()},
          {"target", fmt::format("loom:sm{}", p.chip)},
          {"grid", list(p.request.grid)},
          {"block", list(p.request.block)},
          {"dynamic_shared", p.request.dynamic_shared},
          {"checked", a.check}};
}

/// What is not as the files of `expect=` have it, in words.
Result<std::vector<std::string>> wrong_results(const KernelArguments& memory) {
  const Result<std::vector<KernelArguments::Difference>> differences = memory.differences();
  if (!differences) return differences.why();
  std::vector<std::string> texts;
  for (const KernelArguments::Difference& difference : *differences) texts.push_back(difference.text());
  return texts;
}

int explore(Prepared& p, const PtxArguments& a, Interruption& interruption) {
  loom::Subject subject{.what = p.name(), .launch = [&](const loom::Options& o) { return p.launch(o); }};
  subject.wrong = [&] {
    const Result<std::vector<std::string>> wrong = wrong_results(*p.memory);
    return !wrong ? wrong.error() : wrong->empty() ? std::string() : wrong->front();
  };
  const loom::Verdict verdict = loom::check(subject, {.run = p.options, .explore = true});
  interruption.over();
  if (verdict.kind == loom::Verdict::Kind::refused)
    return fail({verdict.refusal, exit_for(verdict.refusal_code)}, a.json);
  if (a.json) {
    Json json = heading(p, a);
    constexpr const char* kinds[] = {"holds", "none_found", "fails", "wrong_result", "refused"};
    json["verdict"] = kinds[static_cast<size_t>(verdict.kind)];
    json["sentence"] = verdict.sentence();
    json["schedules"] = verdict.exploration.done;
    if (verdict.kind == loom::Verdict::Kind::fails) json["report"] = Json::parse(to_json(verdict.report));
    if (verdict.kind == loom::Verdict::Kind::wrong) json["wrong_result"] = verdict.wrong_result;
    put_json(json);
  } else {
    if (verdict.kind == loom::Verdict::Kind::fails) put(to_text(verdict.report, terminal().color));
    say("{}\n", verdict.sentence());
  }
  return verdict.good() ? right : finding;
}

}  // namespace

int ptx_launch(const PtxArguments& a) {
  Interruption interruption({.last = [&](int signal) {
    abandon_unfinished_files();
    fail({"interrupted"}, a.json, signal);
  }});
  Result<Prepared> prepared = prepare(a);
  if (!prepared) return bad(prepared, a.json);
  Prepared& p = *prepared;
  if (a.sites || !a.mutate.empty()) {
    loom::Options listing = p.options;
    listing.record_sites = true;
    const loom::Outcome listed = p.launch(listing);
    if (listed.refused) return refused(listed, a.json);
    if (!listed.ok()) return bad("the kernel as it is does not run: " + listed.report.findings.front().message, a.json);
    if (a.sites) {
      interruption.over();
      print_ptx_sites(ptx_sites_of(p.name(), listed.sites), a.json);
      return right;
    }
    const Result<loom::Mutation> mutation = parse_mutation(a.mutate, listed.sites);
    if (!mutation) return bad(mutation, a.json);
    p.options.mutation = *mutation;
  }
  if (a.explore) return explore(p, a, interruption);
  p.options.record_events = a.timeline;
  Progress progress;
  p.options.progress = [&](uint32_t done, uint32_t total) { progress.show(done, total, "clusters"); };
  const auto start = std::chrono::steady_clock::now();
  const loom::Outcome outcome = p.launch(p.options);
  const double seconds = seconds_since(start);
  progress.clear();
  if (outcome.refused) return refused(outcome, a.json);
  const bool clean = outcome.ok();
  std::vector<std::string> wrong;
  if (clean) {
    const Result<std::vector<std::string>> found = wrong_results(*p.memory);
    if (!found) return bad(found, a.json);
    wrong = *found;
    if (const Trouble trouble = p.memory->save()) return fail(trouble, a.json);
  }
  interruption.over();
  double compile_seconds = 0;
  for (const ptx::LoadedObject& object : p.program->objects())
    if (!object.was_kept) compile_seconds += object.seconds;

  if (a.json) {
    Json json = heading(p, a);
    json["correct"] = clean && wrong.empty();
    json["schedule"] = p.options.schedule.text();
    json["seconds"] = seconds;
    json["compile_seconds"] = compile_seconds;
    json["steps"] = outcome.steps;
    json["nominal_cycles"] = outcome.nominal_cycles;
    json["suppressed"] = outcome.suppressed;
    json["wrong_results"] = wrong;
    json["printed"] = clean ? p.memory->printed() : std::vector<std::string>();
    json["warnings"] = outcome.report.warnings.size();
    if (!clean || !outcome.report.warnings.empty()) json["report"] = Json::parse(to_json(outcome.report));
    if (a.timeline)
      json["timeline"] = render_timeline(outcome.events, {.cluster = outcome.report.cluster, .width = 100});
    put_json(json);
    return clean && wrong.empty() ? right : finding;
  }
  if (a.timeline)
    say("{}\n",
        render_timeline(outcome.events,
                        {.cluster = clean ? 0 : outcome.report.cluster, .width = 100, .color = terminal().color}));
  if (!clean) {
    put(to_text(outcome.report, terminal().color));
    return finding;
  }
  if (!outcome.report.warnings.empty()) put(to_text(outcome.report, terminal().color));
  say("{} on loom:sm{}, schedule {}{}\n", p.name(), p.chip, p.options.schedule.text(), a.check ? ", checked" : "");
  for (const std::string& line : p.memory->printed()) say("{}\n", line);
  for (const std::string& line : wrong) say("{}\n", line);
  say("{:.2f} s on this CPU, {} operations{}\n", seconds, outcome.steps,
      compile_seconds > 0 ? fmt::format("; translated and compiled in {:.1f} s", compile_seconds) : "");
  return wrong.empty() ? right : finding;
}

}  // namespace warploom::cli
