# A step of `cmake --install`: the installed libwarploom.a without debug information, of which two thirds would be
# relocations, and with a table of lines instead (src/loom/report/line_table.hpp).
#
#   archive      the installed libwarploom.a
#   shared       libwarploom.so of the same build; "": none, and the debug information stays, compressed
#   line_table   the program that makes the table
#   work         a folder for what is made on the way
#   ar, objcopy, readelf, compiler
function(warploom_run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${code}\n${text}")
  endif()
endfunction()

if(NOT shared)
  warploom_run("${objcopy}" --compress-debug-sections=zlib "${archive}")
  return()
endif()
file(MAKE_DIRECTORY "${work}")
warploom_run("${line_table}" "${shared}" "${work}/lines")
file(SIZE "${work}/lines" bytes)
file(WRITE "${work}/lines.s" "
  .section .rodata
  .global warploom_line_table, warploom_line_table_bytes
  .hidden warploom_line_table, warploom_line_table_bytes
  .balign 8
warploom_line_table: .incbin \"${work}/lines\"
  .balign 8
warploom_line_table_bytes: .quad ${bytes}
  .section .note.GNU-stack,\"\",@progbits
")
warploom_run("${compiler}" -c "${work}/lines.s" -o "${work}/line_table.o")
# Every instance of a template has a section, whose name repeats the symbol's, of a kernel a thousand bytes long.
execute_process(COMMAND "${readelf}" -SW "${archive}" OUTPUT_VARIABLE sections ERROR_QUIET)
string(REGEX MATCHALL " \\.[a-z_.]+\\._Z[A-Za-z0-9_.]+" sections "${sections}")
list(REMOVE_DUPLICATES sections)
set(renamed "")
foreach(section IN LISTS sections)
  string(REGEX REPLACE "^ (\\.[a-z_.]+)\\._Z.*$" "--rename-section \\0=\\1.x\n" line "${section}")
  if(NOT section MATCHES "^ \\.rela\\.")  # takes the name of what it relocates
    string(APPEND renamed "${line}")
  endif()
endforeach()
file(WRITE "${work}/renamed" "${renamed}")
warploom_run("${objcopy}" --strip-debug --discard-locals --remove-section .comment "@${work}/renamed" "${archive}")
warploom_run("${ar}" d "${archive}" carried_line_table.cpp.o)
warploom_run("${ar}" qs "${archive}" "${work}/line_table.o")
