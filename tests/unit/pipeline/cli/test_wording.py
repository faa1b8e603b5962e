from subcog.pipeline.cli.wording import counted, degraded_search, memories


def test_counts_are_words():
    numbers = (1, 0, 12345)
    assert [memories(number) for number in numbers] == ["1 memory", "0 memories", "12,345 memories"]
    assert [counted(number, "row") for number in numbers] == ["1 row", "0 rows", "12,345 rows"]


def test_why_a_search_found_less_is_said_in_words_with_its_name():
    assert "still being loaded" in degraded_search("index.loading", "hybrid")
    assert degraded_search("of.tomorrow", "text") == "only text search answered; of.tomorrow"
