"""Reads a repository's identity, branch and commit from its files, without running git.

A ``.git`` that was planted must not lend another project's identity, since memories are walled by
it. So a repository counts only if whoever owns the working directory, this process or root owns
it; and one that is somewhere else (a worktree, a submodule, a link) only if it points back.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ...config.patterns import regex
from ..files import Look

_MAX_LEVELS = 40
_MAX_POINTER_BYTES = 8_192
_MAX_CONFIG_BYTES = 262_144
_MAX_BRANCH_CHARS = 250

_SECTION = regex(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_SETTING = regex(r"([A-Za-z][\w-]*)\s*=\s*(.*)")
_COMMENT = regex(r"(?:^|\s)[#;].*$")
_BRANCH = regex(r"ref:\s*refs/heads/(\S+)\s*\Z")
_DETACHED = regex(r"[0-9a-f]{40,64}\s*\Z")

_URL = regex(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^/@:]*)(?::[^/@]*)?@)?(?P<host>\[[^]/]+\]|[^/:]*)"
    r"(?::(?P<port>\d*))?/(?P<path>.*)",
    re.IGNORECASE,
)
_SCP = regex(r"(?:(?P<user>[^/@:]+)@)?(?P<host>\[[^]/]+\]|[^/:]{2,}):(?!//)(?P<path>.+)")
# The port of each protocol says nothing; of the web it is either one, as behind a proxy.
_DEFAULT_PORTS = {"ssh": {"22"}, "git": {"9418"}, "http": {"80", "443"}, "https": {"80", "443"}}
_WEB = ("http", "https")
# Services where one repository is served under any user and port, and in any case of its path.
FORGES = frozenset(
    {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", "gitee.com"}
)
_OF_FORGES = regex(r"(?:www|ssh|altssh)\.(?P<forge>.+)")

_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\s*\Z")
_MAX_REF_BYTES = 256
_MAX_PACKED_BYTES = 4_000_000


class Repository(Struct, frozen=True):
    """A working tree: its top, the directory that all its worktrees share, its origin, its branch.

    ``origin`` is the normalised remote, "" if there is none; ``branch`` is None when detached.
    ``remote`` is that remote where it is elsewhere. ``is_separate`` where ``top`` names a directory
    of git's that does not name ``top``.
    """

    top: Path
    common: Path
    origin: str
    branch: str | None
    remote: Remote | None = None
    is_separate: bool = False


def find_repository(start: Path, look: Look) -> Repository | None:
    """The repository that ``start`` (absolute, without links) is in, or None."""
    for top in (start, *start.parents[:_MAX_LEVELS]):
        if look.exists(dot_git := top / ".git"):
            return _open(top, dot_git, start, look)
    return None


def repository_of(tree: Path, look: Look) -> Path | None:
    """The repository whose working tree ``tree`` is, as the directory that all worktrees share.

    Where ``tree`` has none: itself if it is a bare repository, or, where nothing is there, the bare
    one named like it with ``.git``. None where there is neither.
    """
    if look.exists(dot_git := tree / ".git"):
        repository = _open(tree, dot_git, tree, look)
        return repository.common if repository is not None else None
    bare = tree if look.exists(tree) else tree.with_name(f"{tree.name}.git")
    is_there = look.exists(bare / "HEAD") and look.is_directory(bare / "objects")
    return _real(bare) if is_there else None


def is_bare(common: Path, look: Look) -> bool:
    """Whether the repository at ``common`` says that it has no working tree."""
    config = read_config(look.text(common / "config", _MAX_CONFIG_BYTES) or "")
    return config.get("core.bare", "").lower() == "true"


class Remote(Struct, frozen=True):
    """A remote elsewhere, taken apart. ``user`` is whose home or account it is; "" for git's."""

    host: str
    path: str
    user: str = ""
    port: str = ""
    web_port: str = ""

    @property
    def identity(self) -> str:
        """One spelling for every way to write it: "github.com/owner/repo", "ana@host:2222/repo"."""
        if forge := self.forge:
            return f"{forge}/{self.path}".lower()
        user = f"{self.user}@" if self.user else ""
        return f"{user}{self.host.lower()}{self.port}/{self.path}"

    @property
    def before(self) -> str:
        """The spelling that did not tell users, ports of ssh and the case of paths apart."""
        return f"{self.host}{self.web_port}/{self.path}".lower()

    @property
    def forge(self) -> str:
        """The well-known service that it is on, or ""."""
        host = self.host.lower()
        if found := _OF_FORGES.fullmatch(host):
            host = found["forge"]
        return host if host in FORGES else ""


