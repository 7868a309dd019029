"""exp and log as polynomials, which become vector code: the functions of the C library process one number at a time."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline

SHIFT = 1.5 * 2.0**52  # from here to twice this value a float64 has no fractional part
SHIFT_BITS = np.int64(0x4338000000000000)
EXPONENT_OF_1 = np.int64(1023 << 52)
FROM_ROOT_HALF = np.int64((1023 << 52) - 0x3FE6A09E667F3BCD)  # bits of 1 - bits of sqrt(1/2)
LOG2_E = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # times a whole number of 11 bits: exact
LOG_2_LOW = 1.90821492927058770002e-10


@inline
def exp_of(x: float) -> float:
    """exp(x) for x <= 0 within 4e-16 of its value; 0 below -700.

    x = n log 2 + r, |r| <= log(2) / 2; the series of exp(r) to the 12th power, and n added to its exponent. Adding
    SHIFT rounds to a whole number, which is then in the last bits."""
    y = max(x, -700.0)
    t = y * LOG2_E + SHIFT
    n = t - SHIFT
    r = (y - n * LOG_2_HIGH) - n * LOG_2_LOW
    p = 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = ((p * r + 0.5) * r + 1.0) * r + 1.0
    bits = np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(bits).view(np.float64) if x >= -700.0 else 0.0


@inline
def log_of(x: float) -> float:
    """log(x) for an x that is neither tiny nor infinite; undefined for 0, which the caller handles.

    x = 2^n m with m around 1, s = (m - 1) / (m + 1): log m = 2 (s + s^3/3 + s^5/5 + ...)"""
    bits = np.float64(x).view(np.int64)
    n = (bits + FROM_ROOT_HALF) >> np.int64(52)
    m = np.int64(bits - (n << np.int64(52)) + EXPONENT_OF_1).view(np.float64)
    k = np.int64(n + SHIFT_BITS).view(np.float64) - (SHIFT + 1023.0)
    s = np.divide(m - 1.0, m + 1.0)  # the operator checks for a division by zero, which prevents vector code
    z = s * s
    p = 1 / 21
    p = p * z + 1 / 19
    p = p * z + 1 / 17
    p = p * z + 1 / 15
    p = p * z + 1 / 13
    p = p * z + 1 / 11
    p = p * z + 1 / 9
    p = p * z + 1 / 7
    p = p * z + 1 / 5
    p = p * z + 1 / 3
    return k * LOG_2_HIGH + (2.0 * s + (2.0 * s * z * p + k * LOG_2_LOW))
