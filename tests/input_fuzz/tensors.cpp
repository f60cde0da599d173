// Files of tensors, whole and damaged: an exit code of 0 stands for the product of what is in the file, as a reader of
// its own finds it there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "bench/dice.hpp"
#include "input_fuzz/answer.hpp"
#include "input_fuzz/input_fuzz.hpp"
#include "kernels/gemm_values.hpp"
#include "support/json.hpp"

namespace warploom::test::input_fuzz {
namespace {

using bench::Dice;

constexpr std::pair<DType, const char*> types[] = {{DType::f32, "F32"},
                                                   {DType::f16, "F16"},
                                                   {DType::bf16, "BF16"},
                                                   {DType::e4m3, "F8_E4M3"},
                                                   {DType::e5m2, "F8_E5M2"}};
const char* safetensors_name(DType type) {
  return std::find_if(std::begin(types), std::end(types), [&](const auto& one) { return one.first == type; })->second;
}

struct Tensor {
  DType type = DType::f32;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// A problem that its options and its file describe together.
struct Asked {
  std::vector<std::string> words;
  Scaling scaling = Scaling::none;
  Major a_major = Major::k, b_major = Major::k;
  DType d = DType::bf16;
  float alpha = 1, beta = 0;
  BiasAlong bias = BiasAlong::none;
  Activation activation = Activation::none;
  bool few_bits = false;  ///< for wrong_answer
};

std::string made_up(Dice& dice, DType type, int64_t count) {
  std::string bytes(static_cast<size_t>(count * size_of(type)), '\0');
  for (int64_t i = 0; i < count; ++i)
    store_bits(type, reinterpret_cast<std::byte*>(bytes.data()) + i * size_of(type),
               encode_value(type, static_cast<float>(dice.between(-3, 3))));
  return bytes;
}

class Maker {
 public:
  explicit Maker(Dice& dice) : dice_(dice) {}

  Asked asked;
  std::vector<std::pair<std::string, Tensor>> tensors;

  void make() {
    const bool blockwise = dice_.one_in(3), sm100 = blockwise || dice_.one_in(2);
    asked.words = {"run", blockwise ? "blockwise-fp8" : "gemm", "--on", sm100 ? "loom:sm100" : "loom:sm90"};
    const int64_t m = extent(), n = extent(), k = extent(), batch = !blockwise && dice_.one_in(5) ? 2 : 1;
    DType a = dice_.of({DType::bf16, DType::f16}), b = a;
    if (blockwise)
      a = b = DType::e4m3;
    else if (dice_.one_in(3))
      a = b = DType::e4m3;
    else if (sm100 && dice_.one_in(4))
      a = b = DType::f32;
    asked.few_bits = !sm100;
    asked.d = dice_.of({DType::bf16, DType::f16, DType::f32});
    option("--d-type", name_of(asked.d), asked.d != DType::bf16);
    if (!blockwise && size_of(a) == 2 && dice_.one_in(4)) {
      asked.a_major = Major::mn;
      option("--a-major", "mn");
    }
    add("a", a, asked.a_major == Major::k ? shape(batch, m, k) : shape(batch, k, m));
    add("b", b, shape(batch, n, k));
    if (dice_.one_in(3)) {
      asked.beta = dice_.of({1.0f, -0.5f});
      option("--beta", fmt::format("{}", asked.beta));
    }
    if (asked.beta != 0 || dice_.one_in(8)) add("c", asked.d, shape(batch, m, n));
    if (dice_.one_in(3)) {
      asked.bias = dice_.of({BiasAlong::n, BiasAlong::m});
      option("--bias", asked.bias == BiasAlong::n ? "n" : "m");
      add("bias", dice_.of({DType::f32, DType::bf16}), {asked.bias == BiasAlong::n ? n : m});
    }
    if (dice_.one_in(4)) {
      asked.activation = dice_.of({Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu});
      option("--activation", name_of(asked.activation));
    }
    if (dice_.one_in(4)) {
      asked.alpha = dice_.of({2.0f, -1.0f, 0.25f});
      option("--alpha", fmt::format("{}", asked.alpha));
    }
    if (blockwise) {
      asked.scaling = dice_.one_in(2) ? Scaling::a_rows_b_rows : Scaling::a_rows_b_blocks;
      const bool rows = asked.scaling == Scaling::a_rows_b_rows;
      option("--b-scales", rows ? "rows" : "blocks");
      const int64_t blocks = (k + 127) / 128;
      add("a_scales", DType::f32, {blocks, m + dice_.below(3)});
      add("b_scales", DType::f32,
          rows ? std::vector<int64_t>{blocks, n} : std::vector<int64_t>{(n + 127) / 128, blocks});
    }
    if (dice_.one_in(6)) add("more", DType::f16, {3, 2});
    if (dice_.one_in(2)) asked.words.emplace_back("--json");
    // Data in another order than names.
    for (size_t i = tensors.size(); i > 1; --i)
      std::swap(tensors[i - 1], tensors[static_cast<size_t>(dice_.below(static_cast<int>(i)))]);
  }