def read_remote(url: str) -> Remote | None:
    """The remote that ``url`` names; None for a path, and for what is no remote."""
    url = url.strip()
    if match := _URL.fullmatch(url):
        return None if match["scheme"].lower() == "file" else _remote(match, match["scheme"])
    return _remote(match, "ssh") if (match := _SCP.fullmatch(url)) else None


def _remote(match: re.Match[str], scheme: str) -> Remote | None:
    found, scheme = match.groupdict(), scheme.lower()
    # Behind the path of a web address may stand a token.
    path = re.split(r"[?#]", found["path"], maxsplit=1)[0] if scheme in _WEB else found["path"]
    path = re.sub(r"/{2,}", "/", path.strip("/")).removesuffix(".git").rstrip("/")
    if not (found["host"] and path):
        return None
    # What stands before the host of a web address are credentials.
    user = "" if scheme in _WEB or found["user"] == "git" else found["user"] or ""
    number = found.get("port") or ""
    port = f":{number}" if number and number not in _DEFAULT_PORTS.get(scheme, ()) else ""
    web_port = port if scheme in _WEB else ""
    return Remote(host=found["host"], path=path, user=user, port=port, web_port=web_port)


def normalise_remote(url: str, base: Path) -> str:
    """One spelling for every way to write a remote, as ``Remote.identity`` has it.

    A path, relative ones from ``base``, stays a path, and is that of the repository's working
    tree. "" for what is not a remote.
    """
    url = url.strip()
    if remote := read_remote(url):
        return remote.identity
    if url.lower().startswith("file://"):
        url = url[len("file://") :]
    if not url or "://" in url:
        return ""
    return working_tree_of(os.path.normpath(base / url))


def working_tree_of(directory: str) -> str:
    """``directory`` without the ``.git`` at its end: a clone's origin names the tree it is of.

    Only a name: whether that is its working tree, ``repository_of`` says.
    """
    return directory.removesuffix("/.git").removesuffix(".git").rstrip("/") or "/"


def _open(top: Path, dot_git: Path, start: Path, look: Look) -> Repository | None:
    own = git_dir(top, dot_git, look)
    if own is None or look.owner(own) not in _trusted(start, look):
        return None
    head = look.text(own / "HEAD", _MAX_POINTER_BYTES)
    if head is None or not (head.startswith("ref:") or _DETACHED.match(head)):
        return None
    common = _common_dir(own, look)
    config = _config(own, common, look)
    if not _points_back(own, common, top, dot_git, config, look):
        return None
    url = config.get("remote.origin.url", "")
    return Repository(
        top=top,
        common=common,
        origin=normalise_remote(url, top),
        branch=branch_of(head),
        remote=read_remote(url),
        is_separate=own not in (dot_git, common / "worktrees" / own.name)
        and "core.worktree" not in config,
    )


def _config(own: Path, common: Path, look: Look) -> dict[str, str]:
    config = read_config(look.text(common / "config", _MAX_CONFIG_BYTES) or "")
    if config.get("extensions.worktreeconfig", "").lower() == "true":
        # `git sparse-checkout` moves the way back from a submodule there.
        of_tree = read_config(look.text(own / "config.worktree", _MAX_CONFIG_BYTES) or "")
        config |= {name: of_tree[name] for name in ("core.worktree",) if name in of_tree}
    return config


