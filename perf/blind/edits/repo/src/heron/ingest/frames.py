"""Decoding of the binary frames which the scooters send."""
from __future__ import annotations

import enum
import struct
from dataclasses import dataclass, field
from typing import Iterator

MAGIC = b"HR"
MAX_FRAME_BYTES = 4096
HEADER = struct.Struct(">2sBBHI")
SUPPORTED_VERSIONS = (2, 3)


class FrameError(ValueError):
    """A frame that cannot be decoded."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.reason = reason
        self.offset = offset


class FrameKind(enum.IntEnum):
    HEARTBEAT = 1
    POSITION = 2
    BATTERY = 3
    FAULT = 9


@dataclass(slots=True)
class Frame:
    kind: FrameKind
    sequence: int
    payload: bytes
    flags: int = 0
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def is_urgent(self) -> bool:
        return self.kind is FrameKind.FAULT or bool(self.flags & 0x80)

    def acknowledge(self) -> bytes:
        return MAGIC + struct.pack(">BI", 0x06, self.sequence)


def crc16(data: bytes, seed: int = 0xFFFF) -> int:
    # CCITT polynomial, bitwise: the frames are short enough
    crc = seed
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = ((crc << 1) ^ 0x1021) & 0xFFFF
            else:
                crc = (crc << 1) & 0xFFFF
    return crc


def parse_frame(buffer: bytes, offset: int = 0) -> Frame:
    """Decode one frame from ``buffer``, starting at ``offset``."""
    if len(buffer) - offset < HEADER.size:
        raise FrameError("short header", offset)
    magic, version, kind, length, sequence = HEADER.unpack_from(buffer, offset)
    if magic != MAGIC:
        raise FrameError("bad magic", offset)
    if version not in SUPPORTED_VERSIONS:
        raise FrameError(f"unsupported version {version}", offset)
    if length > MAX_FRAME_BYTES:
        raise FrameError("frame too long", offset)
    start = offset + HEADER.size
    body = buffer[start:start + length]
    expected = int.from_bytes(buffer[start + length:start + length + 2], "big")
    if crc16(body) != expected:
        raise FrameError("checksum mismatch", start)
    return Frame(kind=FrameKind(kind), sequence=sequence, payload=body)


class FrameReader:
    """Collects chunks of a socket and yields whole frames."""

    def __init__(self, strict: bool = True) -> None:
        self._pending = bytearray()
        self._strict = strict
        self.skipped = 0

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        self._pending.extend(chunk)
        while True:
            size = self._next_size()
            if size is None:
                return
            raw = bytes(self._pending[:size])
            del self._pending[:size]
            try:
                yield parse_frame(raw)
            except FrameError:
                if self._strict:
                    raise
                self.skipped += 1

    def _next_size(self) -> int | None:
        if len(self._pending) < HEADER.size:
            return None
        length = HEADER.unpack_from(self._pending)[3]
        size = HEADER.size + length + 2
        return size if len(self._pending) >= size else None
