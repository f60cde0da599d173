#!/usr/bin/env python3
"""`./dev gpu conformance` without a GPU: the report on logs that are right, wrong and cut off, and the whole command with
an nvcc that "compiles" a GPU program to the loom's own (examples/bin) and an nvidia-smi that names a chip.

  conformance_test.py [folder of the loom's example programs]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 and not sys.argv[-1].startswith("-") else None


def expected(program):
    lines = []
    for name in ("expected_hashes.txt", "expected_exact.txt"):
        lines += (ROOT / "examples/gpu" / name).read_text().splitlines()
    return [line.split()[1:] for line in lines if line.startswith(program + " ")]


class Report(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def log(self, program, alter=lambda case, hash_: f"{case:<22} {hash_} ok"):
        path = self.folder / f"{program}.txt"
        path.write_text("\n".join(alter(*case) for case in expected(program)) + "\n")
        return str(path)

    def report(self, *arguments):
        done = subprocess.run([sys.executable, ROOT / "tools/conformance.py", *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_all_the_same(self):
        status, text = self.report(self.log("arch_check"), self.log("two_readers"), "--device", "a chip")
        self.assertEqual(status, 0)
        self.assertTrue(text.startswith("a chip, against the loom\n"))
        self.assertRegex(text, r"two_readers +laps +same\n")
        count = len(expected("arch_check")) + len(expected("two_readers"))
        self.assertTrue(text.endswith(f"{count} cases: {count} same\n"))

    def test_a_word_that_differs(self):
        def alter(case, hash_):
            if case == "identity":
                return ("identity 0123456789abcdef FAILED: 3 of 640 words differ, first word 17: 0x0000dead, "
                        "expected 0x0000beef")
            return f"{case} {hash_} ok"

        result = self.folder / "result.json"
        status, text = self.report(self.log("arch_check", alter), "--json", result)
        self.assertEqual(status, 1)
        self.assertRegex(text, r"identity +differs +word 17 of 640 is 0x0000dead, expected 0x0000beef; 3 differ\n")
        case = json.loads(result.read_text())["cases"][0]
        self.assertEqual((case["first_word"], case["actual_word"], case["expected_word"]), (17, "0x0000dead", "0x0000beef"))

    def test_another_hash_is_a_difference_though_the_program_was_content(self):
        status, text = self.report(self.log("two_readers", lambda case, hash_: f"{case} {'0' * 16} ok"), "--brief")
        self.assertEqual(status, 1)
        self.assertIn(f"hash {'0' * 16}, expected {expected('two_readers')[0][1]}", text)

    def test_what_did_not_run_and_what_nobody_knows(self):
        path = pathlib.Path(self.log("two_readers"))
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[1:] + ["new-case 0123456789abcdef ok", "noise"]))
        status, text = self.report(path)
        self.assertEqual(status, 1)
        self.assertRegex(text, r"one-box +did not run +no line of it was printed\n")
        self.assertRegex(text, r"new-case +not known +nobody expects it\n")

    def test_nothing_to_compare(self):
        self.assertEqual(self.report(self.folder / "arch_check.txt")[0], 2)
        stranger = self.folder / "stranger.txt"
        stranger.write_text("")
        self.assertEqual(self.report(stranger), (2, "conformance: nothing is known of a program stranger\n"))

    def test_assumptions_are_confirmed_or_refuted_by_name(self):
        def alter(case, hash_):
            if case in ("shift-down", "cp-128x256b-b4"):
                return f"{case} {'f' * 16} FAILED: 1 of 2 words differ, first word 0: 0x00000001, expected 0x00000002"
            return f"{case} {hash_} ok"

        status, text = self.report(self.log("tcgen05_check_sm100", alter))
        self.assertEqual(status, 1)
        self.assertIn("REFUTED: shift_source_row of src/loom/units/unconfirmed.hpp", text)
        self.assertIn("REFUTED: e2m1_container_shift of src/loom/units/unconfirmed.hpp is not what this chip does "
                      "(cp-128x256b-b4 differs)", text)
        self.assertIn("confirmed: layout_g_lane_step (ws-32)\n", text)
        self.assertNotIn("confirmed", self.report(self.log("wgmma_check"))[1])  # which decides none of them

    def test_against_another_result(self):
        result = self.folder / "result.json"
        wrong = lambda case, hash_: f"{case} {'0' * 16} FAILED: other"
        self.assertEqual(self.report(self.log("two_readers", wrong), "--json", result)[0], 1)
        status, text = self.report(self.log("two_readers"), "--against", result)
        self.assertEqual(status, 1)
        self.assertIn(f"expected {'0' * 16}", text)
        self.assertEqual(self.report(self.log("two_readers"), "--json", result)[0], 0)
        self.assertEqual(self.report(self.log("two_readers"), "--against", result)[0], 0)


FAKE_NVCC = """#!/usr/bin/env bash
[[ $1 == --version ]] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; }
while (($# > 0)); do
  case $1 in
    -o) out=$2; shift ;;
    *.cu) basename "$1" .cu >>"$FAKE_BUILT" ;;
  esac
  shift
