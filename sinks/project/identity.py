"""Knows a project from its files: who it is, where it is, and what it is made of.

Nothing is run and no tree is walked. What was read is kept until one of the files that were looked
at changes.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec
from cachetools import LRUCache

from ...bus.prompts import ProjectFacts
from ...bus.values import Place, Scope
from ..files import Look, Stamp, replace_file, unchanged
from .git import Repository, find_repository, is_bare, repository_of, working_tree_of
from .kinship import Kinship
from .manifests import read_facts
from .trees import absolute, is_inside, other_trees

_CACHED = 256
_ID_HEX_DIGITS = 12
_MAX_NAME_CHARS = 40
_FETCHED = ("FETCH_HEAD", "packed-refs", "refs/heads", "refs/remotes/origin")
_T = TypeVar("_T")
MAX_ENTRIES = 10_000
MAX_BYTES = 4_000_000
_log = logging.getLogger(__name__)


class Projects:
    """Places and facts of projects, cached. Safe to use from several threads.

    No scope is named by the end of a remote's address for which ``is_secret`` says so.
    """

    def __init__(
        self,
        succession: Succession | None = None,
        kinship: Kinship | None = None,
        is_secret: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._is_secret = is_secret
        self._succession = succession or Succession()
        self._kinship = kinship or Kinship()
        self._places: _Cache[_Located] = _Cache()
        self._trees: _Cache[tuple[Path, ...]] = _Cache()
        self._facts: _Cache[ProjectFacts] = _Cache()

    def place(self, *, project_dir: str, cwd: str, user: str) -> Place:
        """Where the agent works.

        ``project_dir`` is the directory that the agent calls the project; where it is empty or not
        absolute, ``cwd`` is asked. The project's identity is its origin, so that clones share and
        forks do not; without one, or where it is no kin of the project with that origin, be that a
        path or elsewhere, the directory that all its worktrees share; without git the directory.
        What it was known by before can be read on. ``root`` is ``project_dir`` or else the top of
        the working tree, which is the first of ``trees``.
        Never raises for what the file system holds.
        """
        named = absolute(project_dir)
        start = named or absolute(cwd) or Path("/")
        found = self._located(start)
        others = self._trees.get(found.top, lambda look: other_trees(found.top, look))
        before = found.tree
        if found.remote and self._succession.goes_on(found.remote, found.scope):
            before = (found.remote, *before)
        return Place(
            project=found.scope,
            root=_text(start if named else found.top),
            trees=tuple(map(_text, (found.top, *others))),
            user=Scope("user", user),
            branch=found.branch,
            before=tuple(scope for scope in before if scope != found.scope),
        )

    def standing(self, directory: str) -> Standing:
        """Which project ``directory`` is, and which one it only says that it is."""
        found = self._located(absolute(directory) or Path("/"))
        return Standing(found.scope, found.claimed, str(found.top))

    def judge(self, directory: str, *, is_member: bool) -> Standing:
        """Note the user's word: ``directory`` is the project that its origin names, or it is not.

        Raises ValueError where it names none.
        """
        found = self._located(absolute(directory) or Path("/"))
        if found.origin is None or found.common is None:
            raise ValueError(f"{found.top} names no project: it has no remote called origin")
        self._kinship.judge(found.bound, found.common, is_member=is_member)
        self._places = _Cache()
        return self.standing(directory)

    def is_refused(self, directory: str) -> bool:
        """Whether ``directory`` is not the project that it names, and nobody was told so yet."""
        found = self._located(absolute(directory) or Path("/"))
        if found.claimed is None or found.common is None:
            return False
        return self._kinship.is_first_telling(found.common)

    def _located(self, start: Path) -> _Located:
        return self._places.get(
            start, lambda look: _locate(start, look, self._kinship, self._is_secret)
        )

    def has_origin(self, directory: str) -> bool:
        """Whether clones elsewhere are the same project: it has an origin that is no path here."""
        start = absolute(directory)
        repository = find_repository(start, Look()) if start is not None else None
        return repository is not None and _is_elsewhere(repository.origin)

    def facts(self, root: str) -> ProjectFacts:
        """What the manifests directly under ``root`` say; empty where they say nothing."""
        start = absolute(root)
        if start is None:
            return ProjectFacts()
        return self._facts.get(start, lambda look: read_facts(start, look))

    def existing(self, root: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of ``paths`` that name something inside the project at ``root``."""
        start = absolute(root)
        return tuple(path for path in paths if start is not None and is_inside(start, path))


