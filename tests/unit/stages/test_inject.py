from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest
from subcog.bus.signals import abstained, injected
from subcog.bus.values import IntentType
from subcog.config.settings import SearchIntentSettings
from subcog.stages.inject import MAX_TOKENS, ceiling, inject, weight
from subcog.stages.tokens import count_tokens, count_units

from tests.fakes import (
    NOW,
    FakeSessions,
    make_classified,
    make_hit,
    make_hits,
    make_intent,
    make_memory,
    make_parsed,
    make_prompt,
)

DEFAULTS = msgspec.toml.decode if False else None


def make_settings(**context):
    import tomllib

    text = Path("config/default.toml").read_text(encoding="utf-8")
    section = tomllib.loads(text)["search_intent"]
    section["context"] |= context
    return msgspec.convert(section, SearchIntentSettings)
