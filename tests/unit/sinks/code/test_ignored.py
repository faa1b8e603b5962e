import time

import pytest

from subcog.sinks.code.checkout import Checkout
from subcog.sinks.code.ignored import Ignored

WHITELIST = "/*\n!/src/\n!/lib/\n!.gitignore\n"


@pytest.mark.parametrize(
    ("rules", "left_out", "listed"),
    [
        ("*.gen.py", ["a.gen.py", "sub/b.gen.py"], ["gen.py"]),
        ("/sub/b.py", ["sub/b.py"], ["b.py", "sub/sub/b.py"]),
        ("sub/", ["sub/b.py", "other/sub/b.py"], ["sub.py"]),
        ("other/*.py", ["other/a.py"], ["a.py", "other/sub/a.py"]),
        ("b[12].py\n!b1.py\n# *\n", ["b2.py"], ["sub/b1.py", "b3.py"]),
        ("!b1.py\nb[12].py\n", ["sub/b1.py", "b2.py"], ["b3.py"]),
        (WHITELIST, ["a.py", "other/a.py"], ["src/a.py", "lib/sub/a.py"]),
        ("*\n!*/\n!*.py\n!.gitignore", ["a.md", "sub/a.md"], ["a.py", "sub/a.py"]),
        ("sub/**/b.py", ["sub/b.py", "sub/x/y/b.py"], ["b.py", "x/sub/b.py"]),
        ("**/sub/b.py", ["sub/b.py", "x/sub/b.py"], ["sub/x/b.py"]),
        ("sub/**\n!sub/x.py", ["sub/b.py", "sub/y/b.py"], ["sub/x.py"]),
        ("x?y.py", ["x1y.py"], ["xy.py", "x/y.py"]),
        ("[!a]b.py", ["cb.py"], ["ab.py"]),
        ("\\!a.py\n\\#b.py  \n", ["!a.py", "#b.py"], ["a.py"]),
        ("[]\n[z-a].py\n[\n!\n/\n**x\n", ["yx"], ["a.py"]),
    ],
)
def test_what_git_ignores_is_not_listed(tmp_path, rules, left_out, listed):
    for path in (*left_out, *listed):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / ".gitignore").write_text(rules)
    assert set(Checkout(tmp_path).files()) == {".gitignore", *listed}


def test_hostile_rules_are_matched_in_no_time():
    rules = "\n".join(("*a" * 100, "**/a/" * 50 + "b", "[!b]*" * 40 + "c", "?*" * 100 + "b"))
    began = time.process_time()
    assert not Ignored(rules).matches("/".join(["a" * 40] * 50), is_folder=False)
    assert time.process_time() - began < 1