 private:
  int64_t extent() { return dice_.one_in(12) ? dice_.of({0, 1, 2}) : dice_.between(1, 24) * dice_.of({1, 4, 8}); }
  static std::vector<int64_t> shape(int64_t batch, int64_t rows, int64_t columns) {
    return batch == 1 ? std::vector<int64_t>{rows, columns} : std::vector<int64_t>{batch, rows, columns};
  }
  void option(const char* name, const std::string& value, bool needed = true) {
    if (!needed) return;
    asked.words.emplace_back(name);
    asked.words.push_back(value);
  }
  void add(const char* name, DType type, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    tensors.emplace_back(name, Tensor{type, std::move(shape), made_up(dice_, type, count)});
  }

  Dice& dice_;
};

std::string file_of(const std::vector<std::pair<std::string, Tensor>>& tensors, Dice& dice) {
  std::string header = "{", data;
  if (dice.one_in(4)) header += R"("__metadata__":{"format":"pt","a":"b"},)";
  for (const auto& [name, tensor] : tensors) {
    std::string list;
    for (const int64_t extent : tensor.shape) list += fmt::format("{}{}", list.empty() ? "" : ",", extent);
    header +=
        fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header.back() == '}' ? "," : "",
                    name, safetensors_name(tensor.type), list, data.size(), data.size() + tensor.bytes.size());
    data += tensor.bytes;
  }
  header += "}";
  if (dice.one_in(2)) header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

/// What a transfer, an editor or an enemy does to a file.
void damage(std::string& file, Dice& dice) {
  const auto header = [&] {
    uint64_t length = 0;
    if (file.size() >= 8) std::memcpy(&length, file.data(), 8);
    return static_cast<int>(std::min<uint64_t>(length, file.size() > 8 ? file.size() - 8 : 0)) + 8;
  };
  const auto byte = [&](int from, int to) -> char& { return file[static_cast<size_t>(dice.between(from, to - 1))]; };
  if (file.empty()) return;
  switch (dice.below(10)) {
    case 0: byte(0, static_cast<int>(file.size())) ^= static_cast<char>(1 << dice.below(8)); return;
    case 1: byte(0, std::min<int>(8, static_cast<int>(file.size()))) = static_cast<char>(dice.below(256)); return;
    case 2: byte(0, header()) = static_cast<char>(dice.below(256)); return;
    case 3: file.resize(static_cast<size_t>(dice.below(static_cast<int>(file.size()) + 1))); return;
    case 4: file += std::string(static_cast<size_t>(dice.between(1, 40)), static_cast<char>(dice.below(256))); return;
    case 5: {  // a number of the header
      std::vector<size_t> digits;
      for (int i = 8; i < header() && i < static_cast<int>(file.size()); ++i)
        if (file[static_cast<size_t>(i)] >= '0' && file[static_cast<size_t>(i)] <= '9')
          digits.push_back(static_cast<size_t>(i));
      if (digits.empty()) return;
      file[digits[static_cast<size_t>(dice.below(static_cast<int>(digits.size())))]] =
          dice.of({'0', '1', '2', '4', '8', '9', '-', '.', 'e', '"'});
      return;
    }
    case 6: {  // a type, a name, a mark
      const std::pair<const char*, const char*> exchanged[] = {{"F32", "I32"},
                                                               {"BF16", "F16"},
                                                               {"F16", "BF16"},
                                                               {"F8_E4M3", "F8_E5M2"},
                                                               {"\"a\"", "\"b\""},
                                                               {"\"b\"", "\"a\""},
                                                               {"\"shape\"", "\"Shape\""},
                                                               {"dtype", "shape"},
                                                               {"[", "[["},
                                                               {"}", ""},
                                                               {"\"a\"", "\"a\\u0000\""},
                                                               {"\"c\"", "\"\\ud800\""},
                                                               {":", "::"},
                                                               {"[", "[1,"},
                                                               {"\"a\"", "\"\xff\""}};
      const auto& [from, to] = exchanged[dice.below(static_cast<int>(std::size(exchanged)))];
      const size_t at = file.find(from, 8);
      if (at == std::string::npos || at > static_cast<size_t>(header())) return;
      const std::string there = from, instead = to;
      file.replace(at, there.size(), instead);
      // Often the length still fits.
      if (file.size() >= 8 && !dice.one_in(3)) {
        uint64_t length = 0;
        std::memcpy(&length, file.data(), 8);
        length += instead.size() - there.size();
        std::memcpy(file.data(), &length, 8);
      }
      return;
    }
    case 7: {  // a run of bytes elsewhere, or twice
      const int from = dice.below(static_cast<int>(file.size())), to = dice.below(static_cast<int>(file.size()));
      const std::string run = file.substr(static_cast<size_t>(from), static_cast<size_t>(dice.between(1, 64)));
      file.insert(static_cast<size_t>(to), run);
      return;
    }
    case 8: {  // data: any bits are a number, or none
      const int first = std::min<int>(header(), static_cast<int>(file.size()));
      for (int i = dice.between(1, 20); i > 0 && first < static_cast<int>(file.size()); --i)
        byte(first, static_cast<int>(file.size())) = dice.of({'\x00', '\x7f', '\x80', '\xff', '\x7c', '\x01'});
      return;
    }
    default: {  // much of it
      for (int i = dice.between(2, 200); i > 0; --i)
        byte(0, static_cast<int>(file.size())) = static_cast<char>(dice.below(256));
    }
  }
}

// ---- a reader of its own

std::optional<std::map<std::string, Tensor>> read(const std::string& file) {
  uint64_t length = 0;
  if (file.size() < 8) return std::nullopt;
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8) return std::nullopt;
  const json header = json::parse(file.substr(8, length), nullptr, false);
  if (!header.is_object()) return std::nullopt;
  const std::string data = file.substr(8 + length);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    Tensor tensor;
    const auto type = std::find_if(std::begin(types), std::end(types),
                                   [&](const auto& one) { return value.value("dtype", "") == one.second; });
    if (type == std::end(types)) continue;
    tensor.type = type->first;
    uint64_t bytes = size_of(tensor.type);
    for (const json& extent : value["shape"]) {
      tensor.shape.push_back(extent.get<int64_t>());
      bytes *= extent.get<uint64_t>();
    }
    const auto begin = value["data_offsets"][0].get<uint64_t>(), end = value["data_offsets"][1].get<uint64_t>();
    if (begin > end || end > data.size() || end - begin != bytes) return std::nullopt;
    tensor.bytes = data.substr(begin, bytes);
    tensors[name] = std::move(tensor);
  }
  return tensors;
}

/// "" or why D in the file is not the answer to what the other file and the options ask for.
std::string judge_result(const Asked& asked, const std::string& in, const std::string& out) {
  auto inputs = read(in), outputs = read(out);
  if (!inputs) return "it took a file that is none";
  if (!outputs || !outputs->contains("d")) return "it wrote no tensor d";
  auto& given = *inputs;
  Tensor& d = (*outputs)["d"];
  const auto last = [](const Tensor& tensor, size_t from_end) {
    return tensor.shape.size() < from_end ? 1 : tensor.shape[tensor.shape.size() - from_end];
  };
  GemmProblem p;
  const auto operand_of = [&](const char* name, Major major) {
    const Tensor& tensor = given[name];
    return OperandRef{tensor.bytes.data(), tensor.type, last(tensor, 1), last(tensor, 1) * last(tensor, 2), major};
  };
  p.a = operand_of("a", asked.a_major);
  p.b = operand_of("b", asked.b_major);
  p.m = static_cast<int>(last(given["a"], asked.a_major == Major::k ? 2 : 1));
  p.k = static_cast<int>(last(given["a"], asked.a_major == Major::k ? 1 : 2));
  p.n = static_cast<int>(last(given["b"], asked.b_major == Major::k ? 2 : 1));
  p.batch = static_cast<int>(last(given["a"], 3));
  const std::vector<int64_t> shape =
      p.batch == 1 ? std::vector<int64_t>{p.m, p.n} : std::vector<int64_t>{p.batch, p.m, p.n};
  if (d.shape != shape || d.type != asked.d) return "d has another shape or type";
  p.d = {d.bytes.data(), d.type, p.n, int64_t{p.m} * p.n};
  if (asked.beta != 0) p.c = {given["c"].bytes.data(), given["c"].type, p.n, int64_t{p.m} * p.n};
  if (asked.bias != BiasAlong::none) p.bias = {given["bias"].bytes.data(), given["bias"].type, asked.bias};
  p.alpha = asked.alpha;
  p.beta = asked.beta;
  p.activation = asked.activation;
  p.scaling = asked.scaling;
  std::vector<float> scales[2];
  if (asked.scaling != Scaling::none)
    for (const int which : {0, 1}) {
      const Tensor& tensor = given[which == 0 ? "a_scales" : "b_scales"];
      scales[which].resize(tensor.bytes.size() / 4);
      std::copy_n(tensor.bytes.data(), tensor.bytes.size(), reinterpret_cast<char*>(scales[which].data()));
      (which == 0 ? p.a_scales : p.b_scales) = {scales[which].data(), last(tensor, 1), 0};
    }
  return wrong_answer(p, asked.few_bits);
}

}  // namespace

