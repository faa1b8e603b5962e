from collections.abc import Iterable, Mapping

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from subcog.bus.events import IntentRefined, PromptEnriched, PromptSubmitted
from subcog.bus.prompts import (
    DetectionSource,
    IntentType,
    Parsed,
    ProjectFacts,
    SearchIntent,
    Vote,
    WorkKind,
    WorkSignal,
)
from subcog.bus.signals import classified, degraded, fell_back
from subcog.bus.values import Place, Scope
from subcog.sinks.models.intent_classifier import LocalClassifier
from subcog.stages.classify import (
    Late,
    ModelRacer,
    choose,
    classify,
    keyword_vote,
    local_vote,
    may_search,
    merge,
    race,
)
from tests.emissions import all_emitted, emitted
from tests.fakes import make_parsed
from tests.waiting import PATIENCE_S

PLACE = Place(project=Scope("project", "p"), root="/p", user=Scope("user", "u"))
DECISIVE = "why is the build failing with an error? It was green when I left yesterday."


def enriched(text: str, *, machine: bool = False) -> PromptEnriched:
    prompt = PromptSubmitted(trace="t", session="s", client="c", place=PLACE, text=text)
    parsed = Parsed(text=text, query=text, machine=machine)
    return PromptEnriched(trace="t", prompt=prompt, parsed=parsed, project=ProjectFacts())


class Guesser:
    """A local classifier that always says the same and remembers what it was shown."""

    def __init__(self, kind: IntentType | None, probability: float) -> None:
        name = kind.value if kind else "order"
        self.odds = dict.fromkeys((*map(str, IntentType), "order", "chat"), (1 - probability) / 7)
        self.odds[name] = probability
        self.seen: list[dict[str, float]] = []

    def weigh(self, features: Iterable[tuple[str, float]]) -> Mapping[str, float]:
        self.seen.append(dict(features))
        return self.odds


def vote(
    kind: IntentType | None,
    percent: int = 50,
    source: DetectionSource = DetectionSource.KEYWORD,
    topics: tuple[str, ...] = (),
) -> Vote:
    intent = None
    if kind is not None:
        intent = SearchIntent(
            intent_type=kind, confidence_percent=percent, topics=topics, source=source
        )
    return Vote(racer=source, intent=intent, took_ms=0.1)


async def test_what_a_machine_wrote_is_never_a_search():
    answer = await classify(enriched("where is the config?", machine=True), local=None)
    assert answer.intent is None
    assert answer.votes == ()


async def test_what_the_keywords_found_is_evidence_that_the_local_classifier_weighs():
    local = Guesser(IntentType.HOWTO, 0.7)
    answer = await classify(enriched(DECISIVE), local=local)
    assert "=keyword troubleshoot" in local.seen[0]
    assert answer.intent is not None
    assert (answer.intent.intent_type, answer.intent.confidence_percent) == (IntentType.HOWTO, 70)
    assert answer.intent.source is DetectionSource.HYBRID
    assert answer.intent.evidence


async def test_an_order_that_sounds_like_a_question_is_none():
    answer = await classify(enriched("why not drop the cache? do it"), local=Guesser(None, 0.9))
    assert answer.votes[0].intent is not None
    assert answer.intent is None


async def test_a_question_of_time_is_read_by_rules_alone():
    local = Guesser(None, 0.99)
    answer = await classify(enriched("what did we decide last week?"), local=local)
    assert local.seen == []
    assert answer.intent is not None
    assert answer.intent.source is DetectionSource.KEYWORD


async def test_the_bar_for_decisive_can_be_raised():
    model = llm(None)
    for percent in (80, 90):
        await classify(
            enriched(DECISIVE),
            local=Guesser(IntentType.TROUBLESHOOT, 0.99),
            model=racer(model),
            min_decisive_percent=percent,
        )
    assert model.asked == [DECISIVE]


@pytest.mark.parametrize("lead", ["ok. next: ", "done. ", "great, thanks. ", "that worked, thx. "])
async def test_what_leads_in_to_a_question_does_not_make_it_another(lead):
    local = LocalClassifier.load()
    asked = "which gpu machine do we have"
    plain = await classify(enriched(asked), local=local)
    led = await classify(enriched(lead + asked), local=local)
    assert plain.intent is not None
    assert led.intent is not None
    assert led.intent.intent_type is plain.intent.intent_type
    for one in led.intent.evidence:
        assert (lead + asked)[one.start : one.end] == one.signal


async def test_the_local_classifier_finds_what_has_no_signal():
    answer = await classify(
        enriched("python flatten nested list"), local=Guesser(IntentType.HOWTO, 0.9)
    )
    assert answer.intent is not None
    assert answer.intent.source is DetectionSource.LOCAL
    assert answer.intent.confidence_percent == 90
    assert answer.intent.topics == ("python", "flatten", "nested", "list")


