"""A real browser for the page: Debian's Chromium, driven by playwright, and axe-core beside it."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).parents[1] / ".cache/browser/node_modules/axe-core/axe.min.js"
# As root there is no sandbox; the others keep it from asking its maker anything.
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The rules that look at colours; that for a better contrast than ours is not tried by default.
ABOUT_COLOURS = ("color-contrast", "link-in-text-block")


def required():
    """Skip where there is no browser; continuous integration has one."""
    missing = [name for name, there in (("chromium", CHROMIUM), (AXE, AXE.exists())) if not there]
    if missing and os.environ.get("CI") != "true":
        pytest.skip(f"there is no {missing[0]} (Debian's package chromium, `make browser-tools`)")
    assert not missing, f"there is no {missing[0]}"


@contextmanager
def browser():
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        try:
            yield opened
        finally:
            opened.close()


def violations(page, *rules):
    """What axe-core finds wrong with how accessible a page is, a line each.

    Only ``rules`` are tried, where some are named.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"]} | ({"runOnly": [*rules]} if rules else {})
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes']]}"
        for one in found
    ]
