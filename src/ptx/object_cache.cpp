#include "ptx/object_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <vector>

#include "types/no_throw.hpp"

namespace warploom::ptx {
namespace {

namespace fs = std::filesystem;

/// What stands at the end of an entry, behind all that the loader looks at.
struct Seal {
  std::array<char, 16> magic;
  uint64_t bytes;
  std::array<char, 32> hash;
};
constexpr std::array<char, 16> seal_magic = {'w', 'a', 'r', 'p', 'l', 'o', 'o', 'm',
                                             ' ', 'p', 't', 'x', ' ', '1', '\n'};

Seal seal_of(std::string_view content) {
  Seal seal{seal_magic, content.size(), {}};
  const std::string hash = KeyHash().add(content).hex();
  std::copy(hash.begin(), hash.end(), seal.hash.begin());
  return seal;
}

std::optional<std::string> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return content;
}

bool is_whole(const std::string& path) {
  const std::optional<std::string> content = content_of(path);
  if (!content || content->size() < sizeof(Seal)) return false;
  Seal seal;
  std::memcpy(&seal, content->data() + content->size() - sizeof(Seal), sizeof(Seal));
  const std::string_view object = std::string_view(*content).substr(0, content->size() - sizeof(Seal));
  const Seal right = seal_of(object);
  return std::memcmp(&seal, &right, sizeof(Seal)) == 0;
}

/// Ours alone, because what lies there is executed.
bool is_private_folder(const std::string& folder) {
  struct stat status{};
  return stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(folder.c_str(), W_OK | X_OK) == 0;
}

std::string wanted_folder() {
  if (const char* folder = std::getenv("WARPLOOM_CACHE"); folder != nullptr && *folder != '\0')
    return fs::absolute(folder).string();
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/')
    return fmt::format("{}/warploom/ptx", folder);
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fmt::format("{}/.cache/warploom/ptx", home);
  return {};
}

}  // namespace

// Two lanes of multiplications and shifts, each word into both: no defence against somebody who wants a collision, who
// could write to the folder anyway.
void KeyHash::word(uint64_t value) {
  a_ = (a_ ^ value) * 0xff51afd7ed558ccdu;
  a_ ^= a_ >> 32;
  b_ = (b_ + value) * 0xc4ceb9fe1a85ec53u;
  b_ ^= b_ >> 29;
}

KeyHash& KeyHash::add(std::string_view text) {
  word(text.size());
  while (!text.empty()) {
    uint64_t value = 0;
    const size_t bytes = std::min<size_t>(text.size(), sizeof(value));
    std::memcpy(&value, text.data(), bytes);
    word(value);
    text.remove_prefix(bytes);
  }
  return *this;
}

std::string KeyHash::hex() const {
  KeyHash end = *this;
  end.word(a_ ^ b_);
  return fmt::format("{:016x}{:016x}", end.a_, end.b_);
}

Result<ObjectCache> ObjectCache::open() {
  const std::string folder = wanted_folder();
  std::error_code cannot;
  if (!folder.empty()) {
    if (fs::create_directories(folder, cannot)) fs::permissions(folder, fs::perms::owner_all, cannot);
    if (is_private_folder(folder)) return ObjectCache(folder);
    if (std::getenv("WARPLOOM_CACHE") != nullptr)
      return Error{
          fmt::format("WARPLOOM_CACHE is '{}', which is not a folder that you own and nobody else can write to",
                      folder),
          ErrorCode::io};
  }
  static const std::string own = [] {
    std::string name = (fs::temp_directory_path() / "warploom-ptx-XXXXXX").string();
    return mkdtemp(name.data()) == nullptr ? std::string() : name;
  }();
  if (own.empty())
    return Error{
        fmt::format("there is no folder for compiled kernels: neither '{}' nor '{}' can be written; name one in "
                    "WARPLOOM_CACHE",
                    folder, fs::temp_directory_path().string()),
        ErrorCode::io};
  static const int at_exit = std::atexit([] {
    std::error_code nobody_cares;
    fs::remove_all(own, nobody_cares);
  });
  (void)at_exit;
  return ObjectCache(own);
}

