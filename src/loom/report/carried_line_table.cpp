// Nothing: these objects have debug information. In the installed libwarploom.a another object stands in this one's
// place and defines the same two names (cmake/compact_static.cmake).
#include <cstddef>
#include <cstdint>

extern "C" {
extern const std::byte warploom_line_table[];
extern const uint64_t warploom_line_table_bytes;

alignas(8) const std::byte warploom_line_table[8] = {};
const uint64_t warploom_line_table_bytes = 0;
}
