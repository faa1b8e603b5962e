import pytest

from subcog.stages.moments.names import READ_CHARS, Name, ReadText, is_about_folder, names_of


def named(text):
    return [(name.kind, name.text) for name in names_of(text)]


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("`src/billing/models.py` stays free of I/O", "file", "src/billing/models.py"),
        ("see ./src/Billing/Models.py:12", "file", "src/billing/models.py"),
        ("migrate with `scripts/migrate.sh --all now`", "command", "scripts/migrate.sh --all now"),
        ("call verifyToken() first", "symbol", "verifytoken"),
        ("the key is `pool.size`", "symbol", "pool.size"),
        ("set SESSION_TTL", "symbol", "session_ttl"),
        ("--no-verify is banned", "symbol", "--no-verify"),
        ("tokens are signed with RS256", "symbol", "rs256"),
        ("we hash with argon2id", "technology", "argon2id"),
        ("it ends in OperationalError", "error", "operationalerror"),
        ("they expire after 15 minutes", "value", "15 min"),
        ("the limit is 64MB", "value", "64 mb"),
        ("it listens on 5433", "value", "5433"),
        ("pinned to v3.11.4", "value", "3.11.4"),
    ],
)
def test_what_can_be_recognised_is_a_name(text, kind, name):
    assert (kind, name) in named(text)


@pytest.mark.parametrize(
    "text",
    [
        "Invoices are numbered per tenant, never globally",
        "the `handler` of the report",
        "in 2024 we had 200 users and 5 teams",
        "read/write and and/or",
        "`index.ts` and utils.py",
    ],
)
def test_what_is_met_by_chance_is_none(text):
    assert named(text) == []


def test_a_value_is_recognised_in_any_spelling():
    (name,) = names_of("they expire after 15 minutes")
    for text in ("a 15-minute expiry", "15 min", "ttl: 15m"):
        assert ReadText(text).has(name)
    for text in ("115 minutes", "15 hours", "15"):
        assert not ReadText(text).has(name)


def test_a_name_is_recognised_as_a_whole():
    file = Name(kind="file", text="src/db/pool.py")
    assert ReadText("/home/me/shop/src/db/pool.py").has(file)
    assert not ReadText("src/db/pool.pyc").has(file)
    assert not ReadText("xsrc/db/pool.py").has(file)
    assert not ReadText("look at pool.py").has(file)
    assert ReadText("look at pool.py").knows(file)


def test_of_a_huge_text_only_the_beginning_is_read():
    assert named("x " * READ_CHARS + "verify_token") == []
    assert len(ReadText("a" * 10_000_000).folded) == READ_CHARS


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("Never edit generated files under gen/. Change proto/*.proto", "gen/ts"),
        ("gen/ is generated", "web/gen"),
        ("change files in db/migrations.", "db/migrations"),
        ("see `./Infra/modules` first", "infra/modules/vpc"),
        ("Change proto/*.proto, never gen/ by hand", "gen"),
        ("proto/*.proto is linted", "proto"),
        ("Never touch vendor/", "vendor/github.com/x"),
        ("vendor/ is patched by hand", "vendor"),
    ],
)
def test_a_text_is_about_the_folder_that_it_names_first_or_denies(text, folder):
    assert is_about_folder(text, folder.split("/"))


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("No `any` in web/src/api, the types come from gen/ts", "gen/ts"),
        ("change files in db/migrations", "migrations"),
        ("change files in db/migrations", "db"),
        ("gen/ is generated", "generic"),
        ("docs/api.md is generated", "docs"),
        ("see https://infra/x", "infra/x"),
        ("run the tests from src/", "src"),
        ("infra/ is owned by Ines", ""),
    ],
)
def test_what_names_another_folder_or_names_it_in_passing_is_not_about_it(text, folder):
    assert not is_about_folder(text, folder.split("/"))
