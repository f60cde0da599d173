#!/usr/bin/env bash
# Measures the GEMMs on a Hopper GPU with warploom-bench: all arguments are its own. The program is build/gpu/bin's; it
# needs nothing but the driver (and cuBLASLt to compare with), so it can be built elsewhere and carried there. Where it is
# missing it is built, if nvcc and the libraries are there.
#
#   tools/gpu_bench.sh --suite dense --suite blockwise --json dense.json
#   tools/gpu_bench.sh --all                  every suite and every test, into build/gpu-bench
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=build/gpu/bin/warploom-bench
if [[ ! -x $program ]]; then
  command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"
  command -v nvcc >/dev/null || { echo "gpu_bench: there is no $program, and no nvcc to build it" >&2; exit 2; }
  cmake --preset gpu >/dev/null
  cmake --build build/gpu --target warploom_bench warploom_gpu_c
fi
# The toolkit's cuBLASLt, where the loader does not know it.
for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib; do
  [[ -d $folder ]] && export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done
[[ ${1:-} == --all ]] || exec "$program" "$@"

shift
out=build/gpu-bench
mkdir -p "$out"
failed=0
step() { # step <name> <arguments>...
  local name=$1
  shift
  echo "== $name: $*"
  "$program" "$@" >"$out/$name.txt" 2>"$out/$name.progress.txt" || { failed=1; tail -n 5 "$out/$name.progress.txt"; }
  cat "$out/$name.txt"
}
step random --random 5000 --seconds 120
step invariance --invariance
step soak --soak 30
for suite in dense blockwise decode epilogue serving; do
  step "$suite" --suite "$suite" --json "$out/$suite.json" --svg "$out/$suite.svg" "$@"
done
step sustained --shape 8192x8192x8192 --protocol sustained --json "$out/sustained.json"
step rotating --suite dense --protocol rotating --json "$out/rotating.json"
exit "$failed"
