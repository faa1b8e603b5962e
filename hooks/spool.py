"""Keeps what a user asked to remember and no daemon has committed: a file an entry, redacted.

An entry is ``<data>/spool/<48-bit milliseconds><80-bit random>.json`` (hexadecimal, so names sort
by time): ``{"event", "fields": {"project", "cwd", "client", "session", "scope"}, "payload":
{"session_id", "cwd", "prompt"}}``. ``scope`` is ``user`` where the daemon set aside what belongs to
no project. The name is the ``id`` that the request carried, so an entry that the daemon had got
after all is the same capture. The daemon drains the folder; nothing here reads it again.

Secrets and private spans are taken out before anything touches the disk. Loaded by ``client.py`` on
its slow path only.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Any

# Wider than what the daemon takes for a marker: it tells of what is kept in vain once it drains it.
# It takes out what agents add as well, so a marker may stand behind the tag that ends that.
MARKER = re.compile(
    r"(?:^|[^\s>]>)[^\S\n]*(?:(?:[-*+\u2022\u2013]|\d{1,3}[.)])[^\S\n]+)?"
    r"(?:[\[\uff3b\u3010](?:remember|capture)(?:[ \t]?[:\uff1a][^\]\uff3d\u3011\n]{0,80})?"
    r"[\]\uff3d\u3011]|[@\uff20]memory(?=[:\uff1a\s<]|$)"
    r"(?![:\uff1a](?!https?:)[\w+.-]{1,40}://))",
    re.IGNORECASE | re.MULTILINE,
)
# As in ``config/characters.py`` and ``stages/text/unicode.py``, which say what they are.
INVISIBLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]"
    r"|[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
SYMBOLS = r"[#*0-9\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
IDLE = re.compile(
    rf"[\ufe0e\ufe0f](?<!{SYMBOLS}.)|[\u200c\u200d](?<!{SYMBOLS}\ufe0f.)(?<![\u0600-\u109f"
    r"\u1780-\u1cff\u203c\u2049\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00011fff\U0001e900-\U0001e95f\U0001f000-\U0001faff].)"
)
PLAIN = {
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F), " "),
    **dict.fromkeys((*range(0x2010, 0x2014), 0x2212), "-"),
}
PRIVATE_TAG = re.compile(r"<\s{0,4}(/?)\s{0,4}private(?![\w-])[^<>\n]{0,200}>?", re.IGNORECASE)
MOST_GIVEN = 32
GIVEN_AWAY = re.compile(r"(?=[^\d]{0,199}\d)(?=[^A-Za-z]{0,199}[A-Za-z])[^\s\[\]]{8,200}")
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "secrets.toml")
KEPT_FIELDS = ("project", "cwd", "client", "session", "scope")
MAX_PROMPT_CHARS = 200_000
MAX_ENTRIES = 1000
MOST_PEELED = 8
MOST_BEFORE_WRAP = 200
TOO_LONG = "the prompt is too long to be read; send what is marked by itself"
UNREADABLE = "what the agent sent of the prompt cannot be read"
_WIDE = ("\uff3bremember", "\u3010remember", "\uff3bcapture", "\u3010capture", "\uff20memory")
HINTS = (b"[remember", b"[capture", b"@memory", *(hint.encode() for hint in _WIDE))
# As in ``stages/redaction/breaks.py``: within a word, from literal to literal, comment to comment.
WRAP = re.compile(
    r"(?<=[\w./+=$:~-])[\"']?(?:[ \t]{0,80}[+.&\\])?[ \t]{0,80}\n"
    r"[ \t>|#]{0,80}[\"']?(?=[\w./+=$:~-])"
)
TOKEN = re.compile(r"[\w./+=$:~-]{1,200}")
REST = re.compile(
    r"(\[redacted:[a-z0-9-]{1,40}\])[\"']?(?:[ \t]{0,80}[+.&\\])?[ \t]{0,80}\n"
    r"[ \t>|#]{0,80}[\"']?([\w./+=$:~-]{16,4000})"
)
HEX = re.compile(r"[0-9a-f]{16,}")
# A letter or mark as JSON may write it.
ESCAPED = re.compile(rb"\\u00([2-7][0-9a-f])")

# Its name, its pattern and the group to take out; whether a prefix alone tells what it finds.
Rule = tuple[str, "re.Pattern[str]", "int | str", bool]


class NotKept(ValueError):
    """A text that should have been kept could not be; the message says why, without the text."""


def keep(
    event: str, fields: dict[bytes, bytes], body: bytes, data: bytes, rules_file: str = RULES
) -> str:
    """Spool the prompt in ``body`` if it asks to remember something; returns what to tell the user.

    Returns an empty string where there is nothing to keep. Raises nothing that the disk, the rules
    or the payload could cause.
    """
    try:
        payload = _read_payload(body)
        if not is_marked(payload["prompt"]):
            return ""
        payload["prompt"] = clean(payload["prompt"], rules_file)
        write(event, fields, payload, data)
    except NotKept as error:
        return f"subcog: not kept: {error}."
    except OSError as error:
        return f"subcog: not kept: it could not be set aside ({error.strerror})."
    return "subcog: set aside safely; it is stored as soon as the daemon can."


def hints(body: bytes) -> bool:
    """Whether a payload may hold a marker, be it readable or not."""
    text = ESCAPED.sub(lambda escape: bytes((int(escape[1], 16),)), body.lower()).lower()
    return any(hint in text for hint in HINTS)


def is_marked(text: str) -> bool:
    """Whether a prompt may hold a marker; in one that is too long to be kept, only as it stands."""
    if len(text) <= MAX_PROMPT_CHARS:
        text = without_private(visible(text))
    return MARKER.search(text) is not None


def _read_payload(body: bytes) -> dict[str, Any]:
    """What an entry holds of a payload. Raises ``NotKept`` where it cannot be read.

    A sub-agent's prompt is the model's own words, which ask for nothing: there is none then.
    """
    try:
        payload = json.loads(body)
        if payload.get("agent_id"):
            return {"prompt": ""}
        texts = {key: payload.get(key) for key in ("session_id", "cwd")}
        texts["prompt"] = payload["prompt"] + ""  # TypeError unless it is a text
    except KeyError:
        return {"prompt": ""}
    except (ValueError, TypeError, AttributeError, RecursionError):
        if hints(body):
            raise NotKept(TOO_LONG if len(body) > MAX_PROMPT_CHARS else UNREADABLE) from None
        return {"prompt": ""}
    return {key: _whole(value) for key, value in texts.items() if isinstance(value, str)}


def _whole(text: str) -> str:
    """``text`` with a question mark for each half of a character that a client cut in two."""
    return text.encode("utf-8", "replace").decode()


def clean(text: str, rules_file: str) -> str:
    """``text`` without secrets, private spans and what is invisible.

    Raises ``NotKept`` if that cannot be had.
    """
    if len(text) > MAX_PROMPT_CHARS:
        raise NotKept("the text is too long to be set aside")
    text = without_private(visible(text))
    plain = text if text.isascii() else unicodedata.normalize("NFC", text).translate(PLAIN)
    try:
        rules = read_rules(rules_file, plain)
    except (ImportError, OSError, ValueError, KeyError, TypeError, AttributeError, re.error):
        raise NotKept("the rules that take secrets out of a text cannot be read") from None
    scrubbed = scrub(plain, rules)
    return text if scrubbed == plain else scrubbed


def visible(text: str) -> str:
    """``text`` without what a reader cannot see; the rarer kinds of line end become newlines."""
    return IDLE.sub("", INVISIBLE.sub("", LINE_ENDS.sub("\n", text)))


def without_private(text: str) -> str:
    """``text`` without its ``<private>`` spans, nested or never closed.

    Where a removal puts a tag together again and again, the text ends at the first of them.
    """
    for _ in range(MOST_PEELED):
        if not PRIVATE_TAG.search(text):
            return text
        text = _without_private_once(text)
    tag = PRIVATE_TAG.search(text)
    return text[: tag.start()] if tag else text


def _without_private_once(text: str) -> str:
    kept = []
    depth = end = 0
    for tag in PRIVATE_TAG.finditer(text):
        if not depth:
            kept.append(text[end : tag.start()])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        end = tag.end()
    if not depth:
        kept.append(text[end:])
    return "".join(kept)


def read_rules(file: str, text: str) -> list[Rule]:
    """Every rule of the secret filter that may match ``text``: compiling all takes 60 ms.

    Raises if one of them cannot be used.
    """
    import tomllib  # Python 3.11; an older one says that it cannot read the rules

    with open(file, "rb") as source:
        rules = tomllib.load(source)["rule"]
    if not rules:
        raise ValueError("there are no rules")
    text += WRAP.sub("", text)
    lower = text.lower()
    return [_usable(rule) for rule in rules if _may_match(rule, text, lower)]


def _may_match(rule: dict[str, Any], text: str, lower: str) -> bool:
    """Whether one of the hints is there: as it stands if it has capitals, else in any case."""
    hints = rule.get("hints")
    return not hints or any(hint in (lower if hint.islower() else text) for hint in hints)


def _usable(rule: dict[str, Any]) -> Rule:
    pattern, group = re.compile(rule["pattern"]), rule.get("group", 0)
    if group not in range(pattern.groups + 1) and group not in pattern.groupindex:
        raise ValueError("a rule names a group that its pattern has not")
    by_prefix = bool(rule.get("hints")) and not group and rule.get("check", "") in {"", "drawn"}
    return rule["name"], pattern, group, by_prefix


def scrub(text: str, rules: Sequence[Rule]) -> str:
    """``text`` with every match of a rule, or of the group that the rule names, replaced.

    A long, mixed value that one gives away is replaced wherever else it stands, and a token that
    is known by its prefix also where a line break cuts it in two.
    """
    found: dict[str, str] = {}
    for name, pattern, group, _ in rules:
        text = pattern.sub(partial(_replaced, name, group, found), text)
    in_hex = any(HEX.fullmatch(secret[-16:]) for secret in found)
    text = REST.sub(partial(_without_rest, in_hex), text)
    text = _without_wrapped(text, [rule for rule in rules if rule[3]])
    given = [*filter(GIVEN_AWAY.fullmatch, found)][:MOST_GIVEN]
    for value in sorted(given, key=len, reverse=True):
        text = text.replace(value, f"[redacted:{found[value]}]")
    return text


def _without_rest(in_hex: bool, rest: re.Match[str]) -> str:
    """The mark of a secret, without the run on the next line if that reads as the secret's rest."""
    mark, run = rest.groups()
    if {"/", "."} <= set(run):
        return rest[0]
    mixed = all(any(map(kind, run)) for kind in (str.islower, str.isupper, str.isdigit))
    return mark if mixed or (in_hex and HEX.fullmatch(run)) else rest[0]


