"""The page in a real browser: what a person sees, does, takes back, and what others cannot do."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from subcog.sinks.page.screens import PER_PAGE
from tests import browser
from tests.waiting import PATIENCE_S, eventually

from .house import House
from .notes import ARGON, NOTES
from .test_sessions import Transcript

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SCREENS = ("now", "memories", "review", "sessions", "try", "health")
CITIES = "Oslo Bern Rome Lima Kyiv Riga Doha Cork Pisa Graz Nice Faro Gent Linz Bari Vigo".split()
HEADINGS = {
    "now": "What happens now",
    "memories": "Memories",
    "review": "Review",
    "sessions": "Sessions",
    "try": "What would be injected",
    "health": "Health",
}
RULE = "From now on, always run the linter before you commit."
CHOICE = "We decided to use Valkey for the job queue since Redis changed its licence."
SAID = "Have a look at why the checkout of the shop is slow on staging and nowhere else."
WHY = "Why do we use argon2id for password hashing?"


@pytest.fixture(scope="module")
def chromium():
    browser.required()
    with browser.browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A project with memories, a session, and two things that were kept by themselves."""
    house = House(tmp_path_factory.mktemp("page"))
    for text, namespace in NOTES:
        house.capture(text, "--namespace", namespace)
    session = Transcript(house, "monday")
    session.say(f"{CHOICE} Please set it up.")
    session.answer("The job queue runs on Valkey now.")
    session.say(RULE)
    session.answer("I run it first from now on.")
    session.hook("Stop")
    other = Transcript(house, "tuesday")
    other.say(SAID)
    other.answer("It is staging alone that is slow.")
    other.hook("Stop")
    eventually(lambda: house.ask("list", "--automatic")["total"] >= 2)
    eventually(lambda: len(house.ask("sessions", "list")["sessions"]) == 2)
    yield house
    house.close()


def invited(house, **env):
    return house.ask("ui", **env)["url"]


@pytest.fixture(scope="module")
def context(chromium):
    """The browser profile that all tests share; each has tabs of its own, and what these store."""
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_S * 1000)
    yield context
    context.close()


@pytest.fixture(scope="module")
def base(context, house):
    """Where a visit of the shared house has its screens."""
    page = context.new_page()
    entered = enter(page, house)
    page.close()
    return entered


def enter(page, house):
    page.goto(invited(house))
    page.wait_for_url("**/now")
    return page.url.removesuffix("now")


class Visitor:
    """Somebody at the page, in a tab of their own, with an invitation unless ``base`` is known."""

    def __init__(self, context, house, base=None):
        self.house = house
        self.context = context
        self.page = context.new_page()
        self.trouble = []
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("console", self._note)
        self.base = base or enter(self.page, house)

    def _note(self, message):
        if message.type == "error":
            self.trouble.append(message.text)

    def go(self, screen):
        self.page.goto(self.base + screen)
        return self.page

    def tab(self, screen):
        page = self.context.new_page()
        page.goto(self.base + screen)
        return page

    def told(self, text):
        self.page.locator("#toast .told", has_text=text).wait_for()


@pytest.fixture
def visit(context):
    """Called with a house, somebody visits that until the test ends."""
    yield partial(Visitor, context)
    for page in context.pages:
        page.close()


@pytest.fixture
def visitor(visit, house, base):
    visitor = visit(house, base)
    yield visitor
    assert visitor.trouble == []


def kept(house, text, namespace="learnings"):
    """A memory for one test alone."""
    return house.capture(text, "--namespace", namespace)["id"]


# --- every screen --------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_screen_can_be_read_by_everybody_and_on_a_phone(visitor):
    visitor.page.set_viewport_size({"width": 400, "height": 800})
    one = visitor.house.ask("list", "--limit", "1")["memories"][0]["id"]
    for screen in (*SCREENS, f"memory/{one}", "sessions/monday", "try?q=why+argon2id"):
        visitor.page.emulate_media(color_scheme="light")
        page = visitor.go(screen)
        assert page.locator("h1").count() == 1
        assert browser.violations(page) == [], screen
        page.emulate_media(color_scheme="dark")  # which changes nothing but colours
        assert browser.violations(page, *browser.ABOUT_COLOURS) == [], screen
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, screen
        heading = HEADINGS.get(screen)
        assert heading is None or page.locator("h1").inner_text() == heading


@pytest.mark.slow
def test_the_keys_lead_everywhere_and_say_what_they_are(visitor):
    page = visitor.go("now")
    page.keyboard.press("?")
    assert "undo the last change" in page.locator("dialog").inner_text()
    assert browser.violations(page) == []
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")  # until then a key is the dialog's
    for number, screen in [*enumerate(SCREENS, 1)][::-1]:
        page.keyboard.press(str(number))
        page.wait_for_url(f"**/{screen}")
    page.keyboard.press("/")
    page.wait_for_url("**/memories")
    page.keyboard.press("/")
    page.keyboard.type("2")
    assert page.locator("#q").input_value() == "2"


