// The control-flow graph of a kernel or function: basic blocks, their order, dominators on both sides.
//
//   const Graph graph(function);
//   for (uint32_t block : graph.order())                      // every block that can be reached, before its successors
//     if (graph.dominates(header, block)) ...
//
// A block ends behind a branch, a return or a trap, and in front of a label. What follows a call is in the same block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

struct Block {
  uint32_t begin = 0;  ///< first instruction
  uint32_t end = 0;    ///< behind the last; an empty function has one empty block
  std::vector<uint32_t> successors;
  std::vector<uint32_t> predecessors;
};

class Graph {
 public:
  explicit Graph(const Function& function);

  std::span<const Block> blocks() const { return blocks_; }
  const Block& block(uint32_t index) const { return blocks_[index]; }
  uint32_t block_of(uint32_t instruction) const { return block_of_[instruction]; }
  /// Blocks that can be reached from the start, each before its successors save along edges of loops.
  std::span<const uint32_t> order() const { return order_; }
  bool reached(uint32_t block) const { return dominators_.rank[block] != no_index; }

  /// Does every way from the start to `block` lead through `by`? Both must be reached.
  bool dominates(uint32_t by, uint32_t block) const { return dominators_.above(by, block); }
  uint32_t immediate_dominator(uint32_t block) const { return dominators_.parent[block]; }
  /// The block where all ways from here to the end come together; no_index where there is none before the end.
  uint32_t immediate_postdominator(uint32_t block) const {
    const uint32_t parent = postdominators_.parent[block];
    return parent == blocks_.size() ? no_index : parent;
  }

 private:
  struct Tree {
    std::vector<uint32_t> parent;  ///< no_index for the root and for what is not reached
    std::vector<uint32_t> rank;    ///< in a reverse postorder; no_index for what is not reached
    std::vector<uint32_t> enter, leave;
    bool above(uint32_t by, uint32_t node) const { return enter[by] <= enter[node] && leave[node] <= leave[by]; }
  };
  template <class Next, class Previous>
  static Tree tree_of(uint32_t nodes, uint32_t root, std::vector<uint32_t>& order, Next next, Previous previous);

  std::vector<Block> blocks_;
  std::vector<uint32_t> block_of_;
  std::vector<uint32_t> order_;
  Tree dominators_, postdominators_;
};

/// Where an instruction may branch to, as labels: none for all but bra and brx.
std::vector<uint32_t> branch_labels(const Function& function, const Instruction& instruction);
/// Does the instruction behind this one never follow it, because it always branches, returns or traps?
bool ends_flow(const Instruction& instruction);

}  // namespace warploom::ptx
