import pytest

from subcog.stages.capture.records import MAX_RECORD_CHARS, find_records


def test_a_record_runs_over_its_labelled_lines():
    text = "Done.\n\n**Decision**: use UUIDv7\n**Context**: bloat\n**Rationale**: ordered\n\nNext."
    (record,) = find_records(text, role="assistant")
    assert (record.kind, record.headline) == ("decision", "use UUIDv7")
    assert text[record.start : record.end].endswith("**Rationale**: ordered")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("**Learning:** locks are per row", "learning"),
        ("- **Completed**: the importer works", "progress"),
        ("__Pattern__: one file a route", "pattern"),
        ("**Gotcha**: dates are local", "gotcha"),
        ("**Preference**: no emojis, ever", "preference"),
    ],
)
def test_a_heading_names_the_kind(line, kind):
    assert [record.kind for record in find_records(line, role="assistant")] == [kind]


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("**Resolution**: install libpq", "resolution"),
        ("**Resolution**: [If resolved, how]", "blocker"),
        ("**Status**: investigating", "blocker"),
    ],
)
def test_a_blocker_with_a_resolution_is_one(end, kind):
    found = find_records(f"**Blocker**: CI can't build it\n{end}", role="assistant")
    assert [record.kind for record in found] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "**Decision**: [One-line summary]\n**Context**: [Why]",
        "```\n**Decision**: use UUIDv7\n```",
        "> **Decision**: use UUIDv7",
        "**Status**: all green",
        "Decision time: we will see",
    ],
)
def test_a_form_a_quotation_and_other_headings_are_no_records(text):
    assert find_records(text, role="assistant") == []


def test_a_record_has_a_bound():
    text = "**Decision**: use UUIDv7\n" + "**Note**: more of it\n" * 500
    (record,) = find_records(text, role="assistant")
    assert record.end - record.start <= MAX_RECORD_CHARS
