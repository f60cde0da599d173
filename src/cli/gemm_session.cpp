// From the program's options, or a safetensors file, to a GEMM.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "cli/refusals.hpp"
#include "cli/safetensors.hpp"
#include "cli/session.hpp"
#include "cli/whole_file.hpp"
#include "warploom/kernels/gemm_gpu_hook.hpp"

namespace warploom::cli {
namespace {

template <class Value, size_t count>
Result<Value> choice(const char* option, const std::string& text,
                     const std::pair<const char*, Value> (&values)[count]) {
  std::string all;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  }
  return Error{fmt::format("{} is one of {}, not '{}'", option, all, text)};
}

Result<DType> type_of(const char* option, const std::string& text) {
  constexpr std::pair<const char*, DType> values[] = {
      {"bf16", DType::bf16}, {"f16", DType::f16}, {"f32", DType::f32}, {"e4m3", DType::e4m3}, {"e5m2", DType::e5m2}};
  return choice(option, text, values);
}
Result<Major> major_of(const char* option, const std::string& text) {
  constexpr std::pair<const char*, Major> values[] = {{"k", Major::k}, {"mn", Major::mn}};
  return choice(option, text, values);
}

/// Puts a choice where it belongs, and remembers the first sentence.
struct Reader {
  std::string error = {};
  template <class T>
  void operator()(T& to, Result<T> result) {
    if (result)
      to = *result;
    else if (error.empty())
      error = result.error();
  }
};

double bytes_of(const GemmDataSpec& s) {
  const double m = s.m, n = s.n, k = s.k;
  return s.batch * ((m * size_of(s.a) + n * size_of(s.b)) * k + 2 * m * n * size_of(s.d));
}

}  // namespace

Result<GemmDataSpec> spec_of(const RunArguments& a) {
  GemmDataSpec spec;
  for (int64_t extent : {a.m, a.n, a.k, a.batch})
    if (extent < 0 || extent > largest_extent)
      return Error{fmt::format("m, n, k and batch must lie between 0 and {}, not {}", largest_extent, extent)};
  spec.m = static_cast<int>(a.m);
  spec.n = static_cast<int>(a.n);
  spec.k = static_cast<int>(a.k);
  spec.batch = static_cast<int>(a.batch);
  spec.alpha = a.alpha;
  spec.beta = a.beta;
  spec.seed = a.data_seed;
  Reader read;
  read(spec.fill, fill_of(a));
  read(spec.d, type_of("--d-type", a.d_type));
  read(spec.bias_type, type_of("--bias-type", a.bias_type));
  if (a.kernel == "blockwise-fp8") {
    constexpr std::pair<const char*, Scaling> values[] = {{"blocks", Scaling::a_rows_b_blocks},
                                                          {"rows", Scaling::a_rows_b_rows}};
    spec.a = spec.b = DType::e4m3;
    read(spec.scaling, choice("--b-scales", a.b_scales, values));
  } else {
    read(spec.a, type_of("--a-type", a.a_type));
    read(spec.b, type_of("--b-type", a.b_type));
    read(spec.a_major, major_of("--a-major", a.a_major));
    read(spec.b_major, major_of("--b-major", a.b_major));
  }
  constexpr std::pair<const char*, BiasAlong> biases[] = {
      {"n", BiasAlong::n}, {"m", BiasAlong::m}, {"none", BiasAlong::none}};
  read(spec.bias, choice("--bias", a.bias.empty() ? "none" : a.bias, biases));
  std::pair<const char*, Activation> activations[std::size(all_activations)];
  for (size_t i = 0; i < std::size(all_activations); ++i)
    activations[i] = {name_of(all_activations[i]), all_activations[i]};
  read(spec.activation, choice("--activation", a.activation, activations));
  if (!read.error.empty()) return Error{read.error};
  return spec;
}

GemmProblem described(const GemmDataSpec& s) {
  // Far enough apart for any tensor.
  auto address = [next = uintptr_t{0}]() mutable { return reinterpret_cast<void*>(next += uintptr_t{1} << 58); };
  auto round_up = [](int64_t value, int64_t to) { return (std::max<int64_t>(value, 1) + to - 1) / to * to; };
  auto operand = [&](DType type, Major major, int64_t rows) {
    const int64_t stride = round_up(major == Major::k ? s.k : rows, 16 / size_of(type));
    return OperandRef{address(), type, stride, stride * (major == Major::k ? rows : s.k), major};
  };
  const int64_t d_stride = round_up(s.n, 16 / size_of(s.d));
  GemmProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.batch = s.batch;
  p.a = operand(s.a, s.a_major, s.m);
  p.b = operand(s.b, s.b_major, s.n);
  p.d = {address(), s.d, d_stride, d_stride * s.m};
  p.c = {address(), s.d == DType::e4m3 ? DType::bf16 : s.d, d_stride, d_stride * s.m};
  p.bias = {address(), s.bias_type, s.bias};
  p.alpha = s.alpha;
  p.beta = s.beta;
  p.activation = s.activation;
  p.scaling = s.scaling;
  const int64_t blocks = (int64_t{s.k} + 127) / 128;
  const bool by_rows = s.scaling == Scaling::a_rows_b_rows;
  const auto scales = [&](int64_t stride, int64_t lines) {
    return ScalesRef{static_cast<const float*>(address()), stride, round_up(stride * lines, 4)};
  };
  p.a_scales = scales(round_up(s.m, 4), blocks);
  p.b_scales = by_rows ? scales(round_up(s.n, 4), blocks) : scales(blocks, (int64_t{s.n} + 127) / 128);
  return p;
}

