// SIGINT, SIGTERM and SIGHUP: a command that is told to end says and keeps what it has, and exits with 128 + signal.
//
//   Interruption interruption({.last = [&](int signal) { print(what_there_is(), signal); }});
//   { auto held = interruption.hold(); results.push_back(...); }          // not while `last` looks at them
//   interruption.over();                                                  // what follows is the ordinary end
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace warploom::cli {

class Interruption {
 public:
  struct Handler {
    std::function<void(int signal)> last = {};  ///< on a thread of its own, while the command still runs
    std::function<void()> tick = {};            ///< on the same thread, some twenty times a second
  };

  /// Made before any other thread: those that are made later leave the signals to this one.
  explicit Interruption(Handler handler);
  ~Interruption() { over(); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// `last` waits for as long as this is held, but not for ever: whoever holds it may hang.
  [[nodiscard]] std::unique_lock<std::timed_mutex> hold() { return std::unique_lock(mutex_); }
  /// From here on a signal ends the program as it ends any other.
  void over();

 private:
  void watch();
  [[noreturn]] void end(int signal);

  Handler handler_;
  std::timed_mutex mutex_;
  std::atomic<bool> over_ = false;
  std::thread watcher_;
};

}  // namespace warploom::cli