def has_focus(locator):
    """Wait until the keyboard is there."""
    return eventually(lambda: locator.evaluate("element => element === document.activeElement"))


@pytest.mark.slow
def test_escape_closes_what_is_open_and_the_keyboard_is_where_it_was(visitor):
    one = kept(visitor.house, "The keyboard finds its way back from the editor")
    page = visitor.go(f"memory/{one}")
    keep = page.get_by_role("button", name="Keep")
    keep.focus()
    page.keyboard.press("e")
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    assert page.locator("#edit[open]").count() == 0
    assert has_focus(keep)
    newer = page.locator("summary", has_text="Replace by a newer word")
    newer.press("Enter")
    page.locator("form[data-do=supersede] textarea").focus()
    page.keyboard.press("Escape")
    assert page.locator("main details[open] form").count() == 0
    assert has_focus(newer)
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    assert has_focus(newer)
    page = visitor.go("memories?q=keyboard")
    page.keyboard.press("j")
    page.keyboard.press("/")
    assert has_focus(page.locator("#q"))
    page.keyboard.press("Escape")
    assert has_focus(page.locator(".item.current a"))


@pytest.mark.slow
def test_ctrl_enter_saves_what_is_typed_and_the_keyboard_stays(visitor):
    one = kept(visitor.house, "The lamp in the hall is green")
    page = visitor.go(f"memory/{one}")
    page.keyboard.press("e")
    page.locator("#edit textarea").fill("The lamp in the hall is blue")
    page.keyboard.press("Control+Enter")
    visitor.told("1 memory changed")
    assert "blue" in page.locator("h1").inner_text()
    assert has_focus(page.locator("#edit summary"))
    page.get_by_role("button", name="Keep").press("Enter")
    visitor.told("1 memory kept")
    assert has_focus(page.get_by_role("button", name="Keep"))
    page.locator("#toast .dismiss").press("Enter")
    page.locator("#toast").wait_for(state="hidden")
    assert has_focus(page.get_by_role("button", name="Keep"))


@pytest.mark.slow
def test_a_list_that_is_made_anew_keeps_the_keyboard(visitor):
    for number in range(3):
        kept(visitor.house, f"The gravel heap number {number} is sieved by hand")
    page = visitor.go("memories?q=gravel+heap")
    page.keyboard.press("j")
    page.keyboard.press("j")
    gone, after = (page.locator("#results .item").nth(n).get_attribute("data-id") for n in (1, 2))
    page.keyboard.press("f")
    visitor.told("1 memory forgotten")
    page.locator(f"#results [data-id={gone}]").wait_for(state="detached")
    assert has_focus(page.locator(f"#results [data-id={after}] a"))
    page.keyboard.press("x")
    page.locator(".bulk").get_by_role("button", name="Bury").press("Enter")
    visitor.told("1 memory buried")
    assert has_focus(page.locator(".bulk .all"))


@pytest.mark.slow
def test_without_javascript_the_page_says_what_to_do(chromium, visitor):
    known = visitor.context.storage_state()
    context = chromium.new_context(java_script_enabled=False, storage_state=known)
    page = context.new_page()
    for address in (visitor.base + "memories", visitor.base + "now", visitor.base + "../"):
        page.goto(address)
        told = page.locator("noscript").first.inner_text()
        assert "Allow" in told, address
        assert "subcog help" in told
    context.close()


# --- now -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_prompt_and_a_capture_appear_while_one_looks_on(visitor):
    page = visitor.go("now")
    house = visitor.house
    house.prompt(f"{WHY} <private>swordfish</private>", "live")
    entry = page.locator("article.prompt", has_text=WHY).first
    entry.wait_for()
    assert "1 memory was shown" in entry.inner_text()
    assert "shown: relevance" in entry.inner_text()
    assert "considered" in entry.inner_text()
    assert "swordfish" not in page.content()
    assert "enrich" in entry.locator(".facts").inner_text()
    house.prompt("[remember] Releases are cut on Tuesdays", "live")
    page.locator("article.capture", has_text="Releases are cut on Tuesdays").wait_for()
    house.prompt("thanks, that is all", "live")
    entry = page.locator("article.prompt", has_text="thanks, that is all")
    entry.wait_for()
    assert "Nothing was shown: the prompt does not ask for anything" in entry.inner_text()
    # Who comes later sees it too, the newest first.
    assert "thanks" in visitor.go("now").locator("article").first.inner_text()
    assert browser.violations(page) == []


