# warploom_kernel_sources(<target> <files>...)
#
# Adds files that instantiate kernels to a target. They compile without exceptions, because a must-release handle holds
# its promise only where the compiler can see that nothing throws past it. (Debug information, by which reports name the
# line of the kernel, comes with the library that the target links.)
function(warploom_kernel_sources target)
  if(NOT ARGN)
    return()
  endif()
  set(files "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    list(APPEND files "${file}")
  endforeach()
  target_sources(${target} PRIVATE ${files})
  set_property(SOURCE ${files} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -fno-exceptions)
endfunction()
