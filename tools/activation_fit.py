#!/usr/bin/env python3
"""The constants of include/warploom/kernels/activation.hpp: minimax fits in relative error, with fp32 coefficients.

Needs mpmath. Prints the coefficients of each fit with the largest relative error of the exact function that has those
floats for coefficients. They are rounded one after the other, and the rest is fitted anew each time: it makes up for
what was rounded away."""
import itertools
import math
import struct

from mpmath import cos, erfc, exp, linspace, log, lu_solve, matrix, mp, mpf, pi, sqrt

mp.dps = 30
GRID = 600


def to_f32(value):
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def chebyshev_grid(low, high):
    return [low + (high - low) * (1 - cos(pi * t)) / 2 for t in linspace(0, 1, GRID + 1)]


def extrema(error):
    """The largest deviation of every run of one sign."""
    best = [0]
    for i in range(1, len(error)):
        if error[i] * error[best[-1]] < 0:
            best.append(i)
        elif abs(error[i]) > abs(error[best[-1]]):
            best[-1] = i
    return best


class Model:
    """A quotient whose numerator and denominator are sums of coefficient * term(x), tabulated on a grid."""

    def __init__(self, xs, function, terms, known=None, one_below=True):
        self.values = [function(x) for x in xs]
        self.above = {name: [above(x) for x in xs] for name, (above, _) in terms.items()}
        self.below = {name: [below(x) for x in xs] for name, (_, below) in terms.items()}
        self.constant = 1 if one_below else 0
        self.known = dict(known or {})
        self.free = [name for name in terms if name not in self.known]

    def sums(self, i, coefficients):
        return (sum(c * self.above[name][i] for name, c in coefficients.items()),
                self.constant + sum(c * self.below[name][i] for name, c in coefficients.items()))

    def errors(self, coefficients):
        sums = [self.sums(i, coefficients) for i in range(len(self.values))]
        return [above / below / y - 1 for (above, below), y in zip(sums, self.values)], [s[1] for s in sums]

    def best(self):
        """The free coefficients with the least error: Remez exchange; the denominator is that of the round before."""
        count = len(self.free) + 1
        points = [(len(self.values) - 1) * i // (count - 1) for i in range(count)]
        weights = [mpf(1)] * len(self.values)
        for _ in range(40):
            rows, rhs = [], []
            for j, i in enumerate(points):
                scale = 1 / (self.values[i] * weights[i])
                above, below = self.sums(i, self.known)
                rows.append([(self.above[n][i] - self.values[i] * self.below[n][i]) * scale for n in self.free] +
                            [(-1)**j])
                rhs.append((self.values[i] * below - above) * scale)
            found = self.known | dict(zip(self.free, lu_solve(matrix(rows), matrix(rhs))))
            error, weights = self.errors(found)
            peaks = extrema(error)
            while len(peaks) > count:
                peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
            if len(peaks) < count:
                break
            points = peaks
        return found

    def rounded(self):
        """The coefficients as floats, in the order of the terms."""
        while self.free:
            self.known[self.free[0]] = to_f32(self.best()[self.free[0]])
            self.free.pop(0)
        return self.known


def polynomial(degree):
    """Terms of a polynomial, the highest power first: it is rounded first."""
    return {k: (lambda x, k=k: x**k, lambda x: 0) for k in range(degree, -1, -1)}


def polished(coefficients, xs, function):
    """Tries other floats for up to three coefficients at a time, the constant term excepted: steps that change the
    polynomial at 1/2 by 2^-26, then half of that, down to neighbouring floats."""
    pairs = [(float(x), float(function(x))) for x in xs[::2]]
    best = [float(coefficients[k]) for k in range(len(coefficients))]

    def error(candidate):
        worst = 0.0
        for x, y in pairs:
            p = 0.0
            for c in reversed(candidate):
                p = p * x + c
            worst = max(worst, abs(p / y - 1))
        return worst

    least = error(best)
    for exponent in range(-26, -35, -1):
        improved = True
        while improved:
            improved = False
            for size in (1, 2, 3):
                for chosen in itertools.combinations(range(1, len(best)), size):
                    for steps in itertools.product((-2, -1, 1, 2), repeat=size):
                        candidate = list(best)
                        for k, step in zip(chosen, steps):
                            candidate[k] += step * math.ldexp(1, max(exponent + k, math.frexp(best[k])[1] - 24))
                            candidate[k] = struct.unpack("f", struct.pack("f", candidate[k]))[0]
                        reached = error(candidate)
                        if reached < 0.9999 * least:
                            least, best, improved = reached, candidate, True
    return {k: mpf(c) for k, c in enumerate(best)}


def show(name, model, coefficients):
    error = max(abs(e) for e in model.errors(coefficients)[0])
    print(f"{name}: relative error {float(error):.2g}")
    for term, c in coefficients.items():
        print(f"  {term!s:3} {float(c).hex():>24}  {float(c):.9g}")


# e^-x = 2^t for silu and gelu_tanh, t = n + f. The factor of x is a float below log2(e), so that what is missing per n is
# two units of the last place of 2^n, within 1/3000: an integer multiplication puts them there. With the exponent comes
# an offset, OFFSET units, for which the fit makes up. Of the offsets possible, 676 + 1024 k, this one makes the first
# factor 1.99944 exact and leaves the constant term close to a float. Polished for a little more than 1/2: gelu_tanh
# rounds before its exponent is complete.
LAST = mpf(2)**-23
OFFSET = 676 + 1024 * 2
LESS = to_f32(1 / log(2)) - 4 * LAST
print(f"log2(e) less: {float(LESS).hex()}, missing per power of two: {float(log(1 / log(2) / LESS) * log(2) / LAST):.6g}")
scaled = lambda f: mpf(2)**(f / log(2) / LESS) / (1 + OFFSET * LAST)
wide = chebyshev_grid(mpf("-0.508"), mpf("0.508"))
coarse = Model(chebyshev_grid(mpf("-0.5"), mpf("0.5")), scaled, polynomial(5)).rounded()
show("2^(f log2(e) / less) / (1 + offset), |f| <= 0.508", Model(wide, scaled, polynomial(5)),
     polished(coarse, wide, scaled))

# Phi(-a) = e^(-a^2/2) c D(a) / (a D(a) + N(a)), c = 1 / sqrt(2 pi) in fp32. D(0) is 1, and N(0) is 2 c for Phi(0) = 1/2:
# the error at 0 is none, and the grid begins later.
C = to_f32(1 / sqrt(2 * pi))
exponential = Model(chebyshev_grid(mpf("-0.5"), mpf("0.5")), lambda f: C * mpf(2)**f, polynomial(6))
show("2^f / sqrt(2 pi), |f| <= 1/2", exponential, exponential.rounded())
terms = {}
for k in range(4, -1, -1):
    terms[f"D{k}"] = (lambda a, k=k: C * a**k, lambda a, k=k: a**(k + 1))
    terms[f"N{k}"] = (lambda a: 0, lambda a, k=k: a**k)
tail = Model([mpf("0.05") + (1 / u - 1) / mpf("0.3") for u in chebyshev_grid(mpf(1), 1 / mpf("4.6"))],
             lambda a: erfc(a / sqrt(2)) * exp(a * a / 2) / 2, terms, {"D0": mpf(1), "N0": 2 * C}, one_below=False)
show("Phi(-a) e^(a^2/2), a <= 12", tail, tail.rounded())

# The same for types of 16 bits: a polynomial in r = 1 / (1 + s a) without a constant term, a <= 13. Of s = 0.2, 0.21,
# ... 0.5 this one has the least error.
SCALE = to_f32(mpf("0.36"))
power_of_r = {k: (lambda a, k=k: (1 + SCALE * a)**-k, lambda a: 0) for k in range(7, 0, -1)}
narrow = Model([(1 / u - 1) / SCALE for u in chebyshev_grid(mpf(1), 1 / (1 + 13 * SCALE))],
               lambda a: erfc(a / sqrt(2)) * exp(a * a / 2) / 2, power_of_r)
show("Phi(-a) e^(a^2/2) in 1 / (1 + 0.36 a), a <= 13", narrow, narrow.rounded())

print(f"log2(e): {float(to_f32(1 / log(2))):.9g} + {float(to_f32(1 / log(2) - to_f32(1 / log(2)))):.9g}")
slope = 2 * sqrt(2 / pi) * LESS
for name, value, grid in (("2 sqrt(2/pi) log2(e) less", slope, 2**20), ("the same * 0.044715", slope * mpf("0.044715"), 2**15)):
    high = mpf(int(value * grid + mpf(1) / 2)) / grid
    print(f"{name}: {float(high):.12g} + {float(to_f32(value - high)):.9g}")
