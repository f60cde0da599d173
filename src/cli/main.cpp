// warploom: runs the library's kernels on the loom and explains what happened.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "cli/command_line.hpp"
#include "cli/tell.hpp"

namespace {

/// A file that is opened must not become one of the three streams that somebody has closed. Writing to a stand-in
/// fails.
void stand_in_for_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
}

/// A reader that went away and a limit on the size of files are errors of `write`, with a sentence, and no end without
/// one.
void hear_of_failed_writes() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int guarded(int argc, char** argv, bool json) {
  using namespace warploom::cli;
  try {
    // Before the work: what nobody can read need not be computed.
    if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) throw OutputFailed("standard output is closed");
    const int code = run_command_line(argc, argv);
    flush();
    return code;
  } catch (const OutputFailed& error) {
    return fail({error.what(), could_not}, false);
  } catch (const std::bad_alloc&) {
    return fail({"there is not enough memory for this", could_not}, json);
  } catch (const std::system_error& error) {
    return fail({std::string("the system refuses a thread or a file: ") + error.what() + " (ulimit -a lists limits)",
                 could_not},
                json);
  } catch (const std::exception& error) {
    return fail({std::string("this should not happen: ") + error.what(), could_not}, json);
  }
}

}  // namespace

int main(int argc, char** argv) {
  stand_in_for_closed_streams();
  hear_of_failed_writes();
  const bool json = argc > 1 && warploom::cli::wants_json(argc, argv);
  int code = warploom::cli::could_not;
  try {
    code = guarded(argc, argv, json);
    warploom::cli::flush();
  } catch (const std::exception& error) {  // the error could not be told, either
    std::fprintf(stderr, "warploom: %s\n", error.what());
    code = warploom::cli::could_not;
  }
  return code;
}
