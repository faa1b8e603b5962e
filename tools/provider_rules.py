"""Writes the rules for the tokens of providers into secrets.toml, from a maintained public set.

    pip install --target DIR kingfisher-bin
    DIR/kingfisher/bin/kingfisher rules list --format json --output rules.json
    python -m tools.provider_rules rules.json

The set is that of Kingfisher (Apache-2.0), most of it from Betterleaks and Gitleaks (MIT); NOTICE
names them. Of each rule what can be told from a token alone is taken: the prefix and the alphabet
of what follows it. Its exact length is not: a token of next year, or one that was cut, is one too.
Of a rule for a token without a prefix the service is taken, whose name must stand beside it.
"""

# ruff: noqa: E501 - a rule is one line

from __future__ import annotations

import argparse
import json
import re
import string
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]  # no other reads the syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

RULES = Path(__file__).parent.parent / "hooks/secrets.toml"
BEGIN, END = "# <providers>", "# </providers>"

# Between the name of a service and its token, in the rules that need one.
_NAMED = re.compile(
    r"\(\?:\[ \\t\\w\.-\]\{0,\d+\}\)\[\\s'\"\]\{0,3\}\)?\(\?:=\|>\|.*?=\]\{0,5\}(\(.*)", re.DOTALL
)
_WORD = re.compile(r"(?<![\\\w])[a-z][a-z0-9]{3,20}", re.IGNORECASE)
_ALPHABETS = (
    ("[a-f0-9]", set("abcdef" + string.digits)),
    ("[a-zA-Z0-9]", set(string.ascii_letters + string.digits)),
    ("[\\w-]", set(string.ascii_letters + string.digits + "_-")),
    ("[\\w.=+/-]", set(string.ascii_letters + string.digits + "_-.=+/")),
)
_SERVICE = re.compile(r"^betterleaks\.([a-z][a-z0-9]{3,20})(?=-)")
# Whose tokens are known by their name, and of which the set has no rule.
_ALSO = frozenset("railway trello upstash supabase zoom together elevenlabs langfuse neon".split())
_MAX_PREFIXES = 16
_FEWEST, _MOST = 16, 32
# What no secret is: public keys and ids, by their rule; and prefixes that words have as well.
_PUBLIC = re.compile(r"public|[-_]pub[-_]|client-id|access-id|account-id|user-api-id|username|uuid")
_COMMON = frozenset(
    "https:// http:// key- live_ test_ access- api- 00 ext_ sc_ s. sk- pk_ secret".split()
)
# Services whose names are words of their own.
_WORDS = frozenset(
    """
    access account admin api apikey app auth bearer client confluence email host jira key keys
    license linear live login message notion oauth password personal private programmatic project
    public secret service square test token user username webhook account_id global api_key hash
    bird relic york times generic credential creds passwd config enterprise gems base address
    administrator agent apollo authtoken bundle cloud consumer crates data eraki hunter identifier
    initialize instantly lark lication linked monday name paradigm passphrase poly stability time
    workspace private
    """.split()
)


class Token(NamedTuple):
    """A token that is known by its beginning."""

    prefix: str
    body: str
    fewest: int


def read(rules: Iterable[dict[str, Any]]) -> tuple[list[Token], list[str]]:
    """The tokens with a prefix, and the services whose tokens have none."""
    tokens: dict[str, Token] = {}
    services: set[str] = set(_ALSO)
    for rule in rules:
        if _PUBLIC.search(rule["id"]):
            continue
        named = _NAMED.search(rule["pattern"])
        services |= {word for word in _SERVICE.findall(rule["id"]) if word not in _WORDS}
        found = list(_tokens(named[1] if named else rule["pattern"]))
        if not found and named:
            services |= _services(rule["pattern"][: named.start()])
        for token in found:
            known = tokens.get(token.prefix)
            tokens[token.prefix] = _either(known, token) if known else token
    return sorted(_shortest(tokens.values())), sorted(services)


def _services(pattern: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(re.sub(r"\(\?[a-z-]*:?", "(", pattern))}
    return {word for word in words if word not in _WORDS}


def _either(one: Token, other: Token) -> Token:
    bodies = [body for body, _ in _ALPHABETS]
    body = max(one.body, other.body, key=bodies.index)
    return Token(one.prefix, body, min(one.fewest, other.fewest))


def _shortest(tokens: Iterable[Token]) -> Iterator[Token]:
    """Without those whose prefix begins with another's of the same body."""
    every = list(tokens)
    for token in every:
        shorter = (one for one in every if one != token and token.prefix.startswith(one.prefix))
        if not any(one.body == token.body for one in shorter):
            yield token


def _tokens(pattern: str) -> Iterator[Token]:
    try:
        parsed = parser.parse(_for_python(pattern))
    except re.error:
        return
    for items in _alternatives(list(parsed)):
        yield from _of(items)


def _for_python(pattern: str) -> str:
    """Flags in the middle of a pattern apply to all of it; the alphabet is widened anyway."""
    pattern = re.sub(r"\(\?[a-z]+(?:-[a-z]+)?\)", "", pattern).replace(r"\z", r"\Z")
    return re.sub(r"\(\?-[a-z]+:", "(?:", pattern).replace("[[:alnum:]]", "[a-zA-Z0-9]")


def _alternatives(items: list[Any]) -> Iterator[list[Any]]:
    """The items of a pattern in a row, one row for each way through its groups and branches."""
    for at, (op, argument) in enumerate(items):
        rest = items[at + 1 :]
        if op is ops.SUBPATTERN:
            for inner in _alternatives(list(argument[3])):
                yield from _alternatives([*items[:at], *inner, *rest]) if len(inner) else ()
            return
        if op is ops.BRANCH:
            for branch in argument[1]:
                yield from _alternatives([*items[:at], *list(branch), *rest])
            return
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT) and argument[0] >= 8:
            break
    yield items


