from subcog.bus import signals
from subcog.bus.signals import degraded, emit


def test_a_watcher_hears_the_sender_and_the_facts():
    heard = []

    def watcher(sender, **facts):
        heard.append((sender, facts))

    with degraded.connected_to(watcher):
        emit(degraded, "classify", reason="model.timeout")
    assert heard == [("classify", {"reason": "model.timeout"})]


def test_a_watcher_that_raises_hurts_neither_the_teller_nor_the_other_watchers(caplog):
    heard = []

    def broken(sender, **facts):
        raise RuntimeError("text that must not be logged")

    def watcher(sender, **facts):
        heard.append(sender)

    with degraded.connected_to(broken), degraded.connected_to(watcher):
        emit(degraded, "inject", reason="x")
    assert heard == ["inject"]
    assert "must not be logged" not in caplog.text
    assert caplog.records[0].message == "a signal handler failed"


def test_every_declared_signal_is_listed():
    declared = {v.name for v in vars(signals).values() if type(v).__name__ == "NamedSignal"}
    assert declared == {signal.name for signal in signals.ALL}