std::optional<std::string> ObjectCache::find(const std::string& key) const {
  const std::string place = path(key, ".so");
  if (!is_whole(place)) return std::nullopt;
  utimensat(AT_FDCWD, place.c_str(), nullptr, 0);
  return place;
}

std::string ObjectCache::unfinished(const std::string& key) const {
  static std::atomic<uint32_t> count = 0;
  return fmt::format("{}/{}.{}-{}.unfinished", folder_, key, getpid(), count++);
}

std::string ObjectCache::write(const std::string& place, std::string_view text) const {
  const std::string beside = unfinished(fs::path(place).filename().string());
  {
    std::ofstream file(beside, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) {
      unlink(beside.c_str());
      return fmt::format("{} cannot be written: {}", place, std::strerror(errno));
    }
  }
  if (rename(beside.c_str(), place.c_str()) != 0)
    return fmt::format("{} cannot be written: {}", place, std::strerror(errno));
  return {};
}

Result<std::string> ObjectCache::keep(const std::string& key, const std::string& file) const {
  const std::string place = path(key, ".so");
  const std::optional<std::string> content = content_of(file);
  bool sealed = false;
  if (content) {
    const Seal seal = seal_of(*content);
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(&seal), sizeof(seal));
    out.close();
    sealed = !out.fail();
  }
  if (!sealed || rename(file.c_str(), place.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    unlink(file.c_str());
    return Error{fmt::format("{} cannot be written: {}", place, why), ErrorCode::io};
  }
  prune(key);
  return place;
}

Result<std::string> write_listing(const std::string& text, const std::string& stem) {
  return no_throw([&]() -> Result<std::string> {
    const Result<ObjectCache> cache = ObjectCache::open();
    if (!cache) return cache.why();
    std::string plain = stem.substr(0, 64);
    for (char& c : plain)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') c = '_';
    constexpr size_t shown_digits = 8;
    const std::string path =
        fmt::format("{}/{}-{}.ptx", cache->folder(), plain, KeyHash().add(text).hex().substr(0, shown_digits));
    if (content_of(path) == text) {
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      return path;
    }
    if (std::string trouble = cache->write(path, text); !trouble.empty()) return Error{trouble, ErrorCode::io};
    return path;
  });
}

void ObjectCache::prune(const std::string& kept) const {
  struct Entry {
    uint64_t bytes = 0;
    fs::file_time_type used = fs::file_time_type::min();
    std::vector<fs::path> files = {};
  };
  constexpr size_t key_length = 32;
  std::map<std::string, Entry> entries;
  uint64_t all = 0;
  std::error_code gone;  // another process may be at the same
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, gone)) {
    const std::string name = file.path().filename().string();
    const bool listing = file.path().extension() == ".ptx";
    const bool of_key = name.size() > key_length && name.find_first_not_of("0123456789abcdef") == key_length;
    if (!listing && !of_key) continue;
    const uint64_t bytes = file.file_size(gone);
    if (gone) continue;
    Entry& entry = entries[listing ? name : name.substr(0, key_length)];
    entry.bytes += bytes;
    entry.used = std::max(entry.used, file.last_write_time(gone));
    entry.files.push_back(file.path());
    all += bytes;
  }
  std::vector<std::map<std::string, Entry>::const_iterator> by_use;
  for (auto entry = entries.cbegin(); entry != entries.cend(); ++entry) by_use.push_back(entry);
  std::sort(by_use.begin(), by_use.end(), [](auto a, auto b) { return a->second.used < b->second.used; });
  for (const auto& entry : by_use) {
    if (all <= most_bytes_) break;
    if (entry->first == kept) continue;
    for (const fs::path& file : entry->second.files) fs::remove(file, gone);
    all -= entry->second.bytes;
  }
}

ObjectCache::Lock::Lock(const std::string& path) {
  // Without the lock two processes do the same work, and no more.
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  while (file_ >= 0 && flock(file_, LOCK_EX) != 0)
    if (errno != EINTR) break;
}

ObjectCache::Lock::~Lock() {
  if (file_ >= 0) close(file_);
}

}  // namespace warploom::ptx
