import pytest

from subcog.bus.values import Provenance, Scope
from subcog.sinks.indexes.mentions import MOST_NAMING, FileIndex
from tests.fakes import PLACE, PROJECT, make_memory

HERE = PLACE.readable


def indexed(*memories):
    files = FileIndex()
    for memory in memories:
        files.add(memory)
    return files


@pytest.mark.parametrize(
    "memory",
    [
        make_memory(1, "see src/auth/jwt.py, it is pure"),
        make_memory(1, "`jwt.py:12` is pure"),
        make_memory(1, "JWT.py is pure."),
        make_memory(1, provenance=Provenance(file="/src/shop/src/auth/jwt.py")),
        make_memory(1, sources=(Provenance(file="auth\\jwt.py"),)),
    ],
)
def test_a_memory_is_found_by_the_file_that_it_names_or_came_with(memory):
    assert indexed(memory).naming("jwt.py", HERE) == (memory.id,)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("never edit gen/", "gen/"),
        ("see ./db/Migrations.", "migrations/"),
        ("`proto/*.proto` is linted", "proto/"),
        ("release/v1.2/ is frozen", "v1.2/"),
    ],
)
def test_a_folder_is_found_by_its_name_with_a_slash(text, name):
    assert indexed(make_memory(1, text)).naming(name, HERE) == (make_memory(1).id,)


@pytest.mark.parametrize(
    ("text", "name"),
    [("src/auth/jwt.py", "auth/"), ("https://a.org/gen/", "gen/"), ("gen is generated", "gen/")],
)
def test_a_file_an_address_and_a_word_are_no_folders(text, name):
    assert indexed(make_memory(1, text)).naming(name, HERE) == ()


@pytest.mark.parametrize("text", ["old_jwt.py", "jwt.python", "jwt.py.bak", "jwt py", "my-jwt.py"])
def test_another_name_is_another_file(text):
    assert indexed(make_memory(1, text)).naming("jwt.py", HERE) == ()


def test_no_other_scope_is_read():
    files = indexed(make_memory(1, "jwt.py", scope=Scope("project", "other")))
    assert files.naming("jwt.py", HERE) == ()


def test_a_newer_version_is_found_once():
    files = indexed(make_memory(1, "jwt.py"), make_memory(1, "jwt.py and login.py", version=2))
    assert files.naming("jwt.py", HERE) == files.naming("login.py", HERE) == (make_memory(1).id,)


def test_what_is_forgotten_is_not_found():
    files = indexed(make_memory(1, "jwt.py"), make_memory(2, "jwt.py, login.py"))
    files.remove(make_memory(2).id)
    files.remove("mem_unknown")
    assert files.naming("jwt.py", HERE) == (make_memory(1).id,)
    assert files.naming("login.py", HERE) == ()


def test_the_newest_come_first_and_only_so_many():
    files = indexed(*(make_memory(n, "jwt.py") for n in range(MOST_NAMING + 5)))
    found = files.naming("jwt.py", (PROJECT, PROJECT))
    assert len(found) == MOST_NAMING
    assert found[0] == make_memory(MOST_NAMING + 4).id
