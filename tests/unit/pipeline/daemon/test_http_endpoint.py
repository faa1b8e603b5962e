from operator import itemgetter

from subcog.bus.signals import abstained, emit, redacted, stored
from subcog.pipeline.daemon.http_endpoint import SignalBuffer
from tests.emissions import emitted


def test_what_was_told_early_is_told_again_once_and_in_order():
    heard = []

    def watcher(sender, **facts):
        heard.append((sender, facts))

    early = SignalBuffer()
    emit(stored, "store", namespace="decisions", outcome="stored")
    emit(abstained, "inject", reason="no_intent")

    def watch():
        stored.connect(watcher)
        abstained.connect(watcher)

    early.hand_over(watch)
    emit(abstained, "inject", reason="low_confidence")
    assert heard == [
        ("store", {"namespace": "decisions", "outcome": "stored"}),
        ("inject", {"reason": "no_intent"}),
        ("inject", {"reason": "low_confidence"}),
    ]


def test_what_the_audit_heard_already_is_not_told_again():
    early = SignalBuffer()
    with emitted(redacted, itemgetter("memory")) as heard:
        emit(redacted, "redact", memory="mem_1")
        early.hand_over(lambda: None)
    assert heard == ["mem_1"]
