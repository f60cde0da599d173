# Run by the tests of warploom_negative_test, with COMMAND (compiler and flags, up to an object), SOURCE, EXPECTED (regular expression),
# LIBRARIES (what to link with; empty: compile only) and WORK (a folder of its own).
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY "${WORK}")

# Compiles SOURCE with further flags; sets <result> to the exit status and <messages> to all that was printed.
function(build result messages)
  execute_process(COMMAND ${COMMAND} ${ARGN} "${SOURCE}" -o "${WORK}/object.o"
    RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(status EQUAL 0 AND NOT LIBRARIES STREQUAL "")
    list(GET COMMAND 0 compiler)
    execute_process(COMMAND "${compiler}" "${WORK}/object.o" ${LIBRARIES} -o "${WORK}/program"
      RESULT_VARIABLE status OUTPUT_VARIABLE link_out ERROR_VARIABLE link_err)
    string(APPEND out "${link_out}")
    string(APPEND err "${link_err}")
  endif()
  string(SUBSTRING "${out}${err}" 0 20000 text)
  set(${result} "${status}" PARENT_SCOPE)
  set(${messages} "${text}" PARENT_SCOPE)
endfunction()

build(status messages -DWARPLOOM_POSITIVE)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "The correct twin (-DWARPLOOM_POSITIVE) must compile, and does not:\n${messages}")
endif()

build(status messages)
if(status EQUAL 0)
  message(FATAL_ERROR "The misuse compiles.")
endif()
if(NOT messages MATCHES "${EXPECTED}")
  message(FATAL_ERROR "The misuse is rejected, but no message matches \"${EXPECTED}\":\n${messages}")
endif()