def _of(items: Sequence[Any]) -> Iterator[Token]:
    """The token that ``items`` describe, once for each prefix it may have."""
    prefixes, rest = _literal(items)
    body, fewest = _body(rest)
    for prefix in prefixes:
        if body and fewest >= _FEWEST and _is_distinctive(prefix):
            yield Token(prefix, body, min(fewest, _MOST) * 3 // 4)


def _literal(items: Sequence[Any]) -> tuple[list[str], Sequence[Any]]:
    parts: list[list[str]] = []
    for at, (op, argument) in enumerate(items):
        if op is ops.AT:
            continue
        choices = _choices(op, argument)
        if not choices or len(choices) > 4 or _size(parts) * len(choices) > _MAX_PREFIXES:
            return ["".join(one) for one in product(*parts)], items[at:]
        parts.append(choices)
    return ["".join(one) for one in product(*parts)], []


def _size(parts: Sequence[Sequence[str]]) -> int:
    return len(list(product(*parts)))


def _choices(op: Any, argument: Any) -> list[str]:
    if op is ops.LITERAL:
        return [chr(argument)]
    if op is ops.IN and all(one is ops.LITERAL for one, _ in argument):
        return [chr(value) for _, value in argument]
    return []


def _body(items: Sequence[Any]) -> tuple[str, int]:
    """The alphabet of ``items`` and how many characters they are at the least."""
    used: set[str] = set()
    fewest = 0
    for op, argument in items:
        if op is ops.AT:
            continue
        times = 1
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            times, inner = argument[0], list(argument[2])
            if len(inner) != 1:
                break
        else:
            inner = [(op, argument)]
        characters = _characters(*inner[0])
        if not characters:
            break
        used |= characters
        fewest += times
    fitting = (name for name, alphabet in _ALPHABETS if used and used <= alphabet)
    return next(fitting, ""), fewest


def _characters(op: Any, argument: Any) -> set[str]:
    """Those that may stand there; none where they are of no token."""
    if op is ops.LITERAL:
        return {chr(argument)}
    if op is not ops.IN or argument[0][0] is ops.NEGATE:
        return set()
    found: set[str] = set()
    for kind, value in argument:
        if kind is ops.LITERAL:
            found.add(chr(value))
        elif kind is ops.RANGE:
            found |= {chr(code) for code in range(value[0], value[1] + 1)}
        elif value is ops.CATEGORY_WORD:
            found |= set(string.ascii_letters + string.digits + "_")
        elif value is ops.CATEGORY_DIGIT:
            found |= set(string.digits)
    return found if all(character.isprintable() for character in found) else set()


def _is_distinctive(prefix: str) -> bool:
    if len(prefix) < 3 or prefix.lower() in _COMMON:
        return False
    return len(prefix) >= 4 or not prefix.isalnum()


# --- what is written ------------------------------------------------------------------------------


def written(tokens: Sequence[Token], services: Sequence[str]) -> str:
    """The two rules, as they stand in secrets.toml."""
    shapes: dict[tuple[str, int], list[str]] = {}
    for token in tokens:
        shapes.setdefault((token.body, token.fewest), []).append(token.prefix)
    lines = (
        f"{_any(prefixes)}{body}{{{fewest},400}}" for (body, fewest), prefixes in shapes.items()
    )
    alternatives = "\n|".join(sorted(lines))
    hints = ", ".join(f'"{hint}"' for hint in sorted({token.prefix for token in tokens}))
    names = "|".join(services)
    return f"""{BEGIN} made by tools/provider_rules.py: {len(tokens)} prefixes, {len(services)} services
[[rule]]
name = "provider-token"
pattern = '''(?x)(?<![A-Za-z0-9])(?=[\\w.=+/:$~-]{{0,200}}?\\d)(?:
{alternatives})'''
hints = [{_folded(hints)}]
reach = 0
drawn = true
check = "drawn"

[[rule]]
name = "service-key"
pattern = '''(?i)(?<![a-z])(?:{names})[\\w .-]{{0,30}}[\\\\"'\\s`*|)\\]]{{0,8}}(?:=|:|>|,|\\||(?<=[ (])(?:use[sd]?|using|is)(?= )|(?<=[ ])\\()[>=\\\\"'\\s`*|(]{{0,8}}(?P<secret>(?=[a-z_.=+/-]{{0,60}}\\d)[\\w.=+/-]{{15,200}})(?![\\w(])'''
kind = "password"
group = "secret"
hints = [{_folded(", ".join(f'"{name}"' for name in services))}]
reach = 0
drawn = true
check = "service_key"
{END}"""


def _any(prefixes: Sequence[str]) -> str:
    escaped = [re.escape(prefix) for prefix in sorted(prefixes)]
    return escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"


def _folded(items: str) -> str:
    return "\n    " + re.sub(r"(.{1,88}), ", r"\1,\n    ", items) + "\n"


def main() -> None:
    """Replace what stands between the two marks."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    arguments.add_argument("rules", type=Path, help="what `kingfisher rules list` wrote")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of character classes that look like sets of sets
        tokens, services = read(json.loads(arguments.parse_args().rules.read_text("utf-8")))
    text = RULES.read_text("utf-8")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    RULES.write_text(before + written(tokens, services) + after, "utf-8")
    sys.stderr.write(f"{len(tokens)} prefixes, {len(services)} services\n")


if __name__ == "__main__":
    main()
