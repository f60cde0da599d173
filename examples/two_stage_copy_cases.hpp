// The cases of two_stage_copy, for either machine: every bit of the matrix arrives, and nothing is written beside it.
#pragma once

#include "check.hpp"
#include "two_stage_copy_kernel.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// Copies rows x columns with at most `ctas` CTAs; `Kernel` is TwoStageCopy or does the same.
template <class Kernel, class Machine>
void check_two_stage_copy(Machine& machine, Comparison& words, int rows, int columns, int padding, uint32_t ctas) {
  const int stride = columns + padding;
  const auto size = static_cast<size_t>(rows) * static_cast<size_t>(stride);
  Random random(static_cast<uint64_t>(rows) * 1000 + static_cast<uint64_t>(columns));
  Words source(size), target(size, 0xa5a5a5a5);
  for (uint32_t& word : source) word = random.word();
  const uint32_t* from = machine.memory(source);
  uint32_t* to = machine.memory(target, true);

  TensorMapArgs args;
  args.type = TmaType::f32;
  args.address = from;
  args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
  args.strides = {static_cast<uint64_t>(stride) * 4, 16, 16, 16};
  args.box = {Kernel::Box::columns, Kernel::Box::rows, 1, 1, 1};
  const auto tiles = static_cast<uint32_t>(ceil_div(rows, Kernel::Box::rows) * ceil_div(columns, Kernel::Box::columns));
  machine.template launch<Kernel>({{tiles < ctas ? tiles : ctas}, {1}, Kernel::threads},
                                  {machine.encode(args), reinterpret_cast<float*>(to), stride, rows, columns});

  words.got = machine.read(to, size);
  words.want = target;
  for (size_t i = 0; i < size; ++i)
    if (static_cast<int>(i % static_cast<size_t>(stride)) < columns) words.want[i] = source[i];
}

template <class Machine>
std::vector<Case<Machine>> two_stage_copy_cases() {
  return {{"one-box", [](Machine& m, Comparison& w) { check_two_stage_copy<TwoStageCopy>(m, w, 64, 64, 0, 1); }},
          {"four-floats", [](Machine& m, Comparison& w) { check_two_stage_copy<TwoStageCopy>(m, w, 1, 4, 4, 1); }},
          {"laps", [](Machine& m, Comparison& w) { check_two_stage_copy<TwoStageCopy>(m, w, 320, 192, 0, 2); }},
          {"borders", [](Machine& m, Comparison& w) { check_two_stage_copy<TwoStageCopy>(m, w, 201, 132, 12, 3); }}};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
