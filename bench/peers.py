#!/usr/bin/env python3
"""Warploom's GEMMs beside PyTorch's (and DeepGEMM's, where it is installed), launch by launch in one process.

    python3 bench/peers.py                              bf16 and blockwise FP8, the shapes of the dense suite
    python3 bench/peers.py --suite decode --kind blockwise
    python3 bench/peers.py --shape 4096x7168x2048 --kind bf16 --repeat 30 --json peers.json

Needs PyTorch and build/gpu/bin/libwarploom_gpu_c.so (./dev gpu build). The protocol is that of `warploom-bench`, cold:
256 MB are written before every launch, the chip idles for a moment, contenders take turns, the median counts; operands
of up to 256 MB lie in four places in turn, because where they lie moves a small launch by up to 5 %. Every result is
compared with the product in fp32 (fp64 for the sampled rows); a wrong one makes the exit status 1.
"""

import argparse
import ctypes
import json
import math
import os
import statistics
import sys

import torch

E4M3, E5M2, BF16, F16, F32 = range(5)
A_ROWS_B_BLOCKS = 1

SHAPES = ["4096x2112x7168", "4096x24576x1536", "4096x32768x512", "4096x7168x16384", "4096x4096x7168", "4096x7168x2048",
          "4096x4096x4096", "8192x8192x8192", "2048x2048x2048", "16384x4096x4096", "128x7168x2048", "128x4096x7168",
          "64x2112x7168", "64x24576x1536", "16x8192x8192", "1x8192x8192"]
DECODE = [f"{m}x{weights}" for weights in ("7168x2048", "4096x7168", "2112x7168", "24576x1536", "8192x8192")
          for m in (1, 2, 4, 8, 16, 32, 64)]
OTHER_PRODUCT = "_scaled_mm tensor"  # one scale per tensor: less work


class Problem(ctypes.Structure):
    """warploom_gemm_problem of include/warploom/c_api.h."""

    _fields_ = (
        [("struct_size", ctypes.c_size_t)]
        + [(name, ctypes.c_int32) for name in ("m", "n", "k", "batch")]
        + [(name, ctypes.c_float) for name in ("alpha", "beta")]
        + [(name, ctypes.c_void_p) for name in ("a", "b", "c", "d", "bias", "a_scales", "b_scales")]
        + [(name, ctypes.c_int64) for name in (
            "a_stride", "b_stride", "c_stride", "d_stride",
            "a_batch_stride", "b_batch_stride", "c_batch_stride", "d_batch_stride",
            "a_scale_stride", "b_scale_stride", "a_scale_batch_stride", "b_scale_batch_stride")]
        + [(name, ctypes.c_int32) for name in (
            "a_type", "b_type", "c_type", "d_type", "bias_type", "a_major", "b_major", "bias_along", "activation", "scaling")]
    )


class Warploom:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.warploom_error.restype = ctypes.c_char_p
        self.library.warploom_describe.restype = ctypes.c_char_p
        self.library.warploom_describe.argtypes = [ctypes.c_void_p]
        self.library.warploom_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
        self.library.warploom_gemm_problem_size.restype = ctypes.c_size_t
        if self.library.warploom_gemm_problem_size() != ctypes.sizeof(Problem):
            sys.exit(f"peers.py and {path} do not agree on warploom_gemm_problem")
        self.workspace = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.warploom_error().decode())

    def prepare(self, problem):
        prepared = ctypes.c_void_p()
        self.check(self.library.warploom_prepare(
            ctypes.byref(problem), None, ctypes.c_void_p(self.workspace.data_ptr()),
            ctypes.c_size_t(self.workspace.numel()), ctypes.byref(prepared)))
        return prepared

    def describe(self, prepared):
        return self.library.warploom_describe(prepared).decode()

    def launch(self, prepared):
        self.check(self.library.warploom_launch(prepared, torch.cuda.current_stream().cuda_stream, 0))


def problem_of(a, b, d, kind):
    (m, k), n = a.shape, b.shape[0]
    made = Problem(struct_size=ctypes.sizeof(Problem), m=m, n=n, k=k, batch=1, alpha=1.0, beta=0.0)
    made.a, made.b, made.d = a.data_ptr(), b.data_ptr(), d.data_ptr()
    made.a_stride, made.b_stride, made.d_stride = k, k, n
    made.a_type = made.b_type = BF16 if kind == "bf16" else E4M3
    made.d_type, made.bias_type = BF16, F32
    return made


