import pytest

from subcog.stages.language.paste import find_paste
from tests.waiting import ends_soon

TRACE = """Traceback (most recent call last):
  File "/srv/tram/app.py", line 12, in <module>
    run(load("depot.yaml"))
KeyError: 'platform'"""
LOG = """12:01:22 INFO  worker 3 started
12:01:23 ERROR worker 3 lost its lease: expected 7, got 9
12:01:23 INFO  worker 3 stopped"""
TESTS = """--- FAIL: TestLease (0.02s)
    lease_test.go:41: want 1, got 2
FAIL    tram/depot/lease 0.311s"""
DIFF = """diff --git a/depot/lease.go b/depot/lease.go
@@ -4,7 +4,7 @@
-   return lease
+   return &lease"""


@pytest.mark.parametrize("pasted", [TRACE, LOG, TESTS, DIFF], ids="trace log tests diff".split())
@pytest.mark.parametrize("own", ["", "why?", "any idea what this is", "wieso das denn"])
def test_a_paste_is_told_from_the_words_beside_it(own, pasted):
    found = find_paste(f"{own}\n\n{pasted}")
    assert found.own == own
    assert found.pasted.splitlines()[0] == pasted.splitlines()[0]


def test_a_line_of_numbers_and_capitals_is_pasted_though_it_has_small_words():
    assert find_paste("why?\n\nOKAY on 10234 and FAIL on 10235").own == "why?"


@pytest.mark.parametrize(
    "alone",
    [
        "error: failed to run custom build command for `lease-sys v0.4.2 (/srv/lease-sys)`",
        '{"lease": 7, "worker": "w3", "until": "2026-10-03T11:04:22Z", "renewed": false}',
    ],
)
def test_a_line_that_nobody_types_is_pasted(alone):
    assert find_paste(alone).own == ""


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   \n\n",
        "how long is a lease?",
        "rename `lease.Worker` to `lease.Holder` in depot/lease.go and run `make test`",
        "[BUG] the depot map stays open after the tram has left",
        "upgrade jOOQ to 3.19.11, Gradle to 8.10 and regenerate",
        "error in the lease table?",
        "Why does TestLease fail?\nI changed the clock in lease.go.\nThe other tests are fine.",
        "- add a flag for the lease\n- document it in the readme\n- tell the team about it",
        "Ici les notes de la réunion, la ville demande un rapport.\nQui le rédige chez nous ?",
        "昨日の会議の議事録です。参加者は浜田、佐藤、ヨナス。\nところで、本番ログは何日で削除される？",
        f"The worker loses its lease each night since we moved the depot to the new host, and"
        f" nobody can say why the clock differs there. Here is what it logs:\n{LOG}",
    ],
)
def test_what_is_typed_is_no_paste(typed):
    assert find_paste(typed) is None


def test_a_long_paste_is_read_in_linear_time():
    with ends_soon():
        find_paste("\n".join([LOG, "=" * 200_000, "a=b " * 50_000, TRACE] * 4))


def test_a_pasted_number_of_very_many_digits_is_read_in_linear_time():
    with ends_soon():
        find_paste(f"[{'1' * 100_000}\n" * 2)
