"""What a value is, whatever stands around it: a placeholder, code, a place, drawn by lot."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from ...config.patterns import regex

_PLACEHOLDER = regex(
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$?\{\{.*|\{[\w.:-]*\}|<[^<>]*>?"
    r"|%[sdr]"
    r"|(?:my|your|the|some|test)?[-_]?(?:pass(?:word|wd|phrase)?|secret|token|user)|[\w.-]{0,40}(?:example|EXAMPLE)[\w.-]{0,40}"
    r"|@[\w.-]+@|[xX](?:-[A-Za-z]+){2,6}|(?:[\w-]{0,16}[_-])?(?:\.{3}|…)|\*{3,}\S{0,3}|\[\^.*|\(\?.*|\.[*+].*"
    r"|%\(\w+\)s|%\w+%|#\{.*|[*.•…xX_?-]+|\[[\w -]*\]?|(?:your|my|insert|enter|some)[_-][\w-]*"
    r"|ENC\[.*|!(?:vault|Ref|Sub|GetAtt|env|secret).*|vault:.*|op://.*|(?:arn:aws|projects/).*"
)
WORDS = frozenset(
    """
    a an and any are as at await bool boolean by bytes can char clear const correct credentials
    default disabled empty enabled encrypted env environment expired false field file for
    forgot from function generated handling has hashed hashing hidden if in incorrect input
    int invalid is it key let literal login manager manual may minimum missing must new nil
    no none not null number object of off ok on only optional or pass password passwords
    plain please policy private prompt protected public pw pwd readonly reset required revoked
    rotation saved secret secrets see set should stored str string strong text that the this
    to token tokens true type undefined unknown unset use used user username valid
    validation value varchar var we weak what when which will with wrong yes you your
    """.split()
)
TECHNICAL = frozenset(
    """
    argon2 argon2i argon2id bcrypt scrypt pbkdf2 md5 sha1 sha2 sha3 sha256 sha384 sha512
    hs256 hs384 hs512 rs256 rs384 rs512 es256 es384 es512 ps256 eddsa ed25519 x25519 aes
    aes128 aes256 gcm cbc rsa rsa2048 rsa4096 base32 base58 base64 hex utf8 utf16 oauth
    oauth1 oauth2 jwt jws jwe oidc saml saml2 totp hotp hmac x509 pkcs1 pkcs8 pkcs11 pkcs12
    p256 secp256k1 ipv4 ipv6 http2 http3 tls1 k8s s3 ec2 kms uuid uuid4 uuidv4 uuid7 uuidv7
    ulid 2fa mfa u2f webauthn fido2 cl100k o200k int8 int16 int32 int64 uint8 uint32 uint64
    float16 float32 float64 str1 1password
    """.split()
)
_CALL = regex(r"[A-Za-z_][\w.:]*!?[(\[].*")
_VARIABLE = regex(r"\$[A-Za-z_]\w*(?:\[.*|->.*)")
_ATTRIBUTE = regex(r"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
_DRAWN_PART = regex(r"[A-Za-z]\d+[A-Za-z]|[A-Za-z]\d{2,}")  # no attribute is named like that
_NAME = regex(
    r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+|[A-Za-z][a-z]*(?:[A-Z][a-z]+|[A-Z]{2,5}[a-z]{2,})+"
)
_PATH = regex(r"(?:~|\.{1,2})?/[\w.@/-]*|[A-Za-z]:\\.*|(?:https?|file|s3|gs)://.*")
NOT_SECRET_KEY = regex(
    r"(?i)(?:id|ids|kid|uuid|guid|hash|sha-?\d*|bh|digest|checksum|integrity|etag|ref|commit|revision"
    r"|version"
    r"|path|url|uri|file|name|class|module|import|cursor|trace|span|fingerprint|pubkey|public_?key"
    r"|publickey|thumbprint|nonce|base|image|tag|boundary|verification|challenge|https?|sri|h1)$"
)
RECORD_KEY = regex(
    r"(?i)(?:cache|primary|foreign|sort|partition|public|index|row|hash|map|object|group|lookup"
    r"|idempotency|dedupe?|order|unique|composite|translation|i18n|routing)[ _-]?key\W{0,4}$"
)
TRAILING = ".,;:!?)]}*"
_FILE_DATA = regex(
    r"iVBORw0KGgo|/9j/|R0lGOD|d09G[MR]|PHN2Zy|PD94bWw|JVBERi0|UklGR|UEsDB|H4sI|AGFzb"
    r"|(?:/*Qm[1-9A-HJ-NP-Za-km-z]{44}|/*baf[a-z2-7]{40,})$"
)
SEPARATORS = regex(r"[-_/+.:,]+")
_VERSION = regex(r"v?\d+(?:\.[\dx]+)*(?:[-.]?(?:rc|alpha|beta|dev|post)\.?\d*)?", re.IGNORECASE)
NUMBERED = regex(r"[A-Z]?[a-z]+[-_ ]?\d{1,2}(?:st|nd|rd|th)?|\d+[A-Za-z]{1,4}|[A-Z]{2,5}-\d+")


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


def is_drawn(value: str, *, least: float = 2.8) -> bool:
    """Whether ``value`` looks drawn by lot, in one case too: a key in hexadecimal or in base 36.

    Letters and digits take turns there at two of five neighbours, in names and versions hardly
    ever; a quarter divides them. ``least`` is the entropy in bits a character.
    """
    kept = [character for character in value if character.isalnum()]
    digits = sum(map(str.isdigit, kept))
    if not digits or len(kept) - digits < 2 or len(kept) < 0.8 * len(value):
        return False
    kinds = [_kind(character) for character in kept]
    changes = sum(a != b for a, b in pairwise(kinds))
    return changes >= 0.22 * (len(kept) - 1) and shannon_entropy("".join(kept).lower()) >= least


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "-"


def is_placeholder(value: str) -> bool:
    """Whether ``value`` stands for one that is to be put in: ``<token>``, ``$TOKEN``, ``xxxx``."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_attribute(value: str) -> bool:
    """Whether ``value`` is names joined by dots."""
    return _ATTRIBUTE.fullmatch(value) is not None


