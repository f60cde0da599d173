// What comparing a GEMM's result with the double-precision answer gives (GemmData::compare): every element is held
// against its own bound, and what is wrong is named by place, cause and first element. docs/oracle.md has the bound.
//
//   const GemmAccuracy found = data.compare({.plan = &plan});
//   if (!found.correct()) puts(found.text().c_str());  // "WRONG: 64 of 4096 elements, row 3; first D[3][0] is ..."
#pragma once

#include <cstdint>
#include <string>

namespace warploom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// How wrong elements lie. tiles: of the configuration where it is known, else of 128 x 128.
enum class WrongPlace : uint8_t { none, element, rows, columns, tiles, everywhere, scattered };
/// What they hold instead. `unwritten`: the NaN D began with. `source`: C. `exchanged`: what is right for another
/// element, row, column or tile. The last three: the answer without a K block, with one twice, and with one that a
/// pipeline stage still held in the place of another.
enum class WrongCause : uint8_t { unknown, unwritten, source, exchanged, transposed, k_missing, k_twice, k_stale };
const char* name_of(WrongPlace place);
const char* name_of(WrongCause cause);

struct WrongElement {
  int64_t matrix = 0, row = 0, column = 0;
  double got = 0, expected = 0, bound = 0;
};

/// A row, column or tile whose elements are right one by one, and together are off by more than rounding explains.
struct BiasedGroup {
  const char* of = "";  ///< "row", "column" or "tile"
  int64_t matrix = 0;
  int64_t row = 0, column = 0;  ///< of a tile, its first
  double bias = 0;              ///< relative to the root mean square of the group
  double allowed = 0;
};

struct GemmAccuracy {
  int64_t elements = 0;     ///< all of D
  int64_t wrong = 0;        ///< ... beyond their bound
  int64_t unjudged = 0;     ///< ... whose partial sums may leave fp32's range: any value passes
  WrongElement first = {};  ///< the first wrong one, row by row
  WrongPlace place = WrongPlace::none;
  WrongCause cause = WrongCause::unknown;
  std::string pattern;  ///< place and cause in words; "" where nothing is wrong
  int64_t biased = 0;   ///< rows, columns and tiles
  BiasedGroup first_biased = {};

  double worst = 0;                 ///< largest error as a part of its bound
  double largest_bound = 0;         ///< ... relative to the largest magnitude of the answer
  double max_abs_error = 0;         ///< against the operands as stored, in double
  double max_rel_error = 0;         ///< ... relative to the largest magnitude of the answer
  double diff = 0;                  ///< 1 - 2 sum(xy) / (sum(xx) + sum(yy))
  double diff_unquantised = 0;      ///< with scales, the same of a few rows against the operands before quantisation
  int64_t rounding_mismatches = 0;  ///< elements that differ from the answer rounded once to D's type
  int64_t max_ulps = 0;             ///< by how many of that type's values at most, of answers beyond 1e-30
  bool exact = false;               ///< nothing is right but the answer rounded once
  uint32_t modulus = 0;             ///< of Fill::ring: everything is compared modulo it
  bool padding_untouched = true;    ///< nothing was written between rows, matrices or behind the last

  bool correct() const { return wrong == 0 && biased == 0 && padding_untouched; }
  /// One sentence: what was compared with what bound, and what is wrong.
  std::string text() const;
};

#pragma GCC visibility pop
}  // namespace warploom
