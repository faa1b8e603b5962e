from __future__ import annotations

import pytest

from subcog.stages.capture.task_prose import MAX_CONCLUSION_CHARS, asked_for, conclusion_of

ENDING = """Perfect! All tasks have been completed.

## Summary

**Root cause**: `parse_date` compared naive and aware datetimes, as the feed has no zone.

**Fix**: it now attaches UTC where the zone is missing, in `feeds/dates.py`.

All 41 tests pass. Let me know if you want a changelog entry!"""


def test_cause_and_fix_are_taken_out_of_an_ending():
    assert conclusion_of(ENDING).text == (
        "`parse_date` compared naive and aware datetimes, as the feed has no zone."
        " It now attaches UTC where the zone is missing, in `feeds/dates.py`."
    )


@pytest.mark.parametrize(
    ("answer", "cause", "fix"),
    [
        (
            "The cause: the feed is in MET all year, and we parsed it as Amsterdam's time."
            " It uses a fixed offset now.",
            "The feed is in MET all year, and we parsed it as Amsterdam's time.",
            "It uses a fixed offset now.",
        ),
        (
            "The process leaked one canvas per ticket: a listener kept it alive. With 900 tickets"
            " this makes 3 GB. I reuse one canvas now; the memory stays at 240 MB.",
            "The process leaked one canvas per ticket: a listener kept it alive.",
            "I reuse one canvas now; the memory stays at 240 MB.",
        ),
        (
            "The cutter fires too early, since firmware 2 wants a write of its own. I now send the"
            " feed separately.",
            "The cutter fires too early, since firmware 2 wants a write of its own.",
            "I now send the feed separately.",
        ),
        (
            "Done. `parse` failed because of a blank, e.g. `a b`. `strip` is called before, so that"
            " it passes.",
            "`parse` failed because of a blank, e.g. `a b`.",
            "`strip` is called before, so that it passes.",
        ),
    ],
)
def test_a_cause_is_known_by_its_label_and_by_other_words(answer, cause, fix):
    assert conclusion_of(answer) == (f"{cause} {fix}", cause)


@pytest.mark.parametrize(
    "text",
    [
        "Perfect! All tasks have been completed.",
        "All 212 tests pass now.",
        "Great! The fix is minimal, focused and complete. Would you like me to commit it?",
        "Done.",
        "Let me run the tests again.",
        "```python\nx = 1  # fixed because of y\n```",
        "",
    ],
)
def test_what_says_only_that_it_is_done_concludes_nothing(text):
    assert conclusion_of(text) == ("", "")


def test_a_conclusion_has_a_bound():
    assert len(conclusion_of(f"It failed because of {'a, ' * 900}b.").text) <= MAX_CONCLUSION_CHARS


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (
            "Dates without a zone crash the feed import. A failing repro is at tests/test_dates.py."
            " Fix it without breaking existing behaviour.",
            "Dates without a zone crash the feed import. Fix it.",
        ),
        (
            "Add a dry run to the importer. Do not modify the tests. Make sure all tests pass.",
            "Add a dry run to the importer.",
        ),
        ("Run the tests", "Run the tests"),
    ],
)
def test_what_all_prompts_share_is_left_out(prompt, asked):
    assert asked_for(prompt) == asked
