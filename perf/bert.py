"""A BERT that is trained, and the files in which ``sinks/models/cross_encoder.py`` reads it.

Needs ``torch`` and ``onnx``; ``perf/train_cross_encoder.py`` says how to get them.
"""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from subcog.sinks.models.cross_encoder import MEMORY_TOKENS, QUESTION_TOKENS, RERANKER

WIDTH, HEADS, BETWEEN = 384, 12, 1536
LAYERS = 12
ATTENDING = ("query", "key", "value")
"""What a layer's attention multiplies the tokens by, each with a matrix of its own once written."""

Parts = Mapping[str, np.ndarray]
DROPPED = 0.1
# The beginning, and an end after each text.
MOST_TOKENS = QUESTION_TOKENS + MEMORY_TOKENS + 3
OPSET = 17


class Drop(nn.Module):
    """Drops the same features of every token of a pair: as good, and half as dear."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        kept = torch.rand(x.shape[0], 1, x.shape[2]) > DROPPED
        return x * (kept / (1 - DROPPED)).to(x.dtype)


class Layer(nn.Module):
    """Attention, then two linear layers; tokens (pairs, tokens, width) to the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Linear(WIDTH, 3 * WIDTH)
        self.join = nn.Linear(WIDTH, WIDTH)
        self.joined = nn.LayerNorm(WIDTH, 1e-12)
        self.widen = nn.Linear(WIDTH, BETWEEN)
        self.narrow = nn.Linear(BETWEEN, WIDTH)
        self.narrowed = nn.LayerNorm(WIDTH, 1e-12)
        self.drop = Drop()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        pairs, tokens, _ = x.shape
        parts = self.attend(x).view(pairs, tokens, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        looks = (query * (WIDTH // HEADS) ** -0.5) @ key.transpose(-1, -2) + mask
        seen = looks.softmax(-1).to(value.dtype) @ value
        x = self.joined(x + self.drop(self.join(seen.transpose(1, 2).reshape(x.shape))))
        return self.narrowed(x + self.drop(self.narrow(nn.functional.gelu(self.widen(x)))))


class Bert(nn.Module):
    """How well the second text answers the first: log-odds, from what the first token becomes."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WIDTH)
        self.positions = nn.Embedding(MOST_TOKENS, WIDTH)
        self.sides = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.drop = Drop()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pool = nn.Linear(WIDTH, WIDTH)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, ids: Tensor, sides: Tensor, real: Tensor) -> Tensor:
        """``ids`` and ``sides`` (pairs, tokens), of which only the ``real`` ones count."""
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.sides(sides)
        x = self.drop(self.norm(x))
        mask = ((~real) * -1e4)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.score(torch.tanh(self.pool(x[:, 0]))).squeeze(-1)

    def shortened(self, layers: Sequence[int]) -> Bert:
        """A copy that has only some of the layers."""
        student = copy.deepcopy(self)
        student.layers = nn.ModuleList(student.layers[at] for at in layers)
        return student


def resume(folder: Path) -> Bert:
    """The model that ``write`` wrote into ``folder``; as it is after rounding to 8 bits."""
    parts = _parts(folder / RERANKER)
    given = {
        name.removesuffix("_quantized"): _dequantised(parts, name.removesuffix("_quantized")).T
        for name in parts
        if name.endswith("_quantized")
    }
    given |= {name: part for name, part in parts.items() if part.dtype == np.float32}
    words, scales = np.load(folder / "words.npy"), np.load(folder / "scales.npy")
    state = {
        "words.weight": words * scales[:, None],
        "positions.weight": np.load(folder / "positions.npy"),
        "sides.weight": np.load(folder / "sides.npy"),
    }
    layers = 1 + max(int(name.split(".")[1]) for name in given if name.startswith("layers."))
    for at in range(layers):
        layer, unscaled = f"layers.{at}", (WIDTH // HEADS) ** 0.5
        for kind in ("weight", "bias"):
            query, *rest = (given.pop(f"{layer}.{part}.{kind}") for part in ATTENDING)
            state[f"{layer}.attend.{kind}"] = np.concatenate([query * unscaled, *rest])
    model = Bert(len(words)).shortened(range(layers))
    wanted = model.state_dict()
    return _filled(model, state | {name: part for name, part in given.items() if name in wanted})


def load(folder: Path, vocabulary: Mapping[str, int]) -> Bert:
    """The model in ``folder``, its word vectors in the order of ``vocabulary``.

    It is a BERT with a pooler and one score, in 8 bits: ``model.onnx`` beside ``tokenizer.json``.
    """
    path = folder / "model.onnx"
    parts, nodes = _parts(path), onnx.load(str(path)).graph.node
    matrices = {
        node.name.strip("/").split("/MatMul")[0].replace("/", "."): _dequantised(
            parts, node.input[1].removesuffix("_quantized")
        ).T
        for node in nodes
        if node.op_type == "MatMulInteger"
    }

    def linear(ours: str, theirs: str) -> dict[str, np.ndarray]:
        return {f"{ours}.weight": matrices[theirs], f"{ours}.bias": parts[f"{theirs}.bias"]}

    def norm(ours: str, theirs: str) -> dict[str, np.ndarray]:
        return {f"{ours}.{kind}": parts[f"{theirs}.{kind}"] for kind in ("weight", "bias")}

    tokens = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    rows = [tokens[word] for word in sorted(vocabulary, key=vocabulary.__getitem__)]
    table = "bert.embeddings.{}_embeddings.weight".format
    state = {
        "words.weight": _dequantised(parts, table("word"))[rows],
        "positions.weight": _dequantised(parts, table("position"))[:MOST_TOKENS],
        "sides.weight": _dequantised(parts, table("token_type")),
        **norm("norm", "bert.embeddings.LayerNorm"),
        "pool.weight": _dequantised(parts, "bert.pooler.dense.weight").T,
        "pool.bias": parts["bert.pooler.dense.bias"],
        "score.weight": _dequantised(parts, "classifier.weight").T,
        "score.bias": parts["classifier.bias"],
    }
    for at in range(LAYERS):
        state |= _layer(f"layers.{at}", f"bert.encoder.layer.{at}", linear, norm)
    return _filled(Bert(len(vocabulary)), state)


Named = Callable[[str, str], dict[str, np.ndarray]]


def _layer(ours: str, theirs: str, linear: Named, norm: Named) -> dict[str, np.ndarray]:
    attending = [linear(part, f"{theirs}.attention.self.{part}") for part in ATTENDING]
    attend = {
        f"{ours}.attend.{kind}": np.concatenate(
            [one[f"{part}.{kind}"] for part, one in zip(ATTENDING, attending, strict=True)]
        )
        for kind in ("weight", "bias")
    }
    return {
        **attend,
        **linear(f"{ours}.join", f"{theirs}.attention.output.dense"),
        **norm(f"{ours}.joined", f"{theirs}.attention.output.LayerNorm"),
        **linear(f"{ours}.widen", f"{theirs}.intermediate.dense"),
        **linear(f"{ours}.narrow", f"{theirs}.output.dense"),
        **norm(f"{ours}.narrowed", f"{theirs}.output.LayerNorm"),
    }


def _parts(path: Path) -> Parts:
    graph = onnx.load(str(path)).graph
    return {part.name: numpy_helper.to_array(part) for part in graph.initializer}


def _dequantised(parts: Parts, name: str) -> np.ndarray:
    whole = parts[f"{name}_quantized"].astype(np.float32) - parts[f"{name}_zero_point"]
    return whole * parts[f"{name}_scale"]


def _filled(model: Bert, state: Parts) -> Bert:
    """``model`` with ``state``. Its vectors are not trained: the questions hold too few words."""
    model.load_state_dict({name: torch.tensor(part.copy()) for name, part in state.items()})
    for table in (model.words, model.positions, model.sides):
        table.weight.requires_grad_(False)
    return model


class Times(nn.Module):
    """``x @ weight + bias``: what ``nn.Linear`` becomes is not made 8 bits a weight."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().T.clone().contiguous())
        self.bias = nn.Parameter(bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class ReadLayer(nn.Module):
    """A layer for one pair without padding; tokens (tokens, width)."""

    def __init__(self, layer: Layer, *, last: bool) -> None:
        super().__init__()
        query, key, value = layer.attend.weight.chunk(3)
        query_bias, key_bias, value_bias = layer.attend.bias.chunk(3)
        scale = (WIDTH // HEADS) ** -0.5
        self.query = Times(query * scale, query_bias * scale)
        self.key, self.value = Times(key, key_bias), Times(value, value_bias)
        self.join = Times(layer.join.weight, layer.join.bias)
        self.widen = Times(layer.widen.weight, layer.widen.bias)
        self.narrow = Times(layer.narrow.weight, layer.narrow.bias)
        self.joined, self.narrowed = layer.joined, layer.narrowed
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        """All tokens; of the last layer the first one alone, as no other is looked at."""
        asking = x[:1] if self.last else x
        query = self.query(asking).view(-1, HEADS, WIDTH // HEADS).transpose(0, 1)
        key = self.key(x).view(-1, HEADS, WIDTH // HEADS).permute(1, 2, 0)
        value = self.value(x).view(-1, HEADS, WIDTH // HEADS).transpose(0, 1)
        seen = ((query @ key).softmax(-1) @ value).transpose(0, 1).reshape(-1, WIDTH)
        x = self.joined(asking + self.join(seen))
        return self.narrowed(x + self.narrow(nn.functional.gelu(self.widen(x))))


class Read(nn.Module):
    """What runs in the product: the sum of the vectors of one pair's tokens to log-odds."""

    def __init__(self, model: Bert) -> None:
        super().__init__()
        self.norm = model.norm
        last = len(model.layers) - 1
        self.layers = nn.ModuleList(
            ReadLayer(layer, last=at == last) for at, layer in enumerate(model.layers)
        )
        self.pool = Times(model.pool.weight, model.pool.bias)
        self.score = Times(model.score.weight, model.score.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.norm(inputs)
        for layer in self.layers:
            x = layer(x)
        return self.score(torch.tanh(self.pool(x))).reshape(())


def write(model: Bert, folder: Path) -> None:
    """Write ``layers.onnx`` and a table of each kind of vectors; 8 bits a weight."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in _tables(model).items():
        np.save(folder / f"{name}.npy", table, allow_pickle=False)
    write_layers(model, folder / RERANKER)


def write_layers(model: Bert, file: Path) -> None:
    """Write what computes, without the tables of vectors; 8 bits a weight."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # as in sinks/models/cross_encoder.py
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole.onnx"
        torch.onnx.export(
            Read(model).eval(),
            (torch.randn(40, WIDTH),),
            str(whole),
            input_names=["inputs"],
            output_names=["score"],
            dynamic_axes={"inputs": {0: "tokens"}},
            opset_version=OPSET,
            dynamo=False,
        )
        quantize_dynamic(
            whole,
            file,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul"],
        )


def _tables(model: Bert) -> dict[str, np.ndarray]:
    words = model.words.weight.detach().numpy()
    scales = np.maximum(np.abs(words).max(1), 1e-9) / 127
    return {
        "words": np.round(words / scales[:, None]).astype(np.int8),
        "scales": scales.astype(np.float32),
        "positions": model.positions.weight.detach().numpy(),
        "sides": model.sides.weight.detach().numpy(),
    }