@pytest.mark.slow
def test_what_was_shown_at_another_moment_appears_too(visitor):
    page = visitor.go("now")
    payload = {
        "session_id": "greeted",
        "cwd": str(visitor.house.project),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    visitor.house.hook("SessionStart", payload)
    entry = page.locator("article.moment", has_text="SessionStart")
    entry.wait_for()
    assert "Password login failed behind the proxy" in entry.inner_text()


# --- memories ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_search_goes_on_with_every_letter_in_the_products_own_order(visitor):
    page = visitor.go("memories")
    page.locator("#q").press_sequentially("argon2id password hashing", delay=20)
    # Between two letters a search may begin: what is shown then is the answer to the first ones.
    page.wait_for_url("**q=argon2id+password+hashing*")
    page.locator("#results[aria-busy=false] .counted", has_text="best first").wait_for()
    ranked = visitor.house.ask("recall", "argon2id password hashing", "--limit", "100")
    summaries = [memory["summary"] for memory in ranked["memories"]]
    shown = page.locator("#results .summary")
    # More candidates are reranked when the typing has stopped.
    eventually(lambda: shown.all_inner_texts() == summaries)
    assert summaries[0] == ARGON
    page.locator("select[name=namespace]").select_option("gotchas")
    eventually(lambda: ARGON not in page.locator("#results").inner_text())
    # The address is the search.
    assert visitor.tab(page.url.removeprefix(visitor.base)).locator("#results .item").count() == 1


@pytest.mark.slow
def test_the_filters_are_those_of_the_command_line(visitor):
    page = visitor.go("memories?which=automatic")
    listed = visitor.house.ask("list", "--automatic")
    assert f"{listed['total']} in all" in page.locator(".counted").inner_text()
    assert page.locator("#results .summary").all_inner_texts() == [
        memory["summary"] for memory in listed["memories"]
    ]
    page = visitor.go("memories?q=linter&which=automatic")
    assert page.locator("#results .summary").all_inner_texts()[0] == RULE
    page = visitor.go("memories?q=argon2id&which=automatic")
    assert ARGON not in page.locator("#results").inner_text()
    assert "is no date" in visitor.go("memories?since=tomorrow").locator("main").inner_text()
    assert visitor.trouble.pop().startswith("Failed to load resource")  # a refusal is a refusal


@pytest.mark.slow
def test_what_was_forgotten_in_bulk_comes_back_whole(visitor):
    for number in range(3):
        kept(visitor.house, f"Bulk fact {number}: the coffee machine on floor {number} leaks")
    page = visitor.go("memories?q=coffee+machine")
    page.locator("#results .item").nth(2).wait_for()
    before = visitor.house.ask("list", "--limit", "1000")["total"]
    for number in range(3):
        page.locator("#results .item", has_text=f"Bulk fact {number}").get_by_role(
            "checkbox"
        ).check()
    assert page.locator(".chosen").inner_text() == "3 selected"
    page.locator(".bulk").get_by_role("button", name="Forget").click()
    visitor.told("3 memories forgotten")
    assert visitor.house.ask("list", "--limit", "1000")["total"] == before - 3
    page.locator("#toast .undo").click()
    visitor.told("3 memories are back")
    page.locator("#results .item", has_text="Bulk fact 2").wait_for()
    assert visitor.house.ask("list", "--limit", "1000")["total"] == before


@pytest.mark.slow
def test_a_memory_is_edited_replaced_and_brought_back(visitor):
    first = kept(visitor.house, "The build takes four minutes on the old runners")
    page = visitor.go(f"memory/{first}")
    assert "the user" in page.locator(".pairs").first.inner_text()
    page.keyboard.press("e")
    page.locator("#edit textarea").fill("The build takes three minutes on the old runners")
    page.locator("#edit input[name=tags]").fill("ci build")
    page.locator("#edit button").click()
    visitor.told("1 memory changed")
    assert "three minutes" in page.locator("h1").inner_text()
    assert visitor.house.ask("get", first)["tags"] == ["ci", "build"]
    page.keyboard.press("u")
    visitor.told("undone: update")
    eventually(lambda: "four minutes" in page.locator("h1").inner_text())
    page.locator("summary", has_text="Replace by a newer word").click()
    page.locator("form[data-do=supersede] textarea").fill("The build takes one minute now")
    page.get_by_role("button", name="Supersede").click()
    visitor.told("1 memory superseded")
    assert "superseded by" in page.locator(".problem").first.inner_text()
    page.get_by_role("button", name="Restore", exact=True).click()
    visitor.told("1 memory restored")
    assert "It says otherwise than" in page.locator(".problem").first.inner_text()
    page.get_by_role("button", name="Bury").click()
    visitor.told("1 memory buried")
    assert page.locator("[data-do=bury]").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Expire").click()
    visitor.told("1 memory expired")
    assert "Searches do not find it" in page.locator(".problem").first.inner_text()
    assert browser.violations(page) == []


@pytest.mark.slow
def test_what_cannot_be_done_is_told_and_changes_nothing(visitor):
    gone = kept(visitor.house, "This one is forgotten in the terminal meanwhile")
    page = visitor.go(f"memory/{gone}")
    visitor.house.ask("forget", gone)
    page.get_by_role("button", name="Keep").click()
    visitor.told(f"no memory {gone}")
    assert "failed" in page.locator("#toast").get_attribute("class")
    assert visitor.go(f"memory/{gone}").locator("[role=alert]").inner_text().startswith("no memory")
    assert all(said.startswith("Failed to load resource") for said in visitor.trouble)
    visitor.trouble.clear()


@pytest.mark.slow
def test_an_edit_takes_nothing_back_that_another_tab_wrote(visitor):
    one = kept(visitor.house, "The ferry leaves at nine")
    first, second = visitor.go(f"memory/{one}"), visitor.tab(f"memory/{one}")
    for page, field, words in (
        (first, "#edit textarea", "The ferry leaves at ten"),
        (second, "#edit input[name=tags]", "harbour"),
    ):
        page.bring_to_front()
        page.keyboard.press("e")
        page.locator(field).fill(words)
        page.locator("#edit button").click()
        page.locator("#toast .told", has_text="change").wait_for()
    assert "was changed since it was read" in second.locator("#toast").inner_text()
    assert second.locator("#edit input[name=tags]").input_value() == "harbour"
    now = visitor.house.ask("get", one)
    assert (now["content"], now["tags"]) == ("The ferry leaves at ten", [])


@pytest.mark.slow
def test_filters_hold_for_memories_whose_code_changed_too(visitor):
    house = visitor.house
    code = house.project / "gauge.py"
    code.write_text("def read_gauge():\n    return 1\n")
    names = {}
    for namespace in ("learnings", "gotchas"):
        text = f"{namespace.title()}: read_gauge in gauge.py is called twice"
        names[namespace] = house.capture(text, "--namespace", namespace)["id"]
    eventually(lambda: house.ask("stale")["compared"] >= 2)
    code.write_text("def read_gauge():\n    return 2\n")
    eventually(lambda: len(house.ask("stale")["memories"]) >= 2)
    for asked in ("which=stale&namespace=gotchas", "which=stale&q=read_gauge&namespace=gotchas"):
        items = visitor.go(f"memories?{asked}").locator("#results .item")
        assert [item.get_attribute("data-id") for item in items.all()] == [names["gotchas"]]
    assert visitor.go("memories?which=stale&q=argon2id").locator("#results .item").count() == 0
    assert "no such choice" in visitor.go("memories?which=nope").locator("main").inner_text()
    assert visitor.trouble.pop().startswith("Failed to load resource")  # a refusal is a refusal


@pytest.mark.slow
def test_a_list_in_another_tab_follows(visitor):
    one = kept(visitor.house, "Two tabs look at the staging cluster in Frankfurt")
    page, other = visitor.go("memories?q=staging+cluster"), visitor.tab("memories")
    other.locator(".item", has_text="Frankfurt").wait_for()
    other.bring_to_front()
    visitor.house.ask("forget", one)
    other.locator(".item", has_text="Frankfurt").wait_for(state="detached")
    assert page.locator("h1").inner_text() == "Memories"


# --- review --------------------------------------------------------------------------------------


def test_what_was_kept_by_itself_is_reviewed_with_one_key_each(visitor):
    page = visitor.go("review")
    first, second = [m["content"] for m in visitor.house.ask("list", "--unreviewed")["memories"]][
        :2
    ]
    left = int(page.locator("#left").inner_text())
    assert first in page.locator(".item.current").inner_text()
    page.keyboard.press("k")
    visitor.told("1 memory kept")
    assert second in page.locator(".item.current").inner_text()
    page.keyboard.press("f")
    visitor.told("1 memory forgotten")
    assert int(page.locator("#left").inner_text()) == left - 2
    page.keyboard.press("u")
    visitor.told("1 memory is back")
    page.keyboard.press("u")
    visitor.told("undone: keep")
    assert int(page.locator("#left").inner_text()) == left
    assert first in page.locator(".item.current").inner_text()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    assert page.locator(".review form:not([hidden])").count() == 0
    assert has_focus(page.locator(".item.current"))
    page.keyboard.press("e")
    page.locator(".item.current textarea").fill("Always run the linter before a commit.")
    page.locator(".item.current").get_by_role("button", name="Save").click()
    visitor.told("1 memory changed")
    listed = [m["content"] for m in visitor.house.ask("list", "--unreviewed")["memories"]]
    assert second in listed
    assert len(listed) == left - 1
    visitor.page.reload()
    assert int(page.locator("#left").inner_text()) == left - 1


def decided(house, tmp_path, names):
    """Another project, in which an agent decided something for each of ``names``."""
    many = House(tmp_path)
    many.env = house.env | {"CLAUDE_PROJECT_DIR": str(many.project)}
    session = Transcript(many, "long")
    session.say("Write down what you have decided.")
    session.answer(
        "\n".join(f"**Decision**: the node {name} runs in its own zone" for name in names)
    )
    session.hook("Stop")
    eventually(lambda: many.ask("list", "--unreviewed")["total"] >= len(names) - 4)
    return many


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["by key", "at once"])
def test_what_was_done_in_review_is_done_also_where_it_is_left(visit, house, tmp_path, leave):
    many = decided(house, tmp_path, CITIES)
    visitor = visit(many)
    page = visitor.go("review")
    slow = """
      const real = window.fetch;
      const pause = () => new Promise((done) => setTimeout(done, 300));
      window.fetch = (...asked) => pause().then(() => real(...asked));
    """
    if leave == "by key":
        page.evaluate(slow)
    before = many.ask("list", "--unreviewed")["total"]
    gone = [item.get_attribute("data-id") for item in page.locator("#queue .item").all()[:6]]
    press = """
      for (const key of "ffffff")
        document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    """
    go = f"location.assign('{visitor.base}now')" if leave == "at once" else ""
    page.evaluate(press + go)
    if leave == "by key":
        page.keyboard.press("1")
    page.wait_for_url("**/now")
    eventually(lambda: many.ask("list", "--unreviewed")["total"] == before - len(gone))
    page.keyboard.press("u")
    visitor.told("1 memory is back")