async def test_a_search_of_an_uncertain_kind_is_still_believed():
    answer = await classify(
        enriched("python flatten nested list"), local=Guesser(IntentType.HOWTO, 0.3)
    )
    assert answer.intent is not None
    assert answer.intent.confidence_percent == 50


async def test_who_asks_the_same_of_another_subject_searches_where_the_prompt_before_did():
    local = LocalClassifier.load()
    for before, kind in (
        ("Why are invoice lines rounded up?", IntentType.EXPLANATION),
        ("Round the invoice lines up", None),
    ):
        asked = enriched("and VAT?")
        asked = replace(asked, parsed=replace(asked.parsed, before=before, subject=("VAT",)))
        answer = await classify(asked, local=local)
        assert (answer.intent and answer.intent.intent_type) is kind
        assert may_search(asked.parsed, local) is (kind is not None)
        if answer.intent:
            assert (answer.intent.topics, answer.intent.evidence) == (("vat",), ())


async def test_two_that_say_no_make_a_no():
    answer = await classify(enriched("run the tests"), local=Guesser(None, 0.9))
    assert answer.intent is None
    assert [one.intent for one in answer.votes] == [None, None]


async def test_without_a_local_classifier_the_keywords_decide_and_it_is_told():
    with emitted(degraded) as told:
        answer = await classify(enriched("where is the config?"), local=None)
    assert answer.intent is not None
    assert answer.intent.intent_type is IntentType.LOCATION
    assert told == [("classify", {"reason": "local.unavailable"})]


async def test_an_error_inside_the_local_classifier_is_not_hidden():
    class Broken:
        def weigh(self, features: Iterable[tuple[str, float]]) -> Mapping[str, float]:
            raise AttributeError("a bug")

    with pytest.raises(ExceptionGroup) as caught:
        await classify(enriched("where is it"), local=Broken())
    assert caught.group_contains(AttributeError)


async def test_racers_run_together_and_votes_keep_the_order_of_arrival():
    fast_done = anyio.Event()

    async def slow(text: str, held: SearchIntent | None) -> Vote:
        await fast_done.wait()
        return vote(None, source=DetectionSource.LLM)

    async def fast(text: str, held: SearchIntent | None) -> Vote:
        fast_done.set()
        return vote(IntentType.HOWTO, source=DetectionSource.LOCAL)

    with anyio.fail_after(PATIENCE_S):
        votes = await race("text", None, [slow, fast])
    assert [one.racer for one in votes] == [DetectionSource.LOCAL, DetectionSource.LLM]


def test_who_alone_found_an_intent_is_right_but_for_keywords_that_were_weighed():
    only = vote(IntentType.HOWTO, 60)
    assert merge([only, vote(None, source=DetectionSource.LLM)]) == only.intent
    local = vote(IntentType.HOWTO, 60, DetectionSource.LOCAL)
    assert merge([vote(None), local]) == local.intent
    model = vote(IntentType.HOWTO, 60, DetectionSource.LLM)
    no = vote(None, source=DetectionSource.LOCAL)
    assert merge([only, no]) is None
    assert merge([model, only, no]) == model.intent


def test_nobody_found_anything():
    assert merge([]) is None
    assert merge([vote(None)]) is None


def test_where_two_agree_the_keywords_confidence_stands():
    merged = merge([vote(IntentType.HOWTO, 60), vote(IntentType.HOWTO, 90, DetectionSource.LLM)])
    assert merged is not None
    assert merged.confidence_percent == 60
    assert merged.source is DetectionSource.HYBRID


@pytest.mark.parametrize(
    ("keyword", "other", "kind", "percent"),
    [(50, 70, IntentType.LOCATION, 70), (75, 70, IntentType.HOWTO, 75)],
)
def test_where_two_disagree_the_surer_one_decides(keyword, other, kind, percent):
    merged = merge(
        [
            vote(IntentType.HOWTO, keyword),
            vote(IntentType.LOCATION, other, DetectionSource.LLM),
        ]
    )
    assert merged is not None
    assert (merged.intent_type, merged.confidence_percent) == (kind, percent)


def test_where_the_local_classifier_disagrees_with_the_keywords_it_decides():
    keywords = vote(IntentType.HOWTO, 90)
    for kind, percent in ((IntentType.LOCATION, 60), (IntentType.HOWTO, 90)):
        merged = merge([keywords, vote(kind, 60, DetectionSource.LOCAL)])
        assert merged is not None
        assert (merged.intent_type, merged.confidence_percent) == (kind, percent)


