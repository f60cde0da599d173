#!/usr/bin/env python3
"""The verdict on a kernel does not depend on the schedule that happened to be run: every configuration of the library under
eight schedules, held against the first.

    every_schedule_test.py build/bin/warploom
"""

import json
import subprocess
import sys

SCHEDULES = ["eager", "lazy", "adversarial", "random:1", "random:2", "random:3", "random:4", "lazy:5"]


def verdicts(program, schedule):
    """Of every problem that one run speaks for; where the run depends on the schedule, one is tried."""
    words = [program, "check", "--all", "--json", "--schedule", schedule, "--schedules", "1"]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {run.stdout}{run.stderr}")
    return {verdict["subject"]: verdict["verdict"] for verdict in json.loads(run.stdout)["verdicts"]}


def main():
    program = sys.argv[1]
    first = verdicts(program, SCHEDULES[0])
    static = sum(verdict == "holds" for verdict in first.values())
    if static < 90:
        sys.exit(f"only {static} of {len(first)} problems hold")
    for schedule in SCHEDULES[1:]:
        for subject, verdict in verdicts(program, schedule).items():
            if verdict != first[subject]:
                sys.exit(f"{subject}: {first[subject]} under {SCHEDULES[0]}, {verdict} under {schedule}")
        print(f"{schedule}: the same verdict on {len(first)} problems", flush=True)


if __name__ == "__main__":
    main()