def _without_wrapped(text: str, rules: Sequence[Rule]) -> str:
    kept, end = [], 0
    for wrap in WRAP.finditer(text) if rules else ():
        start = max(end, text.rfind("\n", 0, wrap.start()) + 1, wrap.start() - MOST_BEFORE_WRAP)
        run = TOKEN.match(text, wrap.end())
        cut = wrap.start() - start
        if run is None or cut <= 0:
            continue
        joined = text[start : wrap.start()] + run[0]
        for name, pattern, _, _ in rules:
            token = next((m for m in pattern.finditer(joined) if m.start() < cut < m.end()), None)
            if token:
                kept += [text[end : start + token.start()], f"[redacted:{name}]"]
                end = wrap.end() + token.end() - cut
                break
    return "".join([*kept, text[end:]])


def _replaced(name: str, group: int | str, found: dict[str, str], match: re.Match[str]) -> str:
    start, end = match.span(group)
    if start < 0:
        return match[0]
    found[match.string[start:end]] = name
    before, after = match.string[match.start() : start], match.string[end : match.end()]
    return f"{before}[redacted:{name}]{after}"


def write(event: str, fields: dict[bytes, bytes], payload: dict[str, Any], data: bytes) -> None:
    """Write one entry so that it is there after a power cut, or not at all.

    Raises ``OSError``, and ``NotKept`` if the spool is full.
    """
    place = os.path.join(data, b"spool")
    if not os.path.isdir(place):
        os.makedirs(data, 0o700, exist_ok=True)
        os.makedirs(place, 0o700, exist_ok=True)
        _sync_folder(data)
    if sum(not name.endswith(b".tmp") for name in os.listdir(place)) >= MAX_ENTRIES:
        raise NotKept("too many texts wait for the daemon already")
    entry = {
        "event": event,
        "fields": {
            key: fields.get(key.encode(), b"").decode("utf-8", "surrogateescape")
            for key in KEPT_FIELDS
        },
        "payload": payload,
    }
    name = os.path.join(place, fields[b"id"])
    try:
        _write_durably(name + b".tmp", json.dumps(entry).encode())
        os.rename(name + b".tmp", name + b".json")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name + b".tmp")
        raise
    _sync_folder(place)


def _write_durably(name: bytes, data: bytes) -> None:
    target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(target, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(target)


def _sync_folder(folder: bytes) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
