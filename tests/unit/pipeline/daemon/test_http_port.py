from subcog.pipeline.daemon.http_port import listen_on_the_same


def test_a_port_that_was_picked_is_picked_again(tmp_path):
    file = tmp_path / "data" / "port"
    with listen_on_the_same(0, file) as listener:
        picked = listener.getsockname()[1]
    with listen_on_the_same(0, file) as listener:
        assert listener.getsockname()[1] == picked


def test_another_one_is_picked_where_it_is_taken(tmp_path):
    file = tmp_path / "port"
    with listen_on_the_same(0, file) as first, listen_on_the_same(0, file) as second:
        other = second.getsockname()[1]
        assert other != first.getsockname()[1]
    with listen_on_the_same(0, file) as third:
        assert third.getsockname()[1] == other


def test_the_settings_word_is_final(tmp_path):
    file = tmp_path / "port"
    with listen_on_the_same(0, file) as free:
        picked = free.getsockname()[1]
    with listen_on_the_same(picked, tmp_path / "other"):
        assert not (tmp_path / "other").exists()
