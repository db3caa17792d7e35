"""The exponential function for kernels whose loops the compiler computes four numbers at a time.

A loop that calls the exponential of the C library computes one number at a time, and takes five times as long.
"""

from __future__ import annotations

import math

import numpy as np

from crowdrank.numerics.compiled import kernel

PER_LOG_2 = 1 / math.log(2)
# log 2 in two parts: the first has few enough digits that its product with a whole number is exact.
LOG_2, REST_OF_LOG_2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDING = 1.5 * 2.0**52  # a number added to it is rounded to a whole one, which stands in the last bits
MANTISSA = 52  # bits
C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (1 / math.factorial(power) for power in range(3, 13))


@kernel(error_model="numpy", forceinline=True)  # no `fastmath`: it would undo the rounding
def exp(x):
    """eˣ for numbers between −700 and 700, to the last bit or two: 2ᵏ times the Taylor series of a small number."""
    rounded = x * PER_LOG_2 + ROUNDING
    k = rounded - ROUNDING
    r = (x - k * LOG_2) - k * REST_OF_LOG_2
    high = C8 + r * (C9 + r * (C10 + r * (C11 + r * C12)))
    series = 1.0 + r * (1.0 + r * (0.5 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * (C7 + r * high)))))))
    bits = np.float64(series).view(np.int64) + (np.float64(rounded).view(np.int64) << MANTISSA)
    return np.int64(bits).view(np.float64)
