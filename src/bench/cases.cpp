#include "bench/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace warploom::bench {
namespace {

struct Layer {
  const char* model;
  int n, k;
};

constexpr Sizes gemms[] = {
    {4096, 2112, 7168}, {4096, 24576, 1536}, {4096, 32768, 512}, {4096, 7168, 16384},
    {4096, 4096, 7168}, {4096, 7168, 2048},  {4096, 4096, 4096}, {8192, 8192, 8192},
    {2048, 2048, 2048}, {16384, 4096, 4096}, {128, 7168, 2048},  {128, 4096, 7168},
    {64, 2112, 7168},   {64, 24576, 1536},   {16, 8192, 8192},   {1, 8192, 8192},
};

/// Weights of one layer each, [n, k]; fused where inference engines fuse them.
constexpr Layer layers[] = {
    {"Llama-3 8B qkv", 6144, 4096},
    {"Llama-3 8B out", 4096, 4096},
    {"Llama-3 8B gate+up", 28672, 4096},
    {"Llama-3 8B down", 4096, 14336},
    {"Llama-3 70B qkv", 10240, 8192},
    {"Llama-3 70B out", 8192, 8192},
    {"Llama-3 70B gate+up", 57344, 8192},
    {"Llama-3 70B down", 8192, 28672},
    {"DeepSeek-V3 q_a+kv_a", 2112, 7168},
    {"DeepSeek-V3 q_b", 24576, 1536},
    {"DeepSeek-V3 kv_b", 32768, 512},
    {"DeepSeek-V3 out", 7168, 16384},
    {"DeepSeek-V3 expert gate+up", 4096, 7168},
    {"DeepSeek-V3 expert down", 7168, 2048},
};

std::vector<Case> all_gemms(Kind kind) {
  std::vector<Case> cases;
  for (const Sizes& size : gemms) cases.push_back(make_case(kind, size.m, size.n, size.k));
  return cases;
}

std::vector<Case> decode() {
  constexpr Sizes weights[] = {{0, 7168, 2048}, {0, 4096, 7168}, {0, 2112, 7168}, {0, 24576, 1536}, {0, 8192, 8192}};
  std::vector<Case> cases;
  for (const Kind kind : {Kind::bf16, Kind::blockwise})
    for (const Sizes& w : weights)
      for (const int m : {1, 2, 4, 8, 16, 32, 64}) cases.push_back(make_case(kind, m, w.n, w.k));
  return cases;
}

std::vector<Case> epilogue() {
  std::vector<Case> cases;
  for (const char* shape : {"bf16 4096x7168x2048", "bf16 8192x8192x8192"})
    for (const char* rest : {"", " +C", " +bias", " +C +bias silu"})
      cases.push_back(*parse_case(std::string(shape) + rest));
  return cases;
}

std::vector<Case> serving() {
  std::vector<Case> cases;
  for (const Kind kind : {Kind::bf16, Kind::blockwise})
    for (const Layer& layer : layers)
      for (const int m : {1, 4, 16, 64, 256, 1024, 4096, 8192}) {
        cases.push_back(make_case(kind, m, layer.n, layer.k));
        cases.back().model = layer.model;
      }
  return cases;
}

std::optional<Activation> parse_activation(std::string_view text) {
  for (const Activation activation : all_activations)
    if (activation != Activation::none && text == name_of(activation)) return activation;
  return std::nullopt;
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::bf16: return "bf16";
    case Kind::f16: return "f16";
    case Kind::fp8: return "fp8";
    case Kind::blockwise: return "blockwise";
  }
  return "?";
}

Result<Kind> parse_kind(std::string_view text) {
  for (const Kind kind : {Kind::bf16, Kind::f16, Kind::fp8, Kind::blockwise})
    if (text == to_string(kind)) return kind;
  return Error{fmt::format("there are no cases of kind '{}'; there are bf16, f16, fp8 and blockwise", text)};
}

std::string Case::epilogue() const {
  std::string text;
  const auto add = [&](std::string_view part) {
    if (part.empty()) return;
    if (!text.empty()) text += ' ';
    text += part;
  };
  if (problem.beta != 0) add("+C");
  if (problem.bias.along == BiasAlong::n) add("+bias");
  if (problem.bias.along == BiasAlong::m) add("+bias(m)");
  if (problem.activation != Activation::none) add(name_of(problem.activation));
  return text;
}

std::string Case::label() const {
  std::string text = fmt::format("{} {}x{}x{}", to_string(kind), problem.m, problem.n, problem.k);
  if (const std::string rest = epilogue(); !rest.empty()) text += " " + rest;
  return text;
}

double Case::flops() const { return 2.0 * problem.m * problem.n * problem.k * problem.batch; }

double Case::bytes() const {
  const GemmProblem& p = problem;
  const double m = p.m, n = p.n, k = p.k;
  double bytes = p.batch * (m * k * size_of(p.a.type) + n * k * size_of(p.b.type) + m * n * size_of(p.d.type));
  if (p.beta != 0) bytes += p.batch * m * n * size_of(p.c.type);
  const int k_blocks = (p.k + 127) / 128, n_blocks = (p.n + 127) / 128;
  const double blocks = k_blocks;
  if (p.scaling != Scaling::none) bytes += 4 * m * blocks;
  if (p.scaling == Scaling::a_rows_b_rows) bytes += 4 * n * blocks;
  if (p.scaling == Scaling::a_rows_b_blocks) bytes += 4.0 * n_blocks * blocks;
  return bytes;
}

