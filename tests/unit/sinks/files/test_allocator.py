import subprocess
import sys

import pytest

PROGRAM = """
import numpy
from subcog.sinks.files.allocator import keep_small

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

keep_small()
before = resident()
for size in (30_000_000, 20_000_000):
    block = numpy.ones(size, dtype=numpy.uint8)
    del block
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere another allocator is at work")
def test_a_large_block_goes_back_to_the_system_at_once():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 10_000_000