@pytest.mark.slow
def test_a_key_that_is_held_acts_once(visit, house, tmp_path):
    many = decided(house, tmp_path, CITIES)
    visitor = visit(many)
    page = visitor.go("review")
    left = int(page.locator("#left").inner_text())
    for _ in range(5):
        page.keyboard.down("f")  # all but the first are repeats
    page.keyboard.up("f")
    visitor.told("1 memory forgotten")
    assert int(page.locator("#left").inner_text()) == left - 1
    assert many.ask("list", "--unreviewed")["total"] == left - 1


@pytest.mark.slow
def test_undo_can_be_tried_again_and_on_another_screen(visitor):
    one = kept(visitor.house, "The raven is on the roof of the annex")
    page = visitor.go(f"memory/{one}")
    page.get_by_role("button", name="Forget").click()
    visitor.told("1 memory forgotten")
    page = visitor.go("now")
    page.route("**/act", lambda route: route.abort())
    page.keyboard.press("u")
    visitor.told("the daemon does not answer")
    page.unroute("**/act")
    page.keyboard.press("u")
    visitor.told("1 memory is back")
    assert visitor.trouble.pop().startswith("Failed to load resource")
    page.keyboard.press("u")
    visitor.told("nothing was changed on this page within the last minute")


@pytest.mark.slow
def test_the_queue_goes_on_beyond_its_first_page_and_ends(visit, house, tmp_path):
    names = [f"{one}{two}" for one in CITIES for two in ("North", "South", "East", "West")]
    many = decided(house, tmp_path, names[: PER_PAGE + 5])
    visitor = visit(many)
    page = visitor.go("review")
    total = int(page.locator("#left").inner_text())
    assert total > page.locator("#queue .item").count()
    for _ in range(total):
        page.wait_for_selector(".item.current")
        page.keyboard.press("k")
    page.locator(".empty.done:not([hidden])").wait_for()
    eventually(lambda: many.ask("list", "--unreviewed")["total"] == 0)
    assert many.ask("list", "--automatic")["total"] == total
    assert visitor.trouble == []


