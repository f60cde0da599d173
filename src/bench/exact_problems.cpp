#include "bench/exact_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/dice.hpp"
#include "bench/random_problem.hpp"
#include "kernels/gemm_params.hpp"
#include "kernels/gemm_values.hpp"

namespace warploom::bench {
namespace {

class Fnv {
 public:
  void bytes(const void* data, size_t count) {
    for (size_t i = 0; i < count; ++i) hash_ = (hash_ ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3ull;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325ull;
};

uint64_t seed_of(const GemmConfig& config, int number) {
  Fnv fnv;
  fnv.bytes(config.key, std::char_traits<char>::length(config.key));
  return fnv.value() + static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15ull;
}

/// One, less than a cluster's tile, around one, or more than one.
int extent(Dice& dice, int tile) {
  switch (dice.below(5)) {
    case 0: return dice.between(1, 9);
    case 1: return dice.between(1, tile);
    case 2: return std::max(1, tile + dice.between(-1, 1));
    default: return std::min(tile + dice.between(1, tile), 300);
  }
}

GemmDataSpec spec_of(const GemmConfig& config, Dice& dice) {
  const GemmShape& s = config.shape;
  const int rows = s.swap ? s.tile_right * s.cluster_right : s.tile_left * s.cluster_left;
  const int columns = s.swap ? s.tile_left * s.cluster_left : s.tile_right * s.cluster_right;
  GemmDataSpec spec;
  spec.a = config.a;
  spec.b = config.b;
  spec.a_major = config.a_major;
  spec.b_major = config.b_major;
  spec.scaling = config.scaling;
  spec.m = extent(dice, rows);
  spec.n = extent(dice, columns);
  spec.k = dice.between(1, 6 * s.tile_k);
  spec.batch = dice.one_in(4) ? 3 : 1;
  if (config.scaling != Scaling::none) {
    spec.batch = 1;
    spec.n = (spec.n + 7) / 8 * 8;
  }
  spec.d = dice.of({DType::f32, DType::f32, DType::bf16, DType::f16, DType::e4m3});  // f32 hides nothing
  spec.bias = dice.of({BiasAlong::none, BiasAlong::n, BiasAlong::m});
  spec.bias_type = dice.of({DType::f32, DType::bf16, DType::f16});
  spec.activation = dice.of({Activation::none, Activation::none, Activation::none, Activation::relu, Activation::gelu,
                             Activation::gelu_tanh, Activation::silu});
  spec.alpha = dice.of({1.0f, -0.5f, 0.37f});
  spec.beta = dice.of({0.0f, 0.0f, 0.5f, -1.7f});
  spec.fill = Fill::uniform;
  spec.seed = dice.bits();
  spec.padding = dice.below(3);
  spec.odd_output = dice.one_in(4);
  spec.in_place = spec.d != DType::e4m3 && dice.one_in(4);
  spec.shared_a = dice.one_in(6);
  return spec;
}

/// A finite number of any sign and mantissa, with exponents far enough apart that sums lose bits and near enough that
/// many terms count.
uint32_t wide_code(DType type, Dice& dice) {
  const auto sign = static_cast<uint32_t>(dice.below(2));
  const auto mantissa = static_cast<uint32_t>(dice.bits());
  switch (type) {
    case DType::bf16: return sign << 15 | static_cast<uint32_t>(127 + dice.between(-11, 9)) << 7 | (mantissa & 0x7f);
    case DType::f16: return sign << 15 | static_cast<uint32_t>(15 + dice.between(-10, 6)) << 10 | (mantissa & 0x3ff);
    case DType::e5m2: return sign << 7 | static_cast<uint32_t>(15 + dice.between(-9, 8)) << 2 | (mantissa & 3);
    default: return sign << 7 | std::min(mantissa & 0x7f, 0x7eu);
  }
}

std::vector<std::byte> wide_operand(DType type, int64_t count, Dice& dice) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(type));
  for (size_t i = 0; i < bytes.size(); i += size_of(type)) {
    const uint32_t code = wide_code(type, dice);
    for (size_t j = 0; j < size_of(type); ++j) bytes[i + j] = static_cast<std::byte>(code >> (8 * j));
  }
  return bytes;
}

/// Half of the problems without scales have operands with wide exponents.
GemmData make_data(const GemmDataSpec& spec, Dice& dice) {
  if (spec.scaling != Scaling::none || dice.one_in(2)) return GemmData(spec);
  const int64_t k = spec.k;
  const std::vector<std::byte> a = wide_operand(spec.a, k * spec.m * (spec.shared_a ? 1 : spec.batch), dice);
  const std::vector<std::byte> b = wide_operand(spec.b, k * spec.n * spec.batch, dice);
  return GemmData(spec, {.a = a.data(), .b = b.data()});
}

GemmData make_data(const GemmConfig& config, int number) {
  Dice dice(seed_of(config, number));
  const GemmDataSpec spec = spec_of(config, dice);
  return make_data(spec, dice);
}

/// Where nobody has written yet, the D of the recorded hashes held the NaN of operands' padding.
void add_recorded_d(Fnv& fnv, DType type, std::vector<std::byte> bytes) {
  for (size_t at = 0; at + size_of(type) <= bytes.size(); at += size_of(type))
    if (load_bits(type, bytes.data() + at) == unwritten_bits(type)) store_bits(type, bytes.data() + at, nan_bits(type));
  fnv.bytes(bytes.data(), bytes.size());
}

}  // namespace

ExactProblem::ExactProblem(const GemmConfig& config, int number)
    : data_(make_data(config, number)), problem_(data_.problem()) {
  Dice dice(~seed_of(config, number));
  // Kernels with large tiles do not split. Few SMs: clusters with several tiles.
  const int splits = config.shape.partial_floats != 0 && dice.one_in(3) ? dice.between(2, 4) : 1;
  const ChipLimits chip{config.shape.cluster_size() * (dice.one_in(2) ? 1 : 4)};
  Result<GemmPlan> plan = plan_gemm(problem_, config, splits, chip);
  if (!plan) plan = plan_gemm(problem_, config, 1, chip);
  if (plan) plan_ = *plan;
  if (plan_.config == nullptr) return;
  Fnv fnv;
  for (const loom::TensorRef& tensor : gemm_tensors(problem_, plan_, nullptr)) {
    if (tensor.pointer == nullptr) continue;
    const auto* const bytes = static_cast<const std::byte*>(tensor.pointer);
    if (tensor.pointer != problem_.d.data)
      fnv.bytes(bytes, tensor.bytes);
    else
      add_recorded_d(fnv, problem_.d.type, {bytes, bytes + tensor.bytes});
  }
  inputs_hash_ = fnv.value();
}

std::string ExactProblem::text() const {
  return fmt::format("{}, {} splits, {} CTAs", describe(problem_), plan_.splits, plan_.ctas);
}

uint64_t ExactProblem::result_hash() const {
  const std::vector<std::byte> d = data_.dense_d();
  Fnv fnv;
  fnv.bytes(d.data(), d.size());
  return fnv.value();
}

std::string to_line(const ExactHashes& hashes) {
  nlohmann::ordered_json json{{"config", hashes.config}};
  for (const auto& [name, list] : {std::pair{"inputs", &hashes.inputs}, std::pair{"d", &hashes.results}}) {
    json[name] = nlohmann::ordered_json::array();
    for (const uint64_t hash : *list) json[name].push_back(fmt::format("{:016x}", hash));
  }
  return json.dump();
}

Result<ExactHashes> parse_exact_hashes(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("config") || !json.contains("inputs") || !json.contains("d"))
    return Error{"a line of hashes has config, inputs and d; this has not: " + line.substr(0, 80)};
  ExactHashes hashes;
  hashes.config = json["config"].get<std::string>();
  for (const auto& text : json["inputs"]) hashes.inputs.push_back(std::stoull(text.get<std::string>(), nullptr, 16));
  for (const auto& text : json["d"]) hashes.results.push_back(std::stoull(text.get<std::string>(), nullptr, 16));
  return hashes;
}

}  // namespace warploom::bench
