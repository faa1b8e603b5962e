from xml.etree import ElementTree

import pytest

from subcog.bus.values import NAMESPACES
from subcog.stages.moments.guidance import CEILING_TOKENS, guidance
from subcog.stages.text.markup import split_markers, strip_blocks
from subcog.stages.text.unicode import count_tokens

DETAILS = list(CEILING_TOKENS)


@pytest.mark.parametrize("detail", DETAILS)
def test_each_detail_is_xml_below_its_ceiling(detail):
    text = guidance(detail)
    root = ElementTree.fromstring(text)
    kinds = [pattern.get("type") for pattern in root.iter("pattern")]
    assert count_tokens(text) <= CEILING_TOKENS[detail]
    assert root.tag == "response_guidance"
    assert kinds == ["decision", "learning", "blocker", "progress"]
    assert root.find("inline_markers") is not None
    assert root.find("best_practices") is not None


def test_each_detail_says_more_than_the_one_before():
    sizes = [count_tokens(guidance(detail)) for detail in DETAILS]
    assert sizes == sorted(sizes)


def test_the_markers_that_it_names_work_as_it_says():
    root = ElementTree.fromstring(guidance("detailed"))
    for marker in root.iter("marker"):
        ((found),) = split_markers(marker.get("syntax").replace("text", "keep this"))[1]
        said = marker.get("namespace").partition(",")[0]
        assert found.namespace == (said if said in NAMESPACES else None)


@pytest.mark.parametrize("detail", DETAILS)
def test_it_shouts_at_nobody(detail):
    words = guidance(detail).split()
    assert not [word for word in words if word.isupper() and len(word) > 3]
    assert "must" not in guidance(detail).lower()


@pytest.mark.parametrize("detail", DETAILS)
def test_it_is_taken_out_of_what_is_read_as_a_prompt(detail):
    assert strip_blocks(f"before {guidance(detail)}after") == "before after"
