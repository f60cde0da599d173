// Whether this program can name source lines. A stripped one shows places as ":0", and operations that differ in their
// line alone become one: who reads that must be told.
#pragma once

namespace warploom::cli {

bool has_line_information();

/// What is missing, and how to have it; nothing where lines are known. On standard error.
void remark_on_missing_lines();

}  // namespace warploom::cli
