# warploom_parts(<variable> <kernel>)
#
# The numbers of the parts of <kernel>.def, each of which is a file for the compilers. A part may have rows in several
# places.
function(warploom_parts variable kernel)
  set(def "${PROJECT_SOURCE_DIR}/include/warploom/kernels/${kernel}.def")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${def}")
  file(STRINGS "${def}" parts REGEX "WARPLOOM_PART == [0-9]+")
  list(TRANSFORM parts REPLACE ".*WARPLOOM_PART == ([0-9]+).*" "\\1")
  list(REMOVE_DUPLICATES parts)
  set(${variable} "${parts}" PARENT_SCOPE)
endfunction()

# warploom_rows_with(<parts> <count> <kernel> <text>)
#
# The numbers of those parts that have a row with this text in it, and how many such rows there are.
function(warploom_rows_with parts_variable count_variable kernel text)
  file(STRINGS "${PROJECT_SOURCE_DIR}/include/warploom/kernels/${kernel}.def" lines)
  set(parts "")
  set(part "")
  foreach(line IN LISTS lines)
    if(line MATCHES "WARPLOOM_PART == ([0-9]+)")
      set(part "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^WARPLOOM.*${text}")
      list(APPEND parts "${part}")
    endif()
  endforeach()
  list(LENGTH parts count)
  list(REMOVE_DUPLICATES parts)
  set(${parts_variable} "${parts}" PARENT_SCOPE)
  set(${count_variable} "${count}" PARENT_SCOPE)
endfunction()
