#!/usr/bin/env bash
# How long nvcc takes for each program of examples/gpu, one after the other, each for its chip (sm_100a where the name says
# so, else sm_90a), with the flags of tools/gpu_check.sh. Run it on a machine that does nothing else.
#
#   tools/compile_times.sh [--limit SECONDS]     exit status 1 if an example of a concept takes longer than the limit
#
# The limit is for the examples that show one kernel each. Programs of several kernels, for conformance, are timed without.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
limit=6
case ${1:-} in
  '') ;;
  --limit) limit=${2:?--limit needs seconds} ;;
  *)
    echo "usage: tools/compile_times.sh [--limit SECONDS]" >&2
    exit 2
    ;;
esac
command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"
command -v nvcc >/dev/null || { echo "compile_times: nvcc is not on PATH" >&2; exit 2; }

object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT
slow=0
for source in examples/gpu/*.cu; do
  name=$(basename "$source" .cu)
  chip=90a
  [[ $name == *sm100* ]] && chip=100a
  began=$(date +%s%N)
  nvcc -gencode "arch=compute_$chip,code=sm_$chip" -std=c++20 -O1 --fmad=false -Xcompiler=-ffp-contract=off \
    -Iinclude -c "$source" -o "$object" 2>/dev/null
  took=$((($(date +%s%N) - began) / 1000000))
  mark=
  case $name in
    *_check* | *_exact) mark='(conformance program)' ;;
    watchdog) mark='(four kernels with the watchdog, for gpu_check.sh)' ;;
    *)
      if ((took > limit * 1000)); then
        mark="over $limit s"
        slow=1
      fi
      ;;
  esac
  printf '%-24s sm_%-5s %2d.%02d s %s\n' "$name" "$chip" $((took / 1000)) $((took % 1000 / 10)) "$mark"
done
exit "$slow"
