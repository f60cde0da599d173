#!/usr/bin/env python3
"""Compares what a chip computed with what the loom computes, case by case. tools/gpu_check.sh runs the programs.

  conformance.py [options] LOG...     the printed lines of one program each, `name hash ok` or `name hash FAILED: why`;
                                      a log's name is its program's: build/gpu-check/arch_check.txt
  --json FILE         writes the result, too
  --against FILE      compares with such a result, of another GPU perhaps, instead of with the loom
  --device TEXT       what to call the machine
  --brief             prints only the cases that differ, and a line of counts
Exit status: 0 where every case is the same, 1 where one is not, 2 where there is nothing to compare.
"""
import argparse
import json
import pathlib
import re
import sys

GPU = pathlib.Path(__file__).resolve().parent.parent / "examples/gpu"
CASE = re.compile(r"^(\S+) +([0-9a-f]{16}) (?:ok|FAILED: (.*))$")
WORDS = re.compile(r"(\d+) of (\d+) words differ, first word (\d+): (0x[0-9a-f]{8}), expected (0x[0-9a-f]{8})")


def table_lines(path):
    """Words of the lines that are not comments."""
    lines = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
    return [words for words in lines if words]


def hashes_of_the_loom():
    expected = {}
    for name in ("expected_hashes.txt", "expected_exact.txt"):
        for program, case, hash_ in table_lines(GPU / name):
            expected.setdefault(program, {})[case] = hash_
    return expected


def hashes_of_a_result(path):
    expected = {}
    for case in json.loads(path.read_text())["cases"]:
        if case["hash"]:
            expected.setdefault(case["program"], {})[case["case"]] = case["hash"]
    return expected


def deciding_cases():
    """constant of unconfirmed.hpp -> (program, cases)"""
    return {words[0]: (words[1], words[2:]) for words in table_lines(GPU / "unconfirmed_cases.txt")}


def compare(program, log, expected):
    """One entry for each case of the program, expected or not."""
    ran, order = {}, []
    for line in log.splitlines():
        if match := CASE.match(line):
            ran[match[1]] = match
            order.append(match[1])
    entries = []
    for case in order + [case for case in expected if case not in ran]:
        entry = {"program": program, "case": case, "result": "same", "hash": None, "expected": expected.get(case)}
        if case not in ran:
            entry["result"] = "did not run"
        else:
            entry["hash"], why = ran[case][2], ran[case][3]
            if case not in expected:
                entry["result"] = "not known"
            elif why or entry["hash"] != entry["expected"]:
                entry["result"] = "differs"
            if why:
                entry["why"] = why
            if why and (words := WORDS.search(why)):
                entry.update(words_differ=int(words[1]), words=int(words[2]), first_word=int(words[3]),
                             actual_word=words[4], expected_word=words[5])
        entries.append(entry)
    return entries


def details(entry):
    if "first_word" in entry:
        return (f"word {entry['first_word']} of {entry['words']} is {entry['actual_word']}, expected "
                f"{entry['expected_word']}; {entry['words_differ']} differ")
    if "why" in entry:
        return entry["why"]
    if entry["result"] == "differs":
        return f"hash {entry['hash']}, expected {entry['expected']}"
    return {"did not run": "no line of it was printed", "not known": "nobody expects it"}.get(entry["result"], "")


def unconfirmed(entries):
    """constant -> confirmed or refuted, and the cases that say so; only where all of them ran."""
    results = {(entry["program"], entry["case"]): entry["result"] for entry in entries}
    facts = {}
    for constant, (program, cases) in deciding_cases().items():
        found = {case: results.get((program, case)) for case in cases}
        if any(result not in ("same", "differs") for result in found.values()):
            continue
        wrong = [case for case, result in found.items() if result == "differs"]
        facts[constant] = {"confirmed": not wrong, "cases": wrong or cases}
    return facts


def print_report(report, brief):
    entries = report["cases"]
    shown = [entry for entry in entries if not brief or entry["result"] != "same"]
    width = [max((len(entry[key]) for entry in shown), default=0) for key in ("program", "case", "result")]
    if not brief and report["device"]:
        print(f"{report['device']}, against {report['against']}")
    for entry in shown:
        line = f"{entry['program']:<{width[0]}}  {entry['case']:<{width[1]}}  {entry['result']:<{width[2]}}"
        print(f"{line}  {details(entry)}".rstrip())
    for constant, fact in report["unconfirmed"].items():
        cases = ", ".join(fact["cases"])
        if fact["confirmed"]:
            print(f"confirmed: {constant} ({cases})")
        else:
            print(f"REFUTED: {constant} of src/loom/units/unconfirmed.hpp is not what this chip does ({cases} differs): "
                  "change the constant, and the loom follows")
    counts = ", ".join(f"{count} {result}" for result, count in report["counts"].items())
    print(f"{len(entries)} cases: {counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("--device", default="")
    parser.add_argument("--brief", action="store_true")
    options = parser.parse_args()

    expected = hashes_of_a_result(options.against) if options.against else hashes_of_the_loom()
    entries = []
    for log in options.logs:
        if not log.exists():
            print(f"conformance: there is no {log}", file=sys.stderr)
            return 2
        if log.stem not in expected:
            print(f"conformance: nothing is known of a program {log.stem}", file=sys.stderr)
            return 2
        entries += compare(log.stem, log.read_text(errors="replace"), expected[log.stem])
    if not entries:
        print("conformance: no case was printed and none is expected", file=sys.stderr)
        return 2
    counts = {}
    for entry in entries:
        counts[entry["result"]] = counts.get(entry["result"], 0) + 1
    report = {"device": options.device, "against": str(options.against or "the loom"), "counts": counts,
              "unconfirmed": unconfirmed(entries), "cases": entries}
    print_report(report, options.brief)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if set(counts) == {"same"} else 1


if __name__ == "__main__":
    sys.exit(main())
