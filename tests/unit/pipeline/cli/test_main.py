"""The command line as it is installed, interrupted at any moment."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SUBCOG = Path(sys.executable).with_name("subcog")
# It runs the installed script, and interrupts it when it comes to a module.
INTERRUPTED = """
import os, runpy, signal, sys
module = sys.argv.pop(1)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
sys.argv[0] = "subcog"
runpy.run_path({script!r}, run_name="__main__")
"""
MODULES = {
    "the first": "subcog.pipeline.cli.command_line",
    "a library": "click",
    "of the command": "subcog.pipeline.commands.insight",
    "in the command": "subcog.pipeline.app.routes",
}


def interrupted(code, module, home):
    command = [sys.executable, "-c", code.format(script=str(SUBCOG)), module, "routes"]
    env = {"HOME": str(home)}
    return subprocess.run(command, check=False, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_an_interrupt_at_any_moment_ends_the_command_quietly(module, tmp_path):
    done = interrupted(INTERRUPTED, module, tmp_path)
    assert done.returncode in {-signal.SIGINT, 128 + signal.SIGINT}  # 130 to a shell, both of them
    assert (done.stdout, done.stderr.strip()) == ("", "")


def test_what_is_started_with_interrupts_ignored_goes_on(tmp_path):
    code = INTERRUPTED.replace("default_int_handler", "SIG_IGN")
    done = interrupted(code, "click", tmp_path)
    assert (done.returncode, done.stdout[:9]) == (0, "flowchart")
