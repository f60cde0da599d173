#!/usr/bin/env python3
"""Makes docs/detection.md: which of the corpus' bugs are caught, and what is known of other tools; and the last section of
the pages in docs/checks: which bugs of the corpus have that code.

    tools/detection.py build/tests/test_corpus            writes them
    tools/detection.py build/tests/test_corpus --check    exit code 1 if they are not what it would write

The rows and our own columns come from a run of the corpus (tests/corpus); nothing of them is written down here. What is
written down here is what was measured of others, or what they document, with its source.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "detection.md"
PAGES = ROOT / "docs" / "checks"
SECTION = "\n## In the corpus\n"

# Measured on an H200 with compute-sanitizer 2025.3.1 (racecheck and synccheck), on M1 to M11 written in CUDA.
SANITIZER = {
    "M1": "found: WAR hazard, missing wait",
    "M2": "found: WAR hazard",
    "M3": "found: hazard, then hangs; missing wait",
    "M4": "missed",
    "M5": "missed: hangs, silent",
    "M6": "missed: hangs, silent",
    "M7": "missed",
    "M8": "found: hazard, then hangs; missing wait",
    "M9": "missed",
    "M10": "missed: hangs, silent",
    "M11": "missed",
}

# What Triton's ConSan documents: the kinds of check in its own description (TritonInstrument.md), and its limits.
BUFFER, DEADLOCK, FENCE = "documented: outstanding accesses", "documented: deadlock", "documented: missing fence"
LANES = "no: partitions of warps, not lanes"
CONSAN = {
    **dict.fromkeys(["1", "2", "3", "4", "16", "24", "26", "28", "M1", "M2", "M3", "M7", "M8", "B2", "B16"], BUFFER),
    **dict.fromkeys(["5", "6", "9", "20", "22", "23", "39", "M5", "M10", "B1", "B7"], DEADLOCK),
    **dict.fromkeys(["12", "14", "15", "M4"], FENCE),
    **dict.fromkeys(["18", "M9"], "documented: use before init"),
    "7": "documented: arrival underflow",
    "18c": "documented: re-init",
    "B14": "documented: storage of a live barrier",
    "44b": "documented: wgmma commit counts",
    "B4": LANES,
    "B5": LANES,
}

# What CUTLASS 4.7 documents of Task Scheduling (ts_validation.rst): deadlocks, aliasing races and PDL order of declared
# schedules, on Blackwell; and its section "Verification Gaps".
ALIASING, STUCK = "documented: aliasing race", "documented: deadlock"
BYTES, NAMED = "no: documented gap (bytes)", "no: documented gap (barriers by hand)"
EXCHANGE, HOPPER = "no: documented gap (between CTAs)", "no: no wgmma pipeline"
TASKS = {
    **dict.fromkeys(["1", "2", "3", "26", "28", "30", "M1", "M2", "M3", "B16"], ALIASING),
    **dict.fromkeys(["5", "20"], STUCK),
    **dict.fromkeys(["8", "9", "M6", "M10"], BYTES),
    **dict.fromkeys(["40", "40b", "B6"], NAMED),
    **dict.fromkeys(["24", "25", "25b", "43", "B2"], EXCHANGE),
    **dict.fromkeys(["27b", "44", "44b", "B9"], HOPPER),
    "B8": "documented: PDL order",
}

GROUPS = [
    ("The catalogue", "Mutations of pipelines; most of them happened to somebody.", lambda i: i[0].isdigit()),
    ("Fences and scopes", "Ordered, and yet not seen.", lambda i: i[0] == "T"),
    ("The eleven that compute-sanitizer was measured with", "", lambda i: i[0] == "M"),
    ("Bugs of other projects", "The thread stands behind each.", lambda i: i[0] == "B"),
    ("Global memory", "What warps, CTAs and clusters hand to each other through it.", lambda i: i[0] == "G"),
    ("Counterexamples", "Programs that earlier rules about one run called clean.", lambda i: i[0] == "X"),
]


def run_corpus(program):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "corpus.json"
        command = [program, "--gtest_filter=CorpusTable.IsWritten"]
        environment = {**os.environ, "WARPLOOM_CORPUS_JSON": str(path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0 or not path.exists():
            sys.exit(f"{program} did not write the corpus' table:\n{done.stdout}{done.stderr}")
        return json.loads(path.read_text())


def ours(row, rows):
    """What the loom, or the host before a launch, makes of it."""
    if "same_as" in row:
        return f"as {row['same_as']}: {ours(rows[row['same_as']], rows)}"
    if not row["found"]:
        return "**missed**"
    if row["caught"] == "host":
        return "refused before the launch"
    if row["codes"] == ["VALUE"]:
        return "wrong result, no report"
    return ", ".join(f"`{code}`" for code in row["codes"])


def structure(row):
    note = row.get("structure")
    return f"[{note['what']}](../{note['proof']})" if note else ""


def by_number(row):
    digits = "".join(c for c in row["id"] if c.isdigit())
    return "TMBGX".find(row["id"][0]), int(digits), row["id"]


def page(table):
    rows = {row["id"]: row for row in table}
    own = [row for row in table if "same_as" not in row]
    found = [row for row in own if row["found"]]
    reported = [row for row in found if row.get("codes") != ["VALUE"]]
    compile_time = [row for row in table if "negative" in row.get("structure", {}).get("proof", "")]
    by_type = [row for row in table if "structure" in row and row not in compile_time]
    lines = [
        "# What is detected",
        "",
        "Made by `tools/detection.py` from a run of the corpus (`tests/corpus`); a test compares. Every bug is a small kernel",
        "with a correct twin. A bug counts as found if it is reported, with one of the codes named and at its line, under every",
        "schedule tried (eager, lazy, adversarial, two random ones; with clusters also each CTA held back), and if its twin is",
        "clean under all of them. Which of several codes comes first depends on the schedule.",
        "",
        f"* {len(own)} bugs, and {len(table) - len(own)} more that are the same as one of those.",
        f"* {len(reported)} are reported; {len(found) - len(reported)} break no rule, are not reported, and show only in "
        f"the result; "
        f"{len(own) - len(found)} are missed.",
        f"* {len(compile_time)} do not compile on the structure layer; {len(by_type)} more cannot be written there.",
        f"* compute-sanitizer was measured on eleven and found {sum(v.startswith('found') for v in SANITIZER.values())}.",
        "",
        "compute-sanitizer: *measured* on an H200, version 2025.3.1, racecheck and synccheck; an empty cell was not measured.",
        "ConSan (Triton, on the GPU, one schedule) and Task Scheduling (CUTLASS 4.7, a Python DSL for Blackwell): what their own",
        "documents say they check, not measured; an empty cell is unknown. Sources: Triton's `TritonInstrument.md`, CUTLASS'",
        "`ts_validation.rst`.",
    ]
    for title, words, belongs in GROUPS:
        lines += ["", f"## {title}", ""]
        if words:
            lines += [words, ""]
        lines.append("| | bug | on the loom | structure layer | compute-sanitizer | ConSan | Task Scheduling |")
        lines.append("|---|---|---|---|---|---|---|")
        for row in sorted((row for row in table if belongs(row["id"])), key=by_number):
            i = row["id"]
            cells = [i, row["title"], ours(row, rows), structure(row)]
            cells += [others.get(i, "") for others in (SANITIZER, CONSAN, TASKS)]
            lines.append("| " + " | ".join(cells) + " |")
    unknown = (set(SANITIZER) | set(CONSAN) | set(TASKS)) - set(rows)
    if unknown:
        sys.exit(f"no such bug in the corpus: {', '.join(sorted(unknown))}")
    return "\n".join(lines) + "\n"


def pages(table):
    """Every page of docs/checks, with the bugs that are reported under its code."""
    for path in sorted(PAGES.glob("*.md")):
        bugs = [row["id"] for row in sorted(table, key=by_number) if row.get("found") and path.stem in row["codes"]]
        text = path.read_text().split(SECTION)[0]
        if bugs:
            names = bugs[0] if len(bugs) == 1 else ", ".join(bugs[:-1]) + " and " + bugs[-1]
            one, many = "its kernel is in tests/corpus, with", "their kernels are in tests/corpus, each with"
            which, where = (f"Bug {names}", one) if len(bugs) == 1 else (f"Bugs {names}", many)
            sentence = f"{which} of docs/detection.md; {where} a twin that is right."
            text += SECTION + "\n" + textwrap.fill(sentence, 118) + "\n"
        yield path, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the corpus' test program")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    table = run_corpus(arguments.program)
    for path, text in [(TABLE, page(table)), *pages(table)]:
        if not arguments.check:
            path.write_text(text)
        elif path.read_text() != text:
            name = path.relative_to(ROOT)
            sys.exit(f"{name} is not what the corpus says: run tools/detection.py build/tests/test_corpus")


if __name__ == "__main__":
    main()
