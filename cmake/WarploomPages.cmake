# warploom_check_pages(<target>)
#
# Compiles docs/checks/*.md into a target (src/cli/pages.hpp), so that `warploom explain` needs no file at run time. A page
# that changes, comes or goes makes CMake run again.
function(warploom_check_pages target)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/checks/*.md")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})
  set(source "#include \"cli/pages.hpp\"\n\nnamespace warploom::cli {\nnamespace {\nconstexpr Page pages[] = {\n")
  foreach(page IN LISTS pages)
    cmake_path(GET page STEM code)
    file(READ "${page}" text)
    string(APPEND source "    {\"${code}\", R\"page(${text})page\"},\n")
  endforeach()
  string(APPEND source "};\n}  // namespace\nstd::span<const Page> check_pages() { return pages; }\n}  // namespace warploom::cli\n")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/check_pages.cpp" CONTENT "${source}" @ONLY)
  target_sources(${target} PRIVATE "${PROJECT_BINARY_DIR}/check_pages.cpp")
endfunction()
