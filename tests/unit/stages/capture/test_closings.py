from itertools import count

import pytest

from subcog.stages.capture.closings import find_closings, meant_by
from tests.fakes import make_memory
from tests.waiting import ends_soon

numbers = count(1)


def memory(content, namespace="blockers"):
    return make_memory(next(numbers), content, namespace=namespace)


def closed_by(closing, among):
    """The one that is meant, if there is just one."""
    meant = meant_by(closing, among)
    return meant[0] if len(meant) == 1 else None


CERTIFICATE = memory("We cannot deploy until the certificate is renewed")
RUNNER = memory("CI is blocked: the runner image has no Node 22")
LOGIN = memory("The login page is down: our account at the identity provider is locked")
ORDERS = memory("Import the old orders into the new schema", "tasks")
BACKFILL = memory("Backfill 2023 blocked until Legal OKs the loyalty data (ticket DATA-882)")
JENKINS = memory("We can't delete old-jenkins: Finance still pulls reports from it")
OPEN = (CERTIFICATE, RUNNER, LOGIN, ORDERS, BACKFILL, JENKINS)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("CI is fixed now", RUNNER),
        ("CI works again, thanks", RUNNER),
        ("CI is fixed since this Monday, thanks to Tom, finally", RUNNER),
        ("We fixed the runner image.", RUNNER),
        ("The runner image problem is solved", RUNNER),
        ("the certificate has been renewed", CERTIFICATE),
        ("btw the certificate's renewed now", CERTIFICATE),
        ("we've finished the import of the old orders", ORDERS),
        ("I'm done with the import of the old orders", ORDERS),
        ("The login page is back up", LOGIN),
        ("The login page is back to normal", LOGIN),
        ("The ticket about the login page is closed", LOGIN),
        ("We closed the login page issue", LOGIN),
        ("The certificate is renewed now, so we can deploy", CERTIFICATE),
        ("we renewed the certificate", CERTIFICATE),
        ("Legal OKed the loyalty data this morning", BACKFILL),
        ("The 2023 backfill is not blocked anymore", BACKFILL),
        ("the 2023 backfill isn't stuck any more", BACKFILL),
        ("The 2023 backfill is no longer blocked", BACKFILL),
        ("DATA-882 is done", BACKFILL),
        ("DATA-882 is closed", BACKFILL),
        ("old-jenkins is deleted now", JENKINS),
    ],
)
def test_what_is_said_to_be_done_is_found(said, meant):
    (closing,) = find_closings(said)
    assert closed_by(closing, OPEN) is meant


PAYPAL_WAITS = memory("PayPal reference transactions not enabled yet, so the Mehl-Abo cannot start")
ATEX_WAITS = memory("Cert for the ATEX enclosure stuck at Dekra, blocks the rollout")
APPLE_WAITS = memory(
    "Apple rejected 4.12, account deletion is missing; waiting for the endpoint from Ravi"
)
AUDIT_WAITS = memory("Audit of the importer: waiting for Finance to sign the report")
HINDERED = (PAYPAL_WAITS, ATEX_WAITS, APPLE_WAITS, AUDIT_WAITS)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "FYI PayPal enabled reference transactions for us today, so the Mehl-Abo can start",
            PAYPAL_WAITS,
        ),
        ("PayPal reference transactions are enabled now", PAYPAL_WAITS),
        ("the ATEX cert is done, Dekra sent it today", ATEX_WAITS),
        ("Dekra gave us the ATEX cert, we can roll out", ATEX_WAITS),
        ("good news: Ravi shipped the endpoint and Apple approved 4.12 this morning", APPLE_WAITS),
        ("Apple approved 4.12", APPLE_WAITS),
    ],
)
def test_what_was_lacking_and_is_there_now_is_over(said, meant):
    found = find_closings(said)
    closed = {closed_by(one, HINDERED) for one in found}
    assert closed - {None} == {meant}


@pytest.mark.parametrize(
    "said",
    [
        "PayPal reference transactions are documented now",
        "Dekra tested the ATEX enclosure",
        "Apple reviewed 4.12",
        "Finance sent the report of the audit",  # they have to sign it
        "the ATEX cert is done, but only for rev B",
        "the ATEX cert is done, except for rev B",
        "Dekra sent the invoice and the ATEX enclosure was painted",
    ],
)
def test_another_act_or_a_part_of_it_ends_nothing(said):
    found = find_closings(said)
    assert all(closed_by(one, HINDERED) is None for one in found)


@pytest.mark.parametrize(
    "said",
    [
        "Is CI fixed now?",
        "CI isn't fixed yet",
        "CI is not blocked",
        "When CI is fixed, run the e2e tests",
        "Make sure that the import of the old orders is done",
        "I think CI is fixed now",
        "Deploys are done by ArgoCD",
        "It is done",
        "That's fixed now",
        "Everything is done",
        "> CI is fixed now",
    ],
)
def test_what_says_of_nothing_that_it_is_done_is_passed_over(said):
    assert find_closings(said) == ()


