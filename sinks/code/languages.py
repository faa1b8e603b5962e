"""The languages that are parsed, and what counts as format in each; grammars load on first use."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

MAX_PARSED_BYTES = 400_000
"""A longer file is compared by its lines; the parser does some 4 MB a second."""

# The parser asks for its input piece by piece, and lets other threads run in between.
_PIECE_BYTES = 2048


class Grammar(Struct, frozen=True, kw_only=True):
    """Where a grammar is, and by which names of its nodes a tree is read.

    ``definitions`` are nodes with a name that may be anchored, ``nested`` those of them whose body
    holds no variables but locals. ``imports`` are sorted before a file is compared; ``unwrapped``
    are parentheses that only group; ``separators`` maps a parent ("" for any) to tokens in it that
    a formatter adds and removes. ``one_tuples`` need their comma. ``strings`` are compared by what
    they hold, ``whole`` as they stand.
    """

    package: str
    entry: str = "language"
    definitions: frozenset[str]
    functions: frozenset[str]
    imports: frozenset[str] = frozenset()
    unwrapped: frozenset[str] = frozenset()
    separators: Mapping[str, frozenset[str]] = {}
    one_tuples: frozenset[str] = frozenset()
    strings: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON = Grammar(
    package="tree_sitter_python",
    definitions=_words(
        "function_definition class_definition decorated_definition assignment type_alias_statement"
    ),
    functions=_words("function_definition lambda"),
    imports=_words("import_statement import_from_statement future_import_statement"),
    unwrapped=_words(
        "parenthesized_expression with_clause import_from_statement tuple tuple_pattern"
    ),
    separators={"": _words(";")},
    one_tuples=_words(
        "tuple tuple_pattern expression_list pattern_list subscript tuple_expression"
    ),
    strings=_words("string"),
    whole=_words("format_specifier string_content"),
)
_TYPESCRIPT = Grammar(
    package="tree_sitter_typescript",
    entry="language_typescript",
    definitions=_words(
        "function_declaration generator_function_declaration function_signature class_declaration"
        " abstract_class_declaration interface_declaration type_alias_declaration enum_declaration"
        " lexical_declaration variable_declaration method_definition public_field_definition"
        " method_signature abstract_method_signature property_signature internal_module module"
        " enum_body export_statement assignment_expression pair"
    ),
    functions=_words(
        "function_declaration generator_function_declaration method_definition function_expression"
        " arrow_function"
    ),
    imports=_words("import_statement"),
    unwrapped=_words("parenthesized_expression parenthesized_type"),
    separators={
        "": _words(";"),
        "empty_statement": frozenset(),
        "for_statement": frozenset(),
        "object_type": _words("; ,"),
        "interface_body": _words("; ,"),
    },
    strings=_words("string"),
    whole=_words("regex template_literal_type"),
    marked=_words("object"),
)
GO = Grammar(
    package="tree_sitter_go",
    definitions=_words(
        "function_declaration method_declaration type_declaration const_declaration"
        " var_declaration field_declaration method_elem"
    ),
    functions=_words("function_declaration method_declaration func_literal"),
    imports=_words("import_declaration"),
    unwrapped=_words("parenthesized_expression"),
    separators={"": _words(";"), "for_clause": frozenset()},
    whole=_words("interpreted_string_literal raw_string_literal rune_literal"),
)
RUST = Grammar(
    package="tree_sitter_rust",
    definitions=_words(
        "function_item function_signature_item struct_item enum_item union_item trait_item"
        " type_item const_item static_item mod_item macro_definition impl_item field_declaration"
        " enum_variant"
    ),
    functions=_words("function_item closure_expression"),
    imports=_words("use_declaration"),
    unwrapped=_words("parenthesized_expression"),
    one_tuples=_words("tuple_expression tuple_type tuple_pattern"),
    whole=_words("string_literal raw_string_literal char_literal"),
)
JAVA = Grammar(
    package="tree_sitter_java",
    definitions=_words(
        "class_declaration interface_declaration enum_declaration record_declaration"
        " annotation_type_declaration method_declaration constructor_declaration field_declaration"
        " constant_declaration enum_constant"
    ),
    functions=_words("method_declaration constructor_declaration lambda_expression"),
    imports=_words("import_declaration"),
    unwrapped=_words("parenthesized_expression"),
    whole=_words("string_literal character_literal"),
)
# JavaScript is read as TypeScript with JSX, which has it in it.
_TSX = {".tsx", ".jsx", ".js", ".mjs", ".cjs"}

GRAMMARS: Mapping[str, Grammar] = {
    ".py": PYTHON,
    ".pyi": PYTHON,
    ".ts": _TYPESCRIPT,
    ".mts": _TYPESCRIPT,
    ".cts": _TYPESCRIPT,
    **dict.fromkeys(_TSX, _TYPESCRIPT),
    ".go": GO,
    ".rs": RUST,
    ".java": JAVA,
}

_loading = threading.Lock()


def is_typescript(grammar: Grammar) -> bool:
    """Whether the file is TypeScript or JavaScript."""
    return grammar is _TYPESCRIPT


def parse(data: bytes, suffix: str) -> Tree | None:
    """The syntax tree of ``data``; None where it is too long, or no grammar is there for it."""
    if suffix not in GRAMMARS or len(data) > MAX_PARSED_BYTES:
        return None
    entry = "language_tsx" if suffix in _TSX else GRAMMARS[suffix].entry
    with _loading:
        language = _language(GRAMMARS[suffix].package, entry)
    if language is None:
        return None
    from tree_sitter import Parser

    def piece(at: int, _: object) -> bytes:
        return data[at : at + _PIECE_BYTES]

    return Parser(language).parse(piece)


@cache
def _language(package: str, entry: str) -> Language | None:
    """A grammar; None where it is not installed, or made for another parser."""
    try:
        from tree_sitter import Language

        make: Callable[[], object] = getattr(importlib.import_module(package), entry)
        return Language(make())
    except (ImportError, AttributeError, ValueError):
        return None
