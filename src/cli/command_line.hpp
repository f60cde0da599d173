// The command line: every command's options, and which of them runs.
#pragma once

namespace warploom::cli {

/// Whether errors are told as JSON: asked for, whether or not the rest can be read. To bench, --json is a file.
bool wants_json(int argc, char** argv);

/// Reads the command line and runs what it says; the exit code. May throw (main.cpp tells what).
int run_command_line(int argc, char** argv);

}  // namespace warploom::cli
