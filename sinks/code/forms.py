"""The normal form of code: its tokens and how they belong together, without format and comments.

What a formatter changes leaves it as it is: white space, comments, docstrings, quotes, trailing
commas, semicolons that stand at the end, parentheses that only group, strings that are joined,
braces around the one expression of an arm or a closure, how imports are ordered and grouped.
Anything else changes it, white space within a string among it. The form is made of tokens and of
brackets around those of one node, so that it holds few names of a grammar.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...config.patterns import regex
from .languages import GRAMMARS, PYTHON, RUST, Grammar, is_typescript

if TYPE_CHECKING:
    from tree_sitter import Node

VERSION = "2"
"""Of the normal form; digests of another one are not compared."""

_OPEN, _CLOSE, _MARK = "\x01", "\x02", "\x03"
_CLOSERS = frozenset(") ] } >".split())
_BRACKETS = frozenset("( )".split())
_BRACES = frozenset("{ }".split())
_GAP = b" \t\r\n\\\f\x0b"
_PREFIX = regex(r"([A-Za-z]*)('''|\"\"\"|'|\")")
_QUOTE_ESCAPE = regex(r"\\(.)", re.DOTALL)
_OF_IMPORTS = frozenset(("import", "from", "use", ",", "{", "}", "(", ")", _OPEN, _CLOSE))
_IDENTIFIER = regex(r"[A-Za-z_$][\w$]*")
_ZEROS = regex(r"(\.(?:\d*[1-9])?)0+(?=e|$)")
_KEYED = frozenset("pair property_signature public_field_definition enum_assignment".split())
_WHERE = frozenset("package_clause package_declaration".split())
_ALTERNATIVES = frozenset("union_type intersection_type".split())
_NUMBERS = frozenset(
    "number integer float int_literal float_literal imaginary_literal integer_literal"
    " decimal_integer_literal hex_integer_literal octal_integer_literal binary_integer_literal"
    " decimal_floating_point_literal".split()
)


def digest_of(form: str | Iterable[str]) -> str:
    """The digest of a normal form, with the form's version before it."""
    text = form if isinstance(form, str) else "\0".join(form)
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"{VERSION}:{hashed.hexdigest()}"


def code_form(nodes: Sequence[Node], data: bytes, suffix: str) -> list[str]:
    """The normal form of ``nodes``, one after another. Raises ``RecursionError``."""
    writer = _Writer(data, GRAMMARS[suffix])
    for node in nodes:
        writer.write(node)
    return writer.out


def file_form(root: Node, data: bytes, suffix: str) -> list[str]:
    """The normal form of a whole file, what it imports first. Raises ``RecursionError``.

    The name of its package says where it is, and is left out. Imports are the set of their words:
    it is the same whether one line imports two names or two lines one each.
    """
    grammar = GRAMMARS[suffix]
    imports: set[str] = set()
    out: list[str] = []
    for node in root.children:
        if node.type in _WHERE:
            continue
        form = code_form([node], data, suffix)
        if node.type in grammar.imports:
            imports.update(token for token in form if token not in _OF_IMPORTS)
        else:
            out += form
    return [*sorted(imports), *out]


