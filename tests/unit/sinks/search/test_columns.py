import numpy as np

from subcog.sinks.search.columns import Column


def test_rows_come_back_in_the_order_they_were_added() -> None:
    column = Column(np.int64)
    for start in range(0, 100, 10):
        column.extend(range(start, start + 10))
    assert column.view.tolist() == list(range(100))
    assert len(column) == 100


def test_a_wide_column_keeps_its_width() -> None:
    column = Column(np.int8, 3)
    column.extend([[1, 2, 3]] * 40)
    assert column.view.shape == (40, 3)
    assert column.nbytes >= 120


def test_what_a_reader_holds_never_moves() -> None:
    column = Column(np.int64)
    column.extend([1, 2, 3])
    held = column.view
    column.extend(range(1000))
    assert held.tolist() == [1, 2, 3]
