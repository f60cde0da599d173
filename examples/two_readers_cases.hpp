// The cases of two_readers, for either machine.
#pragma once

#include <limits>

#include "check.hpp"
#include "two_readers_kernel.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <class Machine>
void check_two_readers(Machine& machine, Comparison& words, int rows, int columns) {
  Random random(static_cast<uint64_t>(rows) * 1000 + static_cast<uint64_t>(columns));
  const auto height = static_cast<size_t>(rows), width = static_cast<size_t>(columns);
  std::vector<int32_t> matrix(height * width);
  for (int32_t& value : matrix) value = static_cast<int32_t>(random.word());
  const std::vector<int32_t> nothing(height);
  const int32_t* data = machine.memory(matrix);
  int32_t* sums = machine.memory(nothing, true);
  int32_t* largest = machine.memory(nothing, true);

  using Box = TwoReaders::Box;
  TensorMapArgs args;
  args.type = TmaType::s32;
  args.address = data;
  args.dims = {width, height, 1, 1, 1};
  args.strides = {width * 4, 16, 16, 16};
  args.box = {Box::columns, Box::rows, 1, 1, 1};
  const auto ctas = static_cast<uint32_t>((rows + Box::rows - 1) / Box::rows);
  machine.template launch<TwoReaders>({{ctas}, {1}, TwoReaders::threads},
                                      {machine.encode(args), sums, largest, rows, columns});

  for (const int32_t* memory : {sums, largest})
    for (const int32_t value : machine.read(memory, height)) words.got.push_back(static_cast<uint32_t>(value));
  words.want.resize(2 * height);
  for (size_t i = 0; i < height; ++i) {
    int32_t most = std::numeric_limits<int32_t>::min();
    for (size_t j = 0; j < width; ++j) {
      words.want[i] += static_cast<uint32_t>(matrix[i * width + j]);
      most = std::max(most, matrix[i * width + j]);
    }
    words.want[height + i] = static_cast<uint32_t>(most);
  }
}

template <class Machine>
std::vector<Case<Machine>> two_readers_cases() {
  return {{"one-box", [](Machine& m, Comparison& w) { check_two_readers(m, w, 64, 64); }},
          {"laps", [](Machine& m, Comparison& w) { check_two_readers(m, w, 128, 512); }},
          {"borders", [](Machine& m, Comparison& w) { check_two_readers(m, w, 100, 300); }}};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
