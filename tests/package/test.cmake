# Installs the build in BUILD to a folder of its own, then configures, builds and runs the project beside this file.
#   cmake -DBUILD=... -DWORK=... -DCOMPILER=... -DGENERATOR=... -P test.cmake
# The generator is the build's own: CMake's choice may be one whose program is not installed.
file(REMOVE_RECURSE "${WORK}")
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${code}\n${text}")
  endif()
  message("${text}")
endfunction()
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}/app" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
    "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${WORK}/app")
run("${WORK}/app/app")
