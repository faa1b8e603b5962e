"""Tells a secret from what merely has the shape of one.

Each check gets the value that would be redacted and the match it came from, and says whether to
redact it. A check only ever spares: without it, more is redacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...config.patterns import regex
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

_COUNTRY_LENGTHS = dict(
    pair.split(":")
    for pair in """
    AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28
    CZ:24 DE:22 DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18
    GR:27 GT:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32
    LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MR:27 MT:31 MU:30 NL:18 NO:15
    PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 SC:31 SE:24 SI:19 SK:24 SM:27 SV:28
    TN:24 TR:26 UA:29 VA:22 VG:24 XK:20
    """.split()
)
_NOT_DOMAINS = frozenset(
    """
    service timer socket target mount slice js ts jsx tsx mjs py rb go rs java kt md txt
    json yaml yml toml lock html css png svg jpg sh sql xml whl tgz gz zip
    """.split()
)
_FRENCH_GROUPS = regex(r"\d \d\d \d\d \w\w \d{3} \d{3} \d\d")
_MACHINE_USERS = frozenset(
    """
    git hg svn root ubuntu debian centos ec2-user admin-user deploy postgres vagrant pi core
    """.split()
)


def email(value: str, match: re.Match[str]) -> bool:
    """An address of a person, not a login on a machine, a unit, a package or part of a URL."""
    user, _, domain = value.lower().partition("@")
    if user in _MACHINE_USERS or domain.rpartition(".")[2] in _NOT_DOMAINS:
        return False
    before = match.string[max(0, match.start() - 200) : match.start()]
    return "://" not in before[before.rfind(" ") + 1 :].rpartition("\n")[2]


def card(value: str, match: re.Match[str]) -> bool:
    """A number that a card network gives out: its prefix, its length, its Luhn digit."""
    digits = "".join(filter(str.isdigit, value))
    return digits.isascii() and _is_issued(digits) and _passes_luhn(digits)


def _is_issued(digits: str) -> bool:
    two, four, length = int(digits[:2]), int(digits[:4]), len(digits)
    if two in (34, 37):
        return length == 15
    if two in (36, 38, 39) or 3000 <= four <= 3059:
        return length == 14
    visa = digits[0] == "4" and length in (13, 16, 19)
    mastercard = (51 <= two <= 55 or 2221 <= four <= 2720) and length == 16
    others = (two in (35, 62, 64, 65) or four == 6011 or two in (50, 56, 57, 58)) and length in (
        16,
        19,
    )
    return visa or mastercard or others


def _passes_luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def iban(value: str, match: re.Match[str]) -> bool:
    """An account number of its country's length whose remainder by 97 is 1 (ISO 13616)."""
    packed = value.replace(" ", "").replace("-", "")
    length = int(_COUNTRY_LENGTHS.get(packed[:2], 0))
    account = packed[:length]
    if not length or len(account) < length:
        return False
    return int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 == 1


def phone(value: str, match: re.Match[str]) -> bool:
    """An international number: 8 to 15 digits, grouped as people group them."""
    digits = "".join(filter(str.isdigit, value))
    if not 8 <= len(digits.removeprefix("00")) <= 15 or re.search(
        r" [-./]|[-./] |--|//|\.\.", value
    ):
        return False
    if value.startswith("00") and not re.search(r"[ ()/-]", value):
        return False
    return not digits.endswith("0000") and not re.search(r"\d{4}-\d\d-\d\d", value)


def french_number(value: str, match: re.Match[str]) -> bool:
    """A French social security number: grouped as it is on the card, or with the right key."""
    packed = "".join(filter(str.isalnum, value)).upper()
    month, body, key = int(packed[3:5]), packed[:13], int(packed[13:])
    if not (1 <= month <= 12 or 20 <= month <= 42):
        return False
    number = int(body.replace("2A", "19").replace("2B", "18"))
    return _FRENCH_GROUPS.fullmatch(value) is not None or key == 97 - number % 97


def chinese_id(value: str, match: re.Match[str]) -> bool:
    """A Chinese resident's number, by its last digit (ISO 7064, MOD 11-2)."""
    total = sum(int(digit) * pow(2, 17 - at, 11) for at, digit in enumerate(value[:17]))
    return "10X98765432"[total % 11] == value[17].upper()


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
        french_number,
        chinese_id,
    )
}
