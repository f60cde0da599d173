#!/usr/bin/env python3
"""Does the structure layer cost anything? Compiles the kernels of bench/twins, each once as the library writes it and once
as its twin written by hand on `arch`, with the flags of the GPU build, and compares the machine code.

  tools/free_of_cost.py               a table, and whether every bound holds
  tools/free_of_cost.py --markdown    also writes docs/free_of_cost.md

The exit status is 0 when every bound holds, 1 when one is broken, 2 when something does not compile, and 77 where there
is no nvcc. Counts come from the opcodes in the cubin; where nvdisasm is found, it must count the same."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TWINS = ROOT / "bench/twins"

# Bounds: what `name` may cost beyond `name_twin`.
TEXT_PERCENT = 2.0
REGISTERS = 2

# The classes that must be equal: the mnemonics as nvdisasm prints them, and the low nine bits of their opcodes on sm_90a
# and sm_100a (the bits above say where an operand comes from).
CLASSES = {
    "mbarrier": (r"SYNCS", {0x1A7, 0x1B2}),
    "TMA": (r"UTMA(LDG|STG|CMDFLUSH)", {0x1B4, 0x1B5, 0x1B7}),
    "MMA": (r"HGMMA|UTCQMMA", {0x1F0, 0x1EA}),
    "commit, tensor memory": (r"UTCBAR|LDTM|UTCATOMSWS", {0x1E9, 0x1EE, 0x1E3}),
}
NOP = 0x118

Side = collections.namedtuple("Side", "counts text registers stack spill")


def gpu_flags():
    """The options that cmake/WarploomGpu.cmake gives to nvcc, and its -O3."""
    text = (ROOT / "cmake/WarploomGpu.cmake").read_text()
    strict = re.search(r'set\(strict "([^"]+)"\)', text)
    text = text.replace("${strict}", strict.group(1) if strict else "").replace("${lines}", "")  # an option, off
    options = re.search(r"set\(gpu_options\s+\"\$<\$<COMPILE_LANGUAGE:CUDA>:([^\"]*)>\"\)", text)
    level = re.search(r"CMAKE_CUDA_FLAGS_RELWITHDEBINFO \"([^\"]*)\"", text)
    if not options or not level:
        sys.exit("free_of_cost: cmake/WarploomGpu.cmake has no gpu_options where they used to be")
    return options.group(1).split(";") + level.group(1).split()


def compile_pair(nvcc, source, folder):
    chip = re.search(r"_sm(\d+)$", source.stem).group(1) + "a"
    cubin = folder / (source.stem + ".cubin")
    command = [nvcc, *gpu_flags(), f"-gencode=arch=compute_{chip},code=sm_{chip}", f"-I{ROOT}/include", "-cubin",
               str(source), "-o", str(cubin)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.stderr.write(made.stdout + made.stderr)
        print(f"free_of_cost: {source.name} does not compile", file=sys.stderr)
        return None
    return cubin, made.stdout + made.stderr


def text_sections(cubin):
    """{kernel: its code} of an ELF file."""
    data = cubin.read_bytes()
    table = struct.unpack_from("<Q", data, 0x28)[0]
    count, strings = struct.unpack_from("<HH", data, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    names = headers[strings][4]
    sections = {}
    for header in headers:
        start = names + header[0]
        name = data[start:data.index(b"\0", start)].decode()
        if name.startswith(".text."):
            sections[name[len(".text."):]] = data[header[4]:header[4] + header[5]]
    return sections


def opcodes(code):
    """The instructions, without the padding at the end."""
    found = [struct.unpack_from("<Q", code, at)[0] & 0x1FF for at in range(0, len(code), 16)]
    while found and found[-1] == NOP:
        found.pop()
    return found


def find_nvdisasm(nvcc):
    beside = pathlib.Path(nvcc).resolve().parent / "nvdisasm"
    return os.environ.get("NVDISASM") or shutil.which("nvdisasm") or (str(beside) if beside.exists() else None)


def disassembled_counts(nvdisasm, cubin):
    """{kernel: {class: count}} as nvdisasm sees it."""
    text = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    counts, kernel = collections.defaultdict(collections.Counter), None
    for line in text.splitlines():
        if label := re.match(r"\.text\.(\S+):", line):
            kernel = label.group(1)
        elif kernel and (found := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", line)):
            for name, (mnemonics, _) in CLASSES.items():
                counts[kernel][name] += bool(re.fullmatch(mnemonics, found.group(1)))
    return counts


def ptxas_report(log):
    """{kernel: (registers, stack bytes, spilled bytes)}"""
    report = {}
    for part in re.split(r"Compiling entry function ", log)[1:]:
        numbers = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        stack, stores, loads = map(int, numbers.groups())
        report[part.split("'")[1]] = int(re.search(r"Used (\d+) registers", part).group(1)), stack, stores + loads
    return report


def measure(cubin, log, nvdisasm):
    report, sides = ptxas_report(log), {}
    seen = disassembled_counts(nvdisasm, cubin) if nvdisasm else {}
    for kernel, code in text_sections(cubin).items():
        found = collections.Counter(opcodes(code))
        counts = {name: sum(found[code] for code in codes) for name, (_, codes) in CLASSES.items()}
        if nvdisasm and dict(seen[kernel]) != counts:
            sys.exit(f"free_of_cost: {kernel}: nvdisasm counts {dict(seen[kernel])}, the opcodes {counts}")
        sides[kernel] = Side(counts, 16 * sum(found.values()), *report[kernel])
    return sides


def broken_bounds(side, twin):
    broken = [f"{name}: {side.counts[name]}, by hand {twin.counts[name]}" for name in CLASSES
              if side.counts[name] != twin.counts[name]]
    if side.text > twin.text * (1 + TEXT_PERCENT / 100):
        broken.append(f"{100 * (side.text / twin.text - 1):.1f} % more code than by hand")
    if abs(side.registers - twin.registers) > REGISTERS:
        broken.append(f"{side.registers} registers, by hand {twin.registers}")
    for what, one in (("", side), ("the twin ", twin)):
        if one.spill or one.stack:
            broken.append(f"{what}spills {one.spill} bytes, uses {one.stack} bytes of stack")
    return broken


def table(pairs):
    rows = [["kernel", *CLASSES, ".text", "registers", "spills"]]
    for name, (side, twin) in pairs.items():
        change = 100 * (side.text / twin.text - 1)
        both = [f"{side.counts[c]} / {twin.counts[c]}" for c in CLASSES]
        rows.append([name, *both, f"{side.text} / {twin.text} ({change:+.1f} %)", f"{side.registers} / {twin.registers}",
                     f"{side.spill} / {twin.spill}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def run_times():
    """The section on run times, from what bench/twins/twins.cu recorded on a GPU."""
    recorded = TWINS / "measured.json"
    if not recorded.exists():
        return ""
    data = json.loads(recorded.read_text())
    lines = [f"\n## Run times\n\nMedians of {data['launches']} launches each, the two sides in turn, on an {data['device']} "
             "(`tools/gpu_twins.sh`); the results\nare the same to the bit.\n",
             "| problem | library | by hand | ratio |", "| --- | --- | --- | --- |"]
    for row in data["pairs"]:
        lines.append(f"| {row['name']} | {row['library_us']:.2f} µs | {row['by_hand_us']:.2f} µs | {row['ratio']:.4f} |")
    return "\n".join(lines) + "\n"


def markdown(pairs, version):
    return f"""# The structure layer is free of cost

