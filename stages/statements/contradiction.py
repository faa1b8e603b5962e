"""Whether a newer sentence contradicts an older one: features of the pair, and a fitted model.

Both have to speak of the same thing, and to state of it what cannot both hold: another value,
opposite poles, a denial, another order; or the newer one says that what the older one states is no
more. What sets the two apart speaks against it: another part, other surroundings, another act.
``perf/fit_contradictions.py`` fits the weights on pairs of statements of invented projects.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from pathlib import Path
from typing import Final

from ...config.linear_model import LinearModel
from .canonical import NOTHING, TELLING, canonical, kinds_of
from .statement import Statement

WEIGHTS: Final = Path(__file__).with_name("contradiction.json")
SUBJECT: Final = (
    "shared 1", "shared 2", "shared 3", "of newer", "of lead", "only newer", "lead only older",
    "both only", "shared light", "topic", "subject changed", "strange", "subject apart neat",
    "in apart", "around", "around one", "qualified", "acts",
)  # fmt: skip
FEATURES: Final = (
    *SUBJECT,
    "number keyed", "number neat", "number same", "number new", "number old",
    "names", "names neat", "names newer", "names joined", "names kept", "part swapped",
    "times newer",
    "values close", "values only", "values clear", "default", "default differs",
    "denial", "denial neat", "denied act", "poles neat", "permission", "permission neat",
    "actions apart", "against differs", "against both", "against both close",
    "opposed clear", "opposed qualified",
    "change known", "known held", "replaced", "replaced wholly", "replaced neat", "replaced alone",
    "new", "new neat", "adds", "universal narrowed", "universal newer", "excepts", "excepts close",
    "holds and adds", "in step", "nothing apart",
)  # fmt: skip
"""Each is 0 to 1. A pair's are its ``subject``, ``values``, ``denial``, ``change``, ``scope``."""

_LITTLE = frozenset(
    map(
        canonical,
        "be is are was were has have a an the it any not no never to of and or can may must "
        "do".split(),
    )
)
_PLACE = "place"
_MOSTLY = 0.6
_WHOLLY = 0.9


def load_contradiction() -> LinearModel:
    """The fitted model. Raises ``OSError`` and ``ValueError`` where its file is not usable."""
    return LinearModel.load(WEIGHTS, features=FEATURES)


