// Which program this is: changes whenever it is built from something else.
#pragma once

#include <string>

namespace warploom::loom {

/// The build id of the running program, and of the library that this code is in where that is another; a hash of their
/// code and constants where the linker left none. In hex.
std::string program_id();

/// The same of what this code is in alone: the shared library, or the program that it was linked into.
std::string library_id();

const char* compiler();

}  // namespace warploom::loom
