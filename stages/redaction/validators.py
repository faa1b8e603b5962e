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

from .pii_validators import card, email, iban, phone

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
