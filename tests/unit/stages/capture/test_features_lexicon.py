from subcog.stages.capture.features import CUES_OF, LONG_FROM, SHORT_PHRASES


def test_a_phrase_is_at_most_four_words_and_written_as_they_are_read():
    for phrase in CUES_OF:
        words = phrase.removeprefix("^ ").split(" ")
        assert 1 <= len(words) <= 4
        assert phrase == phrase.lower()


def test_every_phrase_is_reached_by_one_of_the_two_ways():
    for phrase in CUES_OF:
        words = phrase.removeprefix("^ ").split(" ")
        assert (phrase in SHORT_PHRASES) == (len(words) <= 2)
        assert phrase in SHORT_PHRASES or words[0] in LONG_FROM
