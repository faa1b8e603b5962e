import pytest

from subcog.sinks.project.technologies import display_name, named_in


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("nextjs", "Next.js"),
        ("typescript", "TypeScript"),
        ("postgres", "PostgreSQL"),
        ("our-own", "our-own"),
    ],
)
def test_a_technology_is_written_as_its_makers_do(name, written):
    assert display_name(name) == written


def test_sentences_name_technologies_but_ordinary_words_are_none():
    texts = ["Always await Supabase calls", "Go to the next page", "We use next.js and Redis."]
    assert named_in(texts) == ["Supabase", "Next.js", "Redis"]
