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
