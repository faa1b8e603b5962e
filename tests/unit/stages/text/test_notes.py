import pytest

from subcog.stages.text.notes import Piece, heading_of, is_link, only_links, pieces
from tests.waiting import ends_soon

FILE = """\
---
name: x
---
# Shop

<!-- for
editors -->
This is a shop.

@docs/more.md

## Contents
- [Build](#build)
  - [Style](#style)

## Build
Make everything:

```sh
# no heading
make all
```

- Test: `make test`
  with -k for one
- Lint: `make lint`
  - nested

### Release
Before a release:
1. Tag it
2. Push it

In a review:
* never merge red

See also [[Other]] and https://example.org
"""


def test_a_file_is_split_into_what_it_says_with_its_headings():
    assert list(pieces(FILE)) == [
        Piece("Shop", "This is a shop."),
        Piece("Build", "Make everything:\n```sh\n# no heading\nmake all\n```"),
        Piece("Build", "Test: `make test`\n  with -k for one"),
        Piece("Build", "Lint: `make lint`\n  - nested"),
        Piece("Build / Release / Before a release", "1. Tag it\n2. Push it"),
        Piece("Build / Release / In a review", "never merge red"),
    ]


@pytest.mark.parametrize("text", ["", "---\n", "```\nnever closed", "- \n", "# \n", "\0", "1. a"])
def test_any_text_can_be_split(text):
    assert all(piece.text for piece in pieces(text))


@pytest.mark.parametrize(
    "line",
    ["[[A]]", "- [a](b.md)", "see [a](b) and [[c]]", "https://x.y/z", "<https://x.y>", "[1]: x.md"],
)
def test_a_line_of_links_says_nothing(line):
    assert is_link(line)
    assert only_links(f"{line}\n\n{line}")


@pytest.mark.parametrize("line", ["", "plain", "we follow [a](b)", "- [decision] use x", "[x]"])
def test_a_line_with_words_is_more_than_links(line):
    assert not is_link(line)


@pytest.mark.parametrize(
    "text",
    ["# a" + "#" * 100_000 + "b\nc", "# a" + " " * 100_000 + "b\nc", "a:\n- b\n\n" * 20_000],
    ids=["signs", "spaces", "leads"],
)
def test_a_hostile_text_is_split_in_linear_time(text):
    with ends_soon():
        assert list(pieces(text))


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# a", (1, "a")),
        ("###  a b ## ", (3, "a b")),
        ("## C#", (2, "C")),
        ("# ##", (1, "##")),
        ("#a", None),
        ("# ", None),
        ("####### a", None),
    ],
)
def test_a_heading_has_a_level_and_a_title(line, heading):
    assert heading_of(line) == heading
