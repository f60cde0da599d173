# warploom_negative_test(<name> <source> <expected_regex>
#                        [COMPILERS gxx clang nvcc] [FLAGS <flag>...] [NVCC_ARCH sm_100a] [LINK] [OPTIMISED])
#
# Tests that a misuse does not compile. For every compiler found, CTest gets `negative.<name>.<compiler>`: at test time
# the source must fail to compile with a message that matches the regular expression, and the same source with
# -DWARPLOOM_POSITIVE (the correct twin) must compile, so that the test cannot pass for an unrelated reason.
#
# A misuse that a declaration rules out is seen without code being made, in half the time. With OPTIMISED, where the optimiser
# takes part in the promise, and with LINK, code is made. Tests with compilers other than g++ carry the label `compilers`.
#
# With LINK the host compilers go on to link a program with the library: the source then has a main(), and the failure
# may come from the linker. nvcc needs no LINK: ptxas rejects an undefined device function. It compiles the device side
# only, which takes a third of the time.

find_program(WARPLOOM_GXX g++)
find_program(WARPLOOM_CLANG NAMES clang++-19 clang++)

function(warploom_negative_test name source expected)
  if(WARPLOOM_SANITIZE)
    return()  # the flags below are the same in every preset; only a library to LINK with would differ
  endif()
  cmake_parse_arguments(PARSE_ARGV 3 arg "LINK;OPTIMISED" "NVCC_ARCH" "COMPILERS;FLAGS")
  if(NOT arg_COMPILERS)
    set(arg_COMPILERS gxx clang nvcc)
  endif()
  if(NOT arg_NVCC_ARCH)
    set(arg_NVCC_ARCH sm_100a)
  endif()
  cmake_path(ABSOLUTE_PATH source)

  # The flags of the release build, whatever the preset.
  set(common -std=c++20 -O2 "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src" ${arg_FLAGS})
  set(host -c -fno-exceptions -ffp-contract=off -Wall -Wextra)
  if(NOT arg_OPTIMISED AND NOT arg_LINK)
    list(APPEND host -fsyntax-only)
  endif()
  set(command_gxx "${WARPLOOM_GXX}" ${common} ${host})
  set(command_clang "${WARPLOOM_CLANG}" ${common} ${host})
  set(command_nvcc "${WARPLOOM_NVCC}" -x cu "-arch=${arg_NVCC_ARCH}" -cubin --fmad=false --expt-relaxed-constexpr ${common})
  set(found_gxx "${WARPLOOM_GXX}")
  set(found_clang "${WARPLOOM_CLANG}")
  set(found_nvcc "${WARPLOOM_NVCC}")

  set(libraries "")
  if(arg_LINK)
    set(libraries "$<TARGET_FILE:warploom>" "$<TARGET_FILE:Boost::context>" "$<TARGET_FILE:fmt::fmt>" -ldw -pthread)
  endif()

  foreach(compiler IN LISTS arg_COMPILERS)
    if(NOT found_${compiler})
      continue()
    endif()
    set(link "")
    if(NOT compiler STREQUAL "nvcc")
      set(link "${libraries}")
    endif()
    set(test "negative.${name}.${compiler}")
    add_test(NAME "${test}"
      COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${command_${compiler}}" "-DSOURCE=${source}" "-DEXPECTED=${expected}"
              "-DLIBRARIES=${link}" "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/${test}"
              -P "${PROJECT_SOURCE_DIR}/cmake/negative_test.cmake")
    set_tests_properties("${test}" PROPERTIES TIMEOUT 300)
    if(NOT compiler STREQUAL "gxx")
      set_tests_properties("${test}" PROPERTIES LABELS compilers)
    endif()
  endforeach()
endfunction()
