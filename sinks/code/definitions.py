"""Which names a syntax tree defines, each with the nodes that define it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...config.patterns import regex
from .languages import GO, GRAMMARS, JAVA, PYTHON, RUST, Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_DEFINITIONS = 20_000
_MOST_COUNTED = 200

_NAME = regex(r"[^\W\d][\w$-]*")
_GENERIC = regex(r"[<\[].*", re.DOTALL)
_ASSIGNED = regex(r"(?:module\.)?(?:exports\.)?")


class Definition(NamedTuple):
    """A qualified ``name`` and the ``nodes`` of its text; ``inside`` is read for more names."""

    name: str
    nodes: list[Node]
    inside: Node | None
    is_value: bool = False


def definitions(root: Node, suffix: str) -> Iterator[Definition]:
    """What the file defines, in its order, at most 20,000. Raises ``RecursionError``."""
    grammar = GRAMMARS[suffix]
    reader = _Reader(grammar, _READERS.get(grammar.package, _in_typescript))
    for found, _ in zip(reader.read(root, "", in_function=False), range(MOST_DEFINITIONS)):  # noqa: B905 - the shorter ends it
        yield found


class _Reader:
    """Walks one tree. A variable within a function is nobody else's, and not among the names."""

    def __init__(
        self, grammar: Grammar, read: Callable[[Node], Iterator[Definition] | None]
    ) -> None:
        self._grammar = grammar
        self._read = read

    def read(self, node: Node, prefix: str, *, in_function: bool) -> Iterator[Definition]:
        for child in node.named_children:
            found = self._read(child) if child.type in self._grammar.definitions else None
            if found is None:
                inside = in_function or child.type in self._grammar.functions
                yield from self.read(child, prefix, in_function=inside)
                continue
            for one in found:
                name = f"{prefix}.{one.name}" if prefix and one.name else prefix or one.name
                if one.nodes and not (one.is_value and in_function) and name:
                    yield one._replace(name=name)
                if one.inside is not None:
                    within = in_function or one.inside.type in self._grammar.functions
                    yield from self.read(one.inside, name, in_function=within)


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def _field(node: Node, name: str) -> str:
    """The name in a field of ``node``; "" where there is none, or what stands there is no name."""
    text = _text(node.child_by_field_name(name)).strip("'\"#")
    return text if _NAME.fullmatch(text) else ""


def _plain(node: Node) -> Iterator[Definition]:
    """A definition with a name of its own, and whatever else it has inside."""
    yield Definition(_field(node, "name"), [node], node)


# --- Python ---------------------------------------------------------------------------------------


def _in_python(node: Node) -> Iterator[Definition] | None:
    match node.type:
        case "decorated_definition":
            return _decorated(node)
        case "assignment":
            return _assigned(node)
        case "type_alias_statement":
            return _alias(node)
    return _plain(node)


def _decorated(node: Node) -> Iterator[Definition]:
    inner = node.child_by_field_name("definition")
    if inner is not None:
        yield Definition(_field(inner, "name"), [node], inner)


def _assigned(node: Node) -> Iterator[Definition]:
    left = node.child_by_field_name("left")
    if left is None or node.parent is None or node.parent.type != "expression_statement":
        return
    targets = [left] if left.type == "identifier" else left.named_children
    for target in targets:
        if target.type == "identifier":
            yield Definition(_text(target), [node], None, is_value=True)


def _alias(node: Node) -> Iterator[Definition]:
    name = _GENERIC.sub("", _text(node.child_by_field_name("left")))
    yield Definition(name, [node], None)


# --- TypeScript -----------------------------------------------------------------------------------


def _in_typescript(node: Node) -> Iterator[Definition] | None:
    match node.type:
        case "lexical_declaration" | "variable_declaration":
            return _variables(node)
        case "export_statement":
            return _exported(node)
        case "enum_body":
            return _members(node)
        case "assignment_expression":
            return _given(node)
        case "pair":
            return _pair(node)
    return _with_decorators(node)


def _variables(node: Node) -> Iterator[Definition]:
    for child in node.named_children:
        name = _field(child, "name")
        if child.type == "variable_declarator" and name:
            inside = child.child_by_field_name("value")
            yield Definition(name, [node.children[0], child], inside, is_value=True)


def _exported(node: Node) -> Iterator[Definition] | None:
    """What is exported without a name is called ``default``; anything else is read as it is."""
    value = node.child_by_field_name("value")
    if value is None:
        return None
    return iter([Definition("default", [value], value)])


