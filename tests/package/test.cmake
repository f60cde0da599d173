# Installs the build in BUILD, moves what was installed, and then configures, builds and runs the project beside this file
# with it.
#
#   cmake -DBUILD=... -DWORK=... -DCOMPILER=... -DGENERATOR=... [-DGPU=ON] [-DALL=ON] -P test.cmake
#
# ALL: by pkg-config, too, every example, and component by component, which takes a few minutes.
# The generator is the build's own: CMake's choice may be one whose program is not installed.
file(REMOVE_RECURSE "${WORK}")
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${code}\n${text}")
  endif()
  string(STRIP "${text}" text)
  set(output "${text}" PARENT_SCOPE)
  message("${text}")
endfunction()

# ---- install, through DESTDIR, and move

run("${CMAKE_COMMAND}" -E env "DESTDIR=${WORK}/staged" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix /opt/warploom)
set(prefix "${WORK}/moved")
file(RENAME "${WORK}/staged/opt/warploom" "${prefix}")

file(GLOB_RECURSE archive "${prefix}/*/libwarploom.a")
file(GLOB_RECURSE shared "${prefix}/*/libwarploom.so.*.*.*")
set(bytes 0)
foreach(file IN LISTS archive shared)
  file(SIZE "${file}" size)
  message("${file}: ${size} bytes")
  math(EXPR bytes "${bytes} + ${size}")
endforeach()
if(NOT archive OR NOT shared OR bytes GREATER 25000000)
  message(FATAL_ERROR "static and shared library together: ${bytes} bytes, expected both and at most 25 MB")
endif()
file(GLOB there RELATIVE "${prefix}" "${prefix}/*/doc/warploom/LICENSE" "${prefix}/*/doc/warploom/docs/install.md"
     "${prefix}/include/warploom/version.h")
list(LENGTH there count)
if(NOT count EQUAL 3)
  message(FATAL_ERROR "licence, documents and version header: found only ${there}")
endif()

# ---- a project with find_package

set(configure "${CMAKE_COMMAND}" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run(${configure} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}/app" "-DGPU_IS_INSTALLED=${GPU}")
run("${CMAKE_COMMAND}" --build "${WORK}/app" -j 2)
run("${WORK}/app/app_static")
set(lines_of_static "${output}")
run("${WORK}/app/app_shared")
if(NOT output STREQUAL lines_of_static)
  message(FATAL_ERROR "The reports of a program with the static library are other than with the shared one.")
endif()
run("${WORK}/app/host" "${WORK}/app/libplugin_static.so" "${WORK}/app/libplugin_shared.so")
foreach(program IN ITEMS c_program_static c_program_shared)
  if(EXISTS "${WORK}/app/${program}")
    run("${WORK}/app/${program}")
  endif()
endforeach()

# ---- an example, where it was installed

run(${configure} -S "${prefix}/share/warploom/examples" -B "${WORK}/examples")
set(examples --target example_two_stage_copy)
if(ALL)
  set(examples "")
endif()
run("${CMAKE_COMMAND}" --build "${WORK}/examples" -j 2 ${examples})
run("${WORK}/examples/bin/two_stage_copy")
if(NOT ALL)
  return()
endif()

# ---- the same program by pkg-config

find_program(PKG_CONFIG pkg-config REQUIRED)
file(GLOB_RECURSE pc "${prefix}/*/warploom.pc")
cmake_path(GET pc PARENT_PATH pc)
function(compile_with name)  # compile_with <name> <pkg-config's arguments>...
  run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${pc}" "${PKG_CONFIG}" --cflags --libs ${ARGN})
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("${COMPILER}" -std=c++20 -O1 -fno-exceptions "${CMAKE_CURRENT_LIST_DIR}/app.cpp" -o "${WORK}/${name}" ${flags})
  run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${libraries}" "${WORK}/${name}")
endfunction()
cmake_path(GET shared PARENT_PATH libraries)
compile_with(pc_shared warploom)
compile_with(pc_static warploom-static)
set(libraries "")

# ---- component by component: static libraries alone are enough, by pkg-config --static and by CMake

set(prefix "${WORK}/static_only")
foreach(component IN ITEMS headers static)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" --component ${component})
endforeach()
file(GLOB_RECURSE libraries "${prefix}/*/libwarploom*")
if(NOT libraries MATCHES "^[^;]*/libwarploom\\.a$")
  message(FATAL_ERROR "components headers and static have the libraries ${libraries}")
endif()
file(GLOB_RECURSE pc "${prefix}/*/warploom.pc")
cmake_path(GET pc PARENT_PATH pc)
set(libraries "")
compile_with(pc_static_only --static warploom)
set(found_static 1)
set(found_shared 0)
foreach(component IN ITEMS static shared)
  file(WRITE "${WORK}/only/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(only LANGUAGES CXX)
find_package(warploom QUIET COMPONENTS ${component})
if(NOT warploom_FOUND EQUAL ${found_${component}})
  message(FATAL_ERROR \"component ${component}: \${warploom_FOUND}, expected ${found_${component}}\")
endif()
")
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
      -S "${WORK}/only" -B "${WORK}/only_${component}")
endforeach()
