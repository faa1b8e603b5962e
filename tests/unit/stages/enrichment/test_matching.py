import msgspec
import pytest

from subcog.bus.enrichment import ResolvedReference
from subcog.bus.prompts import ProjectFacts
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.enrichment.matching import (
    MOST_BEARING,
    Subject,
    applicable_patterns,
    bearing,
    gives_work,
    known_gotchas,
    similar_tasks,
    task_similarity,
    traits,
)
from subcog.stages.language.work_kind import primary, work_signals
from subcog.stages.parse import parse
from tests.fakes import NOW, make_memory, make_prompt

NO_VECTORS = {}
TASK = "Implement Google OAuth\nApproach: NextAuth.js; JWT in httpOnly cookie\nOutcome: success"
PATTERN = "OAuth providers are modules in src/auth/providers with a callback handler and a test."
GOTCHA = "OAuth callback URLs must match exactly, with the trailing slash."


def subject(text, *stack):
    return Subject(parse(make_prompt(text)).parsed, ProjectFacts(stack=stack))


def guides(namespace, *texts, **changes):
    return [
        read_guide(make_memory(number, text, namespace=namespace, **changes))
        for number, text in enumerate(texts)
    ]


def test_a_task_of_the_same_field_and_work_is_similar_and_tells_how_it_went():
    known = guides(
        "tasks",
        "Implement Google OAuth\nApproach: NextAuth.js\nOutcome: failure\nFiles: a.ts",
        "Rename foo to bar",
        "Add dark mode to the settings page",
    )
    (task,) = similar_tasks(subject("Add user authentication"), known, NO_VECTORS, str)
    assert (task.input, task.outcome) == ("Implement Google OAuth", "failure")
    assert (task.approach, task.files) == (("NextAuth.js",), ("a.ts",))
    assert task.similarity > 0.7


def test_vectors_decide_between_tasks_and_at_most_five_come():
    known = guides("tasks", *(f"Add login number {n}" for n in range(9)))
    near = {guide.memory_id: n / 10 for n, guide in enumerate(known)}
    found = similar_tasks(subject("Add user authentication"), known, near, str)
    assert [task.input[-1] for task in found] == ["8", "7", "6", "5", "4"]


def test_a_pattern_matches_by_the_share_of_its_conditions():
    known = guides(
        "patterns",
        "Hash: bcrypt\nApplicable when: authentication, kubernetes",
        "Deploy: helm\nApplicable when: kubernetes",
        "Both: all\nApplicable when: authentication, user",
    )
    found = applicable_patterns(subject("Add user authentication"), known, NO_VECTORS, str)
    assert [(one.name, one.match_score) for one in found] == [("Hash", 1.0), ("Both", 1.0)]
    assert found[0].matched == ("authentication",)
    half = applicable_patterns(subject("Add a login"), known[:1], NO_VECTORS, str)
    assert [one.match_score for one in half] == [0.25]


def test_a_condition_is_met_by_words_and_not_by_letters():
    known = guides(
        "patterns", "Api: rest\nApplicable when: api", "Auth: jwt\nApplicable when: auth"
    )
    assert applicable_patterns(subject("Capitalise the title"), known, NO_VECTORS, str) == ()
    (found,) = applicable_patterns(subject("Add authentication"), known, NO_VECTORS, str)
    assert found.name == "Auth"


def test_a_pattern_without_conditions_matches_by_its_tags_or_not_at_all():
    tagged = guides("patterns", "Retry thrice: with pauses", tags=("webhooks",))
    (found,) = applicable_patterns(subject("add webhooks"), tagged, NO_VECTORS, str)
    assert found.match_score == 0.9
    assert applicable_patterns(subject("rename foo to bar"), tagged, NO_VECTORS, str) == ()


def test_the_gotchas_of_the_prompts_technologies_come_before_the_projects():
    known = [
        *guides("gotchas", "Env vars: are undefined\nTech: nextjs"),
        *guides("gotchas", "Locks: wait for ever\nTech: postgres", updated_at=NOW),
        *guides("gotchas", "Borrowing: is hard\nTech: rust"),
        *guides("gotchas", "Nothing is named here"),
    ]
    numbered = [
        msgspec.structs.replace(guide, memory_id=f"mem_{n}") for n, guide in enumerate(known)
    ]
    found = known_gotchas(
        subject("add an index in postgres", "Next.js 14", "TypeScript"), numbered, str
    )
    assert [(one.tech, one.title) for one in found] == [
        ("postgresql", "Locks"),
        ("nextjs", "Env vars"),
    ]


def test_guides_are_looked_up_by_fields_technologies_and_words():
    keys = subject("Add OAuth login with redis", "Next.js 14").keys()
    assert {"domain:authentication", "technology:redis", "login"} <= set(keys["tasks"])
    assert "technology:nextjs" in keys["gotchas"]
    assert "technology:nextjs" not in keys["tasks"]


def test_what_is_shown_is_tidied():
    known = guides("patterns", "Hash: bcrypt", tags=("authentication",))
    (found,) = applicable_patterns(
        subject("Add user authentication"), known, NO_VECTORS, lambda text: text.upper()
    )
    assert (found.name, found.approach) == ("HASH", "BCRYPT")


def asked(text):
    return traits(text, primary(work_signals(text)))


def test_likeness_is_a_probability_that_grows_with_each_part():
    prompt = asked("Add user authentication")
    far = task_similarity(prompt, asked("Rename foo to bar"), 0.0)
    field = task_similarity(prompt, asked("Fix a test of the login"), 0.0)
    work = task_similarity(prompt, asked("Implement Google OAuth"), 0.0)
    near = task_similarity(prompt, asked("Implement Google OAuth"), 0.5)
    assert 0 < far < field < work < near < 1


@pytest.mark.parametrize("cosine", [0.3, None])
def test_the_same_field_and_work_are_alike_without_a_common_word(cosine):
    alike = task_similarity(
        asked("Add user authentication"), asked("Implement Google OAuth"), cosine
    )
    assert alike > 0.7


def test_a_common_word_alone_is_not_alike():
    assert task_similarity(asked("add a user table"), asked("let a user sing"), 0.2) < 0.5


def test_nothing_is_compared_to_nothing():
    assert 0 <= task_similarity(asked(""), asked(""), None) < 0.5


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
        "deploy it",
        "add a healthcheck for OAuth",
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
    assert len(ids) == MOST_BEARING
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