done
cp "$(dirname "$0")/program" "$out"
"""
# What it compiles everything to; arguments name cases, as a GPU program's do.
FAKE_PROGRAM = """#!/usr/bin/env bash
program=$(basename "$0")
case $program in
  wgmma_exact) awk '$1 == "wgmma_exact" {print $2, $3, "ok"}' examples/gpu/expected_exact.txt ;;  # a million each: too long
  "$FAKE_BREAKS")  # faults at its second case
    [[ ${1:-} == laps ]] && exit 1
    "$FAKE_EXAMPLES/${program%_sm100}" | grep -E "^${1:-one-box} "
    [[ -n ${1:-} ]]
    ;;
  *) "$FAKE_EXAMPLES/${program%_sm100}" ;;
esac
"""
FAKE_SMI = """#!/usr/bin/env bash
case "$*" in
  *compute_cap*) echo "$FAKE_CAPABILITY" ;;
  *) echo "Imaginary GPU, 580.00" ;;
esac
"""


class Command(unittest.TestCase):
    """tools/gpu_check.sh --conformance, from the first line to the last."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        for name, text in (("nvcc", FAKE_NVCC), ("nvidia-smi", FAKE_SMI), ("program", FAKE_PROGRAM)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def tearDown(self):
        self.scratch.cleanup()

    def run_command(self, *arguments, capability="9.0", breaks=""):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "FAKE_CAPABILITY": capability,
                       "FAKE_BREAKS": breaks, "FAKE_EXAMPLES": str(EXAMPLES), "FAKE_BUILT": str(self.folder / "built"),
                       "WARPLOOM_GPU_CHECK_FOLDER": str(self.folder / "check")}
        done = subprocess.run([ROOT / "dev", "gpu", "conformance", *arguments], capture_output=True, text=True,
                              env=environment)
        return done.returncode, done.stdout + done.stderr

    def built(self):
        return set((self.folder / "built").read_text().split())

    def test_help_and_wrong_options(self):
        status, text = self.run_command("--help")
        self.assertEqual(status, 0)
        self.assertIn("usage: ./dev gpu conformance", text)
        status, text = self.run_command("--jsn")
        self.assertEqual(status, 2)
        self.assertIn("no option '--jsn'", text)
        self.assertEqual(self.run_command("--json")[0], 2)

    def test_no_gpu_and_another_gpu(self):
        status, text = self.run_command(capability="")
        self.assertEqual(status, 2)
        self.assertIn("there is no GPU here", text)
        status, text = self.run_command(capability="8.0")
        self.assertEqual(status, 2)
        self.assertIn("compute capability 8.0; an H100 or H200 (9.0) or a B200 (10.0) is needed", text)

    @unittest.skipUnless(EXAMPLES and (EXAMPLES / "hopper_gemm").exists(), "the loom's example programs are not built")
    def test_a_hopper_that_is_the_loom(self):
        result = self.folder / "result.json"
        status, text = self.run_command("--json", str(result))
        self.assertEqual(status, 0, text)
        self.assertIn("Imaginary GPU, driver 580.00, sm_90a, release 13.0, against the loom\n", text)
        self.assertEqual(self.built(), {"arch_check", "residual_add", "two_readers", "two_stage_copy", "wgmma_check",
                                        "wgmma_exact", "hopper_gemm"})
        counts = json.loads(result.read_text())["counts"]
        self.assertEqual(counts, {"same": sum(len(expected(program)) for program in self.built())})

    @unittest.skipUnless(EXAMPLES and (EXAMPLES / "tcgen05_check").exists(), "the loom's example programs are not built")
    def test_a_blackwell_that_is_the_loom(self):
        status, text = self.run_command(capability="10.0")
        self.assertEqual(status, 0, text)
        self.assertTrue({"tcgen05_check_sm100", "mma_epilogue_sm100", "per_k_epilogue_sm100", "arch_check"} <= self.built())
        self.assertIn("confirmed: a_copy_lane_step", text)

    @unittest.skipUnless(EXAMPLES and (EXAMPLES / "two_readers").exists(), "the loom's example programs are not built")
    def test_a_fault_does_not_take_the_other_cases_with_it(self):
        status, text = self.run_command(breaks="two_readers")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"two_readers +one-box +same\n")
        self.assertRegex(text, r"two_readers +laps +did not run +no line")
        self.assertRegex(text, r"two_readers +borders +same\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
