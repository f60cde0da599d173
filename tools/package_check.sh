#!/usr/bin/env bash
# Builds the library with every configuration, installs it, says how large it is, and runs tests/package on it: programs with
# both libraries, by CMake and by pkg-config, shared objects, the examples.
#
#   tools/package_check.sh                         here
#   tools/fresh_root.sh tools/package_check.sh     on a machine that has nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
./dev build --all
exec cmake "-DBUILD=$PWD/build" "-DWORK=$PWD/build/package_check" "-DCOMPILER=$(command -v c++)" -DGENERATOR=Ninja -DGPU=OFF \
  -DALL=ON -P tests/package/test.cmake
