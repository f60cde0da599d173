#!/usr/bin/env bash
# Instrumentation that is switched off costs nothing: compiles kernels twice, from the tree as it is and with every trace
# of the watchdog and the trace points removed (-DWARPLOOM_NO_INSTRUMENTATION, trace points deleted from the kernel's
# source), and compares the two cubins byte for byte. Then the same with the instrumentation on, which must differ, so
# that the comparison cannot pass for nothing.
#
#   tools/same_binary.sh [kernel...]     of: relay residual_add blockwise_fp8; all by default
#
# Needs nvcc 13.0 or newer; no GPU. Both compilations see one file name, because nvcc puts a hash of it into a symbol;
# nothing else is excepted. Line tables (-lineinfo) would differ by their line numbers and are left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"
if ! command -v nvcc >/dev/null; then
  echo "same_binary: nvcc is not on PATH; the CUDA toolkit, 13.0 or newer, is needed" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# unit <kernel>: the translation unit that both compilations share. It has a main: otherwise nvcc puts a process id into
# that symbol, too.
unit() {
  case $1 in
    relay)
      cat <<'CU'
#include "relay_kernel.hpp"
using Kernel = warploom::examples::Relay<warploom::examples::Planted::nothing>;
__global__ void __launch_bounds__(Kernel::threads) relay(const __grid_constant__ Kernel::Params params) {
  Kernel::run(params);
}
int main() {}
CU
      ;;
    residual_add)
      cat <<'CU'
#include "residual_add_kernel.hpp"
using Kernel = warploom::examples::ResidualAdd;
__global__ void __launch_bounds__(Kernel::threads) residual_add(const __grid_constant__ Kernel::Params params) {
  Kernel::run(params);
}
int main() {}
CU
      ;;
    blockwise_fp8)
      cat <<'CU'
#include "blockwise_fp8_kernel.hpp"
using Kernel = warploom::examples::BlockwiseFP8<warploom::ClusterShape<2, 2, 1>>;
__global__ void __launch_bounds__(warploom::Skeleton<Kernel>::threads)
    blockwise_fp8(const __grid_constant__ Kernel::Params params) {
  warploom::Skeleton<Kernel>::run(params);
}
int main() {}
CU
      ;;
    *)
      echo "same_binary: no kernel '$1'; there are relay, residual_add, blockwise_fp8" >&2
      return 2
      ;;
  esac
}

# compile <kernel> <where its headers are> <output> [flag...]
compile() {
  local kernel=$1 headers=$2 output=$3 arch=90a
  shift 3
  [[ $kernel == blockwise_fp8 ]] && arch=100a
  nvcc -gencode "arch=compute_$arch,code=sm_$arch" -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr -cubin "$@" \
    -I"$headers" -Iinclude -Isrc "$work/$kernel.cu" -o "$output"
}

((${#} > 0)) || set -- relay residual_add blockwise_fp8
mkdir "$work/without"
for header in examples/*.hpp; do  # each trace point is a line of its own
  sed -E '/arch::trace_(begin|end|instant)</d; /arch\/trace\.hpp/d' "$header" >"$work/without/${header##*/}"
done
if cmp -s examples/relay_kernel.hpp "$work/without/relay_kernel.hpp"; then
  echo "same_binary: the relay has no trace points any more: nothing is compared" >&2
  exit 1
fi

failed=0
for kernel in "$@"; do
  unit "$kernel" >"$work/$kernel.cu"
  compile "$kernel" examples "$work/as_is.cubin" &
  compile "$kernel" "$work/without" "$work/without.cubin" -DWARPLOOM_NO_INSTRUMENTATION &
  wait -n
  wait -n
  if cmp "$work/as_is.cubin" "$work/without.cubin"; then
    echo "$kernel: off is the same as absent, all $(stat -c %s "$work/as_is.cubin") bytes"
  else
    echo "$kernel: instrumentation that is off changes the binary" >&2
    failed=1
  fi
  [[ $kernel == relay ]] || continue
  for switch in WATCHDOG TRACE; do
    compile "$kernel" examples "$work/on.cubin" "-DWARPLOOM_$switch=1"
    if cmp -s "$work/as_is.cubin" "$work/on.cubin"; then
      echo "$kernel: WARPLOOM_$switch=1 changes nothing" >&2
      failed=1
    fi
  done
done
exit "$failed"
