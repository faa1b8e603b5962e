"""What tests of every room may ask for."""

from . import thorough  # noqa: F401 - sets the profile of hypothesis
from .postgres import postgres, quick_team, team, used_database

__all__ = ["postgres", "quick_team", "team", "used_database"]
