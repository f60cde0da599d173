// warploom-line-table: writes the table of lines that the installed libwarploom.a carries (loom/report/line_table.hpp),
// of the shared library that was linked from the same objects. A step of `cmake --install`
// (cmake/compact_static.cmake).
#include <cstdio>
#include <fstream>

#include "paint.hpp"

int main(int argc, char** argv) {
  using warploom::loom::LineTable;
  if (argc != 3) return std::fputs("usage: warploom-line-table <libwarploom.so> <table>\n", stderr), 2;
  std::string trouble;
  const std::vector<LineTable::Function> functions = warploom::lines::functions_of(argv[1], trouble);
  if (!trouble.empty()) return std::fprintf(stderr, "warploom-line-table: %s\n", trouble.c_str()), 1;
  const std::vector<std::byte> table = LineTable::encode(functions);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(table.data()), static_cast<std::streamsize>(table.size()));
  out.close();
  if (!out) return std::fprintf(stderr, "warploom-line-table: %s cannot be written\n", argv[2]), 1;
  return 0;
}