def git_dir(top: Path, dot_git: Path, look: Look) -> Path | None:
    """Where git keeps what is of this working tree alone, which ``dot_git`` is or names."""
    if look.is_directory(dot_git):
        return _real(dot_git)
    pointer = look.text(dot_git, _MAX_POINTER_BYTES) or ""
    if not pointer.startswith("gitdir:"):
        return None
    target = _real(top / pointer.removeprefix("gitdir:").strip())
    return target if look.is_directory(target) else None


def _trusted(start: Path, look: Look) -> set[int | None]:
    return {os.geteuid(), 0, look.owner(start)} - {None}


def _common_dir(git_dir: Path, look: Look) -> Path:
    pointer = look.text(git_dir / "commondir", _MAX_POINTER_BYTES)
    if not pointer or not pointer.strip():
        return git_dir
    return _real(git_dir / pointer.strip())


def _points_back(
    git_dir: Path, common: Path, top: Path, dot_git: Path, config: dict[str, str], look: Look
) -> bool:
    if common != git_dir:  # a worktree: registered in the repository, and naming its .git file
        back = look.text(git_dir / "gitdir", _MAX_POINTER_BYTES) or ""
        registered = git_dir.parent == common / "worktrees"
        return registered and _real(git_dir / back.strip()) == dot_git
    if git_dir == dot_git:
        return True
    if tree := config.get("core.worktree"):  # a submodule
        return _real(git_dir / tree) == top
    # `git init --separate-git-dir` leaves no way back; but a ".git" belongs to where it is.
    return git_dir.name != ".git"


def _real(path: Path) -> Path:
    """``path`` without links; unlike ``Path.resolve`` it does not mind links that go round."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def branch_of(head: str) -> str | None:
    """The branch that a ``HEAD`` of this content is on; None where it is on none."""
    match = _BRANCH.match(head)
    if match is None or match[1].startswith(".") or not match[1].isprintable():
        return None
    return match[1][:_MAX_BRANCH_CHARS]


def read_config(text: str) -> dict[str, str]:
    """The settings of a git config as ``section.subsection.key``; a later one wins.

    Includes are not followed and continued lines are cut: neither names a remote.
    """
    settings: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        rest = line.strip()
        if match := _SECTION.match(rest):
            name = match[1].lower()
            section = f"{name}.{_unescape(match[2])}" if match[2] is not None else name
            rest = rest[match.end() :]
        if match := _SETTING.match(rest):
            settings[f"{section}.{match[1].lower()}"] = _value(match[2])
    return settings


def _value(raw: str) -> str:
    raw = raw.strip()
    if raw.startswith('"'):
        quoted = re.match(r'"((?:[^"\\]|\\.)*)"', raw)
        return _unescape(quoted[1]) if quoted else ""
    return _COMMENT.sub("", raw).strip()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def top_of(root: str) -> Path:
    """The top of the working tree that ``root`` is in, without links; ``root`` without git."""
    start = _real(Path(root))
    repository = find_repository(start, Look())
    return repository.top if repository is not None else start


def head_commit(root: str) -> str:
    """The hash of the commit that is checked out at ``root``; "" if there is none, or no git."""
    look = Look()
    repository = find_repository(Path(root), look)
    if repository is None:
        return ""
    if repository.branch is None:
        own = git_dir(repository.top, repository.top / ".git", look)
        return _commit_hash(look.text(own / "HEAD", _MAX_REF_BYTES)) if own is not None else ""
    return _branch_commit(repository, repository.branch, look)


def _branch_commit(repository: Repository, branch: str, look: Look) -> str:
    if ".." in PurePosixPath(branch).parts:
        return ""
    name = f"refs/heads/{branch}"
    if found := _commit_hash(look.text(repository.common / name, _MAX_REF_BYTES)):
        return found
    packed = look.text(repository.common / "packed-refs", _MAX_PACKED_BYTES) or ""
    for line in packed.splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _commit_hash(commit)
    return ""


def _commit_hash(text: str | None) -> str:
    return text.strip() if text and _COMMIT.match(text) else ""