# --- sessions, try, health -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_shows_what_was_said_kept_and_shown(visitor):
    visitor.house.prompt("[remember] The shop's staging has two cores", "tuesday")
    visitor.house.prompt(WHY, "tuesday")
    page = visitor.go("sessions")
    page.locator(".timeline a", has_text="checkout of the shop").first.click()
    page.wait_for_url("**/sessions/tuesday")
    assert SAID in page.locator(".said").inner_text()
    eventually(lambda: page.reload() and page.locator("h2", has_text="Shown").count())
    assert ARGON in page.locator("main").inner_text()
    assert "staging has two cores" in page.locator("h2:has-text('Kept') + ul").inner_text()
    page = visitor.go("sessions?q=checkout+of+the+shop")
    assert "slow on staging" in page.locator(".timeline").inner_text()


@pytest.mark.slow
def test_what_would_be_injected_is_what_is_injected(visitor):
    page = visitor.go("try")
    page.locator("#q").fill(WHY)
    page.get_by_role("button", name="Show").click()
    shown = page.locator("#answer pre").inner_text()
    assert page.url.endswith("/try")  # a prompt is in no address, and in no history
    assert shown.strip() == visitor.house.context(WHY, "tried").strip()
    page = visitor.go("try?q=hello")
    assert "Nothing would be injected" in page.locator("#answer").inner_text()


