// The kernels in a file that holds machine code for sm_90 as ptxas left it: a cubin, an object file, a library or a
// program with cubins in it. Compressed ones (nvcc compresses unless told --no-compress) stay unseen.
//
//   for (const KernelCode& kernel : find_kernels(bytes)) look_at(read_code(bytes, kernel));
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sass/instruction.hpp"

namespace warploom::sass {

struct KernelCode {
  std::string name;  ///< as the linker knows it
  size_t offset;     ///< of its first instruction in the file
  size_t count;      ///< instructions
};

/// Those with sm_90 code, in the order of the file. What looks like a cubin but is cut off or says nonsense is passed
/// over.
std::vector<KernelCode> find_kernels(std::span<const std::byte> file);

std::vector<Instruction> read_code(std::span<const std::byte> file, const KernelCode& kernel);

}  // namespace warploom::sass
