#include "cli/interruption.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include "cli/tell.hpp"
#include "cli/whole_file.hpp"

namespace warploom::cli {
namespace {

constexpr int ending[] = {SIGINT, SIGTERM, SIGHUP};

/// The signals that end the program, less those that somebody has it ignore.
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : ending) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Interruption::Interruption(Handler handler) : handler_(std::move(handler)) {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (...) {
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    throw;
  }
}

void Interruption::over() {
  if (!watcher_.joinable()) return;
  over_ = true;
  watcher_.join();
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interruption::watch() {
  const sigset_t signals = ending_signals();
  const timespec moment{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!over_) {
    const int signal = sigtimedwait(&signals, nullptr, &moment);
    if (signal > 0) end(signal);
    try {
      if (handler_.tick) handler_.tick();
    } catch (const std::exception&) {  // no memory, say: the next tick tries again, and the end says what is wrong
    }
  }
}

void Interruption::end(int signal) {
  // Whoever asks again does not want to wait.
  for (const int again : ending) std::signal(again, SIG_DFL);
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  try {
    constexpr std::chrono::seconds patience(2);
    const std::unique_lock lock(mutex_, patience);
    if (lock && handler_.last) {
      handler_.last(signal);
      flush();
    }
  } catch (const std::exception& error) {
    try {
      remark(error.what());
    } catch (const std::exception&) {
    }
  }
  abandon_unfinished_files();
  _exit(interrupted + signal);
}

}  // namespace warploom::cli
