#!/usr/bin/env bash
# Do a GPU and the loom agree? Builds examples/gpu/*.cu for sm_90a into build/gpu-check, runs them, compares the
# hash of every case with the loom's (examples/gpu/expected_*.txt), and runs each program but the one with a million
# products per case once under the memcheck, racecheck and synccheck tools of compute-sanitizer. Then the instrumentation
# (docs/instrumentation.md): a kernel with a planted error must be reported by the watchdog within two seconds, its correct
# twin must run, and a trace must hold what was traced. Needs nvcc 13.0 or newer and a GPU of compute capability 9.0. On
# one of capability 10.0 the programs are those named *_sm100, built for sm_100a, and there is nothing else.
#
#   tools/gpu_check.sh [--no-sanitizer | --instrumentation]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build/gpu-check
expected=(examples/gpu/expected_hashes.txt examples/gpu/expected_exact.txt)
programs=(arch_check residual_add two_readers two_stage_copy wgmma_check wgmma_exact hopper_gemm)
instrumented=(watchdog trace)
tools=(memcheck racecheck synccheck)
chip=90a
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
if [[ $capability == 10.0 ]]; then
  chip=100a
  programs=(tcgen05_check_sm100)
  instrumented=()
fi
case ${1:-} in
  '') ;;
  --no-sanitizer) tools=() ;;
  --instrumentation) # nothing else
    programs=()
    tools=()
    ;;
  *)
    echo "usage: tools/gpu_check.sh [--no-sanitizer | --instrumentation]" >&2
    exit 2
    ;;
esac

summary=()
failed=0
note() { summary+=("$(printf '%-12s %-13s %s' "$1" "$2" "$3")"); }
bad() {
  note "$@"
  failed=1
}
finish() {
  printf '\n%s\n' "---- summary"
  printf '%s\n' "${summary[@]}"
  if ((failed)); then
    echo "FAILED"
  elif ((${#programs[@]})); then
    echo "ok: the GPU and the loom agree"
  else
    echo "ok"
  fi
  exit "$failed"
}

command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"
if ! command -v nvcc >/dev/null; then
  echo "gpu_check: nvcc is not on PATH; the CUDA toolkit, 13.0 or newer, is needed" >&2
  exit 2
fi

# ---- build: a warning, and a spilled register is one, is an error. -O is the host code's: it runs once, the device code
# is optimised whatever it says.

mkdir -p "$folder"
flags=(-gencode "arch=compute_$chip,code=sm_$chip" -std=c++20 -O1 -lineinfo --fmad=false -Werror all-warnings
  -Xptxas=-v,--warn-on-spills -Xcompiler=-Wall,-Wextra,-ffp-contract=off -Iinclude)
declare -A building
for program in "${programs[@]}" "${instrumented[@]}"; do
  sources=("examples/gpu/$program.cu")
  [[ $program == trace ]] && sources+=(src/gpu/trace_log.cpp)
  nvcc "${flags[@]}" "${sources[@]}" -o "$folder/$program" >"$folder/$program.build.txt" 2>&1 &
  building[$program]=$!
done
for program in "${programs[@]}" "${instrumented[@]}"; do
  if wait "${building[$program]}"; then
    note build "$program" "sm_$chip, $(grep -o 'Used [0-9]* registers' "$folder/$program.build.txt" | sort -k2 -n | tail -n 1 | tr U u) at most"
  else
    cat "$folder/$program.build.txt"
    bad build "$program" "does not compile"
  fi
done
((failed)) && finish

# ---- run, and compare with the loom

for program in "${programs[@]}"; do
  log=$folder/$program.txt
  timeout -k 5 60 "$folder/$program" >"$log" 2>&1
  status=$?
  sed "s/^/$program: /" "$log"
  cases=$(grep -cE '^[^ ]+ +[0-9a-f]{16} ' "$log")
  case $status in
    2)
      bad run "$program" "cannot run here"
      finish
      ;;
    0) note run "$program" "$cases cases agree with plain C++" ;;
    124) bad run "$program" "hangs after $cases cases" ;;
    *) bad run "$program" "exit status $status" ;;
  esac

  same=0
  total=0
  while read -r _ name hash; do
    total=$((total + 1))
    found=$(awk -v name="$name" '$1 == name {print $2}' "$log")
    if [[ $found == "$hash" ]]; then
      same=$((same + 1))
    else
      echo "$program: $name has hash ${found:-(none)}, on the loom $hash"
    fi
  done < <(grep -h "^$program " "${expected[@]}")
  if ((same == total && total == cases && total > 0)); then
    note hashes "$program" "$same of $total are the loom's"
  else
    bad hashes "$program" "$same of $total are the loom's, $cases cases ran"
  fi
