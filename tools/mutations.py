#!/usr/bin/env python3
"""Makes docs/mutations.md: every barrier operation of the shipped kernels, altered in every way, and what became of it.

    tools/mutations.py build/bin/warploom            writes it (some minutes)
    tools/mutations.py build/bin/warploom --check    exit code 1 if it is not what it would write

A mutation that nobody noticed needs a reason below, or the tool says which one has none.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mutations.md"

SUBJECTS = [
    ("blockwise-fp8 for Blackwell", ["blockwise-fp8", "--config", "e4m3-blocks-128x128-2sm-2x1"]),
    ("gemm for Hopper, ping-pong", ["gemm"]),
    ("gemm for Hopper, cooperative", ["gemm", "--config", "bf16-kk-128x256-coop-2x1", "--m", "300"]),
    ("blockwise-fp8 for Hopper", ["blockwise-fp8", "--on", "loom:sm90"]),
    ("gemm for Blackwell", ["gemm", "--on", "loom:sm100", "--config", "bf16-kk-128x256-2sm-2x1", "--m", "768", "--n",
                            "768", "--k", "512", "--bias", "n"]),
]

# (mutation, operation, object, end of the file's path) -> why it changes nothing. "" is any.
REASONS = [
    (("drop", "setmaxnreg.inc", "", ""),
     "The loom counts registers and does not limit them: the kernel has fewer than it could. On a chip it spills or is "
     "refused by ptxas, not by the protocol."),
    (("wrong-stage", "bar.sync", "", ""),
     "All members go to another named barrier, together, and nobody else uses it."),
    (("drop", "bar.sync", "", "hopper/shared_last_tile.hpp"),
     "The loom completes the products of a warpgroup for all four warps at once; on a chip a warp that has waited for its "
     "own may find others still reading the slots (docs/model.md)."),
    (("drop", "mbarrier.test_wait", "", ""), "A poll is a hint. Without it the thread waits."),
    (("drop", "mbarrier.wait", "load order.empty", ""),
     "The order between the two loaders has one slot, and the first loads of the next tile are behind the epilogue's "
     "release of the input ring, which is behind the wait at the other end."),
    (("drop", "mbarrier.wait", "input.empty", "kernels/hopper_gemm.hpp"),
     "The drain at the end of the producer. The cluster meets once more before it exits, and a cluster of one has "
     "nobody who could come too late."),
    (("wrong-stage", "mbarrier.wait", "input.empty", "kernels/hopper_gemm.hpp"),
     "The same drain; the barrier it waits at instead completes as well."),
    (("drop", "cp.async.bulk.wait_group.read", "", "gemm/patch_writer.hpp"),
     "The wait at the end of the role. With a residual, the last slots were released before, and that release has "
     "waited; without one (`--beta 0 --n 512`) dropping it is EXIT-PENDING."),
    (("wrong-stage", "mbarrier.arrive.expect_tx", "residual.full", ""),
     "Slots are filled one after the other: their barriers change places around the ring, and each still completes with "
     "the bytes of its own slot."),
    (("wrong-stage", "mbarrier.arrive", "residual.empty", ""),
     "Slots are released together, or all of a tile before the first is filled again: each barrier gets another's "
     "arrivals in time."),
    (("drop", "mbarrier.wait", "residual.empty", "gemm/patch_writer.hpp"),
     "The second wait for one phase: the first was for announcing bytes. Dropping that one is PHASE-AMBIG."),
    (("wrong-stage", "mbarrier.wait", "input.empty", "kernels/blackwell_gemm.hpp"),
     "The drain at the end; the barrier it waits at instead completes as well."),
    (("drop", "mbarrier.wait", "residual.empty", "blackwell/bias_ring.hpp"),
     "The bias travels beside a residual from the same warp to the same warps, and is behind that one's wait; without a "
     "residual (`--beta 0`) dropping it is reported."),
    (("drop", "mbarrier.wait", "residual.full", "blackwell/bias_ring.hpp"),
     "As above: it is read behind the wait for the residual; with `--beta 0` dropping it is reported."),
    (("drop", "mbarrier.init", "", "blackwell/bias_ring.hpp"), "The ring of a bias, which this problem does not have."),
    (("count+1", "mbarrier.init", "", "blackwell/bias_ring.hpp"), "As above."),
    (("count-1", "mbarrier.init", "", "blackwell/bias_ring.hpp"), "As above."),
    (("drop", "mbarrier.init", "", "kernels/hopper_gemm.hpp"),
     "Barriers of a ring that this configuration and problem do not use."),
    (("count+1", "mbarrier.init", "", "kernels/hopper_gemm.hpp"), "As above."),
]


def reason_for(mutant):
    for (mutation, operation, thing, file), reason in REASONS:
        if (mutant["mutation"] == mutation and mutant["operation"] == operation
                and thing in ("", mutant["object"]) and mutant["file"].endswith(file)):
            return reason
    return None


def place(mutant):
    return f"{mutant['file']}:{mutant['line']}"


def page(results):
    lines = [
        "# Every barrier operation, altered in every way",
        "",
        "Made by `tools/mutations.py build/bin/warploom`. Each barrier operation of a shipped kernel is dropped, doubled, "
        "given a wrong count, byte count, parity or stage (`warploom mutate KERNEL --every-schedule`), one at a time, and run "
        "under the checker with eight schedules: eager, lazy, adversarial, four random ones and one that holds a CTA back. "
        "*Reported*: with a code and a line. *Differing*: reported under some schedules and not under others.",
        "",
        "| kernel | configuration | mutations | reported | wrong result only | not seen | differing |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, result in results:
        lines.append(f"| {name} | `{result['config']}` | {result['mutants']} | {result['reported']} | "
                     f"{result['wrong_result']} | {result['not_seen']} | {result['differing']} |")
    total = {key: sum(result[key] for _, result in results)
             for key in ("mutants", "reported", "wrong_result", "not_seen", "differing")}
    lines.append(f"| **all** | | {total['mutants']} | {total['reported']} | {total['wrong_result']} | "
                 f"{total['not_seen']} | {total['differing']} |")
    lines += ["", "## Not seen", "",
              "Nothing was reported, and the result was right, under any of the schedules. Why:", "",
              "| kernel | mutation | operation | at | why it changes nothing |", "|---|---|---|---|---|"]
    missing = []
    for name, result in results:
        for mutant in result["list"]:
            if mutant["verdict"] != "not seen":
                continue
            reason = reason_for(mutant)
            if reason is None:
                missing.append(f"{name}: {mutant['mutation']} {mutant['operation']} {mutant['object']} at {place(mutant)}")
                continue
            thing = f" `{mutant['object']}`" if mutant["object"] else ""
            lines.append(f"| {name} | {mutant['mutation']} | `{mutant['operation']}`{thing} | {place(mutant)} | {reason} |")
    others = [(name, m) for name, r in results for m in r["list"] if m["verdict"] == "wrong result" or m["differs"]]
    if others:
        lines += ["", "## Wrong results, and schedules that differ", "",
                  "| kernel | mutation | operation | at | codes |", "|---|---|---|---|---|"]
        for name, m in others:
            lines.append(f"| {name} | {m['mutation']} | `{m['operation']}` `{m['object']}` | {place(m)} | "
                         f"{', '.join(m['codes']) or m['verdict']} |")
    lines += ["", "## By code", "", "| first reported as | mutations |", "|---|---|"]
    codes = collections.Counter(m["verdict"] for _, r in results for m in r["list"]
                                if m["verdict"] not in ("not seen", "wrong result"))
    for code, count in sorted(codes.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"| [{code}](checks/{code}.md) | {count} |")
    return "\n".join(lines) + "\n", missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="build/bin/warploom")
    parser.add_argument("--check", action="store_true", help="compare with the page instead of writing it")
    arguments = parser.parse_args()
    results = []
    for name, words in SUBJECTS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        run = subprocess.run([arguments.program, "mutate", *words, "--every-schedule", "--json"],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{name}: {run.stdout}{run.stderr}")
        results.append((name, json.loads(run.stdout)))
    text, missing = page(results)
    if missing:
        sys.exit("no reason is given for\n  " + "\n  ".join(missing))
    if not arguments.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit(f"{PAGE.relative_to(ROOT)} is not what tools/mutations.py would write")


if __name__ == "__main__":
    main()