Judged try_tensors(uint64_t seed, const Folder& folder) {
  Dice dice(seed);
  Maker maker(dice);
  maker.make();
  const Asked& asked = maker.asked;
  std::string file = file_of(maker.tensors, dice);
  const bool damaged = !dice.one_in(4);
  if (damaged) do
      damage(file, dice);
    while (dice.one_in(4));
  const std::string in = folder.file("in"), out = folder.file("out"), old = "as it was";
  std::ofstream(in, std::ios::binary) << file;
  const bool had_file = dice.one_in(2);
  if (had_file) std::ofstream(out) << old;
  std::vector<std::string> words = asked.words;
  words.insert(words.end(), {"--tensors", in, "--out", out});
  Judged judged;
  const Ended ended = run_limited(words, folder, judged.seconds);
  judged.code = ended.code;
  judged.input = fmt::format("tensors, seed {}: {}", seed, quoted(words));
  judged.broken = broken_by(words, ended);
  if (judged.broken.empty()) {
    const std::string there = content_of(out);
    if (ended.code == 0)
      judged.broken = judge_result(asked, file, there);
    else if (there != (had_file ? old : ""))
      judged.broken = "it failed, and wrote a file";
    else if (ended.code == 1)
      judged.broken = "a kernel as it is shipped is said to be wrong: " + ended.out;
    else if (!damaged && (ended.error + ended.out).find("safetensors") != std::string::npos)
      judged.broken = "a file as it should be is refused: " + ended.error + ended.out;
  }
  std::filesystem::remove(in);
  std::filesystem::remove(out);
  return judged;
}

}  // namespace warploom::test::input_fuzz
