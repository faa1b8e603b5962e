"""What of an action matters: what it changes, what it runs, and whether it only looks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ...bus.values import Action, Value
from ...config.patterns import regex
from ..text.unicode import one_line

MAX_LINES = 80
"""Of a longer change only the beginning is read."""

QUERY_CHARS = 400

_OUTSIDE_PARTS = 3
_READ_CHARS = 6_000
# Where one command of a shell line ends and the next begins.
_SEPARATOR = regex(r"&&|\|\||[;\n|]|(?P<quoted>'[^']*'|\"(?:[^\"\\]|\\.)*+\")")
_TO_NOWHERE = regex(r"\d*>&\d|&?\d*>>?\s*/dev/null")
_HERE_DOCUMENT = regex(
    r"(?P<line><<-?[ \t]*(?P<mark>['\"]?)(?P<word>\w{1,40})(?P=mark)[^\n]*)\n"
    r"(?P<text>.*?)(?:\n[ \t]*(?P=word)(?=\s|\Z)|\Z)",
    re.DOTALL,
)
_LOOKS = regex(
    r"(?:(?:sudo|time|command|timeout \S+) +|cd \S+ *$|\w+=\S+ +)*(?:"
    r"(?:rg|e?grep|ag|ack|cat|bat|less|more|head|tail|ls|ll|tree|find|fd|stat|file|wc|du|df|pwd|cd"
    r"|echo|printf|which|type|man|diff|jq|yq|sort|uniq|cut|awk|column|date|env|whoami|ps|top)\b"
    r"|sed -n\b"
    r"|git (?:-C \S+ )?(?:log|diff|show|grep|blame|status|branch(?: -[av]+)?|remote -v|rev-parse"
    r"|ls-files|describe)\b(?!.*(?:--delete| -[dD] ))"
    r"|gh (?:pr|issue|run|release) (?:view|list|diff|checks)\b"
    r"|kubectl (?:-\S+ \S+ )*(?:get|describe|logs|top|explain|version|cluster-info|api-resources"
    r"|config (?:get-\w+|view|current-context))\b"
    r"|docker (?:compose )?(?:ps|logs|images|inspect|stats)\b"
    r"|(?:npm|pnpm|yarn|pip|uv pip|cargo|go|poetry) (?:ls|list|show|view|outdated|tree|why|info)\b"
    r"|\S+ (?:--version|--help|-h|version|help)$)"
)


_RUNNER = regex(
    r"\A(?:(?:sudo|time|command|nohup|exec|then|do|else|!|npx|bunx|pnpm exec|uv run|poetry run"
    r"|pipenv run|bundle exec|python[\d.]* -m|timeout \S+) +|[({] *|\w+=\S* +)*"
)
_SAME_PROGRAM = regex(
    r"\A(?:pip3(?= |\Z)|docker-compose(?= |\Z)|(?:(?!/tmp/|~)\S*/)?(?:bin|\.bin)/(?=\w)"
    r"|\./(?=[\w-]+\.\w))"
)
_DJANGO = regex(r"\A(?:\S*python[\d.]* +)?(?:\S*/)?manage\.py +(?P<rest>\w.*)")
_RESOURCE = regex(
    r"(?<= )(pods?|po|deployments?|deploy|services?|svc|statefulsets?|sts|configmaps?|cm|ns"
    r"|namespaces?|nodes?|no|ingress(?:es)?|ing|jobs?|cronjobs?|cj|daemonsets?|ds|pvc"
    r"|persistentvolumeclaims?|secrets?)(?: |/|\Z)"
)
_SHORT_RESOURCES = {
    "po": "pod", "deploy": "deployment", "svc": "service", "sts": "statefulset", "cm": "configmap",
    "ns": "namespace", "no": "node", "ing": "ingress", "ingresses": "ingress", "ingress": "ingress",
    "cj": "cronjob", "ds": "daemonset", "pvc": "persistentvolumeclaim",
}  # fmt: skip
# What runs another command: a shell, another machine, a container.
_WRAPPED = regex(
    r"(?:(?:(?:ba|z)?sh +-\w*c|ssh +(?:-\S+ +)*\S+) +(?P<q>['\"])(?P<quoted>.*)(?P=q)"
    r"|(?:docker(?: compose|-compose)? (?:run|exec)|kubectl exec)\b(?: +-\S+)* +\S+(?: +--)?"
    r" +(?P<rest>.+))"
)
_GIT = r"(?:(?:sudo|command) +|\w+=\S+ +)*git (?:-C \S+ )?"
_SHORT_FLAGS = (
    (regex(rf"{_GIT}push\b"), regex(r"(?<= )-f(?= |\Z)"), "--force"),
    (regex(rf"{_GIT}push\b"), regex(r"(?<= )\+(?=\w)"), "--force "),
    (regex(r"docker(?: compose|-compose) "), regex(r"(?<= )--volumes(?= |\Z)"), "-v"),
    (regex(rf"{_GIT}commit\b"), regex(r"(?<= )-n(?= |\Z)"), "--no-verify"),
)


class ActionText(Value, frozen=True, kw_only=True):
    """An action, read.

    ``path`` is the first file, relative to the project where it is in it. ``added`` and ``removed``
    are the lines that a change of a file adds and takes away, ``commands`` the single commands of
    what is run; ``looks_only`` is whether none of them changes anything, ``is_existing`` whether
    the file has a text that is replaced. With ``is_ordered`` a file may be named without its
    folder.
    """

    path: str = ""
    other_paths: tuple[str, ...] = ()
    purpose: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    looks_only: bool = False
    is_existing: bool = False
    is_ordered: bool = False

    @property
    def head(self) -> str:
        """What the action is about, in the agent's words or by the file."""
        return self.path or self.purpose

    @property
    def query(self) -> str:
        """What to search for."""
        parts = (self.head, *self.commands, *self.removed, *self.added)
        return "\n".join(filter(None, parts))[:QUERY_CHARS]


