"""The names of a model's parts where ``layers.onnx`` was written before they had any.

The matrices are numbered there with their biases in the order in which they are used, and so are
the norms: ``w.0_quantized`` is the query's matrix in the first layer, and ``w.1`` its bias.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ATTENDING = ("query", "key", "value")
"""What a layer's attention multiplies the tokens by, each with a matrix of its own once written."""

_MATRICES = (*ATTENDING, "join", "widen", "narrow")
_NORMS = ("joined", "narrowed")
_NUMBERED = re.compile(r"(w|norms)\.(\d+)(.*)")


def present_names(names: Iterable[str]) -> dict[str, str]:
    """The name that each of ``names`` has today, by the one in the file; most have that already."""
    matches = {name: _NUMBERED.fullmatch(name) for name in names}
    last = max((int(m[2]) // 2 for m in matches.values() if m and m[1] == "w"), default=0)
    return {name: _present(m, last) if m else name for name, m in matches.items()}


def _present(match: re.Match[str], last: int) -> str:
    """The matrix numbered ``last`` gives the score."""
    number, second = divmod(int(match[2]), 2)
    if match[1] == "norms":
        return f"layers.{number}.{_NORMS[second]}{match[3]}"
    layer, place = divmod(number, len(_MATRICES))
    whose = "score" if number == last else f"layers.{layer}.{_MATRICES[place]}"
    return f"{whose}.{('weight', 'bias')[second]}{match[3]}"
