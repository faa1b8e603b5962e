"""Identifiers: unique without asking anybody, and sortable by the time they were made (ULID)."""

from __future__ import annotations

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case
_BITS = 128


def ulid(number: int) -> str:
    """26 characters for a 128-bit number: 48 bits of Unix milliseconds, 80 of randomness."""
    if not 0 <= number < 1 << _BITS:
        raise ValueError("a ULID has 128 bits")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def ulid_of(time_ms: int, randomness: bytes) -> str:
    """The ULID of a moment and ten random bytes."""
    return ulid(time_ms << 80 | int.from_bytes(randomness[:10], "big"))


def ulid_of_hex(digits: str) -> str:
    """The ULID of 32 hexadecimal digits. Raises ``ValueError``."""
    if len(digits) != 32 or not all(digit in "0123456789abcdef" for digit in digits):
        raise ValueError("an identity has 32 hexadecimal digits")
    return ulid(int(digits, 16))


def next_ulid(text: str, steps: int) -> str:
    """The ULID that comes ``steps`` after ``text``: for the parts of what has one identity."""
    number = 0
    for character in text:
        number = number << 5 | _ALPHABET.index(character)
    return ulid((number + steps) % (1 << _BITS))


def ulid_beside(text: str, randomness: bytes) -> str:
    """The ULID of the same moment as ``text``, with ten other random bytes."""
    return text[:10] + ulid(int.from_bytes(randomness[:10], "big"))[10:]


def full_id(given: str) -> str:
    """The id of a memory that ``given`` is, with or without its URI or prefix."""
    bare = given.strip().removeprefix("subcog://memory/")
    return bare if bare.startswith("mem_") else f"mem_{bare}"