class _Cache(Generic[_T]):
    """Answers, each with the stamps of the files that it came from. Safe in several threads."""

    def __init__(self) -> None:
        self._kept: LRUCache[Path, tuple[Mapping[Path, Stamp], _T]] = LRUCache(_CACHED)
        self._lock = threading.Lock()

    def get(self, key: Path, make: Callable[[Look], _T]) -> _T:
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and unchanged(kept[0]):
            return kept[1]
        look = Look()
        made = make(look)
        with self._lock:
            self._kept[key] = (look.stamps, made)
        return made


class _Located(NamedTuple):
    """A project's scope, top and branch, and the scopes that it may have had before.

    ``remote`` is that of its remote, None where nobody else can have had the same; ``tree`` those
    that are its alone: of its directory, before it was given a remote, and of its remote where the
    name was no secret then, or was one. ``origin`` is that which its origin
    names, ``claimed`` the same where it is not that project and the user did not say so. Kinship
    knows ``origin`` as ``bound``, and what may belong to it as ``common``.
    """

    scope: Scope
    top: Path
    branch: str | None = None
    remote: Scope | None = None
    tree: tuple[Scope, ...] = ()
    origin: Scope | None = None
    claimed: Scope | None = None
    bound: str = ""
    common: Path | None = None


class Standing(NamedTuple):
    """A directory's project, and the one whose remote it names without being that: mostly None."""

    project: Scope
    claimed: Scope | None
    top: str


def _locate(
    start: Path, look: Look, kinship: Kinship, is_secret: Callable[[str], bool]
) -> _Located:
    repository = find_repository(start, look)
    if repository is None:
        return _locate_folder(start, look, kinship)
    common, named = repository.common, working_tree_of(str(repository.common))
    is_own = _has_name(common, named, look, kinship)
    tree = _of_tree(named)
    if not is_own:
        tree = _beside(named) if common.name == ".git" else _of_tree(str(common))
    # What is not the project of its name says that it is, as a clone of that path does.
    origin = repository.origin or ("" if is_own else named)
    is_path = not _is_elsewhere(origin)
    own = _of_tree(origin) if is_path else _of_remote(origin, is_secret)
    if repository.is_separate:
        alone = _locate_parted(repository, own if origin else tree, look, kinship)
        if alone is not None:
            return alone
    if not origin or own == tree:
        return _Located(tree, repository.top, repository.branch)
    renamed = own if is_path else _of_remote(origin, lambda name: not is_secret(name))
    was_renamed = kinship.knows(renamed.id) or is_secret(origin.rsplit("/", 1)[-1])
    bound = renamed.id if kinship.knows(renamed.id) and not kinship.knows(own.id) else own.id
    here = _Located(tree, repository.top, repository.branch, origin=own, bound=bound, common=common)
    if is_path:
        is_kin = _shows_kinship_to_path(own, Path(origin), common, look, kinship)
    else:
        is_kin = kinship.admits(bound, common, look.owner(common))
    if not is_kin:
        for name in _FETCHED:  # what is fetched later may show that it is kin
            look.exists(common / name)
        return _claiming(here, kinship)
    earlier = (renamed, tree) if was_renamed else (tree,)
    remote = repository.remote
    before = _of_remote(remote.before, is_secret) if remote else own
    told_apart = remote is not None and not (remote.forge and before == own)
    return here._replace(scope=own, remote=before if told_apart else None, tree=earlier)


def _claiming(here: _Located, kinship: Kinship) -> _Located:
    """``here``, which is not the project that it names, and claims it unless the user parted it."""
    is_parted = here.common is not None and kinship.was_parted(here.bound, here.common)
    is_same = here.origin == here.scope
    return here if is_parted or is_same else here._replace(claimed=here.origin)


def _locate_parted(
    repository: Repository, named: Scope, look: Look, kinship: Kinship
) -> _Located | None:
    """The top of a separate git directory that belongs to another top; None where it is its own.

    Git leaves no way back: it belongs to who is seen first, and to what is put in its place later,
    as from a backup.
    """
    top = repository.top
    bound = _scope(f"separate:{repository.common}", str(repository.common)).id
    if kinship.admits(bound, top, None) or kinship.is_at(bound, top):
        return None
    scope = _beside(str(top)) if _is_taken(top, look, kinship) else _of_tree(str(top))
    alone = _Located(scope, top, repository.branch, origin=named, bound=bound, common=top)
    return _claiming(alone, kinship)


def _locate_folder(start: Path, look: Look, kinship: Kinship) -> _Located:
    """``start``, which is in no repository: the project of its name unless a bare one is."""
    own = _of_tree(str(start))
    if not _is_taken(start, look, kinship):
        return _Located(own, start)
    here = _Located(_beside(str(start)), start, origin=own, bound=own.id, common=start)
    if kinship.admits(own.id, start, None):
        return here._replace(scope=own, tree=(here.scope,))
    return _claiming(here, kinship)