@pytest.mark.parametrize(
    "said",
    [
        "The payment page is fixed now",  # nothing is open of it
        "The image is done",  # a word in passing, not what the blocker is about
        "The certificate is locked",  # not what is waited for
        "Node is blocked",
        "Legal reviewed the loyalty data",  # they have to approve
        "Finance pulled reports from old-jenkins",
        "I deleted reports from Finance",
    ],
)
def test_what_means_no_open_one_closes_none(said):
    (closing,) = find_closings(said)
    assert closed_by(closing, OPEN) is None


@pytest.mark.parametrize(
    ("said", "still_open"),
    [
        ("The memory leak in the worker is back again", "The memory leak in the worker blocks us"),
        ("The flaky login test is back", "Flaky login test: CI is red every second run"),
        ("The staging VPN is closed", "Nobody can reach the staging VPN"),
        ("We closed the staging VPN", "Nobody can reach the staging VPN"),
    ],
)
def test_what_is_back_or_shut_is_not_done(said: str, still_open: str) -> None:
    blocker = memory(still_open)
    assert all(closed_by(one, (blocker,)) is None for one in find_closings(said))


UPLOAD = memory(
    "the Lexoffice upload cannot be tested until Henrike has ordered the plan that includes the key"
)
STORE = memory(
    "publishing to the Play Store waits for the privacy policy URL from legal (Ms. Roth)"
)
STAGING = memory("the staging deploy is blocked until the licence is renewed")
MIGRATION = memory(
    "migration 0042 cannot run on staging until the btree_gist extension is created by a superuser"
)
PAYPAL = memory(
    "PayPal reference transactions not enabled for our account yet, subscriptions wait for it"
)
APPLE = memory(
    "Apple rejected 4.12 (account deletion must be in app), resubmission waits for the endpoint"
    " from Ravi"
)
ATEX = memory("Cert for the ATEX enclosure stuck at Dekra till they get 2 more samples")
DOMAIN = memory("The domain move is blocked: we need the auth code from the old registrar")
REVIEW = memory("Release 3.2 waits for approval of the new contract by Nadia")
PAPER = memory("The JOSS paper is blocked until the second reviewer answers.")
LICENCES = memory("The 1.0 release is on hold until the review of licences is finished.")
MEWS = memory("waiting on Mews for the prod API key, ticket MW-118820, opened 11 days ago")
RENE = memory("Rene is on sick leave until the 4th, Sol covers.")
KAI = memory("Kai is away in Oslo, the audit waits.")
ILKE = memory("Ilke is on PTO until the 9th, the DNS record waits.")
OVER = (PAPER, LICENCES, MEWS, RENE, KAI, ILKE)
HELD_UP = (UPLOAD, STORE, STAGING, MIGRATION, PAYPAL, APPLE, ATEX, DOMAIN, REVIEW, RUNNER)


def closed(said, among=HELD_UP):
    found = (closed_by(closing, among) for closing in find_closings(said))
    return [one for one in found if one is not None]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("the lexoffice key is here btw, Henrike sent it", UPLOAD),
        ("Henrike has ordered the lexoffice plan, we have the key", UPLOAD),
        ("lexoffice upload works in prod since noon, that's done", UPLOAD),
        ("the lexoffice upload is tested and works", UPLOAD),
        ("got the key from Henrike", UPLOAD),
        ("we can test the lexoffice upload now", UPLOAD),
        ("the privacy policy is online at https://x.example/p. So that is unblocked.", STORE),
        ("legal delivered the privacy policy", STORE),
        ("we published to the play store this morning", STORE),
        ("the licence is renewed now", STAGING),
        ("Sunita renewed the licence", STAGING),
        ("we deployed to staging again", STAGING),
        ("migration 0042 ran on staging", MIGRATION),
        ("Oleg did it, extension is there on staging", MIGRATION),
        ("FYI PayPal enabled reference transactions for us today, so the Abo can start", PAYPAL),
        ("PayPal reference transactions are live", PAYPAL),
        ("good news: Ravi shipped the endpoint and we can go on", APPLE),
        ("Apple approved 4.12 this morning", APPLE),
        ("the ATEX cert is done, Dekra sent it today", ATEX),
        ("Dekra gave us the ATEX cert, we can roll out", ATEX),
        ("the auth code arrived today, please start the move", DOMAIN),
        ("the runner image has Node 22 now", RUNNER),
    ],
)
def test_what_a_blocker_waits_for_is_there_in_whatever_words(said, meant):
    assert set(map(id, closed(said))) == {id(meant)}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("reviewer 2 answered, the JOSS paper isn't blocked any more", [PAPER]),
        ("the review of the licences is through!", [LICENCES]),
        ("the review of the licences is through the first half", []),
        ("Mews finally sent the prod API key, I put it in the secrets", [MEWS]),
        ("Mews sent us the sandbox API key", []),
        ("Mews granted us the prod API key", [MEWS]),
        ("Rene is back from sick leave", [RENE]),
        ("Rene is back at it with 40 comments", []),
        ("Rene is back since Monday", [RENE]),
        ("Rene is back, so we can go on", [RENE]),
        ("Rene is back from lunch", []),
        ("Rene is back from the meeting now", []),
        ("Rene is back today at 5", []),
        ("Rene is back and forth", []),
        ("Kai is back from Oslo", [KAI]),
        ("Kai is back from Bergen", []),
        ("Ilke is back from PTO", [ILKE]),
        ("Sol is back", []),
    ],
)
def test_what_is_through_sent_or_back_is_over(said, meant):
    assert closed(said, OVER) == meant


