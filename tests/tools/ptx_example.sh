#!/bin/sh
# Compiles an example's kernels to PTX and runs its cases from that: the hashes must be those of the native front end.
#
#   ptx_example.sh hopper_gemm <the program ptx_examples> <nvcc>
set -eu
example=$1 program=$2 nvcc=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
case $example in *_sm100) chip=sm_100a ;; *) chip=sm_90a ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/warploom_ptx.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 700 "$work"
export WARPLOOM_CACHE="$work/cache" WARPLOOM_INCLUDE="$root/include"
mkdir -m 700 "$work/cache"

"$nvcc" -ptx -arch=$chip -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr -lineinfo -I"$root/include" \
  -o "$work/$example.ptx" "$root/examples/gpu/$example.cu"
for how in "eager plain" "lazy plain" "random:7 plain" "adversarial plain" "eager checked"; do
  # shellcheck disable=SC2086
  "$program" "${example%_sm100}" "$work/$example.ptx" $how >"$work/cases" || { echo "$how:"; cat "$work/cases"; exit 1; }
  while read -r name hash verdict; do
    grep -q "^$example $name $hash\$" "$root/examples/gpu/expected_hashes.txt" ||
      { echo "$how: $name has hash $hash ($verdict), which is not the native front end's"; exit 1; }
  done <"$work/cases"
  echo "$how: $(wc -l <"$work/cases") cases"
done
