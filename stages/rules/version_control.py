"""What a memory asks of commits, their messages and branches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from .claims import READ_CHARS, RULE_FORMS
from .denied_commands import DeniedCommand

_COMMITS = RULE_FORMS["commits"].forms
_BRANCHES = RULE_FORMS["branches"].forms
_ASKED_WITHIN = 260

MESSAGE_KEY = "commit message"
"""The key of what a commit message may break, and of each commit that has one."""

REWRITE_KEY = "commit rewrite"
"""The key of what changes commits that others may have read."""


class MessageForm(Struct, frozen=True):
    """How the message of a commit has to be worded.

    ``ticket`` is how tickets begin ("SHOP-"), "*" for any. It stands ``first``, or anywhere but in
    messages of the types in ``exempt``. ``unwanted`` are folded.
    """

    typed: bool = False
    scoped: bool = False
    ticket: str = ""
    first: bool = False
    exempt: frozenset[str] = frozenset()
    footers: tuple[str, ...] = ()
    longest: int = 0
    unwanted: frozenset[str] = frozenset()

    def is_broken_by(self, message: str) -> bool:
        """Whether ``message`` is worded otherwise; what git words by itself is not."""
        subject = message.strip().partition("\n")[0].strip()
        if not subject or subject[:1] == "$" or _COMMITS["made_otherwise"].match(subject):
            return False
        folded = message.casefold()
        return (
            self._lacks_type(subject)
            or self._lacks_ticket(subject, message)
            or any(mark in folded for mark in self.unwanted)
            or any(footer.casefold() not in folded for footer in self.footers)
            or 0 < self.longest < len(subject)
        )

    def _lacks_type(self, subject: str) -> bool:
        if not self.typed:
            return False
        found = _COMMITS["has_type"].match(subject)
        return found is None or (self.scoped and not found["scope"])

    def _lacks_ticket(self, subject: str, message: str) -> bool:
        if not self.ticket or subject.partition(":")[0].partition("(")[0] in self.exempt:
            return False
        if self.ticket == "*":
            return _COMMITS["any_ticket"].search(message) is None
        where = subject if self.first else message
        at = where.casefold().find(self.ticket.casefold())
        return at > 1 if self.first and at >= 0 else at < 0


class ReviewedCommits(Struct, frozen=True):
    """Commits are not to be squashed or amended once somebody reviews them."""

    spares_own: bool

    def is_broken_by(self, commands: Sequence[str], said: str) -> bool:
        """Whether ``commands`` publish other commits in the place of those; ``said`` is why."""
        forced = [one for one in commands if _BRANCHES["forces"].match(one)]
        if self.spares_own and any(map(_BRANCHES["own_branch"].search, forced)):
            return False
        told = "\n".join((*commands, said))
        return bool(forced) and (
            any(map(_BRANCHES["rewrites"].match, commands))
            or _BRANCHES["names_review"].search(told) is not None
        )


def messages_asked(text: str) -> Iterator[MessageForm]:
    """How the memory ``text`` wants the messages of commits worded, if it says so."""
    found = next(_COMMITS["asked"].finditer(text[:READ_CHARS]), None)
    if found is None:
        return
    told = text[found.start() : found.end() + _ASKED_WITHIN]
    examples = [one for one in _COMMITS["example"].finditer(told) if _is_example(one)][:1]
    form = _form(told, examples[0] if examples else None, is_denied=bool(found["not"]))
    if form != MessageForm():
        yield form


def _is_example(found: re.Match[str]) -> bool:
    return bool(found["conventional"] or found["first"])


def _form(told: str, example: re.Match[str] | None, *, is_denied: bool) -> MessageForm:
    ticket, first = _ticket(told, example)
    typed = bool(example and example["conventional"]) or (
        not is_denied and _COMMITS["says_conventional"].search(told) is not None
    )
    longest = _COMMITS["longest"].search(told)
    marks = _COMMITS["unwanted"].finditer(told)
    return MessageForm(
        typed=typed and not first,
        scoped=_COMMITS["says_scope"].search(told) is not None,
        ticket=ticket,
        first=first,
        exempt=frozenset(_exempt(told)),
        footers=tuple(found["footer"] for found in _COMMITS["footer"].finditer(told)),
        longest=int(longest["most"]) if longest else 0,
        unwanted=frozenset(one.casefold() for mark in marks for one in mark.groups() if one),
    )


def _ticket(told: str, example: re.Match[str] | None) -> tuple[str, bool]:
    """How tickets begin in the ``example``, and whether that begins with one."""
    if example is not None:
        named = _COMMITS["ticket"].search(example["first"] or example["rest"])
        if named:
            key = "#" if named[0][0] == "#" else f"{named[0].partition('-')[0]}-"
            return key, bool(example["first"] and not example["conventional"])
    said = _COMMITS["says_ticket"].search(told)
    is_asked = said is not None and not _COMMITS["optional"].search(told, said.end())
    return "*" if is_asked else "", False


def _exempt(told: str) -> Iterator[str]:
    for found in _COMMITS["exempt"].finditer(told):
        yield from found["types"].replace("/", " ").replace(",", " ").split()


def reviews_kept(text: str) -> Iterator[ReviewedCommits]:
    """What the memory ``text`` says of commits that are being reviewed."""
    sentences = _BRANCHES["sentence"].split(text[:READ_CHARS])
    if any(map(_is_of_review, sentences)):
        yield ReviewedCommits(spares_own=_BRANCHES["own"].search(text) is not None)


def _is_of_review(sentence: str) -> bool:
    """Whether ``sentence`` speaks against other commits once a review has begun."""
    forms = _BRANCHES["denies"], _BRANCHES["rewriting"], _BRANCHES["in_review"]
    return all(form.search(sentence) for form in forms)


def pushes_against(text: str) -> Iterator[DeniedCommand]:
    """The pushes, merges and skipped hooks that the memory ``text`` speaks against."""
    text = text[:READ_CHARS]
    for form in (_BRANCHES["pushed"], _BRANCHES["by_request"], _BRANCHES["blocked"]):
        for branch in _branches(text, form):
            yield DeniedCommand("git push", True, frozenset({branch}))
    for branch in _branches(text, _BRANCHES["shared"]):
        for option in ("--force", "--force-with-lease"):
            yield DeniedCommand(f"git push {option}", True, frozenset({branch}))
    if _BRANCHES["skips_hooks"].search(text):
        yield from (DeniedCommand(f"git {verb} --no-verify", True) for verb in ("commit", "push"))
    if _BRANCHES["linear"].search(text):
        for branch in ("main", "master", "develop", "trunk"):
            for named in (branch, f"origin/{branch}"):
                yield DeniedCommand(f"git merge {named}", True, lacking="--ff-only")


def _branches(text: str, form: re.Pattern[str]) -> Iterable[str]:
    for found in form.finditer(text):
        for branch in _BRANCHES["branch"].findall(found["branches"]):
            yield f"{branch.rstrip('/*')}/*" if branch.startswith("release") else branch
