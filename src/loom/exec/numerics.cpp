#include "warploom/loom/numerics.hpp"

#include <string>

namespace warploom::loom {

const char* to_string(Numerics numerics) { return numerics == Numerics::exact ? "exact" : "fast"; }

Result<Numerics> parse_numerics(std::string_view text) {
  for (const Numerics numerics : {Numerics::fast, Numerics::exact})
    if (text == to_string(numerics)) return numerics;
  return Error{"numerics are fast or exact, not '" + std::string(text) + "'"};
}

}  // namespace warploom::loom