def _has_name(common: Path, named: str, look: Look, kinship: Kinship) -> bool:
    """Whether the repository at ``common`` is the project of ``named``, as its working tree is.

    ``shop.git`` is that of ``shop`` if no other repository, or folder, was there when it was first
    seen, and stays it when one is there later.
    """
    if named == str(common):
        return True
    if common.name == ".git":
        return not _is_taken(Path(named), look, kinship)
    project = _of_tree(named).id
    if kinship.is_first(project, common):
        return True
    is_free = not kinship.knows(project) and not kinship.is_judged(project, common)
    if not is_free or repository_of(Path(named), look) != common:
        return False
    kinship.bind(project, common, look.owner(common))
    return True


def _is_taken(tree: Path, look: Look, kinship: Kinship) -> bool:
    """Whether the bare repository named like ``tree`` is the project of that name."""
    bare = Path(f"{tree}.git")
    return kinship.is_first(_of_tree(str(tree)).id, bare) and look.exists(bare)


def _beside(tree: str) -> Scope:
    """What is at ``tree`` where a bare repository is the project of that name."""
    return _scope(f"beside:{tree}", tree)


def _shows_kinship_to_path(
    own: Scope, tree: Path, common: Path, look: Look, kinship: Kinship
) -> bool:
    """Whether the repository at ``common`` is kin of the one at the path that is its origin.

    That is looked for until it is decided: it may be on another disk.
    """
    if kinship.is_judged(own.id, common):
        return kinship.admits(own.id, common, None)
    there = Look()
    home = Path(f"{tree}.git") if _is_taken(tree, there, kinship) else repository_of(tree, there)
    if home is not None and home != common:
        kinship.bind(own.id, home, there.owner(home))
        for name in ("HEAD", *_FETCHED):
            there.exists(home / name)
    # In a bare repository nobody works. Who works in another one has a memory before any commit.
    owner = look.owner(common) if home is not None and is_bare(home, there) else None
    if kinship.knows(own.id) and kinship.admits(own.id, common, owner):
        return True
    look.stamps.update(there.stamps)
    return False


def _text(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode()


def _of_remote(origin: str, is_secret: Callable[[str], bool]) -> Scope:
    name = origin.rsplit("/", 1)[-1]
    return _scope(f"remote:{origin}", "project" if is_secret(name) else name)


def _of_tree(directory: str) -> Scope:
    return _scope(f"tree:{directory}", directory)


def _is_elsewhere(origin: str) -> bool:
    return bool(origin) and not origin.startswith("/")


def _scope(identity: str, path: str) -> Scope:
    """A scope whose id tells the project's name and nothing of where it is."""
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    name = re.sub(r"[^a-z0-9._-]+", "-", path.rsplit("/", 1)[-1].lower()).strip("-.")
    return Scope("project", f"{name[:_MAX_NAME_CHARS] or 'root'}-{digest[:_ID_HEX_DIGITS]}")


class Succession:
    """Remembers in ``file`` which scope of today goes on with which of before.

    Users, ports of ssh and the case of a path did not count once, so that several projects had one
    scope. What is stored in it is read on by the one that is seen first, and by no other; a project
    whose scope it is today takes it back.

    Without a file it is remembered as long as this lives. Safe to use from several threads.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._successors: dict[str, str] | None = None

    def goes_on(self, before: Scope, now: Scope) -> bool:
        """Whether the project with the scope ``now`` reads what is stored in ``before``."""
        with self._lock:
            if self._successors is None:
                self._successors = self._read()
            held = self._successors.get(before.id)
            if held == now.id:
                return True
            if held is not None and before != now:
                return False
            if held is None and len(self._successors) >= MAX_ENTRIES:
                return before == now
            self._successors[before.id] = now.id
            self._write(self._successors)
            return True

    def _read(self) -> dict[str, str]:
        if self._file is None:
            return {}
        try:
            with self._file.open("rb") as source:
                return msgspec.json.decode(source.read(MAX_BYTES), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            _log.warning("cannot read the earlier scopes", extra={"error": type(error).__name__})
            return {}

    def _write(self, successors: dict[str, str]) -> None:
        if self._file is None:
            return
        try:
            replace_file(self._file, msgspec.json.encode(successors))
        except OSError as error:  # it is decided anew after the next start
            _log.warning("cannot note the earlier scopes", extra={"error": type(error).__name__})