Rings, stages, contexts and skeletons compile to the code that one would write by hand. For each kernel below there is a
twin in `bench/twins`, written straight on `arch`: stage and lap as plain integers, barriers, counts, bytes and masks worked out on
the spot; no ring types, no handles, no contexts. Both take the same tiles, wait, fence, signal, multiply and store alike. That the
twins work is tested on the loom, under the same schedules and for the same answers as the library's side (`tests/twins`, `tests/examples`).

`library / by hand`, compiled with {version} and the flags of the GPU build:

{table(pairs)}

* mbarrier: every `SYNCS` instruction (initialise, arrive, arm, wait). TMA: loads, stores, commits of groups. MMA: `wgmma` or
  `tcgen05.mma`. Then `tcgen05.commit`, `tcgen05.ld` and the allocation of tensor memory. These must be equal.
* `.text`: bytes of code without the padding at its end, at most {TEXT_PERCENT:.0f} % more than by hand. Registers: at most {REGISTERS} apart. No spills,
  no stack. (168 registers are all that 384 threads can have: the Hopper kernels start with them, and reallocate.)
* Twins count laps, as rings do, where one might flip a phase bit. In the copy that was tried, too: 344 instructions either way, with padding.
{run_times()}
`tools/free_of_cost.py` makes the table and fails when a bound is broken; with `--markdown` it writes this page. The test
`free_of_cost` runs it wherever nvcc is installed.
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--markdown", action="store_true", help="write docs/free_of_cost.md")
    arguments.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="leave the cubins there")
    options = arguments.parse_args()

    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        print("free_of_cost: nvcc is not on PATH; the CUDA toolkit, 13.0 or newer, is needed")
        return 77
    nvdisasm = find_nvdisasm(nvcc)

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sources = sorted(TWINS.glob("*_sm*.cu"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda source: compile_pair(nvcc, source, folder), sources))
        if None in made:
            return 2
        sides = {}
        for cubin, log in made:
            sides.update(measure(cubin, log, nvdisasm))

    pairs = {name: (side, sides[name + "_twin"]) for name, side in sides.items() if name + "_twin" in sides}
    if 2 * len(pairs) != len(sides):
        sys.exit("free_of_cost: bench/twins has a kernel without its twin: " + ", ".join(sorted(sides)))
    pairs = dict(sorted(pairs.items()))
    print(table(pairs))
    broken = [f"{name}: {text}" for name, pair in pairs.items() for text in broken_bounds(*pair)]
    print("\n".join(broken) if broken else
          f"ok: the same instructions, .text within {TEXT_PERCENT:.0f} %, registers within {REGISTERS}, no spills"
          + ("" if nvdisasm else " (no nvdisasm to count again)"))
    if options.markdown and not broken:
        release = re.search(r"release (\S+), V(\S+)", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout)
        (ROOT / "docs/free_of_cost.md").write_text(markdown(pairs, f"nvcc {release.group(2)}"))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
