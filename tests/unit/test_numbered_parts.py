import re
from pathlib import Path

from perf.numbered_parts import present_names

SHIPS = Path(__file__).parents[2] / "sinks" / "models" / "cross_model" / "layers.onnx"
MATRICES = ("query", "key", "value", "join", "widen", "narrow")


def test_every_part_of_the_model_that_ships_has_a_name():
    found = re.findall(rb"(?:w|norms|layers)\.[a-z0-9_.]*[a-z0-9]", SHIPS.read_bytes())
    names = {name.decode() for name in found if not name.endswith(b"scales_mul")}

    named = set(present_names(names).values())

    wanted = {f"layers.{at}.{one}.bias" for at in range(4) for one in (*MATRICES, "joined")}
    wanted |= {f"layers.{at}.{one}.weight_quantized" for at in range(4) for one in MATRICES}
    wanted |= {f"layers.{at}.narrowed.weight" for at in range(4)}
    assert {*wanted, "score.weight_quantized", "score.bias"} <= named
    assert not {name for name in named if re.match(r"w\.|norms\.|layers\.[4-9]", name)}


def test_the_numbers_are_those_of_the_order_of_use():
    names = ("w.0_quantized", "w.1", "w.9", "w.14_scale", "w.24_quantized", "norms.1.bias")
    assert [*present_names(names).values()] == [
        "layers.0.query.weight_quantized",
        "layers.0.query.bias",
        "layers.0.widen.bias",
        "layers.1.key.weight_scale",
        "score.weight_quantized",
        "layers.0.narrowed.bias",
    ]
    today = ("layers.0.query.weight_quantized", "norm.weight", "score.bias")
    assert [*present_names(today)] == [*present_names(today).values()]
