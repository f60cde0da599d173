// Parameters of a kernel from the command line: numbers, memory, structures, tensor maps.
//
//   Result<KernelArguments> arguments = KernelArguments::parse({"f32[64]:iota", "f32[64]:zero,print=4", "i32:64"}, 90);
//   request.parameters = *arguments->block_for(kernel);
//   ... launch ...
//   for (const KernelArguments::Difference& d : arguments->differences()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/tell.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/ptx/abi.hpp"

namespace warploom::cli {

/// A type that elements have on the command line.
enum class Element : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

class KernelArguments {
 public:
  static Result<KernelArguments> parse(const std::vector<std::string>& texts, uint32_t chip);

  /// The parameter block; or which argument does not fit its parameter.
  Result<std::vector<std::byte>> block_for(const ptx::abi::Kernel& kernel) const;
  std::vector<loom::TensorRef> tensors() const;
  /// The memory as it was before any launch.
  void reset();

  struct Difference {
    size_t argument = 0;
    uint64_t wrong = 0, elements = 0;
    uint64_t first = 0;
    std::string got = {}, expected = {};
    std::string file = {};
    std::string text() const;
  };
  /// Of arguments with `expect=`.
  Result<std::vector<Difference>> differences() const;
  /// "argument 1: 0 1 2 3", of those with `print=`.
  std::vector<std::string> printed() const;
  /// Writes those with `out=`.
  Trouble save() const;
  /// Whether all of these files can be written, before the work.
  Trouble try_to_save() const;

 private:
  struct Memory {
    Element element = Element::u8;
    uint64_t count = 0;
    std::vector<std::byte> initial = {};
    std::shared_ptr<std::byte[]> storage = {};
    std::byte* begin = nullptr;
    std::string name = {};
    std::string out = {}, expect = {};
    std::vector<std::byte> expected = {};
    double tolerance = 0;
    uint64_t print = 0;
  };
  struct Argument {
    std::string text = {};
    std::vector<std::byte> bytes = {};  ///< of the parameter
    int64_t memory = -1;
    bool is_parameter = true;  ///< `also:` is memory that only tensor maps name
  };

  static Result<Argument> number(const std::string& text);
  Result<Argument> memory(const std::string& text, size_t index);
  Result<Argument> tensor_map(const std::string& text, uint32_t chip);

  std::vector<Argument> arguments_;
  std::vector<Memory> memories_;
};

/// "4,2" as {4, 2, 1}; or a sentence.
Result<Dim3> parse_extents(const char* option, const std::string& text);

}  // namespace warploom::cli