def _members(node: Node) -> Iterator[Definition]:
    for child in node.named_children:
        if child.type == "enum_assignment":
            yield Definition(_field(child, "name"), [child], None)
        elif child.type in {"property_identifier", "string"}:
            yield Definition(_text(child).strip("'\""), [child], None)


def _given(node: Node) -> Iterator[Definition]:
    """``exports.load = …`` and ``Cart.prototype.total = …``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type != "member_expression":
        return
    name = _ASSIGNED.sub("", _text(left), count=1).replace(".prototype.", ".")
    if all(_NAME.fullmatch(part) for part in name.split(".")):
        yield Definition(name, [node], right, is_value=True)


def _pair(node: Node) -> Iterator[Definition]:
    name = _field(node, "key")
    yield Definition(name, [node], node.child_by_field_name("value"), is_value=True)


def _with_decorators(node: Node) -> Iterator[Definition]:
    before = node.prev_named_sibling
    if before is None and node.parent is not None and node.parent.type == "export_statement":
        before = node.prev_sibling
    value = node.child_by_field_name("value")
    nodes = [*_before(before, {"decorator", "comment"}), node]
    yield Definition(_field(node, "name"), nodes, value if value is not None else node)


def _before(last: Node | None, kinds: set[str]) -> list[Node]:
    """The nodes of those ``kinds`` up to ``last``, in their order."""
    nodes: list[Node] = []
    while last is not None and last.type in kinds:
        nodes.insert(0, last)
        last = last.prev_named_sibling
    return nodes


# --- Go -------------------------------------------------------------------------------------------


def _in_go(node: Node) -> Iterator[Definition] | None:
    match node.type:
        case "method_declaration":
            return _method(node)
        case "type_declaration" | "const_declaration" | "var_declaration":
            return _specs(node)
        case "field_declaration":
            return _named(node, [node])
    return _plain(node)


def _method(node: Node) -> Iterator[Definition]:
    receiver = _text(node.child_by_field_name("receiver")).strip("() \t")
    kind = _GENERIC.sub("", receiver.split()[-1] if receiver and "[" not in receiver else receiver)
    kind = kind.split()[-1].lstrip("*") if kind.split() else ""
    yield Definition(f"{kind}.{_field(node, 'name')}", [node], node)


def _specs(node: Node) -> Iterator[Definition]:
    """The specs of a group. One of a constant that repeats or counts depends on those before it.

    In a very long group it depends on the whole group, so that its specs are read once each.
    """
    before: list[Node] = []
    specs = [each for child in node.named_children for each in _listed(child)]
    for spec in specs:
        if node.type != "const_declaration":
            yield from _named(spec, [spec])
            continue
        counts = spec.child_by_field_name("value") is None or "iota" in _text(spec)
        before.append(spec)
        bears_on = list(before) if len(specs) <= _MOST_COUNTED else [node]
        yield from _named(spec, bears_on if counts else [spec])


def _listed(child: Node) -> list[Node]:
    if child.type.endswith("_list"):
        return [each for each in child.named_children if each.type.endswith("_spec")]
    return [child] if child.type.endswith(("_spec", "_alias")) else []


def _named(node: Node, nodes: list[Node]) -> Iterator[Definition]:
    is_value = node.type in {"const_spec", "var_spec"}
    for name in node.children_by_field_name("name"):
        if name.is_named and name.type != ",":
            inside = node.child_by_field_name("type")
            yield Definition(_text(name), nodes, inside, is_value)


# --- Rust and Java --------------------------------------------------------------------------------


def _in_rust(node: Node) -> Iterator[Definition] | None:
    if node.type == "impl_item":
        kind = _GENERIC.sub("", _text(node.child_by_field_name("type")))
        return iter([Definition(kind, [], node)])
    return _with_attributes(node)


def _with_attributes(node: Node) -> Iterator[Definition]:
    attributes = _before(node.prev_named_sibling, {"attribute_item", "line_comment"})
    yield Definition(_field(node, "name"), [*attributes, node], node)


def _in_java(node: Node) -> Iterator[Definition] | None:
    if node.type not in {"field_declaration", "constant_declaration"}:
        return _plain(node)
    names = (_field(each, "name") for each in node.children_by_field_name("declarator"))
    return iter([Definition(name, [node], None) for name in names if name])


_READERS: Mapping[str, Callable[[Node], Iterator[Definition] | None]] = {
    PYTHON.package: _in_python,
    GO.package: _in_go,
    RUST.package: _in_rust,
    JAVA.package: _in_java,
}