def quantise_rows(x):
    """FP8 with one scale per 1 x 128 block: the values, and the scales as [ceil(k/128), rows padded to 4]."""
    rows, k = x.shape
    blocks = math.ceil(k / 128)
    padded = torch.nn.functional.pad(x.float(), (0, blocks * 128 - k)).view(rows, blocks, 128)
    scales = padded.abs().amax(2).clamp(min=1e-10) / 448.0
    values = (padded / scales[:, :, None]).reshape(rows, -1)[:, :k].contiguous().to(torch.float8_e4m3fn)
    stored = torch.ones(blocks, math.ceil(rows / 4) * 4, device=x.device)
    stored[:, :rows] = scales.t()
    return values, stored.contiguous(), scales


def quantise_blocks(x):
    """FP8 with one scale per 128 x 128 block: the values, and the scales as [ceil(rows/128), ceil(k/128)]."""
    rows, k = x.shape
    high, wide = math.ceil(rows / 128), math.ceil(k / 128)
    padded = torch.nn.functional.pad(x.float(), (0, wide * 128 - k, 0, high * 128 - rows)).view(high, 128, wide, 128)
    scales = padded.abs().amax((1, 3)).clamp(min=1e-10) / 448.0
    values = (padded / scales[:, None, :, None]).reshape(high * 128, wide * 128)[:rows, :k].contiguous()
    return values.to(torch.float8_e4m3fn), scales.contiguous()


def sampled_rows(m):
    return sorted({row for row in (0, 1, 63, 64, 127, m // 2, m - 2, m - 1) if 0 <= row < m})


def relative_error(d, want, rows):
    """Of the sampled rows, against their largest value: rounding to bf16 costs up to 2^-9 of it."""
    return ((d[rows].double() - want).abs().max() / want.abs().max().clamp(min=1e-30)).item()


def contenders_bf16(loom, m, n, k):
    generator = torch.Generator(device="cuda").manual_seed(1)
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16, generator=generator)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16, generator=generator)
    rows = sampled_rows(m)
    want = a[rows].double() @ b.double().t()
    found = {}

    d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    prepared = loom.prepare(problem_of(a, b, d, "bf16"))
    found["warploom"] = (lambda: loom.launch(prepared), d, loom.describe(prepared))

    torch_d = torch.empty_like(d)
    found["torch.matmul"] = (lambda: torch.matmul(a, b.t(), out=torch_d), torch_d, "")
    try:
        import deep_gemm

        deep_d = torch.empty_like(d)
        found["deep_gemm"] = (lambda: deep_gemm.bf16_gemm_nt(a, b, deep_d), deep_d, "")
    except (ImportError, AttributeError):
        pass
    return found, rows, want


def contenders_blockwise(loom, m, n, k):
    generator = torch.Generator(device="cuda").manual_seed(1)
    a, a_stored, a_scales = quantise_rows(torch.randn(m, k, device="cuda", generator=generator))
    b, b_scales = quantise_blocks(torch.randn(n, k, device="cuda", generator=generator))
    rows = sampled_rows(m)
    a_full = a[rows].double() * a_scales[rows].double().repeat_interleave(128, 1)[:, :k]
    b_full = b.double() * b_scales.double().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
    want = a_full @ b_full.t()
    del a_full, b_full
    found = {}

    d = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    problem = problem_of(a, b, d, "blockwise")
    problem.scaling = A_ROWS_B_BLOCKS
    problem.a_scales, problem.a_scale_stride = a_stored.data_ptr(), a_stored.shape[1]
    problem.b_scales = b_scales.data_ptr()
    prepared = loom.prepare(problem)
    keep = (a_stored, b_scales)
    found["warploom"] = (lambda keep=keep: loom.launch(prepared), d, loom.describe(prepared))

    # One scale per tensor: another product, and the speed that a blockwise kernel is held against.
    one = torch.ones((), device="cuda")
    try:
        torch_d = torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
        found[OTHER_PRODUCT] = (
            lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True), None, "")
        del torch_d
    except (RuntimeError, ValueError, AttributeError):
        pass
    # 1 x 128 and 128 x 128 blocks: scales of rows with the rows contiguous, those of blocks K-contiguous.
    try:
        rows_scale = a_scales.t().contiguous().t()
        blocks_scale = b_scales.t()
        call = lambda: torch._scaled_mm(a, b.t(), scale_a=rows_scale, scale_b=blocks_scale, out_dtype=torch.bfloat16)
        if relative_error(call(), want, rows) < 0.02:
            found["_scaled_mm blocks"] = (call, None, "")
    except (RuntimeError, ValueError, AttributeError):
        pass
    try:
        import deep_gemm

        deep_d = torch.empty_like(d)
        deep_scales = deep_gemm.get_mn_major_tma_aligned_tensor(a_scales)  # else each launch would make them
        deep = lambda: deep_gemm.fp8_gemm_nt((a, deep_scales), (b, b_scales), deep_d)
        deep()
        found["deep_gemm"] = (deep, deep_d, "")
    except (ImportError, AttributeError, RuntimeError):
        pass
    return found, rows, want


