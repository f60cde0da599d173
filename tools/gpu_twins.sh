#!/usr/bin/env bash
# How long do the Hopper kernels of bench/twins take, as the library writes them and written by hand? Builds
# bench/twins/twins.cu for sm_90a into build/gpu-twins and runs it. Needs nvcc 13.0 or newer and a GPU of compute
# capability 9.0.
#
#   tools/gpu_twins.sh [file.json]      bench/twins/measured.json is what docs/free_of_cost.md shows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"
if ! command -v nvcc >/dev/null; then
  echo "gpu_twins: nvcc is not on PATH; the CUDA toolkit, 13.0 or newer, is needed" >&2
  exit 2
fi
mkdir -p build/gpu-twins
nvcc -gencode arch=compute_90a,code=sm_90a -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr \
  -Werror all-warnings -Xptxas=--warn-on-spills -Xcompiler=-Wall,-Wextra,-ffp-contract=off -Iinclude \
  bench/twins/twins.cu -o build/gpu-twins/twins
exec build/gpu-twins/twins "$@"