Case make_case(Kind kind, int m, int n, int k) {
  Case made;
  made.kind = kind;
  GemmProblem& p = made.problem;
  p.m = m;
  p.n = n;
  p.k = k;
  const bool fp8 = kind == Kind::fp8 || kind == Kind::blockwise;
  const DType type = fp8 ? DType::e4m3 : kind == Kind::f16 ? DType::f16 : DType::bf16;
  p.a = {nullptr, type, k, int64_t{m} * k, Major::k};
  p.b = {nullptr, type, k, int64_t{n} * k, Major::k};
  p.d = {nullptr, kind == Kind::f16 ? DType::f16 : DType::bf16, n, int64_t{m} * n};
  if (kind == Kind::blockwise) {
    p.scaling = Scaling::a_rows_b_blocks;
    p.a_scales.stride = (m + 3) / 4 * 4;
  }
  return made;
}

Result<Case> parse_case(std::string_view label) {
  std::vector<std::string_view> words;
  for (std::string_view rest = label; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    words.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (words.size() < 2)
    return Error{fmt::format("'{}' is not a case; one is written as bf16 4096x7168x2048 +C +bias silu", label)};
  const auto kind = parse_kind(words[0]);
  if (!kind) return Error{kind.error()};
  const auto sizes = parse_sizes(words[1]);
  if (!sizes) return Error{sizes.error()};
  Case made = make_case(*kind, sizes->m, sizes->n, sizes->k);
  GemmProblem& p = made.problem;
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "+C") {
      p.beta = 1.0f;
      p.c = {nullptr, p.d.type, p.d.stride, p.d.batch_stride};
    } else if (words[i] == "+bias" || words[i] == "+bias(m)") {
      p.bias = {nullptr, p.d.type, words[i] == "+bias" ? BiasAlong::n : BiasAlong::m};
    } else if (const auto activation = parse_activation(words[i])) {
      p.activation = *activation;
    } else {
      return Error{
          fmt::format("'{}' is no epilogue; there are +C, +bias, +bias(m), relu, gelu, gelu_tanh and silu", words[i])};
    }
  }
  return made;
}

GemmProblem somewhere(GemmProblem problem) {
  const auto at = [](uintptr_t megabytes) { return reinterpret_cast<void*>(megabytes << 20); };
  problem.a.data = at(0x10000);
  problem.b.data = at(0x20000);
  problem.c.data = at(0x30000);
  problem.d.data = at(0x40000);
  problem.bias.data = at(0x50000);
  problem.a_scales.data = static_cast<const float*>(at(0x60000));
  problem.b_scales.data = static_cast<const float*>(at(0x70000));
  return problem;
}

std::string raster_text(const Raster& raster) {
  return fmt::format("{}{}", raster.along == Raster::Along::m ? 'm' : 'n', raster.group);
}

std::string describe(const GemmPlan& plan) {
  return fmt::format("{}{} {}", plan.config->key, plan.splits > 1 ? fmt::format(" /{}", plan.splits) : "",
                     raster_text(plan.raster));
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {"dense", "bf16, from one row to 16384", [] { return all_gemms(Kind::bf16); }},
      {"blockwise", "FP8 with block scales, the same shapes", [] { return all_gemms(Kind::blockwise); }},
      {"decode", "1 to 64 rows, both kernels: the memory's speed is the limit", &decode},
      {"epilogue", "bf16 with residual, bias and activation", &epilogue},
      {"serving", "layers of Llama-3 and DeepSeek-V3, 1 to 8192 rows, both kernels", &serving},
  };
  return all;
}

Result<std::vector<Case>> suite(std::string_view name) {
  std::string names;
  for (const Suite& candidate : suites()) {
    if (name == candidate.name) return candidate.cases();
    names += std::string(names.empty() ? "" : ", ") + candidate.name;
  }
  return Error{fmt::format("there is no suite '{}'; there are {}", name, names)};
}

Result<Sizes> parse_sizes(std::string_view text) {
  Sizes sizes;
  const char *at = text.data(), *end = at + text.size();
  bool right = true;
  for (int* part : {&sizes.m, &sizes.n, &sizes.k}) {
    if (part != &sizes.m && right) {
      right = at != end && *at == 'x';
      at += right;
    }
    const auto [next, error] = std::from_chars(at, end, *part);
    right = right && error == std::errc() && *part >= 1;
    at = next;
  }
  if (!right || at != end)
    return Error{fmt::format("'{}' is not a shape; one is written MxNxK, as 4096x7168x2048", text)};
  return sizes;
}

Result<GemmPlan> plan_for(const std::string& key, int splits, const GemmProblem& problem, const ChipLimits& chip) {
  if (key.empty()) return plan_gemm(problem, chip);
  const auto config = find_gemm_config(key);
  if (!config) return Error{config.error()};
  return plan_gemm(problem, **config, splits, chip);
}

}  // namespace warploom::bench