namespace {

// ---- tensors from a file

std::string text_of(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// The last two dimensions, and a batch before them where there is one.
struct Matrices {
  int64_t batch = 1, outer = 0, inner = 0;
};
std::optional<Matrices> matrices_of(const SafeTensor& tensor) {
  const std::vector<int64_t>& s = tensor.shape;
  if (s.size() == 2) return Matrices{1, s[0], s[1]};
  if (s.size() == 3) return Matrices{s[0], s[1], s[2]};
  return std::nullopt;
}

constexpr std::string_view names_of_operands[] = {"a", "b", "c", "bias", "a_scales", "b_scales"};

/// Shapes and types from the file into `spec`, tensors into `sources`; "" or what does not fit.
std::string take_tensors(const SafeTensors& file, GemmDataSpec& spec, GemmSources& sources) {
  const std::pair<const char*, bool> needed[] = {{"a", true},
                                                 {"b", true},
                                                 {"c", spec.beta != 0.0f},
                                                 {"bias", spec.bias != BiasAlong::none},
                                                 {"a_scales", spec.scaling != Scaling::none},
                                                 {"b_scales", spec.scaling != Scaling::none}};
  for (const auto& [name, is_needed] : needed)
    if (is_needed)
      if (std::string reason = file.why_unread(name); !reason.empty()) return reason;
  const SafeTensor *a = file.find("a"), *b = file.find("b"), *c = file.find("c"), *bias = file.find("bias");
  if (a == nullptr || b == nullptr)
    return fmt::format("the file has no tensor '{}'; it has {}", a == nullptr ? "a" : "b", file.names());
  const std::optional<Matrices> of_a = matrices_of(*a), of_b = matrices_of(*b);
  if (!of_a || !of_b)
    return fmt::format("a is {} and b {}; both need two dimensions, or three with a batch", text_of(a->shape),
                       text_of(b->shape));
  spec.a = a->type;
  spec.b = b->type;
  const bool a_k = spec.a_major == Major::k, b_k = spec.b_major == Major::k;
  const int64_t m = a_k ? of_a->outer : of_a->inner, k = a_k ? of_a->inner : of_a->outer;
  const int64_t n = b_k ? of_b->outer : of_b->inner, k_of_b = b_k ? of_b->inner : of_b->outer;
  if (k != k_of_b || of_a->batch != of_b->batch)
    return fmt::format("a is {} and b {}: they disagree on {}", text_of(a->shape), text_of(b->shape),
                       k != k_of_b ? "k" : "the batch");
  if (std::max({m, n, k, of_a->batch}) > largest_extent) return fmt::format("extents go up to {}", largest_extent);
  spec.m = static_cast<int>(m);
  spec.n = static_cast<int>(n);
  spec.k = static_cast<int>(k);
  spec.batch = static_cast<int>(of_a->batch);
  sources.a = a->data.data();
  sources.b = b->data.data();

  const DType c_type = spec.d == DType::e4m3 ? DType::bf16 : spec.d;
  if (spec.beta != 0.0f) {
    if (c == nullptr) return "beta is not 0, and the file has no tensor 'c'";
    const std::optional<Matrices> of_c = matrices_of(*c);
    if (!of_c || of_c->outer != m || of_c->inner != n || of_c->batch != of_a->batch || c->type != c_type)
      return fmt::format("c is {} in {}; it must be [{}, {}] in {}", text_of(c->shape), name_of(c->type), m, n,
                         name_of(c_type));
    sources.c = c->data.data();
  }
  if (spec.bias != BiasAlong::none) {
    const int64_t length = spec.bias == BiasAlong::n ? n : m;
    if (bias == nullptr) return "--bias asks for a tensor 'bias', and the file has none";
    if (bias->shape != std::vector<int64_t>{length})
      return fmt::format("bias is {}; it must be [{}]", text_of(bias->shape), length);
    spec.bias_type = bias->type;
    sources.bias = bias->data.data();
  }
  if (spec.scaling == Scaling::none) return {};
  const int64_t blocks = (k + 127) / 128;
  const SafeTensor *a_scales = file.find("a_scales"), *b_scales = file.find("b_scales");
  const std::string batches = spec.batch == 1 ? "" : fmt::format("{}, ", spec.batch);
  auto fits = [&](const SafeTensor* scales, int64_t outer, int64_t inner, bool exact) {
    if (scales == nullptr || scales->type != DType::f32) return false;
    const std::optional<Matrices> of = matrices_of(*scales);
    return of && of->batch == spec.batch && of->outer == outer && (exact ? of->inner == inner : of->inner >= inner);
  };
  if (!fits(a_scales, blocks, m, false))
    return fmt::format("a_scales must be there, in f32, [{}{}, {} or more]", batches, blocks, m);
  const bool by_rows = spec.scaling == Scaling::a_rows_b_rows;
  if (by_rows ? !fits(b_scales, blocks, n, false) : !fits(b_scales, (n + 127) / 128, blocks, true))
    return by_rows ? fmt::format("b_scales must be there, in f32, [{}{}, {} or more]", batches, blocks, n)
                   : fmt::format("b_scales must be there, in f32, [{}{}, {}]", batches, (n + 127) / 128, blocks);
  sources.a_scales = reinterpret_cast<const float*>(a_scales->data.data());
  sources.b_scales = reinterpret_cast<const float*>(b_scales->data.data());
  sources.a_scales_stride = a_scales->shape.back();
  sources.b_scales_stride = b_scales->shape.back();
  return {};
}

/// FNV-1a, eight bytes at a time.
uint64_t hash_of(std::span<const std::byte> bytes, uint64_t hash) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<size_t>(8, bytes.size()))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<size_t>(8, bytes.size()));
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 32;  // so that high bits tell, too
  }
  return hash;
}

