import pytest

from subcog.stages.moments.subject import subject_of


@pytest.mark.parametrize(
    ("path", "terms"),
    [
        ("src/billing/datev_export.py", ("datev", "export", "billing")),
        ("web/components/InvoiceTable.tsx", ("invoice", "table", "components")),
        ("src/auth/login.ts", ("login", "auth", "authentication")),
        ("lib/billing/index.ts", ("billing",)),
        ("README.md", ()),
        ("src/main.rs", ()),
        ("", ()),
    ],
)
def test_the_path_gives_words_of_its_domain_the_file_first(path, terms):
    assert subject_of(path, "").terms == terms


def test_a_technology_in_the_name_is_what_the_file_is_about():
    assert subject_of("src/auth/jwt_handler.py", "").terms == ("jwt",)


def test_the_name_of_the_project_tells_nothing():
    subject = subject_of("/src/shop/lib/shop/invoices.ex", "", tops=("/src/shop",))
    assert subject.terms == ("invoices",)


def test_the_change_gives_the_words_that_it_uses_most_without_the_language():
    text = "def sendReminder(phone):\n    return Twilio.send(phone)\n\nreminder_queue = phone"
    assert subject_of("a.py", text).words == ("phone", "send", "reminder", "twilio", "queue")


def test_symbols_are_identifiers_of_several_words_those_defined_first():
    subject = subject_of("src/token_store.py", "def verify_token(x): return parseRows(x, value)")
    assert subject.defined == ("token_store", "verify_token")
    assert subject.used == ("parseRows",)


@pytest.mark.parametrize(
    ("name", "tells"),
    [("jwt.py", True), ("index.ts", False), ("LICENSE", False), ("schema.prisma", True)],
)
def test_only_some_names_tell_which_file_is_meant(name, tells):
    assert subject_of(f"x/{name}", "").is_distinctive is tells


def test_a_long_change_is_read_only_so_far():
    assert "late" not in subject_of("a.py", "early " * 1000 + "late " * 5000).words
