"""Tells a secret from what merely has the shape of one.

Each check gets the value that would be redacted and the match it came from, and says whether to
redact it. A check only ever spares: without it, more is redacted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

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


# --- secrets --------------------------------------------------------------------------------------


Check = Callable[[str, "re.Match[str]"], bool]

_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$?\{\{.*|\{[\w.:-]*\}|<[^<>]*>?"
    r"|%[sdr]"
    r"|%\(\w+\)s|%\w+%|#\{.*|[*.•…xX_?-]+|\[[\w -]*\]?|(?:your|my|insert|enter|some)[_-][\w-]*"
    r"|ENC\[.*|!(?:vault|Ref|Sub|GetAtt|env|secret).*|vault:.*|op://.*|(?:arn:aws|projects/).*"
)
_WORDS = frozenset(
    """
    a an and any are as at bool boolean by bytes can char clear const correct credentials
    default disabled empty enabled encrypted env environment expired false field file for
    forgot from function generated handling has hashed hashing hidden if in incorrect input
    int invalid is it key let literal login manager manual may minimum missing must new nil
    no none not null number object of off ok on only optional or pass password passwords
    plain please policy private prompt protected public readonly reset required revoked
    rotation saved secret secrets see set should stored str string strong text that the this
    to token tokens true type undefined unknown unset use used user username valid
    validation value varchar var we weak what when which will with wrong yes you your
    """.split()
)
_TECHNICAL = frozenset(
    """
    argon2 argon2i argon2id bcrypt scrypt pbkdf2 md5 sha1 sha2 sha3 sha256 sha384 sha512
    hs256 hs384 hs512 rs256 rs384 rs512 es256 es384 es512 ps256 eddsa ed25519 x25519 aes
    aes128 aes256 gcm cbc rsa rsa2048 rsa4096 base32 base58 base64 hex utf8 utf16 oauth
    oauth1 oauth2 jwt jws jwe oidc saml saml2 totp hotp hmac x509 pkcs1 pkcs8 pkcs11 pkcs12
    p256 secp256k1 ipv4 ipv6 http2 http3 tls1 k8s s3 ec2 kms uuid uuid4 uuidv4 uuid7 uuidv7
    ulid 2fa mfa u2f webauthn fido2 cl100k o200k int8 int16 int32 int64 uint8 uint32 uint64
    float16 float32 float64 str1
    """.split()
)
_CALL = re.compile(r"[A-Za-z_][\w.:]*!?[(\[].*")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+|[A-Za-z][a-z]*(?:[A-Z][a-z]+)+")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@/-]*|[A-Za-z]:\\.*|(?:https?|file|s3|gs)://.*")
_SEPARATORS = re.compile(r"[-_/+.:,]+")
_KEY = re.compile(r"([A-Za-z_][\w.-]{0,60})\\{0,3}[\"'`\])]{0,2}\s{0,4}:?$")
_NOT_SECRET_KEY = re.compile(
    r"(?i)(?:id|ids|uuid|guid|hash|sha\d*|digest|checksum|integrity|etag|ref|commit|revision"
    r"|version"
    r"|path|url|uri|file|name|class|module|import|cursor|trace|span|fingerprint|pubkey|public_?key"
    r"|publickey|thumbprint|nonce|base|image|tag|https?|sri)$"
)
_HEX = re.compile(r"[0-9a-f-]+|[0-9A-F-]+")


def is_mixed(value: str) -> bool:
    """Whether letters come with digits, or a capital stands after a small letter or a digit."""
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    return (has_digit and has_letter) or any(
        a.islower() and b.isupper() for a, b in pairwise(value)
    )


def shannon_entropy(value: str) -> float:
    """Shannon entropy of the characters of ``value``, in bits a character."""
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


def is_random(value: str) -> bool:
    """Whether ``value`` looks drawn by lot: small letters, capitals and digits, much alternating.

    In random base62 about two of three neighbours differ in kind, in names of code about one of
    three; 0.42 divides them. Hexadecimal has one case, so a commit, a digest and a UUID stay.
    """
    kinds = [_kind(character) for character in value]
    if not {"a", "A", "0"} <= set(kinds):
        return False
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes >= 0.42 * (len(value) - 1) and shannon_entropy(value) >= 3.5


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "-"


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value) is not None


def _is_code(value: str) -> bool:
    return any(pattern.fullmatch(value) for pattern in (_CALL, _ATTRIBUTE, _NAME))


def _is_plain(value: str) -> bool:
    """Whether every part of ``value`` is a word of prose or a technical term."""
    return all(
        part in _TECHNICAL or part in _WORDS or not part
        for part in _SEPARATORS.split(value.lower())
    )


def _is_location(value: str) -> bool:
    return _PATH.fullmatch(value) is not None and not is_random(value)


def literal(value: str, match: re.Match[str]) -> bool:
    """A value as it is, no placeholder for one."""
    return not _is_placeholder(value.strip())


def mixed(value: str, match: re.Match[str]) -> bool:
    """Letters and digits."""
    return is_mixed(value)


def random(value: str, match: re.Match[str]) -> bool:
    """Drawn by lot."""
    return is_random(value)


def token(value: str, match: re.Match[str]) -> bool:
    """No word, no placeholder, no code."""
    if _is_placeholder(value) or _is_plain(value) or _is_code(value):
        return False
    parts = _SEPARATORS.split(value)
    return is_mixed(value) and not all(part.isalpha() and part.islower() for part in parts if part)


def option(value: str, match: re.Match[str]) -> bool:
    """The argument of a command-line option."""
    if match["quote"]:
        return not _is_placeholder(value)
    return not (
        _is_placeholder(value) or _is_plain(value) or _is_code(value) or _is_location(value)
    )


def said(value: str, match: re.Match[str]) -> bool:
    """A password that a sentence gives away."""
    if match["quote"]:
        return not (_is_placeholder(value) or _is_plain(value))
    return token(value, match)


def quoted_password(value: str, match: re.Match[str]) -> bool:
    """What stands in quotes after the word password."""
    words = value.split()
    if not words or _is_placeholder(value) or value.lower() in _TECHNICAL:
        return False
    return words[0].lower() not in _WORDS or (len(words) == 1 and is_mixed(value))


def plain_password(value: str, match: re.Match[str]) -> bool:
    """What stands without quotes after the word password: a setting, or a sentence."""
    if _is_environment(match):
        return not _is_placeholder(value)
    bare = value.rstrip(".,;:!?)}]")
    if not bare or _is_placeholder(bare) or _is_plain(bare) or _is_code(value):
        return False
    if _is_location(bare):
        return False
    if "=" in match["by"] or _is_setting(match):
        return True
    return (not bare.isalpha() and token(bare, match)) or _has_symbol(bare)


def _is_environment(match: re.Match[str]) -> bool:
    """Whether it is assigned as in a shell or an ``.env`` file: ``NAME=value``."""
    before = match.string[match.start() : match.start("secret")]
    return match["key"].isupper() and before.endswith("=") and not re.search(r"\s", before)


def _has_symbol(value: str) -> bool:
    return is_mixed(value) and any(character in "!@#$%^&*+=~" for character in value)


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
    if any(map(str.isspace, value)) or _is_placeholder(value) or _is_plain(value):
        return False
    if _is_location(value) or _is_code(value):
        return False
    return is_mixed(value) or len(value) >= 16 or _has_symbol(value)


def plain_secret(value: str, match: re.Match[str]) -> bool:
    """What stands without quotes after a word such as token or key."""
    if _is_environment(match):
        return not (_is_placeholder(value) or _is_location(value))
    bare = value.rstrip(".:!?")
    if _is_placeholder(bare) or _is_plain(bare) or _is_code(value) or _is_location(bare):
        return False
    return token(bare, match) or (bare.isdigit() and len(bare) >= 16)


def random_value(value: str, match: re.Match[str]) -> bool:
    """Assigned to a name, drawn by lot, and not an identifier or a digest by that name."""
    before = match.string[max(0, match.start() - 80) : match.start()]
    key = _KEY.search(before)
    if key is None or _NOT_SECRET_KEY.search(key[1]) or _HEX.fullmatch(value):
        return False
    return not value.startswith(("sha256-", "sha384-", "sha512-")) and is_random(value)


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
        email,
        card,
        iban,
        phone,
    )
}
