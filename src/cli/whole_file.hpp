// Files that are read and written whole, or not at all.
//
//   Result<std::vector<std::byte>> bytes = read_whole("in.safetensors");   // or a sentence; pipes and devices are none
//   if (Trouble trouble = try_to_write("--out", path)) ...                  // before the work
//   if (Trouble trouble = write_whole(path, bytes)) ...                     // after it: the old file, or the new one
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tell.hpp"

namespace warploom::cli {

/// An ordinary file that is open for reading.
class InputFile {
 public:
  /// Neither waits for a pipe nor reads a device: only ordinary files are taken.
  static Result<InputFile> open(const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  uint64_t size() const { return size_; }
  /// "" or why not all of it could be read.
  std::string read(uint64_t from, std::span<std::byte> to) const;

 private:
  InputFile(std::string path, int file, uint64_t size) : path_(std::move(path)), file_(file), size_(size) {}

  std::string path_;
  int file_;
  uint64_t size_;
};

Result<std::string> read_whole(const std::string& path);

/// "", or what is at the path instead of an ordinary file: "'x' is a directory".
std::string why_no_file(const std::string& path);

/// Whether `write_whole` could write there now. `option` is what named the path.
Trouble try_to_write(const char* option, const std::string& path);

/// Writes beside the file, and has the result take its place when it is on the disk: whoever looks, whenever, sees the
/// old file whole or the new one. A link stays one; permissions stay, too.
Trouble write_whole(const std::string& path, std::span<const std::byte> bytes);
Trouble write_whole(const std::string& path, std::string_view text);

/// What the file is called that `write_whole` writes, beside the one that it is to become. One that is left over from a
/// killed process can be deleted.
inline constexpr const char* unfinished_name = ".warploom-unfinished-";

/// Removes what is being written and holds up its writers for ever: for a process that is about to end.
void abandon_unfinished_files();
/// Whether a file has taken its place. After `abandon_unfinished_files` that is final.
bool finished_a_file();

}  // namespace warploom::cli
