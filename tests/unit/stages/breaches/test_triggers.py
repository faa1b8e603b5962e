"""Triggers: the patterns of actions that came with a memory."""

import re
from itertools import chain, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.triggers import MOST_TRIGGERS, Trigger, check_triggers
from subcog.bus.values import Action
from subcog.stages.actions.reading import read_action
from subcog.stages.breaches.deed import Deed
from subcog.stages.breaches.stated import warning_keys
from subcog.stages.breaches.triggers import LineText, read_trigger
from subcog.stages.rules.denied_files import MOST_WILD, PathPattern, file_keys
from tests.fakes import make_memory
from tests.waiting import ends_soon

TOP = "/work/project"


def run(command):
    return Deed(read_action(Action(tool="Bash", command=command, directory=TOP), tops=(TOP,)))


def change(path, added, removed="something else"):
    action = Action(tool="Edit", paths=(f"{TOP}/{path}",), written=added, replaced=removed)
    return Deed(read_action(action, tops=(TOP,)))


INSTALL = Trigger(run="npm install")
APPLY = Trigger(run="terraform apply", unless=("dev", "staging"))
REFUND = Trigger(write="Refund.create(", unless=("idempotency_key",))
SERVER_LOG = Trigger(write="console.log", within="src/server/**")
MIGRATION = Trigger(edit="db/migrations/*.sql")


@pytest.mark.parametrize(
    ("trigger", "command"),
    [
        (INSTALL, "npm install"),
        (INSTALL, "cd web && npm install left-pad"),
        (INSTALL, "sudo npm --prefix web install"),
        (Trigger(run="git push --force"), "git push origin main --force"),
        (Trigger(run="git push --force"), "git push -f"),
        (Trigger(run="kubectl delete pvc*"), "kubectl delete pvc/data-0 -n prod"),
        (Trigger(run="*migrate* prod*"), "bin/db-migrate-all production"),
        (APPLY, "terraform apply -auto-approve"),
        (APPLY, "cd infra/envs/prod && terraform apply"),
        (APPLY, "terraform apply > /dev/null"),
        (MIGRATION, "rm db/migrations/003_users.sql"),
    ],
)
def test_a_command_is_met_by_its_words_in_order(trigger, command):
    deed = run(command)
    assert deed.meets([trigger])
    assert read_trigger(trigger).key in set(deed.keys())


@pytest.mark.parametrize(
    ("trigger", "command"),
    [
        (INSTALL, "npm test"),
        (INSTALL, "install npm"),
        (INSTALL, "echo npm install"),
        (INSTALL, "npm install --dry-run"),
        (INSTALL, "git commit -m 'npm install is needed'"),
        (APPLY, "cd infra/envs/dev && terraform apply"),
        (APPLY, "terraform apply -var-file staging.tfvars"),
        (Trigger(run="*a*a"), "touch a"),
        (MIGRATION, "cat db/migrations/003_users.sql"),
        (REFUND, "grep -r 'Refund.create(' src"),
    ],
)
def test_a_harmless_neighbour_is_met_by_none(trigger, command):
    assert not run(command).meets([trigger])


@pytest.mark.parametrize(
    ("trigger", "path", "added"),
    [
        (REFUND, "src/pay.py", "Stripe::Refund.create(id)"),
        (SERVER_LOG, "src/server/api/users.ts", "  console.log(user)"),
        (Trigger(write="import requests"), "a.py", "import requests"),
        (Trigger(write="add_index *payments"), "db/x.rb", "add_index :payments, :id"),
        (Trigger(write="*float64"), "a.go", "var x bigfloat64"),
        (MIGRATION, "db/migrations/003_users.sql", "drop table users;"),
        (Trigger(edit="gen/**"), "gen/go/users.pb.go", "x"),
        (Trigger(edit="**/*.sql"), "db/deep/x.sql", "x"),
        (Trigger(write="@", within="**/de.json"), "web/de.json", '"mail": "a@b"'),
    ],
)
def test_a_change_is_met_by_what_it_adds_and_where(trigger, path, added):
    deed = change(path, added)
    assert deed.meets([trigger])
    assert read_trigger(trigger).key in set(deed.keys())


@pytest.mark.parametrize(
    ("trigger", "path", "added", "removed"),
    [
        (REFUND, "src/pay.py", "Refund.create(id,\n  idempotency_key=key)", ""),
        (REFUND, "src/pay.py", "refund.create(id)", ""),
        (REFUND, "src/pay.py", "MyRefund.create(id)", ""),
        (REFUND, "src/pay.py", "# Refund.create( is what we avoid", ""),
        (REFUND, "docs/pay.md", "Call Refund.create( with a key", ""),
        (REFUND, "src/pay.py", "charge(id)", "Refund.create(id)"),
        (SERVER_LOG, "src/web/page.ts", "console.log(user)", ""),
        (Trigger(write="add_index *payments"), "db/x.rb", "add_index :users\npayments", ""),
        (MIGRATION, "db/migrations/README.md", "x", "y"),
        (MIGRATION, "db/migrations/old/x.sql", "x", "y"),
        (MIGRATION, "db/migrations/004_new.sql", "create table orders;", ""),
    ],
)
def test_a_harmless_change_is_met_by_none(trigger, path, added, removed):
    assert not change(path, added, removed).meets([trigger])


WORD = st.sampled_from(["git", "push", "prod", "a*", "*b", "x", "utcnow", "now(", ".", "é", "--f"])
TEXTS = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