/// What is read of the file, in a word.
std::string hash_of(const SafeTensors& file) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string_view name : names_of_operands)
    if (const SafeTensor* tensor = file.find(std::string(name)))
      hash = hash_of(tensor->data, hash + tensor->data.size());
  return fmt::format("{:016x}", hash);
}

constexpr const char* no_gpu =
    "this program was built without CUDA; it runs on loom:sm90 and loom:sm100, and a build with -DWARPLOOM_GPU=ON runs "
    "on a GPU";

/// The plan that the arguments ask for: on the loom, one whose configuration is built.
Result<GemmPlan> plan_as_asked(const RunArguments& a, const GemmProblem& problem, const ChipLimits& chip) {
  const bool on_loom = a.on != "gpu";
  if (!a.config.empty() && a.config != "auto") {
    Result<const GemmConfig*> config = find_gemm_config(a.config);
    if (!config) return Error{no_config(a, problem.scaling, chip.chip)};
    if ((*config)->shape.chip != chip.chip)
      return Error{fmt::format("configuration {} is for {}, not for {}", a.config, name_of((*config)->shape.chip),
                               name_of(chip.chip))};
    if (on_loom)
      if (std::string reason = why_not_on_loom(**config); !reason.empty()) return Error{reason};
    return plan_gemm(problem, **config, a.splits, chip);
  }
  Result<GemmPlan> best = on_loom ? plan_gemm_on_loom(problem, chip) : plan_gemm(problem, chip);
  if (!best) return best;
  if (best->instead_of != nullptr && !a.json) remark(best->why);
  if (a.splits == 0) return best;
  Result<GemmPlan> split = plan_gemm(problem, *best->config, a.splits, chip);
  if (split) split->instead_of = best->instead_of;
  return split;
}

}  // namespace

ChipLimits GemmSession::chip_of(const RunArguments& arguments) {
  ChipLimits chip = ChipLimits::of(arguments.on == "loom:sm100" ? Chip::sm100 : Chip::sm90);
  if (arguments.on == "gpu" && gemm_gpu_hook() != nullptr) chip = gemm_gpu_hook()->chip();
  if (arguments.sms != 0) chip.sms = arguments.sms;
  return chip;
}

std::string GemmSession::why_no_gpu() {
  const GemmGpuHook* gpu = gemm_gpu_hook();
  if (gpu == nullptr) return no_gpu;
  const Result<std::string> device = gpu->device();
  return device ? "" : device.error();
}

