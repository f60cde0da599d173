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

# warploom_parts_with(<variable> <kernel> <text>)
#
# The numbers of those parts that have a row with this text in it.
function(warploom_parts_with variable kernel text)
  file(STRINGS "${PROJECT_SOURCE_DIR}/include/warploom/kernels/${kernel}.def" lines)
  set(parts "")
  foreach(line IN LISTS lines)
    if(line MATCHES "WARPLOOM_PART == ([0-9]+)")
      set(part "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^WARPLOOM.*${text}")
      list(APPEND parts "${part}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES parts)
  set(${variable} "${parts}" PARENT_SCOPE)
endfunction()
