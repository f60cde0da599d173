# cmake -DLIBRARY=<file> -DMOST_MB=<number> -P library_size.cmake: fails if the file is larger than that many million
# bytes.
file(SIZE "${LIBRARY}" bytes)
math(EXPR most "${MOST_MB} * 1000000")
if(bytes GREATER most)
  file(REMOVE "${LIBRARY}")  # so that the next build says it again
  message(FATAL_ERROR "${LIBRARY} has ${bytes} bytes, more than ${MOST_MB} MB: look for code that is instantiated twice, "
                      "or for a fat binary that is not compressed (cuobjdump -elf, size -A).")
endif()
