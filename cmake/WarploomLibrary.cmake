# What every file with a kernel is compiled with, the library's and its users'. Kernels are instantiated in the user's
# files too, and must round there as they do here and on the GPU. A report finds the line of an operation from its return
# address: calls must not be merged or become jumps.
set(warploom_kernel_flags -ffp-contract=off -g -fno-optimize-sibling-calls)
set(warploom_kernel_gnu_flags -fno-crossjumping -fno-tree-tail-merge -fno-ipa-icf)
set(warploom_kernel_options
  "$<$<COMPILE_LANGUAGE:CXX>:${warploom_kernel_flags}>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:${warploom_kernel_gnu_flags}>")

# warploom_library(<target> STATIC|SHARED)
#
# libwarploom from the objects of the target warploom_objects.
function(warploom_library target kind)
  add_library(${target} ${kind} $<TARGET_OBJECTS:warploom_objects>)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME warploom
    LINKER_LANGUAGE CXX
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_compile_options(${target} INTERFACE ${warploom_kernel_options})
  target_link_libraries(${target} PRIVATE
    Boost::context fmt::fmt PkgConfig::LIBDW PkgConfig::LIBZSTD PkgConfig::LIBLZ4 Threads::Threads ${CMAKE_DL_LIBS})
  # Whatever it is in is never unloaded: signal handlers stay behind.
  if(kind STREQUAL "STATIC")
    target_link_options(${target} INTERFACE "LINKER:-z,nodelete")
  else()  # its own calls need not go through the symbol table
    set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
    target_link_options(${target} PRIVATE
      "LINKER:-Bsymbolic,-z,nodelete,-z,defs,--compress-debug-sections=zlib,--version-script=${exports}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${exports}")
  endif()
endfunction()

# warploom_shows_functions(<program>)
#
# A program that loads translated PTX has all of the library in it, and shows what the headers declare: that is what
# translated code calls.
function(warploom_shows_functions target)
  target_link_options(${target} PRIVATE
    "LINKER:--whole-archive,$<TARGET_FILE:warploom>,--no-whole-archive"
    "LINKER:--dynamic-list=${PROJECT_SOURCE_DIR}/cmake/shown.list")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
    "${PROJECT_SOURCE_DIR}/cmake/shown.list" "$<TARGET_FILE:warploom>")
endfunction()
