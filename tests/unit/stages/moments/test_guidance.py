from xml.etree import ElementTree

import pytest

from subcog.bus.sessions import Message
from subcog.bus.values import NAMESPACES
from subcog.stages.capture.review import find_statements
from subcog.stages.moments.guidance import CEILING_TOKENS, LINES, MARKERS, guidance
from subcog.stages.text.markup import split_markers, strip_blocks
from subcog.stages.text.unicode import count_tokens

DETAILS = list(CEILING_TOKENS)
STATEMENTS = (
    "use UUIDv7 for all keys, since they sort by time",
    "the importer holds one lock per tenant",
    "`pnpm build` fails without NODE_ENV=production",
    "dates in the feed are local time, not UTC",
    "Redis 7.4 has a new licence, so we stay on 7.2",
    "the vendor's sandbox answers only from 8 to 18",
    "each handler validates, then locks, then writes",
    "never log request bodies in this service",
    "retries of 409 created the double bookings",
    "der Export braucht UTF-8 mit BOM, sonst zeigt Excel Fragezeichen",
)


def kept(answer):
    found = find_statements([Message(role="assistant", text=answer)])
    return [(one.note.namespace, one.note.text) for one in found if one.note.earned]


@pytest.mark.parametrize("detail", DETAILS)
def test_each_detail_is_xml_below_its_ceiling(detail):
    text = guidance(detail)
    root = ElementTree.fromstring(text)
    assert count_tokens(text) <= CEILING_TOKENS[detail]
    assert root.tag == "response_guidance"
    assert root.find("inline_markers") is not None


@pytest.mark.parametrize("detail", DETAILS)
def test_each_detail_names_every_label(detail):
    assert [label for label in LINES if label not in guidance(detail)] == []


def test_each_detail_says_more_than_the_one_before():
    sizes = [count_tokens(guidance(detail)) for detail in DETAILS]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(("label", "namespace"), [(k, v[0]) for k, v in LINES.items()])
@pytest.mark.parametrize("form", ["**{}**: {}", "**{}:** {}", "- **{}**: {}"])
def test_each_label_that_it_teaches_is_kept_ten_times_of_ten(label, namespace, form):
    lines = "\n".join(form.format(label, said) for said in STATEMENTS)
    expected = [(namespace, said) for said in STATEMENTS]
    assert kept(f"The tests pass.\n\n{lines}\n\nShall I go on?") == expected
    assert [kept(form.format(label, said)) for said in STATEMENTS] == [[one] for one in expected]


def test_the_examples_that_it_gives_are_kept():
    for label, (namespace, _, example) in LINES.items():
        assert kept(f"**{label}**: {example}") == [(namespace, example)]


def test_a_marker_in_an_answer_is_kept_ten_times_of_ten():
    expected = [[("decisions", said)] for said in STATEMENTS]
    assert [kept(f"Done.\n\n[remember:decisions] {said}") for said in STATEMENTS] == expected


def test_the_markers_that_it_names_work_in_a_prompt_ten_times_of_ten():
    for syntax, named in MARKERS:
        for said in STATEMENTS:
            ((found),) = split_markers(f"Fix it.\n{syntax.replace('text', said)}")[1]
            namespace = named.partition(",")[0]
            assert found.content == said
            assert found.namespace == (namespace if namespace in NAMESPACES else None)


@pytest.mark.parametrize("detail", DETAILS)
def test_it_shouts_at_nobody(detail):
    words = guidance(detail).split()
    assert not [word for word in words if word.isupper() and len(word) > 3]
    assert "must" not in guidance(detail).lower()


@pytest.mark.parametrize("detail", DETAILS)
def test_it_is_taken_out_of_what_is_read_as_a_prompt(detail):
    assert strip_blocks(f"before {guidance(detail)}after") == "before after"