@given(pattern=TEXTS, beside=TEXTS, text=TEXTS)
def test_what_meets_a_trigger_has_its_key(pattern, beside, text):
    said = f"{beside} {pattern.replace('*', 'zz')} {text}"
    for trigger, deed in (
        (Trigger(run=pattern), run(f"deploy {said}")),
        (Trigger(write=pattern), change("src/a.go", said)),
        (Trigger(edit=pattern.replace(" ", "/")), change(said.replace(" ", "/"), "x")),
    ):
        if deed.meets([trigger]):
            assert read_trigger(trigger).key in set(deed.keys())


NAMES = st.lists(st.sampled_from(["a", ".", "..", "b.c", "*", "**", "{x,y}", "/", "-", "É"]))


@given(glob=NAMES.map("".join), path=st.text("abcxyé./-", max_size=14))
def test_a_file_that_is_meant_has_the_key_of_the_glob(glob, path):
    pattern = PathPattern(glob, existing=False)
    if pattern.key and pattern.holds(path):
        assert pattern.key in set(file_keys([path]))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (".env.*", ".env.production"),
        (".env*", "web/.env.local"),
        ("vite.config.*", "vite.config.ts"),
        ("src/*.test.*", "src/cart.test.tsx"),
        ("*.min.*", "static/app.min.js"),
        (".eslintrc*", ".eslintrc.json"),
        ("app.{js,ts}", "app.ts"),
        ("k8s/*.{yaml,yml}", "k8s/web.yml"),
        ("*.xcodeproj", "App.xcodeproj/project.pbxproj"),
        ("*.d/", "conf.d/limits"),
    ],
)
def test_a_glob_of_any_form_is_met_by_its_key(glob, path):
    trigger, deed = Trigger(edit=glob), change(path, "x")
    assert deed.meets([trigger])
    assert read_trigger(trigger).key in set(deed.keys())


PIECES = st.lists(st.sampled_from(["a", "ab", "/", ".", "*", "**", "<x>", "b/"]), max_size=7)


@given(glob=PIECES.map("".join), path=st.text("ab./", max_size=16))
def test_a_glob_holds_what_its_expression_matches(glob, path):
    pattern = PathPattern(glob, existing=False)
    wild = re.compile(r"\*\*|\*|<[^>]*>|\{[^}]*\}")
    gaps = (".*" if gap == "**" else "[^/]*" for gap in wild.findall(glob))
    plain = map(re.escape, wild.split(glob))
    whole = "".join(chain.from_iterable(zip_longest(plain, gaps, fillvalue="")))
    expression = rf"(?:^|/){whole}{'' if glob.endswith('/') else '(?:/|$)'}"
    expected = pattern.wilds <= MOST_WILD and re.search(expression, path, re.I) is not None
    assert pattern.holds(path) == expected


def test_a_memory_is_found_by_the_keys_of_its_triggers():
    memory = make_memory(1, "We use pnpm here.", triggers=(INSTALL, MIGRATION))
    assert {"words npm install", "file migrations/.sql"} <= set(warning_keys(memory))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Trigger(), "one of"),
        (Trigger(run="a", write="b"), "one of"),
        (Trigger(run="a", within="src"), '"in"'),
        (Trigger(run="*"), "every action"),
        (Trigger(run="npm", unless=("* ",)), "every action"),
        (Trigger(run="x" * 201), "200"),
        (Trigger(write="a\nb"), "one line"),
        (Trigger(write="\t"), "can be seen"),
        (Trigger(write="\u00a0"), "can be seen"),
        (Trigger(run="a\u001b[31m"), "can be seen"),
        (Trigger(run="a", unless=("\u200b",)), "can be seen"),
        (Trigger(edit="./"), "below the project"),
        (Trigger(write="*".join("abcdefgh")), "more than 6"),
        (Trigger(edit="*/*/*/*.py"), "more than 3"),
        (Trigger(edit="{x}{x}{x}{x}b"), "more than 3"),
        (Trigger(write="a", within="<a><b>*/{c}"), "more than 3"),
        (Trigger(write="a", within="*/*/*/*.py"), "more than 3"),
        (Trigger(run="a", unless=("b",) * 9), "at most 8"),
        (Trigger(run="a", unless=("b" * 201,)), "200"),
        (Trigger(order="add a route", run="make"), "one of"),
        (Trigger(order="add a route", unless=("test",)), "an order has none"),
        (Trigger(order="add a route", within="src/**"), "write"),
        (Trigger(order="x" * 201), "200"),
        (Trigger(order="* *"), "names something"),
    ],
)
def test_what_is_no_trigger_is_refused_in_words(wrong, said):
    with pytest.raises(ValueError, match=said):
        check_triggers([INSTALL, wrong])


def test_more_than_eight_are_refused():
    check_triggers([INSTALL] * MOST_TRIGGERS)
    with pytest.raises(ValueError, match="at most 8"):
        check_triggers([INSTALL] * (MOST_TRIGGERS + 1))


def test_many_long_paths_are_held_against_hostile_globs_in_time():
    paths = [f"{'a/' * 140}x{number}.py" for number in range(60)]
    globs = [PathPattern(f"**a/**a**{number}b", existing=False) for number in range(160)]
    with ends_soon(4.0):
        assert not any(glob.holds(path) for glob in globs for path in paths)
        assert not any(PathPattern("a*a*a*a/b", existing=False).holds("a" * 300) for _ in paths)


def test_a_hostile_text_takes_no_longer_than_it_is_long():
    text = LineText("*".join("aaaaaac"))
    with ends_soon():
        assert not text.is_in("a b " * 50_000)
        assert not change("a" * 4000, "a" * 50_000).meets([Trigger(edit="*a*a*b")])
        assert not change("a" * 4000, "a").meets([Trigger(edit="{x}" * 9 + "b")])
        assert not change("a" * 4000, "a").meets([Trigger(edit="<x>" * 9 + "b")])