def test_an_equal_challenger_does_not_replace_what_is_held():
    merged = merge([vote(IntentType.HOWTO, 60), vote(IntentType.LOCATION, 60, DetectionSource.LLM)])
    assert merged is not None
    assert merged.intent_type is IntentType.HOWTO


def test_the_models_topics_come_first_and_the_others_fill_up_to_five():
    merged = merge(
        [
            vote(IntentType.HOWTO, 60, topics=("a", "b", "c", "d")),
            vote(IntentType.HOWTO, 60, DetectionSource.LLM, topics=("x", "b", "y")),
        ]
    )
    assert merged is not None
    assert merged.topics == ("x", "b", "y", "a", "c")


def test_evidence_of_the_keywords_survives_a_merge():
    text = "where is the config?"
    local = local_vote(text, keyword_vote(text).intent, Guesser(IntentType.LOCATION, 0.9))
    merged = merge([keyword_vote(text), local])
    assert merged is not None
    assert merged.keywords == ("where is",)
    assert merged.evidence[0].signal == "where is"


def test_first_it_is_decided_whether_it_is_a_search_and_then_of_which_kind():
    odds = Guesser(IntentType.HOWTO, 0.3).odds
    assert choose(odds)[0] == "howto"
    assert choose(odds | {"order": 0.2, "chat": 0.22})[0] == "chat"


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        ("her build fails in the simulator at pod install, any idea?", True),
        ("her build fails in the simulator at pod install, have a look", False),
        ("is an allocation after startup ok, e.g. a vector in a task", True),
        ("is an allocation after startup ok, e.g. a vector. Make it one", False),
        ("add a flag for that, ok?", False),
    ],
)
def test_what_the_keywords_are_sure_of_is_no_order_where_it_is_a_question(text, searches):
    vote = local_vote(text, keyword_vote(text).intent, Guesser(None, 0.9))
    assert (vote.intent is not None) is searches


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        ("git push fails: lfs quota exceeded", True),
        ("the pump logs 'Execution Timeout Expired' at 23:10", True),
        ("git push fails, retrying", False),
        ("build failed: my fault, fixed now", False),
        ("Tests red: expected, I am in the middle of a rename.", False),
        ("Upload aborted: I pressed cancel.", False),
        ("git push fails: permission denied, my key is in the agent", True),
        ("tests fail: expected 3 rows, got 4", True),
        ("log 'lfs quota exceeded' where the push fails", False),
        ("review done: two tests fail. will fix them tomorrow", False),
    ],
)
def test_trouble_that_is_told_with_its_message_is_searched_for(text, searches):
    told = local_vote(text, keyword_vote(text).intent, Guesser(None, 0.8))
    assert (told.intent is not None) is searches
    surely_none = local_vote(text, keyword_vote(text).intent, Guesser(None, 0.95))
    assert surely_none.intent is None


def test_the_note_of_a_local_no_tells_an_order_from_chat():
    assert local_vote("x", None, Guesser(None, 0.9)).note == "order 0.90"


# --- with a language model ------------------------------------------------------------------------


class PlayedModel:
    """Votes as told, and keeps what it was asked."""

    def __init__(self, vote: Vote) -> None:
        self.vote = vote
        self.asked: list[str] = []
        self.within_s = 0.0
        self.late: Late | None = None

    async def ask(self, text: str, *, within_s: float, late: Late | None = None) -> Vote:
        self.asked.append(text)
        self.within_s = within_s
        self.late = late
        return self.vote


class Refined:
    """Takes what is refined."""

    def __init__(self) -> None:
        self.events: list[IntentRefined] = []

    async def __call__(self, event: IntentRefined) -> bool:
        self.events.append(event)
        return True


def llm(kind: IntentType | None, percent: int = 90, *, missing: str = "") -> PlayedModel:
    cast = vote(kind, percent, DetectionSource.LLM, ("subject",))
    return PlayedModel(msgspec.structs.replace(cast, missing=missing))


def racer(model: PlayedModel, **changes) -> ModelRacer:
    fields = {"policy": "when_unsure", "timeout_s": 0.2, "need_s": lambda racing: 0.05}
    return ModelRacer(model, refined=changes.pop("refined", Refined()), **(fields | changes))


@pytest.fixture
def heard():
    with all_emitted(classified, degraded, fell_back) as tells:
        yield tells


@pytest.mark.parametrize(
    ("policy", "text", "is_asked"),
    [
        ("when_unsure", "where is the config?", True),
        ("when_unsure", "run the tests", True),
        ("when_unsure", DECISIVE, False),
        ("always", DECISIVE, True),
        ("never", "where is the config?", False),
    ],
)
async def test_the_policy_says_when_the_model_is_asked(policy, text, is_asked):
    model = llm(None)
    await classify(enriched(text), local=Guesser(None, 0.9), model=racer(model, policy=policy))
    assert model.asked == ([text] if is_asked else [])


