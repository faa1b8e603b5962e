"""How much of what can be repeated without end is done: a little in every run, much on demand.

``HYPOTHESIS_PROFILE=thorough`` asks for much: other and more examples of each property, and more
kills, rounds and captures where these are repeated. By default every run has the same examples.
"""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
THOROUGH = PROFILE == "thorough"
TIMES = 10

settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=100 * TIMES, print_blob=True)
settings.load_profile(PROFILE)


def times(usually: int, thoroughly: int | None = None) -> int:
    """How often to do something; ten times as often in a thorough run, or as often as is given."""
    if not THOROUGH:
        return usually
    return TIMES * usually if thoroughly is None else thoroughly
