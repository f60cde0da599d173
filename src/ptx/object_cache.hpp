// Compiled translations, kept in a folder: one shared object for each key.
//
//   Result<ObjectCache> cache = ObjectCache::open();                     // ~/.cache/warploom/ptx
//   if (std::optional<std::string> path = cache->find(key)) return *path;
//   auto lock = cache->lock(key);                                        // another process may be at it: look again
//   std::string beside = cache->unfinished(key);                         // compile to there
//   Result<std::string> path = cache->keep(key, beside);
//
// An entry is written beside its place and renamed into it, and carries a checksum: whoever looks sees a whole entry or
// none. One that is damaged counts as none, and is replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "warploom/types/result.hpp"

namespace warploom::ptx {

/// A hash of 128 bits over texts, each with its length, in hex: a file's name.
class KeyHash {
 public:
  KeyHash& add(std::string_view text);
  std::string hex() const;

 private:
  void word(uint64_t value);
  uint64_t a_ = 0x9e3779b97f4a7c15u, b_ = 0xc2b2ae3d27d4eb4fu;
};

/// Keeps a PTX text that came out of a program where reports can name it: `<stem>-<hash>.ptx` in the folder of the
/// cache. Its path, whole.
Result<std::string> write_listing(const std::string& text, const std::string& stem);

class ObjectCache {
 public:
  /// WARPLOOM_CACHE; or warploom/ptx in XDG_CACHE_HOME, or in .cache of HOME. Made where it is not there. Where no
  /// folder can be written, one for this process, in the place for temporary files.
  static Result<ObjectCache> open();
  explicit ObjectCache(std::string folder, uint64_t most_bytes = default_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  static constexpr uint64_t default_bytes = uint64_t{1} << 30;

  const std::string& folder() const { return folder_; }
  /// A whole entry; it counts as used now.
  std::optional<std::string> find(const std::string& key) const;
  /// A name beside the entry's place, of this process and call alone.
  std::string unfinished(const std::string& key) const;
  /// Seals the file and has it take the entry's place. Entries not used for the longest go where there are too many
  /// bytes.
  Result<std::string> keep(const std::string& key, const std::string& file) const;
  /// Another file that belongs to the key: its PTX, a compiler's messages.
  std::string path(const std::string& key, const char* ending) const { return folder_ + "/" + key + ending; }
  /// Writes such a file, whole or not at all; "" or why not.
  std::string write(const std::string& path, std::string_view text) const;

  /// Held while an entry is made; ends with the process at the latest.
  class Lock {
   public:
    explicit Lock(const std::string& path);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_ = -1;
  };
  Lock lock(const std::string& key) const { return Lock(path(key, ".lock")); }

 private:
  void prune(const std::string& kept) const;

  std::string folder_;
  uint64_t most_bytes_ = default_bytes;
};

}  // namespace warploom::ptx