def is_file_data(value: str) -> bool:
    """Whether ``value`` is the beginning of a picture, a font, a page or a CID, in base64."""
    return _FILE_DATA.match(value) is not None


def is_code(value: str) -> bool:
    """Whether ``value`` is a call, an attribute or a name."""
    if _ATTRIBUTE.fullmatch(value):
        return _DRAWN_PART.search(value) is None
    return any(pattern.fullmatch(value.strip("_")) for pattern in (_CALL, _NAME, _VARIABLE))


def is_plain(value: str) -> bool:
    """Whether every part of ``value`` is a word of prose or a technical term."""
    return all(
        part in TECHNICAL or part in WORDS or not part for part in SEPARATORS.split(value.lower())
    )


def is_location(value: str) -> bool:
    """Whether ``value`` is a path or an address."""
    return _PATH.fullmatch(value) is not None and not is_random(value)


def has_symbol(value: str) -> bool:
    """Whether ``value`` is mixed, with a sign that names have not."""
    return is_mixed(value) and any(character in "!@#$%^&*+=~" for character in value)


def is_password(value: str) -> bool:
    """Whether a person or a machine may have made ``value`` up as a password: no word, no name."""
    if len(value) < 6 or is_placeholder(value) or is_plain(value) or is_location(value):
        return False
    if is_code(value) or _VERSION.fullmatch(value):
        return False
    parts = [part for part in SEPARATORS.split(value) if part]
    cases = any(map(str.isupper, value)) and any(map(str.islower, value))
    if all(part.isalpha() or part.isdigit() for part in parts) and not has_symbol(value):
        return cases and len(parts) >= 3 and any(map(str.isdigit, value))
    symbols = any(character in "!@#$%^&*+=~" for character in value)
    return is_mixed(value) or (cases and symbols)


def is_quoted_password(value: str) -> bool:
    """Whether ``value``, in quotes after the word password, is one rather than a message."""
    words = value.split()
    if not words or is_placeholder(value) or value.lower() in TECHNICAL:
        return False
    return words[0].lower() not in WORDS or (len(words) == 1 and is_mixed(value))


# --- what was recognised by the words around it, to be recognised without them --------------------

# "The password is …" gives a value away by its label; "use … for it" in the answer does not. In
# memory only, for as long as the session is remembered.
MOST = 32
"""So many values are known at once; the oldest goes first."""

_CHARS = range(8, 201)
_ALNUM = "[A-Za-z0-9_]"


class KnownSecrets:
    """The values given away in one session, by the names of their rules. Safe with threads."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def note(self, value: str, name: str) -> None:
        """Remember ``value`` if it is long and mixed: a word or a name stands for other things."""
        new = {one: name for one in (value, value.rstrip(TRAILING)) if _is_telling(one)}
        if new.keys() - self._names.keys():
            self._names = dict([*self._names.items(), *new.items()][-MOST:])

    def hide(self, text: str) -> tuple[str, Counter[str]]:
        """``text`` with ``[redacted:name]`` for each of them, and how often each name was put."""
        found: Counter[str] = Counter()
        present = {value: name for value, name in self._names.items() if value in text}
        for value in sorted(present, key=len, reverse=True):
            text, count = _whole(value).subn(f"[redacted:{present[value]}]", text)
            found[present[value]] += count
        return text, +found


def _whole(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!{_ALNUM}){re.escape(value)}(?!{_ALNUM})")


def _is_telling(value: str) -> bool:
    return len(value) in _CHARS and is_password(value) and not NUMBERED.fullmatch(value)
