#!/usr/bin/env python3
"""The tables of src/loom/isa/special_functions.cpp, from what a GPU returned (tools/special_functions.cu). Needs numpy.

    tools/special_functions_fit.py FOLDER        # unpacked by tools/recorded_words.py, where it was packed

The unit that computes 2^x and 1/x cuts the mantissa into segments and adds up a constant, a slope times the rest of the
mantissa and a curvature times the square of that rest, of which the lowest columns are not computed. In each segment
this looks for every slope and curvature that, with some constant, give all recorded results; prints how many there are;
and writes the tables with constants that agree in their low bits, as those of a table and one rounding do."""
import sys

import numpy

COUNT = 1 << 23
CONSTANT_SHIFT, RESULT_SHIFT = 13, 15


def truncated_square(rest):
    """Of 17 bits: the partial products, each cut off 18 bits up, and half of their sum."""
    total = numpy.zeros_like(rest)
    for bit in range(17):
        total += numpy.where(rest >> bit & 1, rest >> (18 - bit), 0)
    return total >> 1


def constants(results, line):
    """The least and the largest constant with which (constant + line) >> RESULT_SHIFT are the results."""
    least = (results << RESULT_SHIFT) - line
    return int(least.max()), int(least.min()) + (1 << RESULT_SHIFT) - 1


def fit_segment(results, rest, square):
    """All (slope, curvature, least constant, largest constant)."""
    terms = numpy.stack([numpy.ones(len(rest)), rest, square], axis=1).astype(float)
    middle = (results.astype(float) + 0.5) * (1 << RESULT_SHIFT)
    _, slope, curvature = (round(float(c)) for c in numpy.linalg.lstsq(terms, middle, rcond=None)[0])
    found = []
    sparse = slice(None, None, 97)
    for c in range(curvature - 6, curvature + 7):
        for s in range(slope - 12, slope + 13):
            line = s * rest + c * square
            if constants(results[sparse], line[sparse])[0] > constants(results[sparse], line[sparse])[1]:
                continue
            least, largest = constants(results, line)
            if least <= largest:
                found.append((s, c, least, largest))
    return found


def common_low_bits(segments):
    """The low bits that a constant of every segment can have, from and to."""
    modulus = 1 << CONSTANT_SHIFT
    allowed = numpy.ones(modulus, dtype=bool)
    for _, _, least, largest in segments:
        if largest - least + 1 >= modulus:
            continue
        here = numpy.zeros(modulus, dtype=bool)
        here[numpy.arange(least, largest + 1) % modulus] = True
        allowed &= here
    return numpy.nonzero(allowed)[0]


def fit(name, results, segment_bits, scale):
    length = COUNT >> segment_bits
    rest = numpy.arange(length, dtype=numpy.int64)
    square = truncated_square(rest * scale)
    segments = []
    for i in range(1 << segment_bits):
        found = fit_segment(results[i * length:(i + 1) * length], rest, square)
        if not found:
            sys.exit(f"{name}: segment {i} is no such sum")
        if len(found) > 1:
            print(f"// {name}, segment {i}: {len(found)} fits", file=sys.stderr)
        segments.append(found[len(found) // 2])
    low = common_low_bits(segments)
    if len(low) == 0:
        sys.exit(f"{name}: constants have no low bits in common")
    rounding = int(low[len(low) // 2])
    print(f"// {name}: {len(low)} roundings are possible, {low[0]} to {low[-1]}")
    print(f"constexpr int64_t {name}_rounding = {rounding};")
    print(f"constexpr Segment {name}_segments[] = {{")
    row = "   "
    for slope, curvature, least, largest in segments:
        constant = (least - rounding + (1 << CONSTANT_SHIFT) - 1) >> CONSTANT_SHIFT
        assert least <= (constant << CONSTANT_SHIFT) + rounding <= largest
        text = f" {{{constant}, {slope}, {curvature}}},"
        if len(row) + len(text) > 118:
            print(row)
            row = "   "
        row += text
    print(row)
    print("};")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    power, quotient = (numpy.fromfile(f"{sys.argv[1]}/{name}.approx.ftz.f32.0.words", dtype="<u4").astype(numpy.int64)
                       for name in ("ex2", "rcp"))
    if len(power) != COUNT or len(quotient) != COUNT:
        sys.exit(f"{sys.argv[1]}: {len(power)} and {len(quotient)} words, expected {COUNT}")
    # As integers with the leading one: 2^x from 2 on, 1/x below 1; 1 itself is 2^24.
    fit("power", (power & 0x7fffff) | 0x800000, 6, 1)
    fit("quotient", numpy.where(quotient == 0x3f800000, 1 << 24, (quotient & 0x7fffff) | 0x800000), 7, 2)


if __name__ == "__main__":
    main()
