#include "ptx/flow.hpp"

#include <algorithm>

namespace warploom::ptx {
namespace {

bool ends_block(const Instruction& instruction) {
  const std::string_view base = instruction.op().base();
  return base == "bra" || base == "brx" || base == "ret" || base == "exit" || base == "trap";
}

/// Can the function end behind the last instruction of the block, even if it goes on elsewhere for another value of a
/// guard?
bool may_end(const Function& function, const Block& block) {
  if (block.begin == block.end) return true;
  const Instruction& last = function.body[block.end - 1];
  const std::vector<uint32_t> labels = branch_labels(function, last);
  if (labels.empty()) return ends_block(last);
  return std::ranges::any_of(labels,
                             [&](uint32_t label) { return function.labels[label].target == function.body.size(); });
}

}  // namespace

bool ends_flow(const Instruction& instruction) { return instruction.guard == no_index && ends_block(instruction); }

std::vector<uint32_t> branch_labels(const Function& function, const Instruction& instruction) {
  std::vector<uint32_t> labels;
  const std::string_view base = instruction.op().base();
  if (base != "bra" && base != "brx") return labels;
  for (const Operand& operand : instruction.operands) {
    if (operand.is(Operand::Kind::label)) labels.push_back(operand.index);
    if (operand.is(Operand::Kind::branch_targets)) {
      const auto& targets = function.branch_targets[operand.index].labels;
      labels.insert(labels.end(), targets.begin(), targets.end());
    }
  }
  return labels;
}

Graph::Graph(const Function& function) {
  const auto size = static_cast<uint32_t>(function.body.size());
  std::vector<bool> begins(size + 1, false);
  begins[0] = true;
  for (const Label& label : function.labels) begins[label.target] = true;
  for (uint32_t i = 0; i < size; ++i)
    if (ends_block(function.body[i])) begins[i + 1] = true;
  block_of_.resize(size);
  for (uint32_t i = 0; i < size; ++i) {
    if (begins[i]) blocks_.push_back({i, i, {}, {}});
    blocks_.back().end = i + 1;
    block_of_[i] = static_cast<uint32_t>(blocks_.size() - 1);
  }
  if (blocks_.empty()) blocks_.emplace_back();

  const auto count = static_cast<uint32_t>(blocks_.size());
  for (uint32_t b = 0; b < count; ++b) {
    Block& block = blocks_[b];
    if (block.begin == block.end) break;
    const Instruction& last = function.body[block.end - 1];
    // A label behind the last instruction is the end of the function: nothing to go to.
    for (const uint32_t label : branch_labels(function, last))
      if (const uint32_t target = function.labels[label].target; target < size)
        block.successors.push_back(block_of_[target]);
    if (!ends_flow(last) && b + 1 < count) block.successors.push_back(b + 1);
    std::ranges::sort(block.successors);
    block.successors.erase(std::ranges::unique(block.successors).begin(), block.successors.end());
    for (const uint32_t next : block.successors) blocks_[next].predecessors.push_back(b);
  }

  dominators_ = tree_of(
      count, 0, order_, [&](uint32_t b) -> const auto& { return blocks_[b].successors; },
      [&](uint32_t b) -> const auto& { return blocks_[b].predecessors; });

  // Backwards from one more node, which follows every block that may end the function, and every loop without an end.
  std::vector<std::vector<uint32_t>> backward(count + 1), forward(count + 1);
  const auto connect = [&](uint32_t from, uint32_t to) {
    forward[from].push_back(to);
    backward[to].push_back(from);
  };
  for (uint32_t b = 0; b < count; ++b) {
    for (const uint32_t next : blocks_[b].successors) connect(b, next);
    if (blocks_[b].successors.empty() || may_end(function, blocks_[b])) connect(b, count);
  }
  std::vector<bool> ends(count + 1, false);
  std::vector<uint32_t> todo{count};
  const auto mark = [&] {
    while (!todo.empty()) {
      const uint32_t node = todo.back();
      todo.pop_back();
      if (ends[node]) continue;
      ends[node] = true;
      todo.insert(todo.end(), backward[node].begin(), backward[node].end());
    }
  };
  mark();
  for (uint32_t b = count; b-- > 0;) {
    if (ends[b]) continue;
    connect(b, count);
    todo.push_back(b);
    mark();
  }
  std::vector<uint32_t> unused;
  postdominators_ = tree_of(
      count + 1, count, unused, [&](uint32_t b) -> const auto& { return backward[b]; },
      [&](uint32_t b) -> const auto& { return forward[b]; });
}

// Cooper, Harvey and Kennedy's iteration over a reverse postorder; then the tree is numbered, so that a query takes no
// walk.
template <class Next, class Previous>
Graph::Tree Graph::tree_of(uint32_t nodes, uint32_t root, std::vector<uint32_t>& order, Next next, Previous previous) {
  Tree tree;
  tree.parent.assign(nodes, no_index);
  tree.rank.assign(nodes, no_index);
  tree.enter.assign(nodes, 0);
  tree.leave.assign(nodes, 0);

  struct Step {
    uint32_t node;
    size_t next;
  };
  std::vector<Step> stack{{root, 0}};
  std::vector<bool> seen(nodes, false);
  seen[root] = true;
  while (!stack.empty()) {
    Step& step = stack.back();
    const auto& following = next(step.node);
    if (step.next == following.size()) {
      order.push_back(step.node);
      stack.pop_back();
      continue;
    }
    const uint32_t node = following[step.next++];
    if (seen[node]) continue;
    seen[node] = true;
    stack.push_back({node, 0});
  }
  std::ranges::reverse(order);
  for (uint32_t i = 0; i < order.size(); ++i) tree.rank[order[i]] = i;

  std::vector<uint32_t>& parent = tree.parent;
  parent[root] = root;
  const auto common_of = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (tree.rank[a] > tree.rank[b]) a = parent[a];
      while (tree.rank[b] > tree.rank[a]) b = parent[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t node : order) {
      if (node == root) continue;
      uint32_t common = no_index;
      for (const uint32_t before : previous(node))
        if (tree.rank[before] != no_index && parent[before] != no_index)
          common = common == no_index ? before : common_of(common, before);
      if (common == parent[node]) continue;
      parent[node] = common;
      changed = true;
    }
  }
  parent[root] = no_index;

  std::vector<std::vector<uint32_t>> children(nodes);
  for (const uint32_t node : order)
    if (parent[node] != no_index) children[parent[node]].push_back(node);
  uint32_t clock = 0;
  stack.push_back({root, 0});
  tree.enter[root] = clock++;
  while (!stack.empty()) {
    Step& step = stack.back();
    if (step.next == children[step.node].size()) {
      tree.leave[step.node] = clock++;
      stack.pop_back();
      continue;
    }
    const uint32_t child = children[step.node][step.next++];
    tree.enter[child] = clock++;
    stack.push_back({child, 0});
  }
  return tree;
}

}  // namespace warploom::ptx
