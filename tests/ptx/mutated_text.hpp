// Broken PTX for the parser and everything behind it: a text with a few of its characters, tokens or lines changed.
//
//   std::mt19937_64 dice(seed);
//   read_everything(mutated(text, dice));   // must come back, whatever it says
#pragma once

#include <random>
#include <string>
#include <string_view>

#include "ptx/describe.hpp"
#include "ptx/flow.hpp"
#include "ptx/parser.hpp"
#include "ptx/plan.hpp"
#include "ptx/uniform.hpp"

namespace warploom::ptx {

/// What a mutation puts into a text: pieces of PTX that mean something elsewhere, and numbers at the edge of what fits.
inline constexpr std::string_view pieces[] = {"{",
                                              "}",
                                              "[",
                                              "]",
                                              "(",
                                              ")",
                                              ",",
                                              ";",
                                              ":",
                                              "::",
                                              "|",
                                              "!",
                                              "@",
                                              "+",
                                              "-",
                                              "=",
                                              "<",
                                              ">",
                                              "\"",
                                              "/*",
                                              "*/",
                                              "//",
                                              "_",
                                              "%",
                                              "%r1",
                                              "%r1|%p1",
                                              "%tid.x",
                                              "@!%p1 ",
                                              "{ .reg .pred p;",
                                              "L: ",
                                              "bra L;",
                                              "brx.idx %r1, T;",
                                              "T: .branchtargets L, L;",
                                              "C: .callprototype _ (.param .b32 _);",
                                              ".loc 1 1 1, inlined_at 1 1 1\n",
                                              ".loc 1 1 1, function_name L, inlined_at 1 2 3\n",
                                              ".section .debug_str {",
                                              ".file 1 \"a\"\n",
                                              ".param .b64 p;",
                                              ".shared .b8 s[];",
                                              ".global .b32 g[2][3] = {{1}, {2, 3}};",
                                              ".global .u64 h[] = {h, generic(h)+8};",
                                              ".reg .b32 %r<4294967296>;",
                                              ".reg .b32 %r1<9>;",
                                              ".align 3",
                                              ".align 16",
                                              ".v4",
                                              ".func f;",
                                              ".entry k()",
                                              ".extern ",
                                              ".alias f, f;",
                                              "ret;",
                                              "exit;",
                                              "0",
                                              "-1",
                                              "0f3F800000",
                                              "0f",
                                              "0d0000000000000000",
                                              "0x",
                                              "0xffffffffffffffff",
                                              "18446744073709551616",
                                              "1e999",
                                              "1.5",
                                              "08",
                                              "99999999999",
                                              "wgmma.mma_async {%f1, %f1}, {%r1}, %rd1, 1;",
                                              "tcgen05.ld {%r1, %r2}, [%r3];",
                                              "tcgen05.wait::ld;",
                                              "mbarrier.try_wait p, [%r1], %r2;",
                                              "activemask.b32 %r1;",
                                              "call (p), f, (p);",
                                              "wgmma.fence;"};

inline std::string mutated(std::string_view original, std::mt19937_64& dice) {
  std::string text(original);
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : static_cast<size_t>(dice() % n); };
  const auto line_at = [&](size_t position) {
    const size_t end = text.find('\n', position), before = text.rfind('\n', position == 0 ? 0 : position - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    return std::pair(begin, (end == std::string::npos ? text.size() : end + 1) - begin);
  };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(text.size());
    switch (below(9)) {
      case 0: text.insert(at, pieces[below(std::size(pieces))]); break;
      case 1: text.replace(at, 1 + below(8), pieces[below(std::size(pieces))]); break;
      case 2: text.erase(at, 1 + below(6)); break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(dice());
        break;
      case 4: {
        const auto [begin, size] = line_at(at);
        text.erase(begin, size);
        break;
      }
      case 5: {
        const auto [begin, size] = line_at(at);
        text.insert(begin, text.substr(begin, size));
        break;
      }
      case 6: {  // a line elsewhere
        const auto [begin, size] = line_at(at);
        const std::string line = text.substr(begin, size);
        text.erase(begin, size);
        text.insert(line_at(below(text.size())).first, line);
        break;
      }
      case 7: {  // one name or number for another
        const size_t from = below(text.size()), end = text.find_first_of(" ,;[](){}\n\t", from);
        const std::string word = text.substr(from, std::min<size_t>(end == std::string::npos ? 1 : end - from, 40));
        text.replace(at, word.size(), word);
        break;
      }
      default:
        if (below(8) == 0) text.resize(at);  // cut off
    }
  }
  return text;
}

/// Parses the text and, if it is one, asks everything that is ever asked of a module. True where it was one.
inline bool read_everything(std::string_view text) {
  const Result<Module> module = parse(text, "mutated.ptx");
  if (!module) return false;
  for (const Function& function : module->functions) {
    const Graph graph(function);
    const Uniformity uniformity(*module, function, graph);
    for (uint32_t i = 0; i < function.body.size(); ++i) (void)uniformity.converged(i);
    (void)plan_of(*module, function);
  }
  return !describe(*module, {}).empty() && !describe_json(*module, {}).empty();
}

}  // namespace warploom::ptx
