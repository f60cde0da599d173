// The safetensors format: eight bytes of header length, a JSON header {name: {dtype, shape, data_offsets}}, the data.
// What the format's own reader refuses is refused, and names that come twice.
//
//   auto file = SafeTensors::read("layer.safetensors", {"a", "b"});        // or one sentence
//   if (const SafeTensor* a = file->find("a")) use(a->type, a->shape, a->data);
//   std::vector<std::byte> bytes = to_safetensors({{"d", DType::bf16, {m, n}, data}});
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/dtype.hpp"
#include "warploom/types/result.hpp"

namespace warploom::cli {

struct SafeTensor {
  DType type = DType::f32;
  std::vector<int64_t> shape = {};
  std::span<const std::byte> data = {};  ///< row-major, of the file that was read
};

class SafeTensors {
 public:
  /// Takes F32, F16, BF16, F8_E4M3 and F8_E5M2. Tensors of the format's other types are not read: `find` does not see
  /// them, and `why_unread` says so. Of a file, the data of these names is read; of all its tensors where none is
  /// named.
  static Result<SafeTensors> read(const std::string& path, const std::vector<std::string_view>& names = {});
  static Result<SafeTensors> parse(std::vector<std::byte> file);

  const SafeTensor* find(const std::string& name) const;
  /// The first few with commas, as they may be shown.
  std::string names() const;
  /// "", or that the file has such a tensor in a type that is not read.
  std::string why_unread(const std::string& name) const;

  // The tensors refer to the bytes, which move along.
  SafeTensors(SafeTensors&&) = default;
  SafeTensors& operator=(SafeTensors&&) = default;

 private:
  SafeTensors() = default;

  std::vector<std::vector<std::byte>> bytes_;
  std::map<std::string, SafeTensor> tensors_;
  std::map<std::string, std::string> unread_;  ///< their types
};

struct NamedTensor {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};
std::vector<std::byte> to_safetensors(const std::vector<NamedTensor>& tensors);

}  // namespace warploom::cli
