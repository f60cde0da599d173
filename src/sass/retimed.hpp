// What a change of hints came upon.
#pragma once

#include <cstddef>

namespace warploom::sass {

struct Retimed {
  size_t instructions = 0;  ///< that the hints are about; none: the kernel is not of this kind
  size_t changed = 0;       ///< that had others
  size_t conflicts = 0;     ///< promotion: that read two registers of one bank, which no hint mends
};

}  // namespace warploom::sass