@pytest.mark.slow
def test_a_prompt_of_any_size_can_be_tried(visitor):
    page = visitor.go("try")
    long = f"{WHY}\n" + "Zeile größer als üblich\n" * 6000
    page.locator("#q").evaluate("(element, text) => { element.value = text; }", long)
    page.get_by_role("button", name="Show").click()
    page.locator("#answer h2").first.wait_for()
    assert WHY in page.locator("#q").input_value()


@pytest.mark.slow
def test_health_says_what_the_doctor_says(visitor):
    visitor.house.prompt("hello", "health")
    page = visitor.go("health")
    assert "UserPromptSubmit" in page.locator("main").inner_text()
    assert str(visitor.house.paths.database) in page.locator("main").inner_text()
    page.get_by_role("button", name="Run the checks").click()
    page.locator("#findings li").first.wait_for()
    found = page.locator("#findings").inner_text()
    assert "daemon" in found
    assert f"project: {visitor.house.project.name}" in found
    assert browser.violations(page) == []


# --- what others cannot do -----------------------------------------------------------------------

HIDDEN = "\u202e\u202c\u200b\U000e0041"
HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'> {{ 7 * 7 }} "
    + "and ".join(HIDDEN)
)


@pytest.mark.slow
def test_a_hostile_memory_is_text_and_hides_nothing(visitor):
    long = "a very long line of a hostile memory about the parrot " * 150
    one = kept(visitor.house, HOSTILE + long)
    visitor.house.prompt(f"What is there about the parrot? {HIDDEN}<script>hacked=3</script>")
    screens = ("memories?q=parrot", f"memory/{one}", "review", "now", "try?q=what+of+the+parrot")
    for screen in screens:
        page = visitor.go(screen)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img").count() == 0
        assert not {*HIDDEN} & {*page.content()}
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert browser.violations(page) == [], screen
    page = visitor.go(f"memory/{one}")
    assert "<script>" in page.locator("pre.text").first.inner_text()
    # What is edited is the text itself, and not how it looks.
    stored = visitor.house.ask("get", one)["content"]
    assert page.locator("#edit textarea").input_value() == stored


class Stranger:
    """A web server on another port of this machine, and what it was sent."""

    def __init__(self, html):
        stranger = self
        self.cookies = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                stranger.cookies.append(self.headers.get("Cookie", ""))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(html.encode())

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}/ui/"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.mark.slow
def test_a_page_of_another_port_reads_nothing_and_writes_nothing(visitor):
    one = kept(visitor.house, "A stranger must not see the penguin")
    tries = """
      const [base, id] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      const body = JSON.stringify({do: "forget", ids: [id]});
      const attempt = async (make) => { try { return await make(); } catch { return "refused"; } };
      window.results = Promise.all([
        attempt(async () => (await fetch(base + "memories", {credentials: "include"})).text()),
        attempt(async () => (await fetch(base + "act", {method: "POST", credentials: "include",
          headers: {"Content-Type": "application/json"}, body})).text()),
        attempt(async () => { await fetch(base + "act", {method: "POST", mode: "no-cors",
          credentials: "include", headers: {"Content-Type": "text/plain"}, body}); return 1; }),
        attempt(() => new Promise((done) => { const source = new EventSource(base + "live?after=0",
          {withCredentials: true}); source.onmessage = () => done("read");
          source.onerror = () => done("refused"); })),
      ]);
    """
    with Stranger(f"<!doctype html><title>x</title><body><script>{tries}</script>") as stranger:
        page = visitor.context.new_page()
        page.goto(f"{stranger.url}#{json.dumps([visitor.base, one])}")
        results = page.evaluate("window.results")
        assert [*results[:2], results[3]] == ["refused"] * 3
        # A frame, and a link to the page itself.
        page.evaluate(f"""document.body.innerHTML = '<iframe src="{visitor.base}memories">'""")
        page.wait_for_timeout(300)
        framed = [frame for frame in page.frames if frame.url.startswith(visitor.base)]
        assert all("penguin" not in frame.content() for frame in framed)
        page.evaluate(f"location.href = '{visitor.base}memories'")
        page.wait_for_url("**/memories")
        assert "another page may not ask this" in page.content()
        assert not any("subcog_ui" in cookie for cookie in stranger.cookies)
    assert visitor.house.ask("get", one)["id"] == one


