import pytest

from subcog.bus.enrichment import ResolvedReference
from subcog.bus.values import ProjectFacts
from subcog.stages.enrichment.bearing import MOST, bearing, gives_work
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.enrichment.matching import Subject
from subcog.stages.parse import parse
from tests.fakes import make_memory, make_prompt

TASK = "Implement Google OAuth\nApproach: NextAuth.js; JWT in httpOnly cookie\nOutcome: success"
PATTERN = "OAuth providers are modules in src/auth/providers with a callback handler and a test."
GOTCHA = "OAuth callback URLs must match exactly, with the trailing slash."


def guide(number, text, namespace, **changes):
    return read_guide(make_memory(number, text, namespace=namespace, **changes))


GUIDES = [guide(1, TASK, "tasks"), guide(2, PATTERN, "patterns"), guide(3, GOTCHA, "gotchas")]


def found(text, guides=GUIDES, resolved=()):
    parsed = parse(make_prompt(text)).parsed
    return bearing(Subject(parsed, ProjectFacts()), guides, resolved)


def test_an_order_gets_the_task_the_pattern_and_the_gotcha_of_its_subject():
    ids = {each.memory_id for each in GUIDES}
    assert found("add the GitHub OAuth login").keys() == ids


@pytest.mark.parametrize(
    "text",
    [
        "rename foo to bar",
        "fix the typo in the README of the admin and bump mypy while you are there",
        "the invoice list shows OAuth as sender in the footer of page two, move it to the header "
        "line and keep the margin as it was in the old layout please",
    ],
)
def test_an_order_about_something_else_gets_nothing(text):
    assert found(text) == {}


def test_what_a_reference_points_back_at_comes_first():
    meant = ResolvedReference(text="the auth thing", id="m9", summary="", confidence=0.8)
    doubtful = ResolvedReference(text="that", id="m8", summary="", confidence=0.5)
    ids = list(found("finish the OAuth login", resolved=[doubtful, meant]))
    assert ids[0] == meant.id
    assert len(ids) == MOST
    assert doubtful.id not in ids


def test_the_namespaces_take_turns():
    more = [guide(n, f"OAuth pitfall number {n}", "gotchas") for n in range(10, 15)]
    ids = list(found("add the GitHub OAuth login", guides=[*more, *GUIDES[:2]]))
    assert {GUIDES[0].memory_id, GUIDES[1].memory_id} < set(ids)


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("add the GitHub OAuth login", True),
        ("can you fix the failing build", True),
        ("how do we add an OAuth provider?", False),
        ("thanks, that looks good", False),
    ],
)
def test_what_gives_work_is_told_from_what_asks(text, ordered):
    assert gives_work(parse(make_prompt(text)).parsed) is ordered