def read_action(action: Action, *, root: str = "") -> ActionText:
    """Read ``action`` of a project at ``root``."""
    shell, here = _without_documents(action.command[:_READ_CHARS])
    commands = tuple(_commands(shell))
    paths = tuple(within(path, root) for path in action.paths)
    removed, added = _changed(action.replaced, "\n".join(filter(None, (action.written, here))))
    return ActionText(
        path=paths[0] if paths else "",
        other_paths=paths[1:],
        purpose=one_line(action.purpose),
        added=added,
        removed=removed,
        commands=commands,
        looks_only=bool(commands) and not added and all(map(looks, commands)),
        is_existing=bool(action.replaced),
    )


def within(path: str, root: str) -> str:
    """``path`` relative to ``root``; the last parts alone of one that is outside of it."""
    path = re.sub(r"/{2,}", "/", path.replace("\\", "/")).removeprefix("./")
    root = root.replace("\\", "/").rstrip("/")
    if root and path.startswith(f"{root}/"):
        return path[len(root) + 1 :]
    if path.startswith("/") or path[1:3] == ":/":
        return "/".join(path.split("/")[-_OUTSIDE_PARTS:])
    return path


def _without_documents(command: str) -> tuple[str, str]:
    """A shell line without the texts that it hands to its commands, and these texts."""
    if "<<" not in command:
        return command, ""
    texts = [found["text"] for found in _HERE_DOCUMENT.finditer(command)]
    return _HERE_DOCUMENT.sub(r"\g<line>", command), "\n".join(texts)


def _commands(command: str) -> Iterator[str]:
    lines = map(one_line, _separated(command.replace("\\\n", " ")))
    return map(_spelled_out, islice(filter(None, lines), MAX_LINES))


def _separated(line: str) -> Iterator[str]:
    """The commands of a shell line; what stands in quotes is not taken apart."""
    begin = 0
    for found in _SEPARATOR.finditer(line):
        if found["quoted"] is None:
            yield line[begin : found.start()]
            begin = found.end()
    yield line[begin:]


def _spelled_out(command: str) -> str:
    """``command`` with the long names of the short flags that rules are most often about."""
    for of, short, long in _SHORT_FLAGS:
        if of.match(command):
            command = short.sub(long, command)
    return command


def plain_commands(command: str) -> Iterator[str]:
    """``command`` without what only runs it, and the command that it runs elsewhere if any."""
    plain = _RUNNER.sub("", command, count=1).strip("(){} ").rstrip(";,.")
    plain = as_usual(" ".join(plain.split()))
    yield plain
    if django := _DJANGO.match(plain):
        yield from (f"manage.py {django['rest']}", django["rest"])
    if wrapped := _WRAPPED.match(plain):
        for inner in _separated(wrapped["quoted"] or wrapped["rest"] or ""):
            yield as_usual(" ".join(_RUNNER.sub("", inner, count=1).split()))


def as_usual(command: str) -> str:
    """``command`` with the usual names of its program and of what ``kubectl`` is about."""
    command = _SAME_PROGRAM.sub(_usual_name, command, count=1)
    return (
        _RESOURCE.sub(_usual_resource, command, count=1) if command[:8] == "kubectl " else command
    )


def _usual_name(program: re.Match[str]) -> str:
    return {"pip3": "pip", "docker-compose": "docker compose"}.get(program[0], "")


def _usual_resource(found: re.Match[str]) -> str:
    named = found[1]
    return f"{_SHORT_RESOURCES.get(named, named.removesuffix('s'))} "


