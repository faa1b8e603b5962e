"""What is written: the documents and the source, and how tests read them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

HOUSE = Path(__file__).parents[2]
ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
WRITTEN = [HOUSE / name for name in ROOT]
WRITTEN += sorted((HOUSE / "docs").rglob("*.md")) + sorted((HOUSE / "changelog.d").glob("*.md"))


def named(document):
    """Its path in the checkout."""
    return str(document.relative_to(HOUSE))


def of_each(documents):
    """Decorates a check of one document: one test checks them all, and names those that fail.

    A test a document and check would be a thousand, which are slow to collect and to hand out.
    """

    def make(check):
        def test():
            wrong = {}
            for document in documents:
                try:
                    check(document)
                except AssertionError as error:
                    wrong[named(document)] = str(error)
            assert wrong == {}

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return make


@cache
def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def nodes_of(file):
    """Every node of the tree of ``file``: several tests walk over the whole product."""
    return tuple(ast.walk(tree_of(file)))


def fences(document, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE)


@cache
def prose(document):
    return re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def documented_reasons(document, heading):
    """The names in the first table after ``heading``."""
    text = (HOUSE / document).read_text()
    section = text[text.index(heading) :]
    table = re.search(r"(?:^\|.*\n)+", section, re.M)[0]
    return set(re.findall(r"^\| `([\w.]+)` \|", table, re.M))
