// What the program may print, as its surroundings say: NO_COLOR, TERM, COLUMNS, the locale, and whether there is a
// terminal at all. Nobody else asks.
#pragma once

#include <cstdint>

namespace warploom::cli {

struct Terminal {
  bool color = false;    ///< standard output is a terminal that knows colours, and NO_COLOR is not set
  bool moves = false;    ///< standard error is a terminal on which a line can be written over: progress
  bool utf8 = false;     ///< by LC_ALL, LC_CTYPE or LANG; else glyphs are printed in ASCII
  uint32_t columns = 0;  ///< COLUMNS, or the terminal's; 0: nobody says

  static Terminal look();
};

/// As it was when it was first asked for.
const Terminal& terminal();

}  // namespace warploom::cli
