"""Composable hashes of strings, so that attribute strings are never built.

    hash(s) = sum over bytes of R[s_i] * B^(len-1-i)   mod 2^64
    hash(s + t) = hash(s) * B^len(t) + hash(t)

R is a table of fixed random numbers and B a fixed odd multiplier, so the same string gets the same
number however it is divided into pieces, on every machine and in every model file. `mixed` spreads the
bits for a table lookup. Two different strings collide with a probability of about 2^-58: for ten million
attributes that is one collision in some ten thousand models.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import I64, U64, Bytes

BASE = np.uint64(0x9E3779B97F4A7C13)  # odd, and B-1 is 2 times an odd number
# The seed is part of the file format: another table would not find the attributes of saved models.
RANDOM = np.random.RandomState(20080229).randint(1, 2**64, size=256, dtype=np.uint64)


@inline
def power_of(base: np.uint64, exponent: int) -> np.uint64:
    """base ** exponent mod 2^64, by squaring."""
    result = np.uint64(1)
    factor = np.uint64(base)
    while exponent > 0:
        if exponent & 1:
            result = result * factor
        factor = factor * factor
        exponent >>= 1
    return result


@inline
def hash_bytes(data: np.ndarray, start: int, end: int) -> np.uint64:
    h = np.uint64(0)
    for i in range(start, end):
        h = h * BASE + RANDOM[data[i]]
    return h


@inline
def mixed(h: np.uint64) -> np.uint64:
    """Spread all bits over all bits; never 0, which marks an empty place in a table."""
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(33)
    if h == np.uint64(0):
        return np.uint64(1)
    return h


@kernel
def hash_pieces(data: Bytes, offset: I64) -> tuple[U64, U64]:
    """hash u64[T] and power B^len u64[T] of the byte strings data[offset[t]:offset[t+1]]."""
    T = offset.size - 1
    hashes = np.empty(T, np.uint64)
    powers = np.empty(T, np.uint64)
    for t in range(T):
        hashes[t] = hash_bytes(data, offset[t], offset[t + 1])
        powers[t] = power_of(BASE, offset[t + 1] - offset[t])
    return hashes, powers


@kernel
def mixed_all(hashes: U64) -> U64:
    """The table key of each hash, u64[T]."""
    keys = np.empty(hashes.size, np.uint64)
    for t in range(hashes.size):
        keys[t] = mixed(hashes[t])
    return keys
