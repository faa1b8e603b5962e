"""What an action writes and runs, as far as it is new: names in code, libraries, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from msgspec import Struct

from ...config.patterns import regex

_COMMENT = regex(r"\s*(?:#(?!\[|include)|//|\*|--\s|/\*|\"\"\"|<!--)")
_COMMENT_BEHIND = regex(r"\s(?://|#)\s.*")
# A string in one line or in three quotation marks, where no code stands in it in braces.
_LITERAL = regex(
    r"\"\"\"[^{}]*?\"\"\"|\"(?:[^\"\\\n{}]|\\[^\n])*\"|'(?:[^'\\\n{}]|\\[^\n])*'|`[^`{}]*`"
)
_CODE_FILE = regex(
    r"\.(?:pyi?|[cm]?[jt]sx?|vue|svelte|go|java|kts?|scala|cs|cpp|hpp|cc|[ch]|swift|dart|php|rb|ipynb)\Z"
)
_IMPORTS = regex(
    r"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"((?!\.)(?:[\w.-]+/)+[\w.-]+)\"\s*$"
    r"|^\s*(?:import|from)\s+(?:static\s+|type\s+)?([A-Za-z_][\w-]*)|\bfrom\s+['\"](@?[\w-]+(?:/[\w.-]+)?)"
    r"|^\s*import\s+['\"](@?[\w-]+(?:/[\w.-]+)?)|\brequire\(\s*['\"](@?[\w-]+(?:/[\w.-]+)?)"
    r"|^\s*use\s+([A-Za-z_]\w*)|^\s*(?:using|alias)\s+([A-Za-z_]\w*)",
    re.MULTILINE,
)
# Of a class on the JVM: "import io.reactivex.rxjava3.core.Single".
_JVM_FILE = regex(r"\.(?:java|kts?|scala|groovy)\Z")
_JVM_IMPORT = regex(r"^\s*import\s+(?:static\s+)?((?:[a-z]\w*\.){2,})", re.MULTILINE)
_NAME_PART = regex(r"[@/._-]+")
_HOST_PART = regex(r"[.-]")
_OWNED_HOST = regex(r"(?:github|gitlab|bitbucket)\.(?:com|org)\Z")
_URL_HOST = regex(r"https?://([\w.-]+)|['\"(]//([\w.-]+)")
_INSTALL = regex(
    r"(?:\w+=\S+ +)*(?:sudo +)?(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|pipenv|cargo|go|gem|bundle|mix"
    r"|composer|flutter|dart|dotnet|expo|npx|conda|brew)\s(?:.*\s)?(?:add|install|i|get|require)\s"
    r"(?P<packages>.*)"
)
_MANIFEST = regex(
    r"(?:^|/)(?:package\.json|pyproject\.toml|Cargo\.toml|Pipfile|pubspec\.yaml|requirements[\w/.-]*\.txt"
    r"|composer\.json|go\.mod|Gemfile|\.pre-commit-config\.yaml|build\.gradle(?:\.kts)?"
    r"|libs\.versions\.toml|pom\.xml|[\w.-]+\.csproj|[\w.-]+\.props|build\.sbt)\Z"
)
_REQUIRED = regex(
    r"(?<![\w./-])[\"']?(@?[A-Za-z][\w./-]++)[\"']?(?:\[[\w,]*\])?[ ]*(?:[:=<>~^!]|,? v?\d)"
)
_REFERENCED = regex(r"(?:\blibs\.|\bInclude=\"|<artifactId>|\bgem\s['\"])([\w-]+(?:\.[\w-]+)*)")
# "io.mockk:mockk-android:1.13", in manifests of the JVM.
_ARTIFACT = regex(r"(?<![\w.-])[\w.-]++:([a-z]\w*+)-[\w-]++:")
_JVM_MANIFEST = regex(r"(?:\.gradle(?:\.kts)?|pom\.xml|\.toml)\Z")
_SCALA_ARTIFACT = regex(r"%%?\s*\"([\w-]+)\"\s*%")
_LOG_CALL = regex(
    r"(?i)(?<!\w)_?(?:log(?:ger|ging)?|slog|console|sentry|timber|tracing|zap)(?:\.\w{1,30}){0,2}(?:\.|::)"
    r"(?:debug|info|warn(?:ing)?|err(?:or)?|trace|fatal|critical|exception|log|[diwe]|print\w{0,9}"
    r"|capture\w{1,20}|\w{2,12}context|msg\w{0,9})!?\(|LoggerMessage\(|\b(?:debug|info|warn|error|trace)!\("
)
NEW_DEPENDENCY, LOG_CALL = "new dependency", "log call"
"""The keys of what adds a library, and of what writes a log."""

# Much else is set in these than libraries.
_BUILD_FILE = regex(r"(?:\.sbt|\.props|\.csproj|\.gradle(?:\.kts)?|pom\.xml|Gemfile)\Z")
_KEYED_FILE = regex(r"\.(?:json|toml|yaml)\Z")
_KEYED = regex(
    r"[\"']?(@?[A-Za-z][\w./-]*+)[\"']?\s?[:=]\s?(?:[\"']?[\^~>=<]{0,2}\s?\d|\{\s?(?:version|git)\b)"
)
_NO_PACKAGES = frozenset(
    "version rust-version edition python node npm pnpm yarn requires-python sdk flutter".split()
)
_OWN_PACKAGE = regex(r"(?:.*@)?(?:workspace|file|link):|\.{1,2}/|.*\.txt\Z")
_HOOK = regex(r"^- id:\s*([\w-]+)", re.MULTILINE)
_VERSION = regex(r"(?<=.)[@=<>~!\[].*|-binary\b.*")
IDENTIFIER = regex(r"[A-Za-z_]\w*(?:-\w+)*")
"""A name in code, or in the name of an option."""

TOKEN = regex(r"\w+(?:\.\d+)*")
"""A name or a number in code."""

_SET = regex(r"(?<![\w-])([A-Za-z_]\w*+(?:-\w++)*+)[\"']?\s*+(?:[<>~!^]?=|:)")


_WORD = regex(r"[a-z]{3,}")
FILLER = frozenset(
    "push merge commit deploy release run skip forget start stop build ship touch edit change"
    " the any all this that its are for from into new our not never use using with and you can"
    " don they them there here must should have has was were will only always instead but"
    " review".split()
)
"""Words that say nothing, or name what is done rather than what is used."""

TYPES = frozenset(
    "float double real decimal varchar any unknown object number string"
    " f32 f64 float32 float64".split()
)
"""Names of types, which stand where no library and no call does."""

_JOINTS = regex(r"[\s_.-]+")
_TYPE_HEAD = regex(r"([A-Z][a-z]+)[A-Z]\w*")
_STEM = 5
_MOST_LINES = 8


class Written(Struct, frozen=True, dict=True):
    """What an action writes and runs, as far as it is new.

    ``added`` and ``removed`` are lines without comments, ``commands`` those that change something,
    ``said`` is what it says of itself beside what it writes, and ``path`` its file.
    """

    path: str
    added: str
    removed: str
    commands: tuple[str, ...]
    said: str

    def identifiers(self) -> set[str]:
        """Those of what is new, folded; a ``FloatField`` is a ``float`` as well."""
        new = set(IDENTIFIER.findall(self.added))
        ran = IDENTIFIER.findall("\n".join(self.commands))
        heads = (head[1].casefold() for name in new if (head := _TYPE_HEAD.fullmatch(name)))
        named = {name.casefold().removesuffix("-binary") for name in new.union(ran)}
        named |= {name.removesuffix("async") for name in named}
        return named | TYPES.intersection(heads)

    def names(self) -> set[str]:
        """The identifiers, what is brought in, and the parts of both and of new hosts, folded."""
        hosts = (part for host in self.hosts for part in _HOST_PART.split(host))
        brought_in = self.brought_in
        parts = (part for name in brought_in for part in _NAME_PART.split(name))
        return self.identifiers().union(brought_in, parts, hosts, self._kinds())

    def _kinds(self) -> Iterator[str]:
        if self.new_packages:
            yield NEW_DEPENDENCY
        if self.log_calls:
            yield LOG_CALL

    def changes(self) -> Iterator[str]:
        """What it sets ("set debug"), and each word of what it takes away ("gone 2gi"), folded."""
        yield from (f"set {squeezed(name)}" for name in set(_SET.findall(self.added)))
        yield from (f"gone {name.casefold()}" for name in set(TOKEN.findall(self.removed)))

    @cached_property
    def code(self) -> str:
        """``added`` with blanks for what is quoted, where the file is known to be code."""
        if not _CODE_FILE.search(self.path):
            return self.added
        return _LITERAL.sub(_blanked, self.added)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The beginnings of the words of all of it."""
        return stems(f"{self.said}\n{self.added}")

    def statement(self, at: int) -> str:
        """The lines of ``added`` of the call, or the list, that place ``at`` is in."""
        lines = self.added.split("\n")
        first = last = self.added.count("\n", 0, at)
        depth = 0
        while (depth := depth + _opened(lines[first])) <= 0 < first and last - first < _MOST_LINES:
            first -= 1
        if depth <= 0:
            return lines[last]
        while last + 1 < len(lines) and last - first < _MOST_LINES:
            if _opened("\n".join(lines[first : last + 1])) <= 0:
                break
            last += 1
        return "\n".join(lines[first : last + 1])

    @cached_property
    def installed(self) -> frozenset[str]:
        """The packages that a command installs, folded."""
        packages = (
            _plain(word.strip("'\""))
            for command in self.commands
            if (install := _INSTALL.match(command))
            for word in install["packages"].split()
            if not (word.startswith("-") or _OWN_PACKAGE.match(word))
        )
        return frozenset(name.casefold() for one in packages for name in _names_of(one))

    @cached_property
    def new_packages(self) -> frozenset[str]:
        """The packages that are installed, or that a manifest lists and did not before."""
        if not _MANIFEST.search(self.path):
            return self.installed
        listed = _listed(self.path, self.added) - _listed(self.path, self.removed)
        return frozenset(listed) | self.installed

    @cached_property
    def log_calls(self) -> tuple[str, ...]:
        """The calls of a logger that are new."""
        return tuple(
            call
            for found in _LOG_CALL.finditer(self.added)
            if (call := self.statement(found.start())) not in self.removed
        )

    @cached_property
    def brought_in(self) -> frozenset[str]:
        """What is imported, installed or run, and was not before, folded."""
        imported = _imported(self.added) - _imported(self.removed)
        if _JVM_FILE.search(self.path):
            imported |= _jvm_imported(self.added) - _jvm_imported(self.removed)
        if _MANIFEST.search(self.path):
            imported |= _required(self.added) - _required(self.removed)
            if _JVM_MANIFEST.search(self.path):
                artifacts = set(_ARTIFACT.findall(self.added))
                imported |= artifacts.difference(_ARTIFACT.findall(self.removed))
        programs = (command.partition(" ")[0] for command in self.commands)
        return frozenset(name.casefold() for name in (*imported, *programs)) | self.installed

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts of the addresses that are new, folded."""
        found = _URL_HOST.findall(self.added.casefold())
        return frozenset(host for groups in found for host in groups if host)


def _blanked(literal: re.Match[str]) -> str:
    """As long as it was, in as many lines."""
    return "\n".join(" " * len(line) for line in literal[0].split("\n"))


def _opened(code: str) -> int:
    """How many brackets are open at the end of ``code``, fewer than none if more are closed."""
    return code.count("(") + code.count("[") - code.count(")") - code.count("]")


def _required(manifest: str) -> set[str]:
    packages = map(_plain, _REQUIRED.findall(manifest))
    named = (name for one in packages for name in _names_of(one))
    return {*_HOOK.findall(manifest), *named, *_referenced(manifest)}


def _listed(path: str, lines: str) -> set[str]:
    """The libraries that ``lines`` of the manifest at ``path`` list with their versions."""
    if _BUILD_FILE.search(path):
        return _referenced(lines)
    if _KEYED_FILE.search(path):
        return set(_KEYED.findall(lines)) - _NO_PACKAGES
    return _required(lines)


def _referenced(build: str) -> set[str]:
    """What is named as a library, whatever else stands in the file."""
    found = (form.findall(build) for form in (_REFERENCED, _SCALA_ARTIFACT))
    packages = map(_plain, chain.from_iterable(found))
    return {name for one in packages for name in _names_of(one)}


def _plain(package: str) -> str:
    return _VERSION.sub("", package)


def _imported(code: str) -> set[str]:
    modules = (one for groups in _IMPORTS.findall(code) for one in groups if one)
    return {name for module in modules for name in _names_of(module)}


def _jvm_imported(code: str) -> set[str]:
    """The first parts of each class that is imported, without the numbers of a version."""
    packages = (found.split(".")[:3] for found in _JVM_IMPORT.findall(code))
    return {part.rstrip("0123456789") for package in packages for part in package} - {""}


def _names_of(module: str) -> Iterator[str]:
    """What the library is called that ``module`` is of: "logrus" for "github.com/sirupsen/logrus".

    The whole, and the last part of a path, are among them.
    """
    yield module
    parts = module.split("/")
    if len(parts) > 1 and module[0] not in "@.":
        is_owned = _OWNED_HOST.match(parts[0])
        yield from parts[2:3] if is_owned else parts[1:2] if "." in parts[0] else parts[:1]
        yield parts[-1]


def without_comments(lines: tuple[str, ...]) -> str:
    """The ``lines`` of code as one text; what only explains them is left out."""
    return "\n".join(_COMMENT_BEHIND.sub("", line) for line in lines if not _COMMENT.match(line))


def squeezed(name: str) -> str:
    """``name`` folded, and without what joins its words."""
    return _JOINTS.sub("", name.casefold())


def stems(text: str) -> frozenset[str]:
    """The beginnings of the words of ``text`` that say something."""
    words = _WORD.findall(text.casefold())
    return frozenset(word[:_STEM] for word in words if word not in FILLER)


_INSERTS = regex(
    r"(?:sudo +)?sed\b.*? -[a-zA-Z]*i.*?['\"](?:\d{1,6}|\$|/[^/]{1,200}/) ?[ai]\\?\s*"
    r"(?P<new>[^'\n]{1,400})['\"]"
)
_REPLACES = regex(
    r"(?:sudo +)?(?:sed|perl)\b.*? -[a-zA-Z]*i.*?['\"\s]s(?P<by>[/|#,])"
    r"(?P<old>(?:(?!(?P=by)).){1,200})(?P=by)(?P<new>(?:(?!(?P=by)).){0,200})(?P=by)\S*"
)


_DELETES = regex(
    r"(?:sudo +)?(?:sed\b.*? -[a-zA-Z]*i.*?['\"\s]/(?P<lines>[^/]{1,200})/d['\"]?"
    r"|yq\b.*? -[a-zA-Z]*i.*?\bdel\((?P<key>[^()]{1,200})\)['\"]?)"
)


def replaced_by(command: str, said: str) -> Iterator[Written]:
    """What the single ``command`` replaces, inserts or deletes in files, as a change of each."""
    if found := _DELETES.match(command):
        gone = (found["lines"] or found["key"]).replace("\\", "")
        for path in command[found.end() :].split():
            yield Written(path=path, added="", removed=gone, commands=(), said=said)
    if found := _INSERTS.match(command):
        for path in command[found.end() :].split():
            yield Written(path=path, added=found["new"], removed="", commands=(), said=said)
    if found := _REPLACES.match(command):
        old, new = (found[which].replace("\\", "") for which in ("old", "new"))
        for path in command[found.end() :].split():
            yield Written(path=path, added=new, removed=old, commands=(), said=said)