@pytest.mark.parametrize(
    "said",
    [
        "the lexoffice key is not here yet",
        "Henrike will send the lexoffice key tomorrow",
        "we have a problem with the lexoffice key",
        "Henrike said that the lexoffice key is here",
        "Henrike has ordered the lexoffice plan, but the key is still missing",
        "we tested the lexoffice upload with the mock",
        "Henrike is here",
        "Ms. Roth is available again",
        "I sent the privacy policy URL to legal",
        "the play store listing is ready",
        "migration 0043 ran on staging",
        "migration 0042 ran locally",
        "migration 0042 works on my machine",
        "On my machine, migration 0042 ran on staging",
        "Oleg created a ticket for the extension",
        "Apple approved 4.11",
        "Ravi works on the endpoint",
        "the samples were sent to Dekra",
        "the ATEX samples are ready",
        "the new contract is here",  # its approval is not
        "the registrar is online",
        "licences are renewed by certbot",
        "the licence is renewed on Friday",
        "the licence is renewed in an hour",
        "the licence is renewed now. The staging deploy still fails.",
        "the licence is renewed now. It is rejected by the proxy.",
        "the licence is renewed now. Why is it invalid?",
        "the licence was renewed for the wrong host",
        "the auth code arrived today, it is expired",
        "the auth code arrived today, it was a wrong one",
        "the auth code is here, and it fails with 401",
        "the auth code arrived today. The code doesn't work.",
        "migration 0042 ran on staging and it crashed",
        "migration 0042 ran on staging. Migration 0042 timed out.",
        "the runner image is done for, order a new one",
        "the runner image is over its quota",
        "the runner image is over there",
        "the auth code is here. Unfortunately the registrar refuses it.",
        "migration 0042 ran on staging, had to roll it back",
    ],
)
def test_what_is_said_of_something_else_leaves_a_blocker_open(said):
    assert closed(said) == []


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("the import failed last night, now the auth code is here", DOMAIN),
        ("the licence is renewed now, so the error is gone", STAGING),
        ("the runner image is fixed now, it was a broken disk", RUNNER),
        ("the runner image is fixed for good", RUNNER),
        ("the runner image is fixed, we replaced the broken disk", RUNNER),
        ("the runner image is fixed. The login test fails, look into it.", RUNNER),
    ],
)
def test_a_fault_that_is_over_or_of_another_thing_leaves_it_done(said, meant):
    assert closed(said) == [meant]


def test_what_waits_for_a_closing_is_done_with_it():
    (closing,) = find_closings("The port is closed now")
    waits = memory("The port scan waits until the port is closed")
    assert closed_by(closing, (waits,)) is waits


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ("the certificate is renewed now", "Mail waits until the relay's certificate is renewed"),
        ("the certificate is renewed now", "The certificate of the relay must be renewed first"),
        ("CI is fixed now", "The login page is down: the account of CI is locked"),
    ],
)
def test_what_may_mean_two_closes_none(said, other):
    (closing,) = find_closings(said)
    assert closed_by(closing, OPEN) is not None
    assert len(meant_by(closing, (*OPEN, memory(other)))) == 2


@pytest.mark.parametrize("before", ["(", '"', "so "])
def test_a_sentence_with_a_long_run_of_blanks_is_read_at_once(before):
    with ends_soon(cpu_s=2):
        find_closings(f"{before}{' ' * 900}the runner it there.")


@pytest.mark.parametrize("ending", ["since", "thanks to"])
def test_a_sentence_with_long_runs_of_commas_is_read_at_once(ending):
    with ends_soon(cpu_s=2):
        find_closings("the ci runner is done" + f" {ending} {',' * 250}" * 3 + " zzz yyy xxx")


def test_blanks_between_the_words_change_nothing():
    (found,) = find_closings("The  CI runner\tis   fixed now.")
    assert found.what == find_closings("The CI runner is fixed now.")[0].what


@pytest.mark.parametrize(
    "text",
    [
        "mallory  10:31 AM\nthe certificate is renewed now\n\nis he right?",
        "commit 12ab34cd: the certificate is renewed now",
        "proofread:\nThe certificate is renewed now.",
        "set the banner text to The certificate is renewed now",
    ],
)
def test_somebody_elses_words_close_nothing(text):
    assert list(find_closings(text)) == []