def places_of(m, n, k, kind):
    size = 2 if kind == "bf16" else 1
    return 4 if (m * k + n * k) * size + 2 * m * n <= 256 << 20 else 1


def measure(places, repeat, pause):
    """{name: median microseconds}. `places`: the same contenders over operands that lie elsewhere."""
    cycles = int(pause * 1e-3 * 1.98e9)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    times = {name: [] for name in places[0]}
    for turn in range(len(places) + math.ceil(repeat / len(places)) * len(places)):
        events = {}
        order = list(times) if turn // len(places) % 2 == 0 else list(reversed(times))
        for name in order:
            flush.fill_(turn & 0xff)
            torch.cuda._sleep(cycles)  # a thread of the GPU counts; what is timed is enqueued meanwhile
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            places[turn % len(places)][name][0]()
            end.record()
            events[name] = (begin, end)
        torch.cuda.synchronize()
        if turn >= len(places):  # the first round of each is not counted
            for name, (begin, end) in events.items():
                times[name].append(1e3 * begin.elapsed_time(end))
    return {name: statistics.median(all_times) for name, all_times in times.items()}


def summary(rows, name):
    """Our speed over that of a contender, or of the best of them for the name "best", in the cases that have it."""
    ratios = []
    for row in rows:
        others = {other: us for other, us in row["us"].items() if other not in ("warploom", OTHER_PRODUCT)}
        theirs = min(others.values(), default=None) if name == "best" else row["us"].get(name)
        if theirs is not None:
            ratios.append(theirs / row["us"]["warploom"])
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"/{name}: mean {mean:.3f}, least {min(ratios):.3f}, {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} at 1 or more"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--library", default=os.path.join(folder, "build/gpu/bin/libwarploom_gpu_c.so"))
    parser.add_argument("--shape", action="append", help="MxNxK; may be given several times")
    parser.add_argument("--suite", choices=["dense", "decode"], default="dense", help="shapes, where none is given")
    parser.add_argument("--kind", choices=["bf16", "blockwise"], action="append")
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--pause", type=float, default=2.0, help="milliseconds of idling before each launch")
    parser.add_argument("--json")
    arguments = parser.parse_args()

    loom = Warploom(arguments.library)
    rows_out, wrong = [], 0
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    for kind in arguments.kind or ["bf16", "blockwise"]:
        rows_of_kind = []
        for text in arguments.shape or (SHAPES if arguments.suite == "dense" else DECODE):
            m, n, k = (int(part) for part in text.split("x"))
            make = contenders_bf16 if kind == "bf16" else contenders_blockwise
            found, rows, want = make(loom, m, n, k)
            places, between = [found], []
            while len(places) < places_of(m, n, k, kind):
                between.append(torch.empty((3 << 20) * len(places) + 512, dtype=torch.uint8, device="cuda"))
                places.append(make(loom, m, n, k)[0])
            errors = {}
            for name, (launch, d, _) in [one for place in places for one in place.items()]:
                launch()
                torch.cuda.synchronize()
                if d is None:
                    continue
                errors[name] = max(errors.get(name, 0.0), relative_error(d, want, rows))
                if not errors[name] < (0.006 if kind == "bf16" else 0.02):
                    wrong += 1
                    print(f"WRONG: {kind} {text}, {name}: error {errors[name]:.3g}")
            times = measure(places, arguments.repeat, arguments.pause)
            tflops = {name: 2e-6 * m * n * k / us for name, us in times.items()}
            print(f"{kind:9} {text:18} " + "  ".join(f"{name} {value:7.1f}" for name, value in tflops.items())
                  + "  TFLOP/s; " + ", ".join(f"/{name} {times[name] / times['warploom']:.3f}" for name in times if name != "warploom")
                  + f"; {found['warploom'][2]}", flush=True)
            rows_of_kind.append({"kind": kind, "m": m, "n": n, "k": k, "us": times, "tflops": tflops, "error": errors,
                                 "plan": found["warploom"][2]})
            del found, want, places, between
            torch.cuda.empty_cache()
        names = {name: None for row in rows_of_kind for name in row["us"] if name != "warploom"}
        for name in [*names, "best"] if names.keys() - {OTHER_PRODUCT} else names:
            print(f"{kind:9} {summary(rows_of_kind, name)}", flush=True)
        rows_out += rows_of_kind
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows_out}, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
