"""The models that are bundled, loaded once for all archives and apps of a test process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from subcog.sinks.models import cross_encoder
from subcog.sinks.models.cross_encoder import load_bundled, load_contradictions

_LOADERS = {"load_bundled": load_bundled, "load_contradictions": load_contradictions}
_ONCE = {name: cache(load) for name, load in _LOADERS.items()}


@contextmanager
def loaded_once() -> Iterator[None]:
    """Meanwhile who loads a cross-encoder gets the one that was loaded first: it never changes.

    What a test puts in place of a loader stays.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, load in _LOADERS.items():
            if getattr(cross_encoder, name) is load:
                patch.setattr(cross_encoder, name, _ONCE[name])
        yield
