"""Tells addresses, cards, accounts and telephones from what merely has their shape."""

from __future__ import annotations

import re

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
