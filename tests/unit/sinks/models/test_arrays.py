import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.sinks.models.arrays import distinct, first_of_each, percentile

numbers = st.lists(st.integers(0, 2**16), max_size=60)


@given(numbers)
def test_distinct_values_are_those_of_numpy(values):
    array = np.array(values, dtype=np.uint32)
    assert distinct(array).tolist() == np.unique(array).tolist()
    assert distinct(array).dtype == array.dtype


def test_each_distinct_value_has_one_beginning():
    assert first_of_each(np.array([3, 3, 5, 9, 9, 9])).tolist() == [0, 2, 3]


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60), st.integers(0, 100))
def test_a_percentile_is_that_of_numpy(values, percent):
    array = np.array(values, dtype=np.float32)
    assert percentile(array, percent) == pytest.approx(np.percentile(array, percent), abs=1e-6)


def test_encoding_a_question_imports_no_masked_arrays():
    code = (
        "import sys; from subcog.sinks.models.embedder import Embedder;"
        " Embedder.load().encode_query('which port?'); assert 'numpy.ma' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
