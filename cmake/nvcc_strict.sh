#!/usr/bin/env bash
# Runs one nvcc compilation, says what CPU time it took, keeps what ptxas says about registers next to the object
# (<object>.ptxas.txt), and fails where ptxas only remarks that a kernel lost what makes it fast: spilled registers,
# serialised wgmma. With WARPLOOM_GPU_STRICT=0 it only says so.
set -uo pipefail

object=""
previous=""
for argument in "$@"; do
  [[ $previous == -o ]] && object=$argument
  previous=$argument
done
[[ $object == *.o ]] || exec "$@"

log=$object.ptxas.txt
"$@" >"$log" 2>&1
status=$?
if ((status != 0)); then
  cat "$log" >&2
  exit "$status"
fi
grep -v -e '^ptxas info' -e 'bytes stack frame' "$log" >&2
if grep -E -e '[1-9][0-9]* bytes spill' -e 'Potential Performance Loss' "$log" >&2 && [[ ${WARPLOOM_GPU_STRICT:-1} == 1 ]]; then
  echo "error: the kernel would run, slowly; see $log" >&2
  rm -f "$object"
  exit 1
fi
name=${object##*/}
times >>"$log"  # its last line: user and system time of what has been waited for, as 1m2.345s 0m0.678s
seconds=$(tail -n 1 "$log" | LC_ALL=C awk -F '[ms ]+' '{print $1 * 60 + $2 + $3 * 60 + $4}')
LC_ALL=C printf '%6.1f s  %s\n' "$seconds" "${name%.o}"
exit 0
