// Which instructions all lanes of a warp execute together: what `activemask` may answer without asking the other lanes.
//
//   const Uniformity uniformity(module, function, graph);
//   if (uniformity.converged(i)) ...   // every lane of the warp that has not left the kernel comes here
//
// Kernels begin with all lanes. A branch whose guard may differ between lanes separates them until the block where all
// its ways come together. Where the analysis cannot tell, lanes count as separated. In a function that is called they
// always do.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/flow.hpp"
#include "ptx/module.hpp"

namespace warploom::ptx {

class Uniformity {
 public:
  Uniformity(const Module& module, const Function& function, const Graph& graph);
  Uniformity(const Module&, const Function&, Graph&&) = delete;  // it is kept

  bool converged(uint32_t instruction) const {
    const uint32_t block = graph_.block_of(instruction);
    return graph_.reached(block) && !separated_[block] && function_.body[instruction].guard == no_index;
  }
  /// All lanes of a warp have the same value in it, wherever they have one at all.
  bool uniform(uint32_t reg) const { return !varies_[reg]; }

 private:
  bool varies(const Operand& operand) const;
  int64_t constant(const Operand& operand) const;
  bool result_varies(const Instruction& instruction) const;
  void separate(uint32_t block);

  const Module& module_;
  const Function& function_;
  const Graph& graph_;
  std::vector<bool> separated_;     ///< of each block
  std::vector<int64_t> constants_;  ///< of each register: what is written to it, once and for all
  std::vector<bool> varies_;        ///< of each register
};

}  // namespace warploom::ptx
