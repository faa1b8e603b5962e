"""Where, and since when, a rule holds."""

import pytest

from subcog.stages.breaches.stated import Rules, rules_of
from tests.deeds import breaks, deed

HANDS_OFF = "Nobody touches prod by hand. No kubectl apply/edit/scale against context shop-prod."


@pytest.mark.parametrize(
    ("rule", "done", "is_broken"),
    [
        (HANDS_OFF, deed("kubectl --context shop-prod edit deploy api"), True),
        (HANDS_OFF, deed("kubectl --context shop-staging edit deploy api"), False),
        (HANDS_OFF, deed("kubectl --context shop-prod get pods"), False),
        (
            "Never run helm uninstall on production.",
            deed("helm -n stg uninstall web --kube-context shop-stg"),
            False,
        ),
        ("Never run helm uninstall on production.", deed("helm -n prod uninstall web"), True),
    ],
)
def test_what_is_denied_on_one_environment_is_not_on_another(rule, done, is_broken):
    assert breaks(rule, done) is is_broken


@pytest.mark.parametrize(
    "rule",
    [
        "Hands off lib/pay while the audit runs. UPDATE 3 May: audit is done, edit away.",
        "Never edit files under lib/pay. The freeze was lifted in May.",
    ],
)
def test_a_rule_that_its_own_memory_lifts_is_none(rule):
    assert rules_of(rule) == Rules()
    assert rules_of(rule.partition(". ")[0] + ".") != Rules()


FROZEN = "Scripts under db/changes are frozen once they are on main. Write a new one."


def test_what_is_frozen_once_it_is_merged_may_be_added():
    assert not breaks(FROZEN, deed(path="db/changes/V9.sql", written="SELECT 1"))
    old = deed(path="db/changes/V1.sql", written="SELECT 2", replaced="SELECT 1")
    assert breaks(FROZEN, old)


def test_a_list_of_what_is_not_to_be_used_ends_where_it_says_where():
    rule = "No string comparisons of roles in handlers or svelte: use can()."
    assert not breaks(rule, deed("bun add -d @testing/svelte"))
    gems = "No soft-delete gems in app or lib, no httparty: we have Faraday."
    assert breaks(gems, deed("bundle add httparty"))


def test_a_verb_that_every_client_has_names_nothing():
    rule = "A bare `.objects.filter`/`.get` on Order leaks, use `for_shop()`. It broke twice."
    assert not breaks(rule, deed(path="a.py", written="resp = http.client().get(order_url)"))
