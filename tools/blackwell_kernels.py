#!/usr/bin/env python3
"""Makes docs/blackwell_kernels.md: every row of blackwell_gemm.def as nvcc compiles it for sm_100a.

    tools/blackwell_kernels.py [--check] [--program build/bin/warploom]

Compiles each part for itself, one after the other, with the flags of the build: registers, spills and instructions of
every kernel, processor seconds of every file. Shared memory and stages come from the program. With --check nothing is written;
the exit status says whether there are spills or a file took longer than the limit.
"""

import argparse
import json
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-O3", "--fmad=false", "--expt-relaxed-constexpr", "-Werror=all-warnings",
         "-Xptxas=-v,--warn-on-spills", "-Xcompiler=-Wall,-Wextra,-ffp-contract=off",
         "-gencode=arch=compute_100a,code=sm_100a", "-DCCCL_DISABLE_FP16_SUPPORT",
         "-DCCCL_DISABLE_BF16_SUPPORT", "-DCCCL_DISABLE_FP8_SUPPORT", "-Xcompiler=-O0,-g0"]
LIMIT = 10.0  # seconds per file
ROW = re.compile(r'WARPLOOM_BLACKWELL_GEMM\("([^"]+)", (\w+), (\w+), (\w+), (\w+), (\w+), (\d+), (\d+), (\d), '
                 r"(\d), (\d), (\w+), (\d), (\w+)\)")
SCALINGS = ["none", "a_rows_b_blocks", "a_rows_b_rows"]  # as Scaling has them
MANGLED = re.compile(r"BlackwellGemmINS_\d(\w+?)E(?:S\d_|NS_\d(\w+?)E)LNS_5MajorE(\d)ELS\d_(\d)E"
                     r"LNS_7ScalingE(\d)ELi(\d+)ELi(\d+)ELi(\d)ELi(\d)ELi(\d)ELNS_10TileSourceE(\d)ELi(\d)ELb(\d)E")


def rows():
    """[(part, key, what identifies the kernel)] in the order of the .def file."""
    found, part = [], None
    for line in (ROOT / "include/warploom/kernels/blackwell_gemm.def").read_text().splitlines():
        if match := re.search(r"WARPLOOM_PART == (\d+)", line):
            part = int(match[1])
        if match := ROW.match(line):
            key, a, b, am, bm, scaling, *numbers, source, group, swap = match.groups()
            found.append((part, key, (a, b, int(am == "mn"), int(bm == "mn"), SCALINGS.index(scaling), *map(int, numbers),
                                      int(source == "launch_control"), int(group), int(swap == "true"))))
    return found


def identity(symbol):
    match = MANGLED.search(symbol)
    a, b, *numbers = match.groups()
    return (a, b or a, *map(int, numbers))


def instructions(cubin):
    """{symbol: machine instructions}, 16 bytes each."""
    data = cubin.read_bytes()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    found = {}
    for section in sections:
        start = sections[names][4] + section[0]
        name = data[start:data.index(b"\0", start)].decode()
        if name.startswith(".text."):
            found[name[6:]] = section[5] // 16
    return found


def compile_part(nvcc, part, folder):
    source, cubin = folder / f"part_{part}.cu", folder / f"part_{part}.cubin"
    source.write_text(f'#define WARPLOOM_PART {part}\n#include "kernels/gpu/blackwell_gemm_part.cuh"\n')
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([nvcc, *FLAGS, f"-I{ROOT}/include", f"-I{ROOT}/src", "-c", "-keep", "-keep-dir", str(folder),
                          str(source), "-o", str(folder / "part.o")],
                         capture_output=True, text=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    if ran.returncode != 0:
        sys.exit(f"part {part} does not compile:\n{ran.stdout}{ran.stderr}")
    counts, kernels, symbol = instructions(cubin), {}, None
    for line in (ran.stdout + ran.stderr).splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            symbol = match[1]
            kernels[identity(symbol)] = {"instructions": counts[symbol]}
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            kernels[identity(symbol)]["spills"] = int(match[2]) + int(match[3])
        elif match := re.search(r"Used (\d+) registers", line):
            kernels[identity(symbol)]["registers"] = int(match[1])
    return seconds, kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", default=str(ROOT / "build/bin/warploom"))
    arguments = parser.parse_args()
    nvcc = os.environ.get("CUDACXX", "/usr/local/cuda/bin/nvcc")
    shapes = {row["config"]: row for row in json.loads(
        subprocess.run([arguments.program, "kernels", "--json"], capture_output=True, text=True, check=True).stdout)["kernels"]}

    table, times, bad = [], {}, False
    with tempfile.TemporaryDirectory() as folder:
        compiled = {}
        for part in sorted({part for part, _, _ in rows()}):
            times[part], kernels = compile_part(nvcc, part, Path(folder))
            compiled.update(kernels)
        for part, key, what in rows():
            kernel, shape = compiled[what], shapes[key]
            bad |= kernel["spills"] != 0 or times[part] > LIMIT
            slots = f"{shape['stages']}" + (f" × {shape['k_group']}" if shape["k_group"] > 1 else "")
            table.append(f"| `{key}` | {part} | {shape['threads']} | {kernel['registers']} | {kernel['spills']} | "
                         f"{shape['shared_bytes'] / 1024:.0f} | {slots} | {kernel['instructions']} |")
    version = re.search(r"release ([\d.]+)", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout)
    seconds = sorted(times.values())
    print(f"{len(table)} kernels in {len(times)} files, {seconds[0]:.1f} to {seconds[-1]:.1f} s each")
    if arguments.check:
        return 1 if bad else 0
    text = f"""# The Blackwell GEMMs as compiled

Made by `tools/blackwell_kernels.py`: every row of `blackwell_gemm.def`, compiled for sm_100a by nvcc {version[1]}. They are executed and
checked on the loom; they have not run on a B200, so there are no speeds here.

{len(table)} kernels in {len(times)} files, {seconds[0]:.1f} to {seconds[-1]:.1f} s of one core per file (host and device code; more where the machine
has other work to do, as it had here).

| configuration | file | threads | registers | spilled bytes | shared memory, KiB | slots (× K blocks) | instructions |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
""" + "\n".join(table) + "\n"
    (ROOT / "docs/blackwell_kernels.md").write_text(text)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
