#!/usr/bin/env python3
"""The loom beside other machines that run kernels on a CPU: Triton's interpreter and JAX Pallas in interpret mode.

    ./dev bench loom --help >/dev/null            # builds build/bin/warploom-loom-bench
    bench/interpreters.py --install               # their packages, into build/interpreters (from PyPI)
    bench/interpreters.py --size 1024             # one bf16 GEMM on each, one after the other

Each multiplies A [m, k] by the transpose of B [n, k], both bf16 and row-major, with sums in f32 and D in bf16, in tiles of
its own kernel's choice. Whoever is not installed, or fails, is named with the reason. All of them run in the same call on
the same machine; each round is timed, and the fastest counts. Compilation (Pallas) comes before and is not counted.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "interpreters"
PACKAGES = {"triton": ["numpy", "torch", "triton"], "pallas": ["numpy", "jax"]}


def operands(m, n, k):
    """Small integers: every sum is exact in f32, so that a right result is known."""
    import numpy

    draw = numpy.random.default_rng(1)
    return (draw.integers(-4, 5, (m, k)).astype(numpy.float32), draw.integers(-4, 5, (n, k)).astype(numpy.float32))


def check(d, a, b):
    import numpy

    rows = numpy.random.default_rng(2).integers(0, a.shape[0], 8)
    expected = a[rows] @ b.T
    error = numpy.abs(d[rows] - expected).max()
    if error > numpy.abs(expected).max() / 128:  # D is bf16
        raise SystemExit(f"the result is wrong by {error}")


def timed(run, rounds):
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds


def triton_gemm(m, n, k, rounds, threads):
    os.environ["TRITON_INTERPRET"] = "1"
    import numpy
    import torch
    import triton
    import triton.language as tl

    torch.set_num_threads(threads)

    @triton.jit
    def kernel(a, b, d, n, k, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr):
        rows = tl.program_id(0) * tile_m + tl.arange(0, tile_m)
        columns = tl.program_id(1) * tile_n + tl.arange(0, tile_n)
        along = tl.arange(0, tile_k)
        total = tl.zeros((tile_m, tile_n), dtype=tl.float32)
        for start in range(0, k, tile_k):
            left = tl.load(a + rows[:, None] * k + start + along[None, :])
            right = tl.load(b + columns[None, :] * k + start + along[:, None])
            # Its dot would take the codes of bf16, which numpy has not, for integers.
            total = tl.dot(left.to(tl.float32), right.to(tl.float32), total, input_precision="ieee")
        tl.store(d + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16))

    a, b = operands(m, n, k)
    on_a, on_b = (torch.from_numpy(x).to(torch.bfloat16) for x in (a, b))
    d = torch.empty((m, n), dtype=torch.bfloat16)
    tiles = dict(tile_m=128, tile_n=128, tile_k=64)
    seconds = timed(lambda: kernel[(m // 128, n // 128)](on_a, on_b, d, n, k, **tiles), rounds)
    check(d.to(torch.float32).numpy(), a, b)
    return seconds, f"triton {triton.__version__}, tiles of 128 x 128 x 64, numpy {numpy.__version__}"


def pallas_gemm(m, n, k, rounds, threads):
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    tile, deep = 128, 64

    def kernel(a, b, d):
        @pl.when(pl.program_id(2) == 0)
        def _():
            d[...] = jnp.zeros_like(d)

        d[...] += jax.lax.dot_general(a[...], b[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)

    call = pl.pallas_call(
        kernel,
        grid=(m // tile, n // tile, k // deep),
        in_specs=[
            pl.BlockSpec((tile, deep), lambda i, j, l: (i, l)),
            pl.BlockSpec((tile, deep), lambda i, j, l: (j, l)),
        ],
        out_specs=pl.BlockSpec((tile, tile), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        interpret=True,
    )
    multiply = jax.jit(lambda a, b: call(a, b).astype(jnp.bfloat16))
    a, b = operands(m, n, k)
    on_a, on_b = jnp.asarray(a, jnp.bfloat16), jnp.asarray(b, jnp.bfloat16)
    d = multiply(on_a, on_b).block_until_ready()
    seconds = timed(lambda: multiply(on_a, on_b).block_until_ready(), rounds)
    check(jnp.asarray(d, jnp.float32), a, b)
    return seconds, f"jax {jax.__version__}, pallas_call(interpret=True), tiles of {tile} x {tile} x {deep}"


def measure_loom(program, m, n, k, rounds, threads):
    if not program.exists():
        return [{"name": "loom", "absent": f"{program} is not there; ./dev bench loom builds it"}]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [program, "--m", m, "--n", n, "--k", k, "--threads", threads, "--repeat", rounds]
        command += ["--no-openblas", "--exact", 0, "--json", file.name]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            return [{"name": "loom", "absent": done.stderr.strip()}]
        entries = json.load(open(file.name))["entries"]
    return [{key: entry[key] for key in ("name", "detail", "seconds")} for entry in entries]


def measure_interpreter(name, python, arguments):
    title = {"triton": "Triton's interpreter", "pallas": "JAX Pallas, interpret mode"}[name]
    command = [str(python), __file__, "--only", name, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        return {"name": title, "absent": f"{error}; bench/interpreters.py --install makes it"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        return {"name": title, "absent": lines[-1]}
    return {"name": title, **json.loads(done.stdout.splitlines()[-1])}


def install():
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    for name, packages in PACKAGES.items():
        done = subprocess.run([str(VENV / "bin" / "pip"), "install", "--quiet", *packages])
        print(f"{name}: {'installed' if done.returncode == 0 else 'does not install here (pip says why above)'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="m = n = k, a multiple of 128")
    parser.add_argument("--m", type=int, help="instead of --size; n and k likewise")
    parser.add_argument("--n", type=int)
    parser.add_argument("--k", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--loom", type=pathlib.Path, default=ROOT / "build" / "bin" / "warploom-loom-bench")
    parser.add_argument("--python", type=pathlib.Path, default=VENV / "bin" / "python", help="one that has them")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all figures")
    parser.add_argument("--install", action="store_true", help="installs them into build/interpreters, and ends")
    parser.add_argument("--only", choices=PACKAGES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.install:
        return install()
    m, n, k = (extent or given.size for extent in (given.m, given.n, given.k))
    if any(extent < 128 or extent % 128 for extent in (m, n, k)):
        parser.error("the tiles of these kernels are 128 wide: sizes must be multiples of 128")
    if given.rounds < 1 or given.threads < 1:
        parser.error("--rounds and --threads must be positive")
    if given.only:
        gemm = {"triton": triton_gemm, "pallas": pallas_gemm}[given.only]
        seconds, detail = gemm(m, n, k, given.rounds, given.threads)
        print(json.dumps({"detail": detail, "seconds": seconds}))
        return None

    entries = measure_loom(given.loom, m, n, k, given.rounds, given.threads)
    arguments = [f"--m={m}", f"--n={n}", f"--k={k}", f"--rounds={given.rounds}", f"--threads={given.threads}"]
    entries += [measure_interpreter(name, given.python, arguments) for name in PACKAGES]
    print(f"bf16 {m} x {n} x {k}, {given.threads} threads, the fastest of {given.rounds}")
    print(f"{'':<28} {'seconds':>10} {'GFLOP/s':>10}")
    for entry in entries:
        if "absent" in entry:
            print(f"{entry['name']:<28} {'-':>10} {'-':>10}  {entry['absent']}")
            continue
        fastest = min(entry["seconds"])
        entry["gflops"] = 2e-9 * m * n * k / fastest
        print(f"{entry['name']:<28} {fastest:>10.4f} {entry['gflops']:>10.3f}  {entry['detail']}")
    if given.json:
        given.json.write_text(json.dumps({"m": m, "n": n, "k": k, "entries": entries}, indent=2) + "\n")
    return None


if __name__ == "__main__":
    sys.exit(main())