async def test_what_a_machine_wrote_is_not_shown_to_the_model():
    model = llm(IntentType.HOWTO)
    answer = await classify(
        enriched("how?", machine=True), local=None, model=racer(model, policy="always")
    )
    assert (model.asked, answer.intent) == ([], None)


async def test_the_model_alone_finds_what_others_overlook():
    answer = await classify(
        enriched("run the tests"), local=Guesser(None, 0.9), model=racer(llm(IntentType.LOCATION))
    )
    assert answer.intent.source is DetectionSource.LLM
    assert answer.intent.topics == ("subject",)


async def test_the_model_and_the_keywords_together_are_a_hybrid(heard):
    answer = await classify(
        enriched("where is the config?"),
        local=Guesser(IntentType.LOCATION, 0.9),
        model=racer(llm(IntentType.LOCATION)),
    )
    assert answer.intent.source is DetectionSource.HYBRID
    assert answer.intent.topics == ("subject", "config")
    ((name, sender, facts),) = heard
    assert (name, sender, facts["source"], facts["intent"]) == (
        "classified",
        "classify",
        "hybrid",
        "location",
    )


async def test_a_model_without_an_answer_leaves_the_others_and_it_is_told(heard):
    answer = await classify(
        enriched("where is the config?"),
        local=Guesser(IntentType.LOCATION, 0.9),
        model=racer(llm(None, missing="timeout")),
    )
    assert answer.intent.source is DetectionSource.HYBRID
    assert heard[1:] == [
        ("degraded", "classify", {"reason": "model.timeout"}),
        ("fell_back", "llm", {"to": "hybrid", "reason": "timeout"}),
    ]


async def test_without_a_deadline_the_model_gets_what_the_settings_allow():
    model = llm(None)
    await classify(enriched("where?"), local=None, model=racer(model, timeout_s=0.2))
    assert model.within_s == 0.2


async def test_of_a_deadline_the_model_gets_what_the_stages_after_it_leave():
    model = llm(None)
    with anyio.fail_after(5):
        await classify(
            enriched("where?"), local=None, model=racer(model, timeout_s=60, need_s=lambda n: 3 + n)
        )
    assert 0 < model.within_s <= 1


async def test_a_late_vote_refines_what_was_answered():
    model, refined = llm(None, missing="timeout"), Refined()
    event = enriched("where is the config?")
    local = Guesser(IntentType.LOCATION, 0.6)
    answer = await classify(event, local=local, model=racer(model, refined=refined))
    late = vote(IntentType.TROUBLESHOOT, 95, DetectionSource.LLM, ("late",))
    assert await model.late(late)
    (told,) = refined.events
    assert told.trace == event.trace
    assert told.classified == answer
    assert told.vote == late
    assert told.intent.intent_type is IntentType.TROUBLESHOOT
    assert told.intent.topics == ("late", "config")


async def test_a_rehearsal_takes_nothing_late():
    model = llm(None, missing="timeout")
    event = enriched("where is the config?")
    event = msgspec.structs.replace(
        event, prompt=msgspec.structs.replace(event.prompt, rehearsal=True)
    )
    await classify(event, local=None, model=racer(model))
    assert model.late is None


async def test_the_kind_of_work_is_evidence_for_the_keywords():
    event = enriched("Fix the login. How can I see what goes wrong?")
    work = (WorkSignal(keyword="Fix", kind=WorkKind.BUGFIX),)
    mended = msgspec.structs.replace(event, parsed=msgspec.structs.replace(event.parsed, work=work))
    for prompt, kind in ((event, IntentType.HOWTO), (mended, IntentType.TROUBLESHOOT)):
        answer = await classify(prompt, local=None)
        assert answer.intent is not None
        assert answer.intent.intent_type is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("warum nehmen wir eigentlich nicht google maps?", IntentType.EXPLANATION),
        ("schreib bitte einen test für den neuen worker", None),
    ],
)
async def test_another_language_than_english_is_not_for_the_local_classifier(text, kind):
    local = Guesser(IntentType.HOWTO, 0.99)
    answer = await classify(enriched(text), local=local)
    assert local.seen == []
    assert (answer.intent.intent_type if answer.intent else None) is kind


def test_only_what_no_racer_takes_for_a_search_is_none():
    nothing, something = Guesser(None, 0.9), Guesser(IntentType.LOCATION, 0.9)
    order = make_parsed(text="Rename the parser to reader").parsed
    question = make_parsed(text="How does the parser work?").parsed
    assert not may_search(order, nothing)
    assert may_search(order, something)
    assert may_search(order, None)
    assert not may_search(question, nothing)
    assert may_search(msgspec.structs.replace(question, pasted=True), nothing)
