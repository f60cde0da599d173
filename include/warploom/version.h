/* The version, for the preprocessor of C and C++. CMake reads it from here. Until 1.0, a minor version may change what
   programs see, and a shared library of another one is another library (libwarploom.so.0.1). */
#ifndef WARPLOOM_VERSION_H
#define WARPLOOM_VERSION_H

/* NOLINTBEGIN(modernize-macro-to-enum): for the preprocessor */
#define WARPLOOM_VERSION_MAJOR 0
#define WARPLOOM_VERSION_MINOR 1
#define WARPLOOM_VERSION_PATCH 0
/* NOLINTEND(modernize-macro-to-enum) */

/* 0.1.0 is 100, 1.2.3 is 10203:  #if WARPLOOM_VERSION >= 200 */
#define WARPLOOM_VERSION (WARPLOOM_VERSION_MAJOR * 10000 + WARPLOOM_VERSION_MINOR * 100 + WARPLOOM_VERSION_PATCH)

#define WARPLOOM_VERSION_TEXT_OF(major, minor, patch) #major "." #minor "." #patch
#define WARPLOOM_VERSION_TEXT(major, minor, patch) WARPLOOM_VERSION_TEXT_OF(major, minor, patch)
#define WARPLOOM_VERSION_STRING \
  WARPLOOM_VERSION_TEXT(WARPLOOM_VERSION_MAJOR, WARPLOOM_VERSION_MINOR, WARPLOOM_VERSION_PATCH)

#endif
