# `cmake --install build --prefix <folder>`: the library, its headers, the programs where they are built, the GPU half
# where it is, and the CMake package, so that
#
#   find_package(warploom REQUIRED)
#   target_link_libraries(app PRIVATE warploom::warploom)        # and warploom::gpu
#
# works elsewhere. tests/package builds such a program from an install.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(warploom_installed warploom)
foreach(target warploom_plan warploom_gpu)
  if(TARGET ${target})
    list(APPEND warploom_installed ${target})
  endif()
endforeach()
if(TARGET warploom_gpu)
  set_target_properties(warploom_gpu PROPERTIES EXPORT_NAME gpu)
endif()
foreach(target IN LISTS warploom_installed)
  target_include_directories(${target} PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endforeach()

set(warploom_package "${CMAKE_INSTALL_LIBDIR}/cmake/warploom")
install(TARGETS ${warploom_installed} EXPORT warploom-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT warploom-targets NAMESPACE warploom:: DESTINATION "${warploom_package}")
install(DIRECTORY include/warploom DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.def")
foreach(program warploom_cli warploom_hints)
  if(TARGET ${program})
    # A build of one program alone can be installed, too.
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" OPTIONAL)
  endif()
endforeach()
if(TARGET warploom_gpu_c)
  install(TARGETS warploom_gpu_c LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

configure_package_config_file(cmake/warploom-config.cmake.in "${PROJECT_BINARY_DIR}/warploom-config.cmake"
  INSTALL_DESTINATION "${warploom_package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/warploom-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/warploom-config.cmake" "${PROJECT_BINARY_DIR}/warploom-config-version.cmake"
              cmake/WarploomKernels.cmake  # for kernels of one's own
        DESTINATION "${warploom_package}")
