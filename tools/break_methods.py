#!/usr/bin/env python3
"""Breaks each method of the structure layer's types, one at a time, and notes which test notices.

For every method of the types below a copy of include/ is made in which that method's body is gone (functions that return
nothing, constructors, destructors) or traps at once (all others). The tests of tests/pipeline and tests/warp, the kernels
of tests/docs and the examples are compiled against it and run; the first failing test is written to docs/method_tests.md.
A method that no test notices makes the run fail, and so does one whose absence does not compile.

    tools/break_methods.py [--only TEXT] [--jobs N]      about fifteen seconds per method and core
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {
    "pipeline/storage.hpp": ["SMemArray"],
    "pipeline/output.hpp": ["OutputStage", "OutputTilePipeline", "OutputProducer", "OutputConsumer", "MmaStage",
                            "EpilogueStage"],
    "pipeline/per_k.hpp": ["MmaKStage", "OutputKPipeline", "EpilogueKStage", "EpilogueKContext"],
    "pipeline/epi_load.hpp": ["EpiLoadPipeline"],
    "pipeline/producer_consumer.hpp": ["ProducerConsumerPipeline", "ProducerStage", "ProduceContext", "ConsumerStage",
                                       "ConsumeContext", "ExplicitConsumeContext", "LateStage"],
    "pipeline/input.hpp": ["InputTilePipeline"],
    "pipeline/input_stages.hpp": ["SlotToFill", "FilledSlot", "ProducerTiles", "InputProducerStage", "ConsumerTiles",
                                  "InputConsumerStage", "InputProducer", "InputConsumer"],
    "pipeline/payload.hpp": ["TileLoader", "StandardTilePayload", "BlockwiseFP8TilePayload", "BlockScaledTilePayload"],
    "pipeline/load_order.hpp": ["LoadOrder"],
    "pipeline/stage_range.hpp": ["StageRange"],
    "warp/contexts.hpp": ["MmaSide", "EpilogueSide", "MmaWarpContext", "MmaWarp", "EpilogueWarpContext", "EpilogueWarp"],
    "warp/mma.hpp": ["MmaOp"],
    "warp/tmem.hpp": ["TmemAllocation", "TmemStage", "TmemDeallocBarrier"],
    "warp/tmem_tensor.hpp": ["TmemFragments", "TmemTensor"],
    "warp/named.hpp": ["WarpGroupBarrier"],
    "warp/turns.hpp": ["Turns"],
    "warp/wgmma.hpp": ["WarpgroupAccumulator", "Mainloop"],
    "epilogue/accumulator.hpp": ["BlockwiseFP8Accumulator"],
}
FLAGS = ["-std=c++20", "-O0", "-g1", "-ffp-contract=off", "-fno-exceptions", "-w"]


def matching(text, start, open_, close):
    depth = 0
    for i in range(start, len(text)):
        if text[i] == open_:
            depth += 1
        elif text[i] == close:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError("unbalanced")


def class_span(text, name):
    head = re.search(r"^(?:class|struct)(?: \[\[nodiscard\]\])? " + name + r"\b[^;{]*\{", text, re.M)
    return head.end() - 1, matching(text, head.end() - 1, "{", "}")


def methods(text, name):
    """(signature, body start, body end, returns a value) of every method with a body, outermost class level."""
    begin, end = class_span(text, name)
    position = begin + 1
    while True:
        found = text.find("WARPLOOM_FN", position, end)
        if found < 0:
            return
        paren = text.index("(", found)
        close = matching(text, paren, "(", ")")
        # Skip to the body: past noexcept, const and an initialiser list with its braces and parentheses.
        i = close + 1
        while text[i] not in "{;":
            if text[i] == "(":
                i = matching(text, i, "(", ")")
            elif text[i] == "{":
                break
            i += 1
        # An initialiser list may itself use braces: name{...}, ... { body }
        while text[i] == "{":
            stop = matching(text, i, "{", "}")
            after = text[stop + 1:stop + 40].lstrip()
            initialiser = re.search(r":[^:;{}]*[A-Za-z_]\s*$", text[close + 1:i], re.S) is not None
            if initialiser and after[:1] in ",{":
                i = stop + 1
                while text[i] not in "{":
                    i += 1
                continue
            break
        if text[i] == ";":
            position = i + 1
            continue
        stop = matching(text, i, "{", "}")
        signature = " ".join(text[found + len("WARPLOOM_FN"):paren].split())
        yield signature, i, stop, not re.search(r"(\bvoid\b|~)", signature) and signature.split()[-1] != name
        position = stop + 1


def tests():
    """Cheapest and most telling first: most methods are noticed by the first of them."""
    first = ["seed_examples_test", "plain_gemm_test", "ring_test"]
    last = ["examples_kernel_test"]  # Hopper
    found = [*(ROOT / "tests/warp").glob("*_test.cpp"), *(ROOT / "tests/pipeline").glob("*_test.cpp"),
             *(ROOT / "tests/docs").glob("*_kernel_test.cpp"), *(ROOT / "tests/examples").glob("*_test.cpp")]
    # Left out: what runs no kernel, and what repeats under many schedules what others run under a few.
    found = [f for f in found if f.stem not in ("counts_test", "role_bodies_test") and "_schedules" not in f.stem]
    return sorted(found, key=lambda f: (f.stem in last, first.index(f.stem) if f.stem in first else len(first), f.stem))


def run(binary, *options):
    return subprocess.run([str(binary), "--gtest_filter=-*Full*", *options], capture_output=True, text=True, timeout=120)


def noticed_by(include, work):
    """Name of the first test that fails, None if all pass; an error text if something does not compile."""
    for source in tests():
        binary = work / source.stem
        compiled = subprocess.run(
            ["g++", *FLAGS, f"-I{include}", f"-I{ROOT}/src", f"-I{ROOT}/tests", f'-DWARPLOOM_TEST_DATA="{ROOT}/tests/data"',
             str(source), "-o", str(binary), str(ROOT / "build/libwarploom.a"), "-lgtest", "-lgtest_main", "-lboost_context",
             "-lfmt", "-ldw", "-lpthread"], capture_output=True, text=True)
        if compiled.returncode != 0:
            return f"{source.stem} does not compile", compiled.stderr
        try:
            done = run(binary, "--gtest_fail_fast")
        except subprocess.TimeoutExpired:
            return f"{source.stem} does not end", ""
        if done.returncode != 0:
            failed = re.search(r"\[  FAILED  \] ([\w/.]+)", done.stdout)
            # Without that line the process died: the last test that had started is the one.
            running = re.findall(r"\[ RUN      \] ([\w/.]+)", done.stdout)
            return (failed.group(1) if failed else running[-1] if running else source.stem), ""
    return None, ""


def try_one(job):
    header, type_, signature, start, stop, returns = job
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        include = work / "include"
        shutil.copytree(ROOT / "include", include)
        path = include / "warploom" / header
        text = path.read_text()
        # The body stays behind the trap: a return type may be deduced from it.
        body = "{ __builtin_trap(); " + text[start + 1:stop + 1] if returns else "{}"
        path.write_text(text[:start] + body + text[stop + 1:])
        test, error = noticed_by(include, work)
        return job, test, error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only methods whose type::signature contains this")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    jobs = []
    for header, types in TYPES.items():
        text = (ROOT / "include/warploom" / header).read_text()
        for type_ in types:
            for signature, start, stop, returns in methods(text, type_):
                if not text[start + 1:stop].strip():
                    continue  # an empty body cannot be emptied: constructors that only initialise
                if arguments.only in f"{type_}::{signature}":
                    jobs.append((header, type_, signature, start, stop, returns))
    with tempfile.TemporaryDirectory() as folder:
        test, error = noticed_by(ROOT / "include", pathlib.Path(folder))
        if test is not None:
            sys.exit(f"the tests fail as they are, so breaking methods shows nothing: {test}\n{error}")
    rows, missed = [], []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done, (job, test, error) in enumerate(pool.map(try_one, jobs), 1):
            header, type_, signature, _, _, returns = job
            print(f"[{done}/{len(jobs)}] {type_}::{signature.split()[-1]}: {test or 'NOT NOTICED'}", flush=True)
            if test is None or error:
                missed.append(f"{type_}::{signature}")
            rows.append((type_, signature.split()[-1], "traps" if returns else "does nothing", test or "**none**"))
    table = ROOT / "docs/method_tests.md"
    if arguments.only and table.exists():  # the other rows stay as they are
        kept = [tuple(cell.strip().strip("`") for cell in line.strip("|\n").split("|"))
                for line in table.read_text().splitlines() if line.startswith("| `")]
        new = {row[:2] for row in rows}
        rows = [row for row in kept if row[:2] not in new] + rows
    if rows:
        with open(table, "w") as out:
            out.write("# Which test notices a broken method\n\nMade by `tools/break_methods.py`: each method of the structure "
                      "layer is broken in turn, and the first test that\nfails is noted. Methods of several overloads or "
                      "constructors have several rows.\n\n| type | method | broken so that it | noticed by |\n"
                      "| --- | --- | --- | --- |\n")
            for row in rows:
                out.write("| `%s` | `%s` | %s | `%s` |\n" % row)
    print(f"{len(jobs)} methods broken, {len(jobs) - len(missed)} noticed")
    for name in missed:
        print("not noticed:", name)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
