"""What a sentence, a column or the name of a service gives away."""

from __future__ import annotations

import re

from ...config.patterns import regex
from .values import (
    NOT_SECRET_KEY,
    NUMBERED,
    RECORD_KEY,
    TRAILING,
    WORDS,
    is_attribute,
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
    shannon_entropy,
)

_WEAK_NOUN = regex(
    r"(?:api[- ]?)?(?:key|token|secret|credential|jeton|clé|cle|llave|chiave|chiavi|chave)s?"
    r"|schl(?:ü|ue)ssel|geheimnis|segredo|creds|токен(?:а|ом|ы)?|ключ(?:а|ом|и)?"
    r"|トークン|api ?キー|密[钥鑰]|令牌|토큰"
)
_NAMED_KEY = regex(
    r"(?i)(?:(?:api|access|secret|auth|private|client|license|signing|bearer|app|server|login|bot"
    r"|account|user|deploy|personal|master|service|admin|live|prod|production|encryption)[ _-]"
    r"(?:key|token|secret)s?|crypt(?:ed|s)? with (?:the )?key)$"
)
_CODE_NOUN = regex(r"pin|puk|pass ?codes?|toegangscode|パスコード|暗証番号|[\w -]+codes?")
_LOOSE = frozenset(
    "? to auf als en à a as comme como come be for für and und et in para from von".split()
)
_MOVED = frozenset("in para from von".split())
_CHANGED = regex(
    r"(?i)(?<![a-z])(?:use|set|chang|reset|updat|rotat|setz|änder|geänder|stell|nimm|verwend|utilis"
    r"|mets|mett|modif|cambi|usa|pon|impost|mud|alter)"
)
_ID_PREFIX = regex(
    r"(?:req|request|msg|toolu|chatcmpl|cmpl|resp|run|thread|asst|file|evt|event|pi|ch|cus|sub|prod"
    r"|price|in|org|user|usr|team|acct|sess|session|call|job|task|build|dpl|prj|proj|trace|span|tx"
    r"|txn|id|i|eni|rtb|igw|uuid|sha-?\d*|md5|rev|img|ami|vpc|subnet|sg|vol|snap|batch|pm|ws|node|pod|item|doc|conv"
    r"|gen|tool|step|wf|deploy|commit|ref|blob|tree|layer|release|page|block|db|srv|pk|cli|mem|psg|key|cache)[-_:=]",
    re.IGNORECASE,
)
_ID_BEFORE = regex(
    r"(?i)(?:(?<![a-z])ids?|uuid|guid|sha-?\d*|md5|commit|digest|checksum|hash|etag|revision|trace"
    r"|span|fingerprint|integrity|session|request|version|tag|branch|ref|image|build|public key"
    r"|kid|txt|jti|evt|event|cus|customer"
    r"|pubkey|nonce|base64|ssh-\w+|cid|slug|file|folder|page|video|docs?|sheet)"
    r"(?: (?:is|was|of|ist|est))?[\s:=\"'`#(@,]{0,4}$"
)
_DIGEST = regex(
    r"(?:[0-9a-f]{7,12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}"
    r"|[0-9a-f]{96}|[0-9a-f]{128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    re.IGNORECASE,
)

_PHRASE = regex(r"[a-z]{3,12}(?:[- ][a-z]{3,12}){2,11}", re.IGNORECASE)
_NUMBERED_PHRASE = regex(r"[A-Za-z]{3,12}(?:[-._][A-Za-z]{3,12}){1,7}[-._]\d{1,4}")
_LOGIN = regex(
    r"(?i)(?<![a-z])(?:user(?:name)?|benutzer\w*|usu[áa]rio|utilisateur|utente|login|ssh|log in"
    r"|sign in|account)(?![a-z])[^\n]{0,40}$"
)
_HEADED = regex(
    r"(?P<head>[A-Za-z][A-Za-z0-9]{0,15}(?:[-_][A-Za-z][A-Za-z0-9]{0,15}){0,3})[-_]"
    r"(?P<tail>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9]{24,})"
)
_CREDENTIAL = regex(
    r"(?i)(?:^|[-_])(?:\w{0,6}key|token|secret|pat|sdk|mob|sk|auth|access)(?:$|[-_])"
)


def _value_key(match: re.Match[str]) -> str:
    """The last word before the value of ``match``: what it is called."""
    before = match.string[max(0, match.start("secret") - 80) : match.start("secret")]
    words = re.findall(r"[\w-]+", before)
    return words[-1] if words else ""


def service_key(value: str, match: re.Match[str]) -> bool:
    """Beside the name of a service, drawn by lot, and not an identifier or a digest by its name."""
    bare = value.rstrip(".=")
    if NOT_SECRET_KEY.search(_value_key(match)) or is_location(bare) or _ID_PREFIX.match(bare):
        return False
    return is_drawn(bare) and not _ID_BEFORE.search(_before(match))


def said_secret(value: str, match: re.Match[str]) -> bool:
    """What a sentence gives away: a password, or a key that was drawn by lot."""
    bare, noun = value.rstrip(TRAILING), match["noun"].lower()
    weak = _WEAK_NOUN.fullmatch(noun) is not None
    if weak and len(bare) < 16:
        return False
    if is_placeholder(bare) or is_plain(bare) or "://" in bare:
        return False
    strict = _is_strict(match, noun, match["by"].lower().strip(" :\t"))
    if weak:
        return _is_said_key(bare, match, strict=strict)
    if strict:
        return is_password(bare) and _is_wild(value.rstrip(".,;:"))
    return _is_said_password(bare, match, noun)


