// Values of options: what is empty, too large, no number, or more than one is answered in a sentence, and never taken
// for something else.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace warploom::cli {

/// A value that its option cannot have; the sentence says which it can.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Has every option of the command, of whatever type, look at its values (BadValue). Called when all are there.
void be_strict(CLI::App& command);

/// "--tensors=" has no value, though the parser would take the next word; "--json=0" has one, and means nothing. Throws
/// BadValue.
void refuse_odd_values(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace warploom::cli
