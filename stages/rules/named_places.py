"""Places as commands and memories name them: environments, branches, folders, hosts."""

from __future__ import annotations

import re

from .claims import RULE_FORMS

_FORMS = RULE_FORMS["commands"].forms
_ENVIRONMENTS = RULE_FORMS["environments"].forms
_PRODUCTION, _STAGING = "(?:prod(?:uction)?|prd)", "(?:staging|stage|stg)"
_SAME_ENVIRONMENT = dict.fromkeys(("prod", "production", "prd"), _PRODUCTION)
_SAME_ENVIRONMENT |= dict.fromkeys(("staging", "stage", "stg"), _STAGING)


def is_named(place: str, said: str) -> bool:
    """Whether ``said`` names ``place``: "values-prod.yaml" names prod, "fix/main-menu" not main."""
    name = re.escape(place.rstrip("/")).replace(r"\*", r"[\w./-]*")
    if _FORMS["environment"].search(place):
        name = _SAME_ENVIRONMENT.get(place, name)
        name = rf"(?<![^\W_]){name}(?![^\W_])"
    else:
        before = r"(?<![\w/-])" if place[-1] == "*" and "/" not in place else r"(?<![\w-])"
        name = f"{before}{name}{_ends(place)}"
    return re.search(name, said, re.IGNORECASE) is not None


def _ends(place: str) -> str:
    """What may not follow ``place``: no other place is named like "billing-worker-1"."""
    if place[-1] == "/":
        return r"(?:/|(?=\s*(?:\n|\Z)))"
    if place[-1] == "*":
        return ""
    return r"(?!\w)" if re.search(r"\w[/_-]\w", place) else r"(?![\w-])"


def environments_in(command: str) -> frozenset[str]:
    """The environments that ``command`` names, each by one name: "prod", "staging"."""
    return frozenset(map(_environment, _ENVIRONMENTS["named"].findall(command)))


def environments_of(text: str) -> frozenset[str]:
    """The environments on which the memory ``text`` says that something is done."""
    return frozenset(_environment(found["on"]) for found in _ENVIRONMENTS["on"].finditer(text))


def _environment(name: str) -> str:
    return "prod" if name[0] in "pPlL" else "staging"
