"""The page in a real browser: how soon a screen is there, and 500 memories reviewed by keys alone.

Times are reported, never gated.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from subcog.sinks.project.identity import Projects
from tests import browser
from tests.integration.house import House
from tests.integration.test_page import Visitor

from .corpus import fill, question
from .report import say

OPENED = 15
SEARCHES = 40
REVIEWED = 500
SCREENS = {
    "now": "now",
    "memories": "memories",
    "memories kept by themselves": "memories?which=automatic",
    "memories never shown, of one tag": "memories?which=unused&tag=invoice",
    "review": "review",
    "sessions": "sessions",
    "health": "health",
}
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
# From a letter to the results that belong to it.
SEARCH = """async (words) => {
  const results = document.getElementById("results");
  const box = document.getElementById("q");
  const began = performance.now();
  box.value = words;
  box.dispatchEvent(new Event("input", {bubbles: true}));
  await new Promise((done) => new MutationObserver(done).observe(results, {childList: true}));
  return performance.now() - began;
}"""


@pytest.fixture(scope="module")
def chromium():
    browser.required()
    with browser.browser() as opened:
        yield opened


def stocked(root, count, hook=""):
    """A house with ``count`` memories that a ``hook`` has brought, and a daemon that has them."""
    house = House(root, installed=True)
    place = Projects().place(project_dir=str(house.project), cwd="", user="x")
    house.paths.data.mkdir(parents=True, mode=0o700)
    with ThreadPoolExecutor(1) as pool:  # the browser's driver runs a loop on this thread
        pool.submit(fill, house.paths.database, place.project, count, hook).result()
    house.start()
    while not (now := house.ask("status"))["ready"] or now["index"]["in_topics"] < now["memories"]:
        time.sleep(0.1)
    return house


@pytest.fixture(scope="module", params=[1_000, 100_000])
def visitor(request, chromium, tmp_path_factory):
    house = stocked(tmp_path_factory.mktemp("page"), request.param)
    yield Visitor(chromium, house)
    house.close()


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_painted(visitor, name):
    held = visitor.house.ask("status")["memories"]
    took_ms = []
    for _ in range(OPENED):
        page = visitor.go(SCREENS[name])
        while (painted := page.evaluate(PAINTED)) < 0:  # waiting inside the page needs eval
            page.wait_for_timeout(5)
        took_ms.append(painted)
    key = f"page.{name}.{held}" if name in {"now", "memories"} else ""
    say(f"first paint of {name}, {held:,} memories", took_ms, target="300", key=key)


def test_results_follow_the_letters(visitor):
    held = visitor.house.ask("status")["memories"]
    rng, page = random.Random(4), visitor.go("memories")
    took_ms = []
    for _ in range(SEARCHES):
        took_ms.append(page.evaluate(SEARCH, question(rng)))
        page.wait_for_timeout(50)
    say(
        f"results after the last letter, {held:,} memories (40 ms of it waits for more letters)",
        took_ms,
        target="100",
        key=f"page.search.{held}",
    )


def test_memories_are_reviewed_by_keys_alone(chromium, tmp_path_factory):
    house = stocked(tmp_path_factory.mktemp("review"), REVIEWED, "Stop")
    try:
        visitor = Visitor(chromium, house)
        page = visitor.go("review")
        rng, started = random.Random(5), time.perf_counter()
        pressed = {"k": 0, "f": 0, "b": 0}
        for _ in range(REVIEWED):
            key = rng.choices("kfb", [6, 3, 1])[0]
            pressed[key] += 1
            page.wait_for_selector(".item.current")
            page.keyboard.press(key)
        page.locator(".empty.done:not([hidden])").wait_for()
        while house.ask("list", "--unreviewed")["total"]:
            time.sleep(0.1)
        took_s = time.perf_counter() - started
        assert house.ask("list")["total"] == REVIEWED - pressed["f"]
        assert visitor.trouble == []
    finally:
        house.close()
    say(
        f"{REVIEWED} reviewed by keys: {pressed}",
        [took_s],
        target="180",
        unit="s",
        key="page.review",
    )
