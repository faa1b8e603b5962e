from msgspec.structs import replace

from subcog.bus.results import IndexStatus
from subcog.pipeline.daemon.status import describe_index

SIZES = IndexStatus(bytes=1_234_567, scopes=2, without_vectors=0, in_topics=31)


def test_the_index_is_described_in_one_line():
    assert describe_index(SIZES) == "1.2 MB in memory, scopes 2, in topics 31"


def test_what_is_found_by_text_alone_is_named_where_there_is_any():
    assert "by text alone 4" in describe_index(replace(SIZES, without_vectors=4))