class Pair:
    """Two statements beside each other."""

    def __init__(self, newer: Statement, older: Statement) -> None:
        self.newer, self.older = newer, older
        self.shared = newer.heavy & older.heavy
        self.of_older = len(self.shared) / len(older.heavy) if older.heavy else 0.0
        self.hits = [hit for phrase in newer.replaced if (hit := phrase & older.stated)]
        """What the newer one says is no more, and the older one speaks of."""
        explained = NOTHING.union(*newer.replaced) | newer.polar | older.polar
        self.only_newer = newer.heavy - self.shared - explained
        self.only_older = older.heavy - self.shared - explained
        self.lead_newer = (self.only_newer - newer.names) & newer.lead
        self.lead_older = (self.only_older - older.names) & older.lead
        self.around = _apart(newer.around, older.around)
        self.acts = _opposed(newer.acts, older.acts) > 0
        self.qualified = self._qualified()
        self.clear = not (self.qualified or self.around or self.acts)
        self.neat = self.clear and not (self.lead_newer and self.lead_older)
        """Nothing sets apart what they speak of."""

    @property
    def features(self) -> tuple[float, ...]:
        """What is measured of the pair, in the order of ``FEATURES``."""
        about = (*self.subject, *self.values(), *self.denial())
        return (*about, *self.change(), *self.scope())

    def _qualified(self) -> bool:
        """Whether one word has another one before it in each: "access tokens", "refresh tokens"."""
        ours, theirs = self.newer.modifiers, self.older.modifiers
        return any(
            ours[head] != theirs[head]
            and ours[head] not in self.older.heavy
            and theirs[head] not in self.newer.heavy
            for head in self.shared & ours.keys() & theirs.keys()
        )

    # --- what they speak of ----------------------------------------------------------------------

    @cached_property
    def changed(self) -> bool:
        """Whether each begins with something that the other does not mention."""
        return not (
            self.newer.opening <= self.older.heavy or self.older.opening <= self.newer.heavy
        )

    @cached_property
    def subject(self) -> tuple[float, ...]:
        newer, older, same = self.newer, self.older, len(self.shared)
        ours, theirs = newer.slots.get("subject", NOTHING), older.slots.get("subject", NOTHING)
        strange = self.begin_apart
        lead = len(self.shared & newer.lead) / len(newer.lead) if newer.lead else 0.0
        words = self.only_newer - newer.names
        return (
            same >= 1,
            same >= 2,
            same >= 3,
            same / len(newer.heavy) if newer.heavy else 0.0,
            lead,
            min(len(words), 4) / 4,
            min(len(self.lead_older), 3) / 3,
            bool(self.lead_older and self.lead_newer),
            min(len((newer.light & older.light) - _LITTLE), 2) / 2,
            bool(newer.topic & older.heavy or older.topic & newer.heavy),
            self.changed,
            strange,
            _apart(ours, theirs) and self.neat,
            _apart(newer.slots.get("in", NOTHING), older.slots.get("in", NOTHING)),
            self.around,
            bool(newer.around) != bool(older.around),
            self.qualified,
            self.acts,
        )

    @cached_property
    def begin_apart(self) -> bool:
        """Whether neither mentions what the other begins with."""
        newer, older = self.newer, self.older
        if not newer.opening or not older.opening:
            return False
        return newer.opening.isdisjoint(older.heavy) and older.opening.isdisjoint(newer.heavy)

    # --- what they state of it -------------------------------------------------------------------

    @cached_property
    def number(self) -> bool:
        ours, theirs = self.newer.numbers, self.older.numbers
        return any(_apart(ours[kind], theirs[kind]) for kind in ours.keys() & theirs.keys())

    @cached_property
    def old_names(self) -> frozenset[str]:
        """The names in the older one that the newer one has not, and that hold there."""
        gone = NOTHING.union(*self.older.replaced)
        held = self.shared - self.newer.aside
        return frozenset(self.older.names - held - gone - self.older.around)

    @cached_property
    def new_names(self) -> frozenset[str]:
        only = self.only_newer | (self.newer.names & self.older.aside)
        return frozenset((self.newer.names & only) - self.newer.around)

    @cached_property
    def value_count(self) -> int:
        """In how many kinds of values they differ."""
        newer, older = self.newer, self.older
        names = bool(self.old_names and self.new_names)
        units, times = _apart(newer.units, older.units), _apart(newer.times, older.times)
        return self.number + names + units + times

    def values(self) -> tuple[float, ...]:
        newer, older, count = self.newer, self.older, self.value_count
        kinds = newer.numbers.keys() & older.numbers.keys()
        same_number = any(newer.numbers[kind] & older.numbers[kind] for kind in kinds)
        names = bool(self.old_names and self.new_names)
        only_names = self.only_newer <= newer.names and self.only_older <= older.names
        return (
            self.number and not newer.keyed.isdisjoint(older.keyed),
            self.number and self.neat,
            same_number and not self.number,
            bool(newer.numbers) and not older.numbers,
            bool(older.numbers) and not (newer.numbers or self.hits),
            names,
            names and self.neat,
            bool(self.new_names) and not self.old_names,
            self._joined(),
            bool(older.names) and older.names <= newer.names and not self.hits,
            self._swapped("in") and bool(self.shared & newer.names) and not self.new_names,
            bool(newer.times) and not older.times,
            min(count, 2) / 2 * self.of_older * self.clear,
            count > 0 and self.clear and only_names,
            count > 0 and self.clear and not self.changed,
            self.default,
            self.default and bool(self.only_older) and bool(self.only_newer),
        )

    @cached_property
    def default(self) -> bool:
        return "default" in self.newer.words and "default" in self.older.words

    def _joined(self) -> bool:
        """Whether one names a further one beside what both name: "Postgres and Redis"."""
        one, other = self.newer, self.older
        return any(
            not self.shared.isdisjoint(pair) and not pair & a.names <= b.names
            for a, b in ((one, other), (other, one))
            for pair in a.joined
        )

    @property
    def tells_something_else(self) -> bool:
        """Whether all that differs is a name each, which are names of two properties of one thing.

        "The relay is mail.internal" and "The relay needs STARTTLS"; "Anna owns the relay".
        """
        newer, older = self.newer, self.older
        if self.value_count != 1 or not (self.old_names and self.new_names):
            return False
        left = (self.only_newer - newer.names) | (self.only_older - older.names)
        if self.hits or newer.denies != older.denies or not left <= TELLING:
            return False
        ours, theirs = newer.roles_of(self.new_names), older.roles_of(self.old_names)
        kinds, others = kinds_of(self.new_names), kinds_of(self.old_names)
        told = newer.tellings != older.tellings
        if newer.subject - TELLING - newer.names == older.subject - TELLING - older.names:
            return told or (ours.isdisjoint(theirs) and _PLACE in kinds ^ others)
        return told and ("subject" in ours) != ("subject" in theirs) and not kinds & others

    @property
    def restates(self) -> bool:
        """Whether both choose the same, and turn the same down, in whatever words."""
        newer, older = self.newer, self.older
        against, before = newer.turned_down, older.turned_down
        both = against & before
        if not both or self.number or not self.shared - both:
            return False
        if newer.excepts != older.excepts:
            return False
        return both == against & older.heavy == before & newer.heavy and not self._choose_apart()

    def _choose_apart(self) -> bool:
        """Whether each chooses by name what the other does not speak of."""
        newer, older = self.newer, self.older
        ours = newer.names - newer.turned_down - older.heavy
        theirs = older.names - older.turned_down - newer.heavy
        return bool(ours and theirs)

    @property
    def turns_over(self) -> bool:
        """Whether the newer one chooses what the older one turns down, and the other way round."""
        newer, older = self.newer, self.older
        chosen = older.turned_down & newer.heavy - newer.turned_down - newer.denied
        given = newer.turned_down & older.heavy - older.turned_down - older.denied
        return self.neat and bool(chosen and given and self.shared - chosen - given)

    @property
    def brings_back(self) -> bool:
        """Whether the newer one says that just that is back which the older one rules out."""
        return bool(self.newer.back) and self.newer.back in self.older.ruled_out

    # --- whether one denies it -------------------------------------------------------------------

    @cached_property
    def poles(self) -> int:
        if self.qualified:
            return 0
        return _opposed(self.newer.poles, self.older.poles, without="permission")

    @cached_property
    def permission(self) -> bool:
        return (self.newer.poles.get("permission", 0) * self.older.poles.get("permission", 0)) < 0

    def denial(self) -> tuple[float, ...]:
        newer, older = self.newer, self.older
        differs = newer.denies != older.denies
        denying, other = (newer, older) if newer.denies else (older, newer)
        said = other.heavy | other.light
        denied = {word for word in denying.denied if word in denying.heavy or word in other.heavy}
        act = differs and bool(denying.denied_acts & said)
        actions = _apart(newer.actions, older.actions)
        opposed = act or self.permission or self.poles > 0
        of_apart = _apart(newer.slots.get("of", NOTHING), older.slots.get("of", NOTHING))
        against = newer.is_against and older.is_against
        return (
            differs,
            differs and bool(denied) and denied <= said and self.neat,
            act,
            self.poles > 0 and self.neat,
            self.permission,
            self.permission and self.neat,
            actions,
            newer.is_against != older.is_against,
            against,
            against and self.of_older > _WHOLLY and not self.value_count,
            opposed and self.clear and not (self.changed or of_apart or actions),
            opposed and not self.clear,
        )

    # --- whether the newer one says that it changed ----------------------------------------------

    def change(self) -> tuple[float, ...]:
        newer, older, hit = self.newer, self.older, bool(self.hits)
        elsewhere = bool(newer.replaced) and not hit
        known = older.stated | older.light | older.units
        wholly = any(phrase <= known and phrase & older.stated for phrase in newer.replaced)
        return (
            elsewhere and not newer.names.isdisjoint(older.names),
            elsewhere and older.heavy <= newer.heavy,
            hit,
            wholly,
            hit and self.clear,
            hit and not self.lead_newer,
            newer.is_new,
            newer.is_new and self.neat,
        )

    @property
    def gives_up(self) -> bool:
        """Whether the newer one plainly says that a thing is gone which the older one names.

        "Flux now, ArgoCD is gone" of "We deploy with ArgoCD", where nothing sets the two apart.
        """
        older = self.older
        known = older.stated | older.light | older.units
        return self.neat and any(
            phrase <= known and phrase & older.names and phrase not in older.given_up
            for phrase in self.newer.given_up
        )

    # --- for how much it holds -------------------------------------------------------------------

    @property
    def only_repeats(self) -> bool:
        """Whether one says less than the other, or adds a reason, and they differ in nothing."""
        newer, older = self.newer, self.older
        if newer.plain == older.plain:
            return True
        if self.any_apart or self.turns_over or self.brings_back:
            return False
        if older.heavy <= newer.heavy and self._keeps_values():
            return True
        if newer.is_new:
            return False
        return newer.heavy <= older.heavy or (newer.lead <= older.heavy <= newer.heavy)

    def _keeps_values(self) -> bool:
        """Whether the older one names something or has numbers, and the newer one has them all."""
        newer, older = self.newer, self.older
        known = {value for values in newer.numbers.values() for value in values}
        stated = {value for values in older.numbers.values() for value in values}
        return bool(older.names or stated) and older.names <= newer.names and stated <= known

    def scope(self) -> tuple[float, ...]:
        newer, older = self.newer, self.older
        excepts = newer.excepts and not older.excepts
        restricts = newer.restricts and not older.restricts
        holds = older.heavy <= newer.heavy
        first, then = newer.steps
        was_first, was_then = older.steps
        in_step = len(first & was_first) + len(then & was_then)
        apart = self.any_apart
        return (
            newer.adds,
            older.universal and (restricts or excepts),
            newer.universal and not older.universal,
            excepts,
            excepts and self.of_older >= _MOSTLY,
            holds and not apart,
            min(in_step, 2) / 2,
            not apart,
        )

    @cached_property
    def any_apart(self) -> bool:
        """Whether anything was found in which they differ."""
        newer, older = self.newer, self.older
        first, then = newer.steps
        was_first, was_then = older.steps
        turned = not (first.isdisjoint(was_then) and then.isdisjoint(was_first))
        narrowed = newer.excepts > older.excepts or newer.restricts > older.restricts
        opened = older.restricts > newer.restricts and bool(self.only_newer)
        widened = newer.universal > older.universal or opened
        stated = self.value_count or newer.denies != older.denies or self.poles or self.permission
        told = newer.replaced or turned or narrowed or widened
        if self.default and self.only_newer and self.only_older:
            return True
        return bool(stated or told) or any(map(self._swapped, ("be", "by", "in")))

    def _swapped(self, role: str) -> bool:
        """Whether all that differs is what stands in one place of both."""
        ours, theirs = self.newer.slots.get(role), self.older.slots.get(role)
        if not ours or not theirs or not self.clear:
            return False
        differ = bool(ours - self.older.heavy) and bool(theirs - self.newer.heavy)
        return differ and self.lead_older <= theirs and self.lead_newer <= ours


def _apart(ours: Set[str], theirs: Set[str]) -> bool:
    return bool(ours and theirs) and not ours & theirs


def _opposed(ours: dict[str, int], theirs: dict[str, int], *, without: str = "") -> int:
    """On how many axes the two name opposite poles."""
    common = ours.keys() & theirs.keys()
    return sum(ours[axis] * theirs[axis] < 0 for axis in common if axis != without)
