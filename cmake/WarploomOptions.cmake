# Options of the project, and the flags every target of ours is compiled with (target `warploom_options`).

option(WARPLOOM_CLI "Build the warploom program" ${PROJECT_IS_TOP_LEVEL})
option(WARPLOOM_SHARED "Build the shared library beside the static one" ${PROJECT_IS_TOP_LEVEL})
option(WARPLOOM_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(WARPLOOM_TESTS "Build the tests (needs GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(WARPLOOM_GPU "Compile the kernels for sm_90a and sm_100a (needs CUDA 13.0 or newer)" OFF)
option(WARPLOOM_WERROR "Treat warnings in our code as errors" ${PROJECT_IS_TOP_LEVEL})
set(WARPLOOM_KERNELS "all" CACHE STRING
  "Configurations that the loom can run: all, representative (a third of the compile time), or a list of keys")
set(WARPLOOM_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
  endif()
  # No NDEBUG: an assert in the checker must hold in the build that people run.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")
  # Reports need lines and inlined functions, not where a variable is kept: that takes g++ a quarter of its time.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(APPEND CMAKE_CXX_FLAGS_RELWITHDEBINFO " -fno-var-tracking")
  endif()

  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()

add_library(warploom_options INTERFACE)
# -g always: reports name the line of a kernel, and find it in the DWARF of the running program. For the same reason
# there is no link-time optimisation and no split DWARF.
target_compile_options(warploom_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-g;-ffp-contract=off;-Wall;-Wextra;-Wpedantic;-Wshadow;-Wno-psabi>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WARPLOOM_WERROR}>>:-Werror>")
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)

# For the library. Reports need lines and inlined functions; variables, types and columns would be most of its size.
# Linked last, because the last such option holds.
add_library(warploom_lean INTERFACE)
target_compile_options(warploom_lean INTERFACE
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-g1;-gno-column-info>")

# For code that takes longer to compile than to run, the program and the tests: half the time. Every optimised build
# checks handles, and reports still find lines and inlined functions. Linked last, because the last such option holds.
add_library(warploom_quick INTERFACE)
target_compile_options(warploom_quick INTERFACE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-O1;-g1>")

if(WARPLOOM_SANITIZE)
  # Not through warploom_options: examples and tests that link the library need the same run-time. With checks in
  # between, g++ 12 takes members of std::regex for uninitialised. Thread-local variables lie at a known place of the one
  # program there is: g++ tests an address for null by the flags of the addition that makes it, and ld makes `lea` of
  # that addition, which sets none (a null `Script` was reported).
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-O1;-ftls-model=local-exec;-Wno-maybe-uninitialized;-fsanitize=${WARPLOOM_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  add_link_options("-fsanitize=${WARPLOOM_SANITIZE}")
  set(WARPLOOM_SHARED OFF)  # it would need the sanitizers' run-time of the program
endif()

# For the GPU half and for the tests of what must not compile; neither the library nor the program needs it.
find_program(WARPLOOM_NVCC nvcc PATHS /usr/local/cuda/bin)
