"""An action, held against the rules that memories state by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from msgspec.structs import replace

from ...bus.triggers import Trigger
from ...bus.values import Memory
from ..actions.commands import Command
from ..actions.reading import (
    CI_FILE,
    ActionText,
    as_usual,
    command_forms,
    looks,
    script_commands,
    without_messages,
)
from ..actions.written import Written, replaced_by, without_comments
from ..code_rules.needed_kinds import NeededOfKind, kinds_in
from ..code_rules.needed_names import NeededName
from ..rules.claims import RULE_FORMS
from ..rules.denied_commands import (
    CODE,
    NEEDED_FIRST,
    TRIES,
    DeniedCommand,
    command_keys,
)
from ..rules.denied_files import PathPattern, file_keys, files_written
from ..rules.denied_options import option_keys
from ..rules.kept_files import files_removed
from ..rules.named_places import environments_in
from ..rules.protected_places import works_of
from ..rules.version_control import MESSAGE_KEY, REWRITE_KEY
from ..text.paths import concerns, way_out
from .stated import Rules, rules_of
from .triggers import TriggerForm, read_trigger, trigger_keys

_FORMS = RULE_FORMS["actions"].forms

SURE = 0.9
"""The relevance of a memory that states a rule which the action breaks by name."""

DOCUMENT = _FORMS["document"]
"""A file in which a rule may be written down without being broken."""

SHARED_PLACE = _FORMS["shared_place"]
"""What everybody uses."""

HARMLESS_PLACE = _FORMS["harmless_place"]
"""What concerns nobody else."""


class Deed:
    """An action, prepared to be held against many rules."""

    def __init__(self, action: ActionText) -> None:
        self._outside = action.outside
        changes = [placed for placed in action.placed if not looks(placed[0])]
        self._changes = tuple(one for one, _ in changes)
        self._is_local = any(map(_FORMS["own_place"].search, self._changes))
        self._is_of_ci = CI_FILE.search(action.path) is not None
        self._commands = list(_in_place(action, self._changes))
        self._is_script = not action.commands
        self._ran = tuple(plain for _, ran, _ in self._commands for plain in ran)
        ran = "\n".join(self._changes)
        self._environments = environments_in(ran) if not action.path else frozenset[str]()
        self._messages, self._all = action.messages, action.commands
        self._purpose = action.purpose
        self._edited = (action.path, *action.other_paths) if action.path else ()
        self._written = tuple(
            action.seen(path, where) for one, where in changes for path in files_written(one)
        )
        self._gone = tuple(
            path if "://" in path else action.seen(path, where)
            for one, where in changes
            for path in files_removed(one)
        )
        self._is_new = not action.is_existing
        self._is_ordered = action.is_ordered
        said = (action.path, action.purpose, *self._changes)
        self._said = "\n".join(said)
        self._is_harmless = HARMLESS_PLACE.search("\n".join(action.added)) is not None
        self._code = Written(
            path=action.path,
            added="" if DOCUMENT.search(action.path) else without_comments(action.added),
            removed=without_comments(action.removed),
            commands=tuple(without_messages(one) for one in self._ran if not TRIES.search(one)),
            said=self._said,
        )
        changed = (
            replace(code, path=action.seen(code.path, where))
            for one, where in changes
            for code in replaced_by(one, self._said)
        )
        replaced = tuple(
            one
            for one in changed
            if not DOCUMENT.search(one.path) and way_out(one.path) in {"", self._outside}
        )
        self._codes = (self._code, *replaced)
        self._in_files = (replace(self._code, commands=()), *replaced)

    def keys(self) -> frozenset[str]:
        """The keys that a rule has which this may break."""
        heads = [key for one in self._all_run for key in command_keys(one)]
        files = file_keys(self._changed_paths)
        return frozenset(
            (
                *(f"run {head}" for head in heads),
                *(f"file {key}" for key in files if key),
                *(f"name {name}" for code in self._codes for name in code.names()),
                *(key for code in self._codes for key in code.changes()),
                *(f"kind {kind}" for code in self._codes for kind in kinds_in(code)),
                *(f"option {key}" for one in self._ran for key in option_keys(one)),
                *(f"work {work}" for one in self._changes for work in works_of(one)),
                *((MESSAGE_KEY,) if self._messages else ()),
                *((REWRITE_KEY,) if "git push" in "\n".join(self._changes) else ()),
                *trigger_keys((one for one, _ in self._typed), self._changed_paths, self._codes),
            )
        )

    @property
    def _all_run(self) -> tuple[str, ...]:
        return (*self._ran, *(plain for _, _, some in self._commands for plain in some))

    @cached_property
    def _typed(self) -> tuple[tuple[str, str], ...]:
        """Each command in its plain forms and as it was typed, and all that is said with it."""
        forms = (
            (whole, form)
            for whole, ran, wrapped in self._commands
            for form in (*ran, *wrapped, whole.rpartition("\n")[2])
        )
        return tuple((without_messages(form), whole) for whole, form in forms)

    @property
    def _there(self) -> tuple[str, ...]:
        """What is changed of the files that are there; of a command nobody knows."""
        return (*(() if self._is_new else self._edited), *self._written, *self._gone)

    @property
    def _changed_paths(self) -> tuple[str, ...]:
        return (*self._edited, *self._written, *self._gone)

    def meets(self, triggers: Iterable[Trigger]) -> bool:
        """Whether this is an action before which one of ``triggers`` wants something shown."""
        return any(map(self._meets, map(read_trigger, triggers)))

    def _meets(self, form: TriggerForm) -> bool:
        return (
            any(form.is_run_by(command, whole) for command, whole in self._typed)
            or any(map(form.is_written_in, self._codes))
            or form.is_change_of(self._there, f"{self._said}\n{self._code.added}")
        )

    def concerns(self, memory: Memory) -> bool:
        """Whether this is done where the rules of ``memory`` hold."""
        return concerns(memory, self._outside)

    def breaks(self, text: str) -> bool:
        """Whether this breaks a rule that the memory ``text`` states by name."""
        rules = rules_of(text)
        if self._is_elsewhere(rules):
            return False
        return (
            any(map(self._changes_file, rules.files))
            or self._takes_away(rules)
            or self._is_done_otherwise(rules)
            or any(map(self._lacks, rules.needed))
            or any(map(self._lacks, rules.of_kinds))
            or self._does_what_is_denied(text, rules)
        )

    def _does_what_is_denied(self, text: str, rules: Rules) -> bool:
        is_shared = SHARED_PLACE.search(text) is not None
        is_for_ci = self._is_of_ci and _FORMS["by_hand"].search(text) is not None
        if not is_for_ci and any(self._runs(denied, is_shared) for denied in rules.commands):
            return not self._did_first(text)
        if is_shared and self._is_harmless:
            return False
        ran = {denied.command for denied in rules.commands}
        return any(
            denied.is_used_by(code)
            for denied in rules.names
            for code in (self._in_files if denied.name in ran else self._codes)
        )

    def _lacks(self, needed: NeededName | NeededOfKind) -> bool:
        """Whether what is new has what needs something, and not that."""
        return any(map(needed.is_broken_by, self._codes))

    def _takes_away(self, rules: Rules) -> bool:
        """Whether this changes what is to stay as it is, or to be changed in two places."""
        if any(kept.goes_with(path) for kept in rules.kept_files for path in self._gone):
            return True
        if any(kept.is_lost_by(code) for kept in rules.values for code in self._codes):
            return True
        codes = [code for code in self._codes if not DOCUMENT.search(code.path)]
        if any(kept.is_lost_by(code) for kept in rules.code for code in codes):
            return True
        paths = (*self._edited, *self._written)
        return any(
            pair.is_parted_by(code, paths) for pair in rules.pairs for code in self._in_files
        )

    def _is_elsewhere(self, rules: Rules) -> bool:
        """Whether it is run on staging, say, and ``rules`` are on what is done on production."""
        if not (rules.environments and self._environments):
            return False
        return rules.environments.isdisjoint(self._environments)

    def _is_done_otherwise(self, rules: Rules) -> bool:
        """Whether options, places, messages or reviews are not as ``rules`` want them."""
        return (
            any(denied.is_given_to(one) for denied in rules.options for one in self._ran)
            or self._changes_place(rules)
            or self._commits_otherwise(rules)
        )

    def _commits_otherwise(self, rules: Rules) -> bool:
        return any(form.is_broken_by(one) for form in rules.messages for one in self._messages) or (
            any(one.is_broken_by(self._all, self._purpose) for one in rules.reviews)
        )

    def _changes_place(self, rules: Rules) -> bool:
        return not self._is_script and any(
            place.is_changed_by(whole.rpartition("\n")[2], whole)
            for whole, _, _ in self._commands
            for place in rules.places
        )

    def _runs(self, denied: DeniedCommand, is_shared: bool) -> bool:
        """Whether a command is ``denied``; what is not to be done to others may be done locally."""
        return any(
            denied.is_run_by(one, whole)
            for whole, ran, wrapped in self._commands
            if not (is_shared and (self._is_local or _is_harmless(whole, denied.command)))
            for one in (*ran, *wrapped)
        )

    def _did_first(self, text: str) -> bool:
        """Whether this runs what the memory ``text`` says has to be run first."""
        if not NEEDED_FIRST.search(text):
            return False
        denied = {one.command for one in rules_of(text).commands}
        named = [DeniedCommand(as_usual(code), more=True) for code in CODE.findall(text)]
        others = [plain for plain in self._ran if plain.count(" ") and plain not in denied]
        return any(plain in text for plain in others) or any(
            one.is_run_by(plain, plain)
            for one in named
            if one.command not in denied
            for plain in self._ran
        )

    def _changes_file(self, denied: PathPattern) -> bool:
        if any(map(denied.holds, self._written_for(denied))):
            return True
        if denied.existing and self._is_new:
            return False
        if denied.path.endswith(".*") and not (self._code.added or self._code.removed):
            return False  # of a type that is to stay as it is only the comments change
        path = denied.path.casefold()
        return any(
            denied.holds(edited) or (self._is_ordered and path.endswith(f"/{edited.casefold()}"))
            for edited in self._edited
        )

    def _written_for(self, denied: PathPattern) -> Iterator[str]:
        """What the commands write into; outside of where this is done only what is named so."""
        for path in self._written:
            outside = way_out(path)
            if outside in {"", self._outside} or denied.path.split("/")[0] == outside:
                yield path


def action_keys(deed: Deed, commands: Iterable[Command]) -> tuple[str, ...]:
    """The keys that a memory may have that warns of ``deed``, whose ``commands`` these are."""
    shapes = (shape for command in commands for shape in (command.shape, command.bare_shape))
    return (*shapes, *deed.keys())


def _in_place(
    action: ActionText, changes: Collection[str]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each of ``changes``, with where it is run, its plain and its wrapped forms.

    What is written into a script and changes something is among them.
    """
    where = branch = ""
    for command, folder in action.placed:
        if switched := _FORMS["switches_to"].match(command):
            branch = f"\n{switched['branch']}"
        if _FORMS["goes_to"].match(command):
            where = command
        elif command in changes:
            ordered = action.purpose if action.is_ordered else ""
            yield f"{where}\n{folder}\n{ordered}{branch}\n{command}", *command_forms(command)
    for command in script_commands(action.path, action.added):
        if not looks(command):
            yield f"{action.path}\n{command}", *command_forms(command)


def _is_harmless(said: str, command: str) -> bool:
    """Whether what is ``said`` beside ``command`` is of a place that concerns nobody else.

    A command that is named like such a place ("migrate dev") has to name one that does.
    """
    beside = said.replace(command, "").replace("_", " ")
    if HARMLESS_PLACE.search(command):
        return SHARED_PLACE.search(beside) is None
    return HARMLESS_PLACE.search(said) is not None