class Raw:
    """Requests as no browser makes them."""

    def __init__(self, house):
        url = urlsplit(invited(house))
        self.host, self.code = url.netloc, url.fragment.removeprefix("code=")
        status, headers, body = self.send(
            "POST", "/ui/enter", json.dumps({"code": self.code}), Cookie=None
        )
        assert status == 200
        self.path = json.loads(body)["path"].removesuffix("now")
        self.cookie = headers["set-cookie"]

    def send(self, method, path, body=None, **headers):
        given = {
            "Origin": f"http://{self.host}" if method == "POST" else None,
            "Content-Type": "application/json",
            "Cookie": getattr(self, "cookie", "").partition(";")[0],
        }
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in (given | named).items() if value is not None}
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def raw(house):
    return Raw(house)


def test_an_invitation_lets_one_browser_in_once(house, raw):
    again = json.dumps({"code": raw.code})
    status, _, body = raw.send("POST", "/ui/enter", again)
    assert (status, "subcog ui" in body) == (403, True)
    assert raw.send("POST", "/ui/enter", json.dumps({"code": "guessed"}))[0] == 403
    assert raw.send("POST", "/ui/enter", "[")[0] == 409
    assert {"httponly", "samesite=strict", f"path={raw.path}"} <= {
        part.strip().lower() if "path" not in part.lower() else f"path={part.partition('=')[2]}"
        for part in raw.cookie.split(";")
    }
    assert raw.send("GET", f"{raw.path}memories")[0] == 200


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", {"Cookie": None}, 401),
        ("GET", {"Cookie": "subcog_ui=guessed"}, 401),
        ("GET", {"Origin": "http://127.0.0.1:9"}, 403),
        ("GET", {"Sec_Fetch_Site": "same-site"}, 403),
        ("GET", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("GET", {"Host": "subcog.example"}, 400),
        ("POST", {"Origin": None}, 403),
        ("POST", {"Origin": "http://127.0.0.1:9"}, 403),
        ("POST", {"Origin": "null"}, 403),
        ("POST", {"Cookie": None}, 401),
        ("POST", {"Content_Type": "text/plain"}, 409),
    ],
)
def test_nobody_comes_in_without_being_invited_or_from_another_origin(
    raw, method, headers, expected
):
    path = f"{raw.path}{'memories' if method == 'GET' else 'act'}"
    body = '{"do":"undo","ids":[]}' if method == "POST" else None
    status, answered, text = raw.send(method, path, body, **headers)
    assert status == expected
    assert ARGON not in text
    if expected != 400:
        assert "frame-ancestors 'none'" in answered.get("content-security-policy", "none") or (
            status == 403 and "Origin header" in text
        )


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[",
        "{}",
        '{"do":"drop","ids":[]}',
        '{"do":"forget","ids":[]}',
        '{"do":"keep","ids":[7]}',
        '{"do":"keep","ids":["mem_x"],"more":1}',
        '{"do":"restore","ids":["x"],"version":"y"}',
    ],
)
def test_what_is_no_act_is_refused_in_a_sentence(raw, body):
    status, _, text = raw.send("POST", f"{raw.path}act", body)
    assert status == 409
    assert json.loads(text)["error"]


def test_a_screen_without_a_part_is_shown_whole(raw):
    for screen in ("now", "try", "health", "sessions"):
        status, _, text = raw.send("GET", f"{raw.path}{screen}?part=1")
        assert (status, "<html" in text) == (200, True), screen


def test_an_act_is_held_to_what_the_command_line_takes(house, raw):
    one = kept(house, "The walrus rests on the pier")

    def act(**fields):
        status, _, text = raw.send("POST", f"{raw.path}act", json.dumps(fields))
        return status, json.loads(text)

    status, said = act(do="update", ids=[one], namespace="zz")
    assert (status, "no such namespace" in said["error"]) == (409, True)
    assert act(do="keep", ids=[one, one, one])[1]["told"] == "1 memory kept"
    assert act(do="forget", ids=[one, one])[1]["told"] == "1 memory forgotten"
    assert act(do="undo", ids=[one])[1]["told"] == "1 memory is back"
    assert "was forgotten" in act(do="keep", ids=[one])[1]["error"]
    two = kept(house, "The seal rests on the jetty")
    assert act(do="supersede", ids=[two], text="The seal rests on the raft")[0] == 200
    kept(house, "The seal rests on the raft")
    assert "changed since is kept as well" in act(do="undo", ids=[two])[1]["told"]
    much = '{"do":"undo","ids":["' + "x" * 4_100_000 + '"]}'
    refused = json.loads(raw.send("POST", f"{raw.path}act", much)[2])["error"]
    assert refused == "that is more than 4,000,000 bytes"


