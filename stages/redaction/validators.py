"""Tells a secret from what merely has the shape of one.

Each check gets the value that would be redacted and the match it came from, and says whether to
redact it. A check only ever spares: without it, more is redacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...config.patterns import regex
from .people import card, email, iban, phone
from .sentences import bare_token, paired, part, said_secret, said_token, service_key
from .values import (
    NOT_SECRET_KEY,
    RECORD_KEY,
    SEPARATORS,
    TRAILING,
    has_symbol,
    is_code,
    is_drawn,
    is_file_data,
    is_location,
    is_mixed,
    is_password,
    is_placeholder,
    is_plain,
    is_quoted_password,
    is_random,
)

Check = Callable[[str, "re.Match[str]"], bool]

_KEY = regex(r"([A-Za-z_][\w.-]{0,60})\\{0,3}[\"'`\])]{0,2}\s{0,4}:?$")
_HEX = regex(r"[0-9a-f-]+|[0-9A-F-]+")


def literal(value: str, match: re.Match[str]) -> bool:
    """A value as it is, no placeholder for one."""
    return not is_placeholder(value.strip())


def mixed(value: str, match: re.Match[str]) -> bool:
    """Letters and digits."""
    return is_mixed(value)


def random(value: str, match: re.Match[str]) -> bool:
    """Drawn by lot."""
    return is_random(value)


def token(value: str, match: re.Match[str]) -> bool:
    """No word, no placeholder, no code."""
    return _is_token(value)


def _is_token(value: str) -> bool:
    if is_placeholder(value) or is_plain(value) or is_code(value):
        return False
    parts = SEPARATORS.split(value)
    return is_mixed(value) and not all(part.isalpha() and part.islower() for part in parts if part)


def option(value: str, match: re.Match[str]) -> bool:
    """The argument of a command-line option."""
    if match["quote"]:
        return not is_placeholder(value)
    return not (is_placeholder(value) or is_plain(value) or is_code(value) or is_location(value))


def said(value: str, match: re.Match[str]) -> bool:
    """A password that a sentence gives away."""
    if match["quote"]:
        return not (is_placeholder(value) or is_plain(value))
    return token(value, match)


def quoted_password(value: str, match: re.Match[str]) -> bool:
    """What stands in quotes after the word password."""
    return is_quoted_password(value) and (is_mixed(value) or not _is_listed(match))


def _is_listed(match: re.Match[str]) -> bool:
    """Whether a comma alone divides name and value, as it divides the words of a list."""
    before = match.string[match.start() : match.start("secret")]
    return "," in before and not re.search(r"[=:]", before)


def plain_password(value: str, match: re.Match[str]) -> bool:
    """What stands without quotes after the word password: a setting, or a sentence."""
    if _is_environment(match):
        return not is_placeholder(value)
    bare = value.rstrip(".,;:!?)}]")
    if not bare or is_placeholder(bare) or is_plain(bare) or is_code(value):
        return False
    if is_location(bare):
        return False
    if match["by"].startswith("==") and bare.isidentifier():
        return False
    if "=" in match["by"] or _is_setting(match):
        return True
    return (not bare.isalpha() and token(bare, match)) or has_symbol(bare)


def _is_environment(match: re.Match[str]) -> bool:
    """Whether it is assigned as in a shell or an ``.env`` file: ``NAME=value``."""
    before = match.string[match.start() : match.start("secret")]
    return match["key"].isupper() and before.endswith("=") and not re.search(r"\s", before)


def _is_setting(match: re.Match[str]) -> bool:
    """Whether key and value are all that stands on their line, as in YAML."""
    text = match.string
    line = text.rfind("\n", 0, match.start()) + 1
    before = text[line : match.start()].strip(" \t-\"'{>#+")
    end = text.find("\n", match.end())
    after = text[match.end() : end if end >= 0 else len(text)].strip()
    return (not before or re.fullmatch(r"[\w.-]+", before) is not None) and (
        not after or after[0] in "#,}"
    )


def quoted_secret(value: str, match: re.Match[str]) -> bool:
    """What stands in quotes after a word such as token or key."""
    if any(map(str.isspace, value)) or is_placeholder(value) or is_plain(value):
        return False
    if _is_listed(match) and not (is_drawn(value) or is_random(value)):
        return False
    if is_location(value) or is_code(value):
        return False
    return is_mixed(value) or len(value) >= 16 or has_symbol(value)


def plain_secret(value: str, match: re.Match[str]) -> bool:
    """What stands without quotes after a word such as token or key."""
    if _is_environment(match):
        spared = is_placeholder(value) or is_location(value)
    else:
        spared = not _is_plain_secret(value.rstrip(".:!?"))
    return not (spared or _is_called(match) or _is_of_record(match))


def _is_plain_secret(value: str) -> bool:
    if is_placeholder(value) or is_plain(value) or is_code(value) or is_location(value):
        return False
    return _is_token(value) or (value.isdigit() and len(value) >= 16)


def _is_called(match: re.Match[str]) -> bool:
    """Whether the value is the name of a function, or of what is looked into."""
    return match.string[match.end() : match.end() + 1] in {"(", "["}


def _is_of_record(match: re.Match[str]) -> bool:
    """Whether the key is one that a record is looked up by."""
    before = match.string[max(0, match.start("by") - 40) : match.start("by")]
    return RECORD_KEY.search(before) is not None


def random_value(value: str, match: re.Match[str]) -> bool:
    """Assigned to a name, drawn by lot, and not an identifier or a digest by that name."""
    before = match.string[max(0, match.start() - 80) : match.start()]
    key = _KEY.search(before)
    if key is None or NOT_SECRET_KEY.search(key[1]) or _HEX.fullmatch(value):
        return False
    if is_file_data(value):
        return False
    return not value.startswith(("sha256-", "sha384-", "sha512-", "_Z")) and is_random(value)


def drawn(value: str, match: re.Match[str]) -> bool:
    """A token that is known by its prefix: what follows was drawn by lot."""
    return is_drawn(value) or is_random(value)


def query_secret(value: str, match: re.Match[str]) -> bool:
    """The value of a parameter that signs an address, or opens it."""
    name = match[0][1:].partition("=")[0].lower()
    if is_placeholder(value) or is_plain(value) or is_code(value):
        return False
    if "pass" in name or "pwd" in name or "secret" in name:
        return True
    return len(value) >= 12 and (is_drawn(value) or is_random(value) or "%" in value)


def named_value(value: str, match: re.Match[str]) -> bool:
    """What stands in the field beside the one that names it."""
    return option(value, match) if match["quote"] else is_password(value)


def plain_pass(value: str, match: re.Match[str]) -> bool:
    """What stands without quotes after a word such as pass or pin, which have other meanings."""
    bare = value.rstrip(TRAILING)
    if match["key"].lower().endswith("pin"):
        return bare.isdigit() and 4 <= len(bare) <= 12
    if _is_environment(match) and len(bare) >= 4:
        return not (is_placeholder(bare) or is_location(bare) or bare.isdigit())
    return is_password(bare)


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        literal,
        mixed,
        random,
        token,
        option,
        said,
        quoted_password,
        plain_password,
        quoted_secret,
        plain_secret,
        random_value,
        drawn,
        service_key,
        said_secret,
        said_token,
        part,
        paired,
        bare_token,
        query_secret,
        plain_pass,
        named_value,
        email,
        card,
        iban,
        phone,
    )
}