def _is_said_password(value: str, match: re.Match[str], noun: str) -> bool:
    """Whether ``value`` is a password, where the sentence says that one comes."""
    if _PHRASE.fullmatch(value):
        return _is_phrase(value, noun)
    if _CODE_NOUN.fullmatch(noun):
        mixed = noun.isascii() and is_mixed(value)
        return 4 <= len(value) <= 40 and (value.rstrip("#").isdigit() or mixed)
    if match["quote"] and noun:
        return is_quoted_password(value) and not is_location(value)
    by = match["by"].lower()
    if "/" in value and not by.isascii():
        return False
    if by in _MOVED and (len(value) < 8 or "/" in value or is_attribute(value)):
        return False
    return is_password(value) or (bool(noun) and by != "=" and _is_chosen(value))


def _is_said_key(value: str, match: re.Match[str], *, strict: bool) -> bool:
    """Whether ``value`` is a key rather than an id, or what a record is looked up by."""
    before = match.string[max(0, match.start() - 30) : match.end("noun")]
    digests = not strict or _NAMED_KEY.search(before) is not None
    if not (_is_key(value, digests=digests) or (not strict and _is_long_key(value))):
        return False
    return not (_ID_BEFORE.search(_before(match)) or RECORD_KEY.search(before))


def _is_chosen(value: str) -> bool:
    """Whether ``value`` is words and a number, as people choose passwords: ``red.nail.88``."""
    numbered = is_attribute(value) and value[-1].isdigit()
    return numbered or _NUMBERED_PHRASE.fullmatch(value) is not None


def _is_phrase(value: str, noun: str) -> bool:
    """Whether ``value`` may be a passphrase of several words: none of them a word of sentences."""
    if " " in value and "phrase" not in noun and "frase" not in noun:
        return False
    return WORDS.isdisjoint(re.split("[ -]", value.lower()))


def _is_strict(match: re.Match[str], noun: str, by: str) -> bool:
    """Whether the sentence may as well go on with any word: "a password to ..."."""
    if not match["by"]:
        named = _LOGIN.search(match.string[max(0, match.start() - 60) : match.start()])
        return bool(noun) and not (named and len(match["secret"]) >= 8)
    if by not in _LOOSE:
        return False
    start = max(0, match.start() - 40)
    return _CHANGED.search(match.string[start : match.end() + 12]) is None


def _is_wild(value: str) -> bool:
    """Whether digits, symbols or capitals stand where no name has them."""
    if NUMBERED.fullmatch(value):
        return False
    letters_and_digits = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    symbols = any(character in "!@#$%^&*+=~?" for character in value)
    if letters_and_digits and symbols and not re.search(r"[(){}<>\[\]|;]|==|\w=\w", value):
        return True
    return is_drawn(value, least=2.5) or is_random(value)


def in_column(value: str) -> bool:
    """What stands in a column that is named for secrets."""
    if " " in value or NUMBERED.fullmatch(value):
        return False
    return is_password(value) or _NUMBERED_PHRASE.fullmatch(value) is not None


def part(value: str, match: re.Match[str]) -> bool:
    """A part of a key."""
    bare = value.rstrip(TRAILING)
    return len(bare) >= 8 and _is_wild(bare) and not is_location(bare)


def paired(value: str, match: re.Match[str]) -> bool:
    """A password beside the user or the network that it is for."""
    bare = value.rstrip(".,;:)")
    return len(bare) >= 8 and _is_wild(bare) and not (is_location(bare) or is_code(bare))


def _is_key(value: str, *, digests: bool) -> bool:
    """Whether ``value`` is a key rather than a word, a name or an id."""
    if len(value) < 16 or not any(map(str.isdigit, value)):
        return False
    if is_location(value) or _ID_PREFIX.match(value):
        return False
    if _DIGEST.fullmatch(value):
        return digests and len(value) >= 24
    return is_drawn(value) or is_random(value)


def _is_long_key(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    return (
        len(value) >= 16
        and value.isalnum()
        and digits >= 2
        and not (is_code(value) or NUMBERED.fullmatch(value) or _ID_PREFIX.match(value))
        and (len(value) > digits and _DIGEST.fullmatch(value) is None)
    )


def said_token(value: str, match: re.Match[str]) -> bool:
    """Drawn by lot, behind a word such as token on its line."""
    return not _ID_BEFORE.search(_before(match)) and _is_key(value, digests=False)


def _before(match: re.Match[str]) -> str:
    return match.string[max(0, match.start("secret") - 30) : match.start("secret")]


def bare_token(value: str, match: re.Match[str]) -> bool:
    """A token that nothing announces: letters of both cases and digits, or a prefix before them."""
    if _ID_PREFIX.match(value) or _ID_BEFORE.search(_before(match)) or _DIGEST.fullmatch(value):
        return False
    if is_file_data(value):
        return False
    if headed := _HEADED.fullmatch(value):
        return _is_headed(headed["head"], headed["tail"])
    return len(value) >= 24 and is_random(value) and shannon_entropy(value) >= 3.8


def _is_headed(head: str, tail: str) -> bool:
    """Whether a drawn ``tail`` behind ``head`` is a token; a digest needs a head that says so."""
    if _CREDENTIAL.search(head):
        return is_drawn(tail)
    if _DIGEST.fullmatch(tail):
        return head.isalpha() and not head[0].isupper() and "-" not in tail and is_drawn(tail)
    return is_drawn(tail, least=3.0) if head.isalpha() else is_random(tail)