def looks(command: str) -> bool:
    """Whether the single ``command`` only looks, and changes nothing."""
    return _LOOKS.match(command) is not None and ">" not in without_redirects(command)


def without_redirects(command: str) -> str:
    """``command`` without what sends its output to nowhere, or one output to the other."""
    return _TO_NOWHERE.sub("", command)


def _changed(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines that only ``before`` has, and those that only ``after`` has."""
    old, new = _lines(before), _lines(after)
    if not old:
        return (), tuple(new)
    removed: list[str] = []
    added: list[str] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += old[i:j]
            added += new[k:m]
    return tuple(removed), tuple(added)


def _lines(text: str) -> Sequence[str]:
    lines = (line.strip() for line in text[:_READ_CHARS].splitlines()[:MAX_LINES])
    return [line for line in lines if line]


# --- what a script runs ---------------------------------------------------------------------------

CI_FILE = regex(
    r"(?:\A|/)(?:\.github/workflows/|\.gitlab-ci|\.circleci/|\.buildkite/|Jenkinsfile|azure-pipelines"
    r"|bitbucket-pipelines|cloudbuild)"
)
"""A file of commands that nobody runs by hand."""

_SCRIPT = regex(
    r"\.(?:sh|bash|zsh|ya?ml|mk)\Z|(?:\A|/)(?:Makefile|GNUmakefile|[Jj]ustfile|Procfile|Jenkinsfile"
    r"|package\.json|(?:Dockerfile|Containerfile)[\w.-]*|[\w-]+\.Dockerfile)\Z"
)
# What stands before a command in a Dockerfile, a workflow, a Procfile, a Makefile or package.json.
_BEFORE_COMMAND = regex(
    r"(?:RUN|CMD|ENTRYPOINT)\s+|[\w.-]+:\s+(?!\S+:\s)(?:[|>]-?\s*)?|[@-]+\s*(?:[\w.-]+:\s+)?"
)
_PACKAGE_SCRIPT = regex(r"\"[\w:.-]+\":\s*\"([^\"\n]+)\"")
_QUOTED_WORDS = regex(r"[\[\],\"]+")


def script_commands(path: str, lines: Sequence[str]) -> Iterator[str]:
    """The single commands of ``lines`` of the file at ``path``, if such a file holds commands."""
    if not _SCRIPT.search(path):
        return
    for line in _PACKAGE_SCRIPT.findall("\n".join(lines)) if path.endswith(".json") else lines:
        if not line.startswith("#"):
            command = (
                _BEFORE_COMMAND.sub("", line, count=1) if _BEFORE_COMMAND.match(line) else line
            )
            is_quoted = command[:1] in '["' and command.rstrip(",")[-1:] in '"]'
            yield from _commands(_QUOTED_WORDS.sub(" ", command) if is_quoted else command)


# --- what an order proposes -----------------------------------------------------------------------

_ORDER_CHARS = 1_000
_BREAKS = regex(r"\s*+\n\s*+|\s{3,}+")
_BEGINS = (
    r"(?:\A|(?<=[.,;:!\n])"
    r"|\b(?:and|then|please|pls|now|also|just|let['’]?s|you|to|we can|we should))"
    r"\s*(?:please |pls |now |also |just |then )*"
)
_FILE = (
    r"`?(?<![\w./@-])(?P<path>(?:[\w.@-]++/)++[\w.@-]*+|[\w-]++(?:\.[\w-]++)*\.[A-Za-z]\w{0,7}"
    r"|\.\w{2,6}(?= files?\b))(?![\w(])"
)
_EDIT = (
    r"(?:edit|chang|fix|refactor|clean(?: up)?|tidy(?: up)?|updat|modify|rewrit|simplif"
    r"|(?:re)?format|renam|translat|delet|remov|patch|touch|adjust|correct|extend|split(?: up)?"
    r"|resolv|sort|put|add|append|insert|shorten|improv)(?:e|y|ing|)"
)
_EDITS = regex(
    rf"{_BEGINS}{_EDIT}\b(?:\s+(?:the|this|our|my|all|in|into|file|files|folder|\w{{2}}))*\s+{_FILE}"
    rf"|{_BEGINS}{_EDIT}\b(?:[^.;:!?\n]|\.(?=\w)){{1,80}}?\s(?:in|to|into|inside|within|under|from)\s+"
    rf"(?:the\s+|our\s+)?{_FILE.replace('path', 'place')}",
    re.IGNORECASE,
)
_THING = r"[@A-Za-z][\w@/-]*(?:\.[\w-]+)*+(?:\(\))?"
_TO_USE = (
    r"(?:add|us(?:e|ing)|install|pull in|bring (?:in|back)|set up|introduce|reintroduce|import|try"
    r"|(?:switch|migrate|move|convert|port|go back|change)\b"
    r"(?:[^.;:!?\n]|\.(?=\w)){0,60}?\b(?:to|back to))"
)
_USES = regex(
    rf"(?:{_BEGINS}{_TO_USE}|\b(?:with|using|via|w/)|\bhook for)\s+"
    r"(?:an?\s+|the\s+|some\s+|our\s+|new\s+)*"
    rf"`?(?P<things>{_THING}(?:`?(?:,\s*|\s+and\s+|\s+or\s+)`?{_THING})*)",
    re.IGNORECASE,
)
# What is made in a project, and no library: "add tests".
_MADE = frozenset(
    "test tests file files class function method endpoint route page button column field table"
    " comment comments doc docs documentation type types script migration index check error errors"
    " logging log logs config default export exports import imports constant hook test-case".split()
)
_SPARES = regex(r"\b(?:without|not|never|don['\u2019]?t|no longer|instead of)\b", re.IGNORECASE)
_REMOVES = regex(
    r"\b(?:stop|remove|drop|delete|get rid of|don['\u2019]?t|do not|without|no longer|instead of"
    r"|still)\b[^.;\n]*\Z",
    re.IGNORECASE,
)
_REMOVES_OR_REPLACES = regex(rf"\breplace\b[^.;\n]*\Z|{_REMOVES.pattern}", re.IGNORECASE)
_RUNS_IT = regex(
    r"\b(?:run|re-?run|execute|use|with|via|call|do|type)(?: (?:a|the))?\s*\Z", re.IGNORECASE
)
_AND = regex(r"`?(?:,\s*|\s+and\s+|\s+or\s+)`?", re.IGNORECASE)
_QUOTED_COMMAND = regex(r"`([a-z][\w./-]* [^`\n]{1,200})`")
_RUN = regex(
    rf"{_BEGINS}(?:re-?run|run|execute)\s+`?(?P<command>[a-z./][^,;`\n]{{2,120}})", re.IGNORECASE
)
_TYPED = regex(
    r"\A\s*(?P<command>(?:kubectl|helm|terraform|docker|git|npm|pnpm|yarn|pip|uv|cargo|poetry|aws"
    r"|gcloud|psql|brew|alembic|ansible-playbook)\s[^,;?\n]{2,120}+)(?!\?)"
)
_GIT_OPTION = regex(
    rf"{_BEGINS}(?P<verb>commit|push|merge|rebase)\b[^.;,\n]{{0,60}}?\s(?P<option>--[a-z][\w-]+)"
)
_FORCE_PUSH = regex(rf"{_BEGINS}force[- ]push(?P<rest>[^.;,\n]{{0,60}})", re.IGNORECASE)
_COMMAND_END = regex(
    r"\s+(?:and|then|in|on|for|against|at|from|before|after|so|until|again|please|pls)\b.*|[.?!]+\Z"
)


def read_order(text: str) -> ActionText:
    """What the order ``text`` would have done, as far as it names it itself.

    A file that it says to change is one that is changed, a library that it says to use one that is
    imported, and a command that it says to run one that is run; ``purpose`` is all that it says.
    """
    text = _BREAKS.sub("\n", text[:_ORDER_CHARS])
    edits = (found for found in _EDITS.finditer(text) if not _SPARES.search(found[0]))
    files = (found["path"] or found["place"] for found in edits)
    paths = tuple(f"any{path}" if path.startswith(".") else path for path in files)
    uses = (found for found in _USES.finditer(text) if not _ends_use(text, found))
    used = (one for found in uses for one in _AND.split(found["things"]))
    things = (one for one in used if one.casefold() not in _MADE)
    return ActionText(
        path=paths[0] if paths else "",
        other_paths=paths[1:],
        purpose=one_line(text),
        added=tuple(f"import '{one}'" if one[0] == "@" else f"import {one}" for one in things),
        commands=tuple(dict.fromkeys(_ordered_commands(text))),
        is_existing=True,
        is_ordered=True,
    )


def _ends_use(text: str, found: re.Match[str]) -> bool:
    """Whether what is used there is to be used no more: "remove what is still using moment"."""
    told = found[0].casefold().startswith("with")
    ending = _REMOVES if told else _REMOVES_OR_REPLACES
    return ending.search(text, max(0, found.start() - 80), found.start()) is not None


def _ordered_commands(text: str) -> Iterator[str]:
    for found in _QUOTED_COMMAND.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        if _RUNS_IT.search(before) and not _SPARES.search(before):
            yield found[1]
    for pattern in (_RUN, _TYPED):
        for found in pattern.finditer(text):
            yield _COMMAND_END.sub("", found["command"])
    yield from (f"git {found['verb']} {found['option']}" for found in _GIT_OPTION.finditer(text))
    yield from (f"git push --force{found['rest']}" for found in _FORCE_PUSH.finditer(text))