def test_who_is_not_invited_sends_little_and_not_for_long(raw):
    much = json.dumps({"code": "x" * 2000})
    status, _, text = raw.send("POST", "/ui/enter", much, Cookie=None)
    assert (status, "1,024 bytes" in text) == (409, True)
    head = f"POST /ui/enter HTTP/1.1\r\nHost: {raw.host}\r\nContent-Type: application/json\r\n"
    host, port = raw.host.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as client:
        client.sendall(f"{head}Content-Length: 900\r\n\r\n{{".encode())
        while client.recv(1024):  # it ends, although the rest never comes
            pass


def test_too_much_is_refused_and_a_path_leads_nowhere_else(raw):
    much = '{"do":"undo","ids":["' + "x" * 4_100_000 + '"]}'
    assert raw.send("POST", f"{raw.path}act", much)[0] == 409
    for path in ("/ui/static/../app.py", "/ui/static/%2e%2e/app.py", f"{raw.path}nothing"):
        assert raw.send("GET", path)[0] == 404
    assert raw.send("GET", f"{raw.path}now?after=x")[0] == 200
    assert raw.send("GET", "/ui")[0] in {307, 200}


def test_a_memory_says_what_it_answers_and_before_what_it_is_shown(house, raw):
    text = "The pelican has to be fed before the tide"
    cues = ("--question=who is hungry at <high> water?", "--trigger=run: open sluice")
    one = house.capture(text, *cues)["id"]
    shown = raw.send("GET", f"{raw.path}memory/{one}")[2]
    assert "<dt>Answers</dt>" in shown
    assert "&lt;high&gt; water" in shown or "‹high› water" in shown
    assert "run: open sluice" in shown
    edited = json.dumps({"do": "update", "ids": [one], "text": f"{text} comes"})
    assert raw.send("POST", f"{raw.path}act", edited)[0] == 200
    assert house.ask("get", one)["triggers"] == [{"run": "open sluice"}]


def test_another_projects_memories_are_not_on_the_page(house, raw, tmp_path):
    other = House(tmp_path)
    other.env = house.env | {"CLAUDE_PROJECT_DIR": str(other.project)}
    secret = other.capture("The penguins of the other project are secret")["id"]
    assert raw.send("GET", f"{raw.path}memory/{secret}")[0] == 409
    for screen in ("now", "memories?q=penguins+secret", "review", "sessions"):
        assert "other project" not in raw.send("GET", raw.path + screen)[2]
    act = json.dumps({"do": "forget", "ids": [secret]})
    assert raw.send("POST", f"{raw.path}act", act)[0] == 409
    assert other.ask("get", secret)["id"] == secret


@pytest.mark.slow
def test_a_visit_ends_with_the_daemon_and_says_so(visit, tmp_path):
    house = House(tmp_path)
    try:
        one = kept(house, "The page outlives its daemon")
        visitor = visit(house)
        watching = visitor.tab("now")
        listing = visitor.tab("memories")
        page = visitor.go(f"memory/{one}")
        house.ask("daemon", "stop")
        page.get_by_role("button", name="Keep").click()
        visitor.told("the daemon does not answer")
        house.start()
        assert house.ask("status")["running"]
        eventually(partial(_answers, house))
        page.get_by_role("button", name="Keep").click()
        visitor.told("this page has expired")
        watching.bring_to_front()
        watching.locator("#live-state", has_text="this page has expired").wait_for()
        listing.bring_to_front()
        listing.locator("#toast .told", has_text="this page has expired").wait_for()
    finally:
        house.close()


def _answers(house):
    """Whether it serves HTTP, at the port that it had."""
    return urlsplit(invited(house)).port


# --- pictures ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_pictures_in_the_documents_are_of_this_page(visitor, tmp_path):
    """``make picture`` sets SUBCOG_PICTURES, and draws them anew."""
    visitor.page.set_viewport_size({"width": 960, "height": 640})
    visitor.house.prompt(WHY, "picture")
    into = Path(os.environ.get("SUBCOG_PICTURES") or tmp_path)
    for screen in ("now", "memories", "review", "try?q=Why+do+we+use+argon2id%3F"):
        name = f"{screen.partition('?')[0]}.png"
        visitor.go(screen).screenshot(path=into / name)
        drawn, kept_ = (into / name).read_bytes(), (PICTURES / name).read_bytes()
        assert _size(drawn) == _size(kept_) == (960, 640)


def _size(png):
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