Result<std::unique_ptr<Session>> GemmSession::prepare(const RunArguments& arguments, loom::Schedule schedule) {
  RunArguments a = arguments;
  if (a.on == "gpu")
    if (std::string reason = why_no_gpu(); !reason.empty()) return Error{reason};
  Result<GemmDataSpec> spec = spec_of(a);
  if (!spec) return spec.why();
  GemmSources sources;
  std::optional<SafeTensors> file;
  if (!a.tensors.empty()) {
    Result<SafeTensors> read =
        SafeTensors::read(a.tensors, {std::begin(names_of_operands), std::end(names_of_operands)});
    if (!read) return read.why();
    file.emplace(std::move(*read));
    std::string problem = take_tensors(*file, *spec, sources);
    if (problem.empty()) problem = contradiction(a, *spec);
    if (!problem.empty()) return Error{fmt::format("{}: {}", a.tensors, problem)};
  }
  if (const double bytes = bytes_of(*spec); bytes > 8e9)
    return Error{fmt::format("a problem of {:.1f} GB is too large; at most 8 GB are allowed", bytes * 1e-9)};
  const ChipLimits chip = chip_of(a);
  if (std::string reason = refusal(a, *spec, chip.chip); !reason.empty()) return Error{reason};
  std::unique_ptr<GemmSession> session(new GemmSession(a, std::move(schedule), GemmData(*spec, sources)));
  if (spec->fill == Fill::ring && session->data_.ring() == 0)
    return Error{
        fmt::format("{} ring: K is so long that not even sums of zeros and ones are exact in D; a shorter K, or "
                    "--d-type f32",
                    fill_option(a))};
  Result<GemmPlan> planned = plan_as_asked(a, session->data_.problem(), chip);
  if (!planned) return planned.why();
  session->plan_ = *planned;
  if (file) session->tensors_ = hash_of(*file);
  return std::unique_ptr<Session>(std::move(session));
}

Result<loom::Outcome> GemmSession::launch(const loom::Options& options) {
  loom::Options with_ring = options;
  with_ring.ring = data_.ring();
  return run_on_loom(data_.problem(), plan_, with_ring);
}

Result<GpuRun> GemmSession::run_on_gpu() {
  const GemmGpuHook* gpu = gemm_gpu_hook();
  if (gpu == nullptr) return Error{no_gpu};
  Result<std::string> device = gpu->device();
  if (!device) return device.why();
  Result<GemmGpuRun> ran = gpu->run(data_.problem(), plan_, std::max(arguments_.launches, 1));
  if (!ran) return ran.why();
  return GpuRun{ran->microseconds, *device};
}

std::vector<loom::Part> GemmSession::parts() const {
  const GemmDataSpec& s = data_.spec();
  std::vector<loom::Part> parts;
  const auto add = [&](const char* group, const char* name, const auto& value) {
    parts.push_back({group, name, fmt::format("{}", value)});
  };
  const auto major = [](Major m) { return m == Major::k ? "k" : "mn"; };
  add("kernel", "kernel", arguments_.kernel);
  add("configuration", "target", arguments_.on);
  add("configuration", "configuration", plan_.config->key);
  add("configuration", "splits", plan_.splits);
  add("configuration", "CTAs", plan_.ctas);
  add("configuration", "clusters at a time", plan_.at_once);
  add("configuration", "early weight blocks", plan_.weight_blocks);
  add("configuration", "raster",
      fmt::format("{} by {}", plan_.raster.along == Raster::Along::m ? "m" : "n", plan_.raster.group));
  add("problem", "m", s.m);
  add("problem", "n", s.n);
  add("problem", "k", s.k);
  add("problem", "batch", s.batch);
  add("problem", "A", fmt::format("{} {}", name_of(s.a), major(s.a_major)));
  add("problem", "B", fmt::format("{} {}", name_of(s.b), major(s.b_major)));
  add("problem", "D", name_of(s.d));
  add("problem", "scales", s.scaling == Scaling::none ? "none" : arguments_.b_scales.c_str());
  add("problem", "bias", s.bias == BiasAlong::none ? "none" : s.bias == BiasAlong::n ? "n" : "m");
  add("problem", "bias type", name_of(s.bias_type));
  add("problem", "activation", name_of(s.activation));
  add("problem", "alpha", s.alpha);
  add("problem", "beta", s.beta);
  add("problem", "padding",
      fmt::format("{}{}{}{}", s.padding, s.odd_output ? ", odd output" : "", s.in_place ? ", in place" : "",
                  s.shared_a ? ", one A" : ""));
  add("set of data", "data", arguments_.tensors.empty() ? arguments_.fill : "tensors of a file");
  add("set of data", "data seed", s.seed);
  add("set of data", "tensors", tensors_.empty() ? "made up" : tensors_.c_str());
  add("set of data", "modulus", data_.ring());
  return parts;
}

Trouble GemmSession::save() const {
  if (arguments_.out.empty()) return {};
  const GemmDataSpec& spec = data_.spec();
  const std::vector<std::byte> dense = data_.dense_d();
  std::vector<int64_t> shape{spec.m, spec.n};
  if (spec.batch != 1) shape.insert(shape.begin(), spec.batch);
  return write_whole(arguments_.out, to_safetensors({{"d", spec.d, shape, dense}}));
}

}  // namespace warploom::cli
