# `cmake --install build --prefix <folder>`, or a part of it with `--component`:
#
#   headers   include/, the CMake package and pkg-config files
#   static    libwarploom.a
#   shared    libwarploom.so
#   cli       bin/warploom and bin/warploom-hints, where they are built, and the CUDA runtime for `warploom ptx run`
#   gpu       libwarploom_gpu.a and libwarploom_gpu_c.so, in a build with CUDA
#   docs      share/doc/warploom
#   examples  share/warploom/examples, a project of its own
#
# What is installed may be moved. docs/install.md is for those who use it; tests/package does.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(warploom_package "${CMAKE_INSTALL_LIBDIR}/cmake/warploom")

# warploom_install_targets(<component> <targets>...): with a file of their own for the CMake package, which asks for it by
# its name.
function(warploom_install_targets component)
  foreach(target IN LISTS ARGN)
    target_include_directories(${target} INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  endforeach()
  install(TARGETS ${ARGN} EXPORT warploom-${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
  install(EXPORT warploom-${component} FILE warploom-${component}-targets.cmake NAMESPACE warploom::
    DESTINATION "${warploom_package}" COMPONENT ${component})
endfunction()

# ---- libraries

set_target_properties(warploom PROPERTIES EXPORT_NAME static)
warploom_install_targets(static warploom)
if(WARPLOOM_SHARED)
  set_target_properties(warploom_shared PROPERTIES EXPORT_NAME shared)
  warploom_install_targets(shared warploom_shared)
  set(shared_file "$<TARGET_FILE:warploom_shared>")
  set(line_table "$<TARGET_FILE:warploom_line_table>")
endif()
install(CODE "
  set(archive \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:warploom>\")
  set(shared \"${shared_file}\")
  set(line_table \"${line_table}\")
  set(work \"${PROJECT_BINARY_DIR}/compact_static\")
  set(ar \"${CMAKE_AR}\")
  set(objcopy \"${CMAKE_OBJCOPY}\")
  set(readelf \"${CMAKE_READELF}\")
  set(compiler \"${CMAKE_CXX_COMPILER}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/compact_static.cmake\")" COMPONENT static)

if(TARGET warploom_gpu_c)  # otherwise there is no CUDA, or no kernel for it
  set_target_properties(warploom_gpu PROPERTIES EXPORT_NAME gpu)
  set_target_properties(warploom_plan PROPERTIES EXPORT_NAME plan)
  set_target_properties(warploom_gpu_c PROPERTIES EXPORT_NAME gpu_c)
  warploom_install_targets(gpu warploom_gpu warploom_plan warploom_gpu_c)
endif()

# ---- programs, where they are built

foreach(target warploom_cli warploom_hints)
  if(TARGET ${target})
    install(TARGETS ${target} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli OPTIONAL)
    install(CODE "
      set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/$<TARGET_FILE_NAME:${target}>\")
      if(EXISTS \"\${program}\")
        execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --compress-debug-sections=zlib \"\${program}\"
                        COMMAND_ERROR_IS_FATAL ANY)
      endif()" COMPONENT cli)
  endif()
endforeach()

# The CUDA runtime that `warploom ptx run` has programs load.
if(TARGET warploom_cudart)
  install(TARGETS warploom_cudart LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/warploom/cudart" COMPONENT cli
          NAMELINK_SKIP OPTIONAL)
endif()

# What an installation takes: of programs, those that are built. `cmake --build build --target warploom_installable`
add_custom_target(warploom_installable DEPENDS warploom $<TARGET_NAME_IF_EXISTS:warploom_shared>
  $<TARGET_NAME_IF_EXISTS:warploom_line_table>
  $<TARGET_NAME_IF_EXISTS:warploom_cli> $<TARGET_NAME_IF_EXISTS:warploom_cudart>
  $<TARGET_NAME_IF_EXISTS:warploom_hints>)

# ---- headers, and what finds them

install(DIRECTORY include/warploom DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT headers
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.def")
configure_package_config_file(cmake/warploom-config.cmake.in "${PROJECT_BINARY_DIR}/warploom-config.cmake"
  INSTALL_DESTINATION "${warploom_package}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/warploom-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/warploom-config.cmake" "${PROJECT_BINARY_DIR}/warploom-config-version.cmake"
              cmake/WarploomKernels.cmake  # for kernels of one's own
        DESTINATION "${warploom_package}" COMPONENT headers)

# pkg-config
set(flags ${warploom_kernel_flags})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND flags ${warploom_kernel_gnu_flags})
endif()
list(JOIN flags " " flags)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
           OUTPUT_VARIABLE prefix_from_here)
foreach(file IN ITEMS warploom warploom-static)
  configure_file(cmake/${file}.pc.in "${PROJECT_BINARY_DIR}/${file}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${file}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT headers)
endforeach()

# ---- documents and examples

install(FILES README.md CHANGELOG.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT docs)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT docs)
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DATADIR}/warploom" COMPONENT examples)
