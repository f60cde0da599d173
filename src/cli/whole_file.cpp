#include "cli/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

namespace warploom::cli {
namespace {

/// Names of files that are being written, for `abandon_unfinished_files`. None is renamed without the mutex.
struct Unfinished {
  std::recursive_mutex mutex;  // whoever has abandoned all may do so again
  std::set<std::string> names;
  bool one_finished = false;
};
Unfinished& unfinished() {
  static auto* const all = new Unfinished;  // outlives every thread
  return *all;
}

/// Where a link leads, through all links, whether or not anything is there yet.
std::string target_of(const std::string& path) {
  std::filesystem::path at = path;
  constexpr int most_links = 40;
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(std::filesystem::symlink_status(at, error)); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// What is wrong with a path that nothing can be written to: the path itself, or what the system says of it.
Trouble cannot_write(const std::string& path, int reason) {
  const bool of_path = reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == ENAMETOOLONG ||
                       reason == EINVAL || reason == EISDIR;
  return {fmt::format("cannot write '{}': {}", path, std::strerror(reason)), of_path ? bad_input : could_not};
}

/// A file beside another one, with a name that goes away unless `take_place` succeeds.
class Beside {
 public:
  explicit Beside(const std::string& path) : path_(path), name_(folder_of(path) + "/" + unfinished_name + "XXXXXX") {
    const std::lock_guard lock(unfinished().mutex);
    file_ = mkostemp(name_.data(), O_CLOEXEC);
    if (file_ >= 0) unfinished().names.insert(name_);
  }
  ~Beside() {
    if (file_ >= 0) close(file_);
    const std::lock_guard lock(unfinished().mutex);
    if (unfinished().names.erase(name_) != 0) unlink(name_.c_str());
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  bool open() const { return file_ >= 0; }

  bool write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t more = ::write(file_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(more));
    }
    return true;
  }

  /// Owner and permissions are those of the file as it was, or what the user has new ones be.
  bool take_place() {
    struct stat there = {};
    const bool exists = stat(path_.c_str(), &there) == 0;
    const mode_t mask = umask(0);
    umask(mask);
    // Only who may give files away can keep another's owner.
    if (exists && (there.st_uid != geteuid() || there.st_gid != getegid()))
      (void)!fchown(file_, there.st_uid, there.st_gid);
    if (fchmod(file_, exists ? there.st_mode & 0777 : 0666 & ~mask) != 0 || fsync(file_) != 0) return false;
    const int closed = close(std::exchange(file_, -1));
    const std::lock_guard lock(unfinished().mutex);
    if (closed != 0 || std::rename(name_.c_str(), path_.c_str()) != 0) return false;
    unfinished().names.erase(name_);
    unfinished().one_finished = true;
    return true;
  }

 private:
  std::string path_, name_;
  int file_ = -1;
};

/// Whether one of our own streams goes there.
bool is_our_stream(const struct stat& file) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat ours = {};
    if (fstat(stream, &ours) == 0 && ours.st_dev == file.st_dev && ours.st_ino == file.st_ino) return true;
  }
  return false;
}

/// 0, or why no file can be made in the folder. Where the file system can, one without a name is, which nobody can
/// leave over.
int why_no_new_file(const std::string& target) {
  const int file = open(folder_of(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) {
    close(file);
    return 0;
  }
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return errno;
  const Beside trial(target);
  return trial.open() ? 0 : errno;
}

}  // namespace

std::string why_no_file(const std::string& path) {
  struct stat there = {};
  if (stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode)) return {};
  const char* const what = S_ISDIR(there.st_mode)    ? "directory"
                           : S_ISFIFO(there.st_mode) ? "pipe"
                           : S_ISSOCK(there.st_mode) ? "socket"
                                                     : "device";
  return fmt::format("'{}' is a {}, not an ordinary file", path, what);
}

Result<InputFile> InputFile::open(const std::string& path) {
  if (std::string reason = why_no_file(path); !reason.empty()) return Error{reason};
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return Error{fmt::format("cannot open '{}': {}", path, std::strerror(errno))};
  struct stat opened = {};
  if (fstat(file, &opened) != 0 || !S_ISREG(opened.st_mode)) {  // it was another file a moment ago
    close(file);
    return Error{fmt::format("'{}' is not an ordinary file", path)};
  }
  return InputFile(path, file, static_cast<uint64_t>(opened.st_size));
}

InputFile::~InputFile() {
  if (file_ >= 0) close(file_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

std::string InputFile::read(uint64_t from, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t more =
        pread(file_, to.data(), std::min<size_t>(to.size(), size_t{1} << 30), static_cast<off_t>(from));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return fmt::format("cannot read '{}': {}", path_, std::strerror(errno));
    if (more == 0) return fmt::format("'{}' became shorter while it was read", path_);
    from += static_cast<uint64_t>(more);
    to = to.subspan(static_cast<size_t>(more));
  }
  return {};
}

Result<std::string> read_whole(const std::string& path) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return Error{file.error()};
  std::string text(file->size(), '\0');
  if (std::string reason = file->read(0, std::as_writable_bytes(std::span(text))); !reason.empty())
    return Error{reason};
  return text;
}

Trouble try_to_write(const char* option, const std::string& path) {
  if (path == "-")
    return {fmt::format("{} names a file; standard output has the report (./- is a file of that name)", option)};
  if (path.ends_with('/')) return {fmt::format("'{}' is a directory, not an ordinary file", path)};
  if (std::string reason = why_no_file(path); !reason.empty()) return {fmt::format("{}: {}", option, reason)};
  const std::string target = target_of(path);
  struct stat there = {};
  // Something may take its place where nobody may write into it; that is not what its owner wants.
  const bool exists = stat(target.c_str(), &there) == 0;
  if (!exists && errno == ELOOP) return cannot_write(path, ELOOP);
  if (exists && access(target.c_str(), W_OK) != 0) return cannot_write(path, errno);
  if (exists && is_our_stream(there))
    return {
        fmt::format("{} names the file that standard input, output or errors are redirected to: '{}'", option, path)};
  if (std::filesystem::path(target).filename().string().size() > NAME_MAX) return cannot_write(path, ENAMETOOLONG);
  if (const int reason = why_no_new_file(target)) return cannot_write(path, reason);
  return {};
}

Trouble write_whole(const std::string& path, std::span<const std::byte> bytes) {
  const std::string target = target_of(path);
  {
    Beside file(target);
    if (!file.open() || !file.write(bytes) || !file.take_place()) return cannot_write(path, errno);
  }
  // The name is on the disk once its folder is.
  if (const int folder = open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    (void)fsync(folder);
    close(folder);
  }
  return {};
}

Trouble write_whole(const std::string& path, std::string_view text) {
  return write_whole(path, std::as_bytes(std::span(text)));
}

void abandon_unfinished_files() {
  Unfinished& all = unfinished();
  all.mutex.lock();  // and never unlocked: nothing is renamed from here on
  for (const std::string& name : all.names) unlink(name.c_str());
}

bool finished_a_file() {
  const std::lock_guard lock(unfinished().mutex);
  return unfinished().one_finished;
}

}  // namespace warploom::cli
