"""Actions, held against rules as the product does."""

from subcog.bus.values import Action
from subcog.stages.actions.reading import read_action
from subcog.stages.breaches.deed import Deed
from subcog.stages.breaches.stated import rules_of


def deed(command="", path="", written="", replaced="", others=()):
    """What an action does that runs ``command``, or changes ``path`` and ``others``."""
    paths = (path, *others) if path else ()
    action = Action(tool="a", paths=paths, command=command, written=written, replaced=replaced)
    return Deed(read_action(action, tops=("/p",)))


def breaks(rule, done):
    """Whether ``done`` breaks ``rule``; what breaks it has to be found by a key as well."""
    found = done.breaks(rule)
    assert not found or done.keys() & set(rules_of(rule).keys())
    return found