class _Writer:
    """Writes the forms of one file's nodes to ``out``."""

    def __init__(self, data: bytes, grammar: Grammar) -> None:
        self.out: list[str] = []
        self._data = data
        self._grammar = grammar
        self._is_typescript = is_typescript(grammar)

    def write(self, node: Node) -> int:
        """Write ``node``; how many forms that are: a token, a group, or nothing of it."""
        kind = node.type
        if self._is_left_out(node, kind):
            return 0
        if kind in self._grammar.strings and self._write_string(node):
            return 1
        if kind == "concatenated_string" and self._write_joined(node):
            return 1
        if not node.child_count or kind in self._grammar.whole:
            return self._write_leaf(node, kind)
        return self._write_group(node, kind)

    def _is_left_out(self, node: Node, kind: str) -> bool:
        if "comment" in kind or kind == "line_continuation":
            return True
        if self._grammar is PYTHON and kind == "expression_statement":
            return node.child_count == 1 and node.children[0].type in _NOTHING_DONE
        if kind == "jsx_expression":
            return self._text(node.start_byte, node.end_byte) in _JSX_SPACE
        return kind == "empty_statement" and _stands_alone(node)

    def _write_leaf(self, node: Node, kind: str) -> int:
        text = self._text(node.start_byte, node.end_byte)
        if kind in _NUMBERS:
            text = self._number(text)
        elif kind == "jsx_text":
            text = " ".join(text.split())
        elif not node.is_named:
            text = text.strip()
        if text:
            self.out.append(text)
        return 1 if text else 0

    def _number(self, text: str) -> str:
        text = text.lower().replace("_", "")
        if self._is_typescript and not text.startswith(("0x", "0b", "0o")):
            text = _ZEROS.sub(r"\1", text).replace(".e", "e").rstrip(".")
            return f"0{text}" if text.startswith(".") else text
        return text

    # --- what belongs together -------------------------------------------------------------------

    def _write_group(self, node: Node, kind: str) -> int:
        """The forms of the children in brackets, or the only one of them as it is."""
        out, at = self.out, len(self.out)
        out.append(_OPEN)
        count = 0
        if kind in self._grammar.marked:
            out.append(_MARK + kind)
            count = 1
        count += self._write_children(node, kind)
        if self._is_typescript and kind == "new_expression":
            count += self._close_new(node)
        if count > 1:
            out.append(_CLOSE)
        else:
            del out[at]
        return min(count, 1)

    def _write_children(self, node: Node, kind: str) -> int:
        separators = self._separators(kind)
        end, count = node.start_byte, 0
        for number, child in enumerate(node.children):
            count += self._write_gap(end, child.start_byte)
            end = child.end_byte
            if not child.is_named:
                token = child.type
                if token in _CLOSERS:
                    count -= self._drop_comma(node, kind)
                if token in separators or self._is_format(node, kind, number, child):
                    continue
            elif self._write_parameter(child, kind):
                count += 1
                continue
            count += self.write(child)
        if kind in _ENDED_BY_COMMA and self.out[-1] == ",":
            self.out.pop()
            count -= 1
        return count + self._write_gap(end, node.end_byte)

    def _write_gap(self, start: int, end: int) -> int:
        """A grammar may have no node for some text, as for the content of a format."""
        if start < end and (gap := self._data[start:end].strip(_GAP)):
            self.out.append(gap.decode("utf-8", "replace"))
            return 1
        return 0

    def _separators(self, kind: str) -> frozenset[str]:
        table = self._grammar.separators
        return table[kind] if kind in table else table.get("", frozenset())

    def _is_format(self, node: Node, kind: str, number: int, child: Node) -> bool:
        """Whether a token only groups, or stands there for the eye."""
        token = child.type
        if token in _BRACKETS:
            if kind in self._grammar.unwrapped:
                return node.named_child_count > 0
            return kind == "argument_list" and _is_bare_class(node)
        if self._grammar is RUST and token in _BRACES | {";"}:
            return _is_rust_format(node, kind, token)
        return number == 0 and token in {"|", "&"} and kind in _ALTERNATIVES

    def _drop_comma(self, node: Node, kind: str) -> int:
        """Drop the comma before a closing bracket, where it means nothing; how many that were."""
        out = self.out
        if len(out) < 2 or out[-1] != "," or out[-2] in {",", "["}:
            return 0
        if kind in self._grammar.one_tuples and node.named_child_count < 2:
            return 0
        out.pop()
        return 1

    def _write_parameter(self, child: Node, kind: str) -> bool:
        """``(x) => …`` as ``x => …``; whether that is what ``child`` is."""
        if kind != "arrow_function" or child.type != "formal_parameters":
            return False
        inner = child.named_children
        if len(inner) == 1 and inner[0].type == "required_parameter":
            inner = inner[0].children
        if len(inner) != 1 or inner[0].type != "identifier":
            return False
        self.write(inner[0])
        return True

    def _close_new(self, node: Node) -> int:
        """``new A`` is ``new A()``."""
        if node.child_by_field_name("arguments") is not None:
            return 0
        self.out += (_OPEN, "(", ")", _CLOSE)
        return 1

    # --- strings ---------------------------------------------------------------------------------

    def _write_string(self, node: Node) -> bool:
        """A string by what it holds; False where there is code in it, which is written as such."""
        if self._is_typescript:
            self.out.append(self._quoted(node))
            return True
        match = _PREFIX.match(self._text(node.start_byte, min(node.start_byte + 8, node.end_byte)))
        if match is None:
            return False
        prefix = match[1].lower().replace("u", "")
        mark = f'{"".join(sorted(prefix))}"'
        inner = [child for child in node.children if child.type not in _ENDS]
        if all(child.type == "string_content" for child in inner):
            body = self._text(node.start_byte + match.end(), node.end_byte - len(match[2]))
            self.out.append(mark + self._unescaped(body, prefix))
            return True
        self.out += (_OPEN, mark)
        for child in inner:
            if child.type == "string_content":
                body = self._text(child.start_byte, child.end_byte)
                self.out.append(_MARK + self._unescaped(body, prefix))
            else:
                self.write(child)
        self.out.append(_CLOSE)
        return True

    def _write_joined(self, node: Node) -> bool:
        """Strings one behind another, as the one that they are; whether they are as plain."""
        strings = (each for each in node.children if each.type != "comment")
        texts = [self._text(each.start_byte, each.end_byte) for each in strings]
        marks = [_PREFIX.match(text) for text in texts]
        if any(mark is None or mark[1] for mark in marks):
            return False
        bodies = (
            text[mark.end() : -len(mark[2])]
            for text, mark in zip(texts, marks, strict=True)
            if mark is not None
        )
        self.out.append('"' + "".join(self._unescaped(body, "") for body in bodies))
        return True

    def _unescaped(self, body: str, prefix: str) -> str:
        return body if "r" in prefix else _QUOTE_ESCAPE.sub(_bare_quote, body)

    def _quoted(self, node: Node) -> str:
        body = self._text(node.start_byte + 1, node.end_byte - 1)
        parent, after = node.parent, node.next_sibling
        is_key = parent is not None and parent.type in _KEYED and after is not None
        if is_key and _IDENTIFIER.fullmatch(body) and node.prev_sibling is None:
            return body
        return '"' + _QUOTE_ESCAPE.sub(_bare_quote, body)

    def _text(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", "replace")


_ENDS = frozenset(("string_start", "string_end"))
_NOTHING_DONE = frozenset(("string", "concatenated_string"))
_ENDED_BY_COMMA = frozenset(("match_arm", "where_clause"))
_OF_ONE_EXPRESSION = frozenset(("match_arm", "closure_expression"))
_STATEMENTS = ("_statement", "_declaration", "_item", "comment")
_JSX_SPACE = frozenset(('{" "}', "{' '}"))


def _bare_quote(escape: re.Match[str]) -> str:
    return escape[1] if escape[1] in "'\"" else escape[0]


def _stands_alone(node: Node) -> bool:
    """Whether a semicolon is a statement that does nothing, and no part of a ``for``."""
    return node.parent is None or node.parent.type != "for_statement"


def _is_rust_format(node: Node, kind: str, sign: str) -> bool:
    """Braces around the one expression of an arm or a closure, and the semicolon of a return."""
    if sign == ";":
        return kind == "expression_statement" and node.children[0].type == "return_expression"
    if kind != "block" or node.parent is None or node.parent.type not in _OF_ONE_EXPRESSION:
        return False
    inner = node.named_children
    return len(inner) == 1 and not inner[0].type.endswith(_STATEMENTS)


def _is_bare_class(node: Node) -> bool:
    """``class A():`` is ``class A:``."""
    parent = node.parent
    return node.named_child_count == 0 and parent is not None and parent.type == "class_definition"
