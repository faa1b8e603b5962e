from __future__ import annotations

import pytest

from tests.models import loaded_once


@pytest.fixture(autouse=True, scope="module")
def models_are_loaded_once():
    with loaded_once():
        yield