done

# ---- once more under each sanitizer

sanitizer=$(command -v compute-sanitizer)
for tool in "${tools[@]}"; do
  for program in "${programs[@]}"; do
    [[ $program == wgmma_exact ]] && continue # the operations of wgmma_check, a great many times
    if [[ -z $sanitizer ]]; then
      note "$tool" "$program" "skipped: no compute-sanitizer on PATH"
      continue
    fi
    log=$folder/$program.$tool.txt
    began=$SECONDS
    timeout -k 5 120 "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 10 "$folder/$program" >"$log" 2>&1
    status=$?
    verdict="$(grep -E 'SUMMARY' "$log" | tail -n 1 | sed 's/^=* *//'), $((SECONDS - began)) s"
    if ((status == 0)); then
      note "$tool" "$program" "$verdict"
    else
      echo "---- $program under $tool, exit status $status (whole text: $log)"
      grep -E '^=+|FAILED' "$log" | head -n 40
      bad "$tool" "$program" "exit status $status: $verdict"
    fi
  done
done
((${#instrumented[@]})) || finish

# ---- instrumentation: hangs that explain themselves, and a trace

# planted <error> <role> <ring and stage> <counts>: one report must hold all of them
planted() {
  local error=$1 log=$folder/watchdog.$1.txt word reports status
  timeout -k 5 30 "$folder/watchdog" "$error" >"$log" 2>&1
  status=$?
  sed "s/^/watchdog $error: /" "$log"
  reports=$(tr '\n' ' ' <"$log" | sed 's/warploom watchdog:/\n&/g')
  for word in "role $2," "for $3 " "$4"; do reports=$(grep -F "$word" <<<"$reports"); done
  if ((status != 0)); then
    bad watchdog "$error" "exit status $status: no failed launch with a report within 2 s"
  elif [[ -z $reports ]]; then
    bad watchdog "$error" "no report of $2 at $3 with \"$4\""
  else
    note watchdog "$error" "$2 at $3: $4; $(grep -o 'after [0-9.]* s' "$log")"
  fi
}

log=$folder/watchdog.right.txt
timeout -k 5 30 "$folder/watchdog" right >"$log" 2>&1
status=$?
sed 's/^/watchdog right: /' "$log"
if ((status == 2)); then
  bad watchdog right "cannot run here"
  finish
elif ((status == 0)) && ! grep -q 'warploom watchdog' "$log"; then
  note watchdog right "runs, no report"
else
  bad watchdog right "exit status $status"
fi
planted full total 'output.full[0]' '65 arrivals expected, 64 by threads seen in phase 0'
planted empty fetch 'input.empty[0]' '3 arrivals expected, 2 by threads seen in phase 0'
planted bytes square 'input.full[0]' '1 arrivals expected, 1 by threads seen in phase 0'

# Without memory of the host's the report goes through printf, whose buffer nobody promises after a trap.
log=$folder/watchdog.printf.txt
timeout -k 5 30 "$folder/watchdog" full --printf >"$log" 2>&1
sed 's/^/watchdog full --printf: /' "$log"
if grep -q 'warploom watchdog: .*role total,' "$log"; then
  note watchdog printf "the report appears"
else
  note watchdog printf "the report is lost here: arm the watchdog"
fi

log=$folder/trace.txt
timeout -k 5 60 "$folder/trace" "$folder/trace.json" >"$log" 2>&1
status=$?
sed 's/^/trace: /' "$log"
if ((status == 0)); then
  note trace relay "$(head -n 1 "$log")"
else
  bad trace relay "exit status $status"
fi
finish
