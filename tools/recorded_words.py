#!/usr/bin/env python3
"""Packs what tools/special_functions.cu and tools/mma_sync.cu record, and reads it again. Needs numpy.

    tools/recorded_words.py pack FOLDER PACKED [MIB]     # PACKED/0.pack, 1.pack, ... of at most 15 MiB, together MIB
    tools/recorded_words.py unpack PACKED FOLDER

The results of a smooth function are stored as what is left of them after a quadratic for every 2^15 words, and that
compressed: a quarter of a byte for a word of four. Other files are compressed as they are."""
import io
import json
import lzma
import multiprocessing
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process a file

import numpy

CHUNK = 1 << 15
LIMIT = 15 << 20
# Fractional bits of the coefficients.
FRACTION, CURVATURE_FRACTION = 30, 44


def quadratic(coefficients):
    """[constant, slope, curvature] of each row, at 0 .. CHUNK - 1. Integers, so that every machine gets the same."""
    x = numpy.arange(CHUNK, dtype=numpy.int64)
    constant, slope, curvature = (coefficients[:, i, None] for i in range(3))
    return (constant + slope * x + (curvature * (x * x) >> (CURVATURE_FRACTION - FRACTION))) >> FRACTION


def pack_words(words):
    rows = words.astype(numpy.int64).reshape(-1, CHUNK)
    first = rows[:, :1]
    x = numpy.arange(CHUNK, dtype=float)
    inverse = numpy.linalg.pinv(numpy.stack([numpy.ones(CHUNK), x, x * x], axis=1))
    fitted = (rows - first + 0.5) @ inverse.T
    scaled = fitted * [2.0**FRACTION, 2.0**FRACTION, 2.0**CURVATURE_FRACTION]
    bound = numpy.array([2.0**60, 2.0**44, 2.0**30])
    coefficients = numpy.where(numpy.abs(scaled) < bound, scaled, 0).round().astype(numpy.int64)
    coefficients[(numpy.abs(scaled) >= bound).any(axis=1)] = 0
    rest = rows - first - quadratic(coefficients)
    wide = (numpy.abs(rest) > 127).any(axis=1)  # kept as they are
    buffer = io.BytesIO()
    numpy.savez(buffer, first=first, coefficients=coefficients, rest=rest[~wide].astype(numpy.int8), wide=wide,
                kept=words.reshape(-1, CHUNK)[wide])
    return buffer.getvalue()


def unpack_words(data):
    arrays = numpy.load(io.BytesIO(data))
    rows = arrays["first"] + quadratic(arrays["coefficients"])
    rows[~arrays["wide"]] += arrays["rest"]
    rows[arrays["wide"]] = arrays["kept"]
    return rows.astype(numpy.uint32).reshape(-1)


def fold(sums, blocks):
    """The sums of larger blocks: of `blocks` that follow each other."""
    return sums.reshape(-1, blocks, 2).sum(axis=1, dtype=numpy.uint32)


def pack_file(path):
    name = os.path.basename(path)
    if name.endswith(".words"):
        words = numpy.fromfile(path, dtype="<u4")
        data = pack_words(words)
        assert numpy.array_equal(unpack_words(data), words)
    elif name.endswith(".sums") and (".ftz" not in name or name.startswith("div")) and "tanh" not in name:
        # Made of the functions with .ftz: an eighth of the sums is enough.
        data = fold(numpy.fromfile(path, dtype="<u4"), 8).tobytes()
    else:
        with open(path, "rb") as file:
            data = file.read()
    return name, lzma.compress(data, preset=6)


def importance(path):
    """Small files first, then sums, then words near an exponent of 0."""
    name = os.path.basename(path)
    if not name.endswith(".words"):
        return (0 if os.path.getsize(path) < 1 << 19 else 1, 0, name)
    return 2, abs(2 * int(name.split(".")[-2]) - 1), name


def pack(folder, packed, limit):
    paths = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=importance)
    os.makedirs(packed, exist_ok=True)
    part, size, total, index = 0, 0, 0, []
    out = open(f"{packed}/0.pack", "wb")
    with multiprocessing.Pool() as pool:
        for name, data in pool.imap(pack_file, paths):
            if total + len(data) > limit:
                print(f"{name}: left out, {len(data)} bytes", flush=True)
                continue
            if size + len(data) > LIMIT:
                out.close()
                part, size = part + 1, 0
                out = open(f"{packed}/{part}.pack", "wb")
            index.append({"name": name, "part": part, "offset": size, "size": len(data)})
            out.write(data)
            size, total = size + len(data), total + len(data)
            print(f"{name}: {len(data)}", flush=True)
    out.close()
    with open(f"{packed}/index.json", "w") as file:
        json.dump(index, file)


def contents(packed):
    """Name and data of every file that was packed; of `.words` the array."""
    with open(f"{packed}/index.json") as file:
        index = json.load(file)
    for entry in index:
        with open(f"{packed}/{entry['part']}.pack", "rb") as file:
            file.seek(entry["offset"])
            data = lzma.decompress(file.read(entry["size"]))
        yield entry["name"], unpack_words(data).tobytes() if entry["name"].endswith(".words") else data


def main():
    if len(sys.argv) in (4, 5) and sys.argv[1] == "pack":
        pack(sys.argv[2], sys.argv[3], (int(sys.argv[4]) if len(sys.argv) == 5 else 60) << 20)
    elif len(sys.argv) == 4 and sys.argv[1] == "unpack":
        os.makedirs(sys.argv[3], exist_ok=True)
        for name, data in contents(sys.argv[2]):
            with open(os.path.join(sys.argv[3], name), "wb") as file:
                file.write(data)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
