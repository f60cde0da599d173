#!/usr/bin/env python3
"""CUDA programs as nvcc makes them, on the loom: programs.py WARPLOOM NVCC SOURCE_TREE WORK [name...]

Every program is compiled with each way that nvcc packs PTX, run and checked; with -DPLANTED it must be a finding, at the
line that the source marks with `// PLANTED` or that the table names. Our declarations of the runtime's interface are
compared with the headers, and the names that the loom's libcudart.so.13 exports with those of the real one.
"""
import os
import pathlib
import re
import subprocess
import sys

warploom, nvcc, tree, work = sys.argv[1:5]
only = sys.argv[5:]
tree, work = pathlib.Path(tree), pathlib.Path(work)
work.mkdir(parents=True, exist_ok=True)
cuda = pathlib.Path(nvcc).resolve().parent.parent
os.environ["WARPLOOM_CACHE"] = str(work / "cache")
failures = 0


def run(command, **more):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def expect(what, good, text=""):
    global failures
    print(("ok    " if good else "WRONG ") + what, flush=True)
    if not good:
        failures += 1
        print(text)


def build(source, flags, chip="90a"):
    program = work / (source.stem + re.sub(r"[^A-Za-z0-9]+", "-", "".join(flags)))
    done = run([nvcc, "-gencode", f"arch=compute_{chip},code=[sm_{chip},compute_{chip}]", "-std=c++20", "-lineinfo", "-cudart", "shared", "-o", program, source] + flags)
    expect(f"nvcc {source.name} {' '.join(flags)}", done.returncode == 0, done.stdout)
    return program


def line_of(source, text):
    for number, line in enumerate(source.read_text().split("\n"), 1):
        if text in line:
            return number
    raise SystemExit(f"{source} has no line with '{text}'")


PROGRAMS = {
    # name: (text of a right run, command that finds the planted error, its code, text of its line)
    "vector_add": ("cudaSuccess, 8 blocks, 0 wrong", "run", "OOB-GLOBAL", "i <= n"),
    "dependent": ("cudaSuccess, 0 wrong", "check", "PDL-EARLY", "sum += data"),
    "tma_copy": ("cudaSuccess, 0 wrong", "check", "PROXY", "words[i] += 1"),
}

for name, (right, command, code, planted) in PROGRAMS.items():
    if only and name not in only:
        continue
    source = tree / "tests/cudart/programs" / (name + ".cu")
    for packing in ([], ["--no-compress"], ["--compress-mode=speed"], ["--compress-mode=size"]):
        program = build(source, packing)
        info = run([warploom, "ptx", "info", program])
        expect(f"info of {name} {' '.join(packing)}", info.returncode == 0 and "sm_90a" in info.stdout, info.stdout)
    for how in (["run"], ["check"], ["check", "--policy", "random", "--seed", "5"], ["run", "--policy", "eager"]):
        done = run([warploom, "ptx"] + how + [program])
        expect(f"{' '.join(how)} {name}", done.returncode == 0 and right in done.stdout, done.stdout)
    broken = build(source, ["-DPLANTED"])
    done = run([warploom, "ptx", command, broken])
    place = f"{source.name}:{line_of(source, planted)}"
    expect(f"{command} {name}, planted: {code} at {place}", done.returncode == 1 and code in done.stdout and place in done.stdout,
           done.stdout)

# The examples as they run on a GPU, beside what the loom's native front end makes of them, which a GPU confirms.
EXAMPLES = {"two_stage_copy": "90a", "residual_add": "90a", "hopper_gemm": "90a", "blackwell_gemm_sm100": "100a"}

for name, chip in EXAMPLES.items():
    if only and name not in only:
        continue
    expected = {words[1]: words[2] for words in map(str.split, (tree / "examples/gpu/expected_hashes.txt").read_text().splitlines())
                if len(words) >= 3 and words[0] == name}
    program = build(tree / "examples/gpu" / (name + ".cu"),
                    ["-O3", "--fmad=false", "--expt-relaxed-constexpr", f"-I{tree / 'include'}"], chip)
    done = run([warploom, "ptx", "run", program])
    got = dict(re.findall(r"^(\S+)\s+([0-9a-f]{16})\b", done.stdout, re.M))
    expect(f"run {name}: {len(expected)} cases as the native front end has them", done.returncode == 0 and expected and got == expected,
           done.stdout + f"\nexpected {expected}")

if not only:
    done = run(["g++", "-std=c++20", "-fsyntax-only", f"-I{tree / 'src'}", f"-I{cuda / 'include'}",
                tree / "tests/cudart/programs/interface_check.cpp"])
    expect("declarations are those of the CUDA headers", done.returncode == 0, done.stdout)

    def names(library):
        listed = run(["nm", "-D", "--defined-only", library]).stdout
        return {line.split()[-1].split("@")[0] for line in listed.splitlines() if re.search(r"\b_*cuda\w+@", line)}

    real = next((cuda / folder / "libcudart.so.13" for folder in ("lib64", "lib", "targets/x86_64-linux/lib")
                 if (cuda / folder / "libcudart.so.13").exists()), None)
    ours = pathlib.Path(warploom).resolve().parent.parent / "lib/warploom/cudart/libcudart.so.13"
    if real is not None:
        missing = sorted(names(real) - names(ours))
        expect("every name of the real runtime is there", not missing, " ".join(missing))

sys.exit(1 if failures else 0)
