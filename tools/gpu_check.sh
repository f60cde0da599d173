#!/usr/bin/env bash
# Do a GPU and the loom agree? Builds examples/gpu/*.cu for the chip that is there into build/gpu-check, runs them, compares
# the hash of every case with the loom's (tools/conformance.py), and runs each program but the one with a million
# products per case once under the memcheck, racecheck and synccheck tools of compute-sanitizer. Then the instrumentation
# (docs/instrumentation.md): a kernel with a planted error must be reported by the watchdog within two seconds, its correct
# twin must run, and a trace must hold what was traced. Needs nvcc 13.0 or newer and a GPU of compute capability 9.0 or
# 10.0; on the latter there are no million products and no instrumentation.
#
#   tools/gpu_check.sh [--no-sanitizer | --instrumentation]
#   tools/gpu_check.sh --conformance [...]        ./dev gpu conformance: the comparison alone, as a table
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOF'
usage: ./dev gpu conformance [--json FILE] [--against FILE] [--kernels]

Builds the conformance programs for the GPU that is there (H100, H200: sm_90a; B200: sm_100a), runs them, and compares
every case with the loom, bit for bit: a line for each, `same` or `differs` with the first word that does. On a B200 it
says which assumptions of src/loom/units/unconfirmed.hpp the chip confirms or refutes, by name.

  --json FILE      write the result, too
  --against FILE   compare with a result that --json wrote on another machine, instead of with the loom
  --kernels        Hopper: also 50 problems of every GEMM of the library (builds warploom-bench: minutes)

Exit status: 0 all cases are the same, 1 some are not, 2 it cannot run here. docs/conformance.md says which fact of the
hardware each case stands for.
EOF
}

folder=${WARPLOOM_GPU_CHECK_FOLDER:-build/gpu-check}
programs=(arch_check residual_add two_readers two_stage_copy wgmma_check wgmma_exact hopper_gemm)
instrumented=(watchdog trace)
tools=(memcheck racecheck synccheck)
chip=90a
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
if [[ $capability == 10.0 ]]; then
  chip=100a
  programs=(tcgen05_check_sm100 mma_epilogue_sm100 per_k_epilogue_sm100 arch_check residual_add two_readers two_stage_copy)
  instrumented=()
fi
conformance=0
kernels=0
report=()
case ${1:-} in
  '') ;;
  --no-sanitizer) tools=() ;;
  --instrumentation) # nothing else
    programs=()
    tools=()
    ;;
  --conformance)
    conformance=1
    tools=()
    instrumented=()
    shift
    while (($# > 0)); do
      case $1 in
        --json | --against)
          (($# > 1)) || { echo "gpu conformance: $1 needs a file" >&2; exit 2; }
          report+=("$1" "$2")
          shift
          ;;
        --kernels) kernels=1 ;;
        -h | --help)
          usage
          exit 0
          ;;
        *)
          usage >&2
          echo "gpu conformance: no option '$1'" >&2
          exit 2
          ;;
      esac
      shift
    done
    ;;
  *)
    echo "usage: tools/gpu_check.sh [--no-sanitizer | --instrumentation | --conformance ...]" >&2
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

# ---- what is needed

cannot() {
  if ((conformance)); then echo "gpu conformance: $*" >&2; else echo "gpu_check: $*" >&2; fi
  exit 2
}
command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"
command -v nvcc >/dev/null || cannot "nvcc is not on PATH; the CUDA toolkit, 13.0 or newer, is needed"
command -v python3 >/dev/null || cannot "python3 is not on PATH; it compares the results"
if ((conformance)); then
  [[ -n $capability ]] || cannot "there is no GPU here (nvidia-smi names none); an H100, H200 or B200 is needed"
  [[ $capability == 9.0 || $capability == 10.0 ]] ||
    cannot "the GPU here has compute capability $capability; an H100 or H200 (9.0) or a B200 (10.0) is needed"
fi

# ---- build: a warning, and a spilled register is one, is an error. -O is the host code's: it runs once, the device code
# is optimised whatever it says.

mkdir -p "$folder"
flags=(-gencode "arch=compute_$chip,code=sm_$chip" -std=c++20 -O1 -lineinfo --fmad=false -Werror all-warnings
  -Xptxas=-v,--warn-on-spills -Xcompiler=-Wall,-Wextra,-ffp-contract=off -Iinclude "-DWARPLOOM_GPU_MAJOR=${chip%0a}")
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
  ((conformance)) || sed "s/^/$program: /" "$log"
  cases=$(grep -cE '^[^ ]+ +[0-9a-f]{16} ' "$log")
  case $status in
    2)
      ((conformance)) && cat "$log"
      bad run "$program" "cannot run here"
      finish
      ;;
    0) note run "$program" "$cases cases agree with plain C++" ;;
    124) bad run "$program" "hangs after $cases cases" ;;
    *) bad run "$program" "exit status $status" ;;
  esac

  if ((conformance)); then
    # A fault ends all that comes after it: what did not agree runs again, each case by itself.
    if ((status != 0)); then
      for name in $(awk -v program="$program" '$1 == program {print $2}' examples/gpu/expected_*.txt); do
        grep -qE "^$name +[0-9a-f]{16} ok$" "$log" && continue
        alone=$(timeout -k 5 60 "$folder/$program" "$name" 2>&1 | grep -E "^$name +[0-9a-f]{16} ")
        grep -vE "^$name +[0-9a-f]{16} " "$log" >"$log.rest"
        { cat "$log.rest"; echo "$alone"; } >"$log"
        rm -f "$log.rest"
      done
    fi
    continue
  fi
  if counts=$(tools/conformance.py --brief "$log"); then
    note hashes "$program" "$cases of $cases are the loom's"
  else
    sed "s/^/$program: /" <<<"$counts"
    bad hashes "$program" "not all are the loom's: $(tail -n 1 <<<"$counts")"
  fi
done

if ((conformance)); then
  device="$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, /, driver /'), sm_$chip"
  logs=()
  for program in "${programs[@]}"; do logs+=("$folder/$program.txt"); done
  tools/conformance.py --device "$device, $(nvcc --version | grep -o 'release [0-9.]*')" "${report[@]}" "${logs[@]}"
  status=$?
  if ((kernels && status < 2)) && [[ $chip == 90a ]]; then
    tools/gpu_bench.sh --exact-expected tests/data/exact_kernels.jsonl || status=1
  fi
  exit "$status"
fi

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
