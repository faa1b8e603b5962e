"""How much of a corpus of planted secrets redaction takes out, and how many plain lines it changes.

    python -m perf.score_redaction --corpus FILE.jsonl ... --lines FILE.txt ...

A line of a corpus is ``{"text": ..., "secrets": [...], "kind": ...}``. A text counts as clean if
no secret of it is left, nor any six characters in a row of one. Without ``--corpus`` the texts of
``tests/secret_corpus.py`` are taken; ``--lines`` names files, of which each line is redacted alone.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from subcog.stages.redaction.redact import Redactor

AIMS = {
    "tokens": 0.98,
    "assignments": 0.96,
    "commands": 0.92,
    "prose": 0.70,
    "private keys": 1.0,
    "split": 0.75,
}
_MARK = re.compile(r"\[redacted:[^\]]*\]")
_LEFT_CHARS = 6


def is_clean(text: str, secrets: Sequence[str], before: str = "") -> bool:
    """Whether nothing of ``secrets`` is left in the redacted ``text``.

    What stands in the text ``before`` beside its secrets as well, as ``github`` does in
    ``github_pat_…@github.com``, says nothing about them.
    """
    shown, beside = _MARK.sub("\0", text), before
    for secret in secrets:
        beside = beside.replace(secret, "\0")
    parts = (part for secret in secrets for part in _parts(secret))
    return not any(part in shown and part not in beside for part in parts)


def _parts(secret: str) -> set[str]:
    size = min(_LEFT_CHARS, len(secret))
    return {secret[at : at + size] for at in range(len(secret) - size + 1)}


def _read(files: Iterable[Path]) -> Iterator[dict[str, object]]:
    for file in files:
        yield from map(json.loads, filter(str.strip, file.read_text("utf-8").splitlines()))


def score(redactor: Redactor, corpus: Iterable[dict[str, object]], missed: int) -> None:
    """Print a line for each kind: texts, those that were cleaned, the aim."""
    total: Counter[str] = Counter()
    clean: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for case in corpus:
        text, kind = str(case["text"]), str(case["kind"])
        after = redactor.redact(text).text
        total[kind] += 1
        if is_clean(after, case["secrets"], text):  # type: ignore[arg-type]
            clean[kind] += 1
        elif shown[kind] < missed:
            shown[kind] += 1
            print(f"  missed, {kind}: {text!r} -> {after!r}")
    print("| kind | texts | clean | share | aim |\n|---|---|---|---|---|")
    for kind, number in sorted(total.items()):
        share, aim = clean[kind] / number, AIMS.get(kind.replace("_", " "))
        print(f"| {kind} | {number} | {clean[kind]} | {share:.3f} | {aim or ''} |")


def score_lines(redactor: Redactor, files: Iterable[Path], shown: int) -> None:
    """Print how many of the lines were changed, and what a kilobyte cost."""
    lines = [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line.strip()]
    started = time.thread_time()
    changed = [(line, redactor.redact(line)) for line in lines]
    seconds = time.thread_time() - started
    changed = [(line, clean) for line, clean in changed if clean.redactions]
    kilobytes = sum(map(len, lines)) / 1000
    rules = Counter(name for _, clean in changed for name in clean.redactions)
    for line, clean in changed[:: max(1, len(changed) // shown)] if shown else ():
        print(f"  changed: {line.strip()[:240]!r} {clean.redactions}")
    print(f"{len(lines)} lines, {len(changed)} changed: {len(changed) / max(1, len(lines)):.5f}")
    print(f"{1000 * seconds / max(0.001, kilobytes):.3f} ms a kilobyte; {dict(rules)}")


def main() -> None:
    """Score what the arguments name."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    arguments.add_argument("--corpus", type=Path, nargs="*", default=[])
    arguments.add_argument("--lines", type=Path, nargs="*", default=[])
    arguments.add_argument("--missed", type=int, default=0, help="show so many of each kind")
    chosen = arguments.parse_args()
    redactor = Redactor.load()
    if chosen.corpus or not chosen.lines:
        score(redactor, _read(chosen.corpus) if chosen.corpus else _made(), chosen.missed)
    if chosen.lines:
        score_lines(Redactor.load(personal=False), chosen.lines, chosen.missed)


def _made() -> Iterator[dict[str, object]]:
    from tests.secret_corpus import cases  # made by code: no file here holds what looks like one

    yield from cases(seeds=range(3))


if __name__ == "__main__":
    main()
