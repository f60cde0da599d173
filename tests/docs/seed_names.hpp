// The C++ names of docs/seed_table.md, as seed_names.def has them.
#pragma once

#include <vector>

namespace warploom::test {

struct SeedName {
  const char* original;  ///< first column of the table
  const char* ours;      ///< a name of the second
  const char* fact;      ///< what the compiler has checked of it
};

const std::vector<SeedName>& seed_names();

}  // namespace warploom::test
