// One run of the relay on either machine (loom_machine.hpp, gpu/gpu_machine.cuh), with what it must give.
#pragma once

#include "check.hpp"
#include "relay_kernel.hpp"
#include "warploom/types/tensor_map_args.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

template <Planted planted, class Machine>
void run_relay(Machine& machine, uint32_t ctas, Comparison& words) {
  using Kernel = Relay<planted>;
  constexpr uint32_t columns = Kernel::columns, turns = Kernel::turns;
  Random random(7);
  std::vector<uint32_t> rows(size_t{ctas} * turns * columns);
  for (uint32_t& value : rows) value = random.word();
  words.want.assign(size_t{ctas} * 32, 0);
  for (uint32_t row = 0; row < ctas * turns; ++row)
    for (uint32_t column = 0; column < columns; ++column) {
      uint32_t& total = words.want[row / turns * 32 + column % 32];
      const uint32_t value = rows[row * columns + column];
      total = total * 31 + value * value;
    }

  RelayParams params{};
  TensorMapArgs args;
  args.type = TmaType::u32;
  args.address = machine.memory(rows);
  args.dims = {columns, ctas * turns, 1, 1, 1};
  args.strides = {columns * sizeof(uint32_t), 16, 16, 16};
  args.box = {columns, 1, 1, 1, 1};
  params.rows = machine.encode(args);
  params.totals = machine.memory(std::vector<uint32_t>(words.want.size()), true);
  machine.template launch<Kernel>({{ctas}, {}, Kernel::threads}, params);
  words.got = machine.read(params.totals, words.want.size());
}

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
