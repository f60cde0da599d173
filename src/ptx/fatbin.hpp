// PTX texts inside of what nvcc makes: fat binaries, and the executables and objects that carry them.
//
//   Result<std::vector<Image>> images = images_of_file("./a.out");       // or a .ptx, a .fatbin, an object
//   const Image* image = images ? choose(*images, 90) : nullptr;         // for sm_90: sm_90a before sm_90 before sm_80
//
// Nothing here trusts a byte: every size is compared with what is there, and a text is only unpacked where its size is
// one that PTX could have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/types/result.hpp"

namespace warploom::ptx {

/// What follows the number of a target: nothing, `a` (this chip alone) or `f` (chips of its family).
enum class Feature : uint8_t { none, specific, family };

/// One PTX text, and what its `.target` line says.
struct Image {
  std::string text = {};
  uint32_t architecture = 0;  ///< 90 of sm_90a
  Feature feature = Feature::none;
  uint32_t module = 0;  ///< which fat binary of the file: texts of one module are the same program for other chips

  std::string target() const;  ///< "sm_90a"
};

/// Of a fat binary: one container, or several behind each other, as a section of an executable has them. The sentence
/// says what is there when no PTX is.
Result<std::vector<Image>> images_of_fatbin(std::span<const std::byte> bytes);

/// What a program hands to __cudaRegisterFatBinary. Where the container ends stands in its own header.
Result<std::vector<Image>> images_of_registered(const void* wrapper);

/// Of the sections of an executable, a shared object or an object file (ELF, 64 bits).
Result<std::vector<Image>> images_of_elf(std::span<const std::byte> file);

/// Of a file: PTX itself, a fat binary, or an ELF file.
Result<std::vector<Image>> images_of_file(const std::string& path);

/// The text of `.target`, with its architecture and feature; 0 where there is none.
Image image_of_text(std::string text);

/// The text that a chip of this number (90, 100) would take of those of one module; nullptr where none will do.
const Image* choose(std::span<const Image> images, uint32_t architecture);
const Image* choose(std::span<const Image> images, uint32_t architecture, uint32_t module);

/// The chip for all of these: 100 where a text asks for sm_100 and none for sm_90a; else 90.
uint32_t chip_for(std::span<const Image> images);

}  // namespace warploom::ptx
