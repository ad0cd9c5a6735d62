"""The languages that are read with tree-sitter: one table, a query for each.

A query says with each capture what its text means, in one letter: `i` an import, `s` one from the system,
`w` one of all that a package has, `p` the file's own package, `d` a name declared at the top. A language
whose imports mean nothing without more than that, such as the modules of Rust, is not in the table: its
files are said to be unknown.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from ringi.project.dependencies.parser import parse, words
from ringi.project.dependencies.references import FoundReferences, ReferenceSnapshot, Resolver
from ringi.project.dependencies.resolvers import GoPackages, Includes, JavaScriptModules, JavaTypes


class Grammar(NamedTuple):
    suffixes: Mapping[str, str]
    """Which grammar reads a file with this suffix."""
    query: str
    resolver: Callable[[ReferenceSnapshot], Resolver]
    mentions: Callable[[str], bool] | None = None
    """Which words of a file may name something of its own package, without an import."""
    strict: bool = True
    """False if many files are not grammatical, because of macros: imports are found all the same."""


_SCRIPT: Final = """
(import_statement source: (string) @i)
(export_statement source: (string) @i)
(call_expression function: (import) arguments: (arguments . [(string) (template_string)] @i))
((call_expression
  function: (identifier) @_called arguments: (arguments . [(string) (template_string)] @i))
 (#eq? @_called "require"))
"""
_CPP: Final = ".h .hh .hpp .hxx .h++ .cc .cpp .cxx .c++ .ipp .inl .tpp"
GRAMMARS: Final = (
    Grammar(
        {".c": "c", **dict.fromkeys(_CPP.split(), "cpp")},
        """
        (preproc_include path: (string_literal) @i)
        (preproc_include path: (system_lib_string) @s)
        """,
        Includes,
        strict=False,
    ),
    Grammar(
        {".go": "go"},
        """
        (import_spec path: (_) @i)
        (source_file (function_declaration name: (identifier) @d))
        (source_file (type_declaration [(type_spec name: (_) @d) (type_alias name: (_) @d)]))
        (source_file (const_declaration (const_spec name: (identifier) @d)))
        (source_file (var_declaration (var_spec name: (identifier) @d)))
        (source_file (var_declaration (var_spec_list (var_spec name: (identifier) @d))))
        """,
        GoPackages,
        str.isidentifier,
    ),
    Grammar(
        {".java": "java"},
        """
        (package_declaration [(scoped_identifier) (identifier)] @p)
        (import_declaration [(scoped_identifier) (identifier)] @i)
        (import_declaration [(scoped_identifier) (identifier)] @w (asterisk))
        (program (class_declaration name: (identifier) @d))
        (program (interface_declaration name: (identifier) @d))
        (program (enum_declaration name: (identifier) @d))
        (program (record_declaration name: (identifier) @d))
        (program (annotation_type_declaration name: (identifier) @d))
        """,
        JavaTypes,
        lambda word: word[0].isupper(),
    ),
    Grammar(dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"), _SCRIPT, JavaScriptModules),
    Grammar(
        {**dict.fromkeys((".ts", ".mts", ".cts"), "typescript"), ".tsx": "tsx"},
        _SCRIPT + "(import_require_clause source: (string) @i)",
        JavaScriptModules,
    ),
)
SUFFIXES: Final = {suffix: name for grammar in GRAMMARS for suffix, name in grammar.suffixes.items()}
_LONGEST: Final = 1000
_QUOTES: Final = "\"'`<"
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\s+", re.DOTALL)
# They are declared in many files and never referred to.
_NO_NAMES: Final = frozenset(["dmain", "dinit", "d_"])


def facts(grammar: Grammar, language: str, data: bytes) -> FoundReferences:
    """Runs in the child that parses."""
    parsed = parse(language, grammar.query, data)
    letters = (name for name in parsed.nodes if len(name) == 1)
    found = {f"{letter}{_plain(text)}" for letter in letters for text in parsed.texts(letter)}
    found = {fact for fact in found if _is_name(fact)} - _NO_NAMES
    if grammar.mentions:
        used = filter(grammar.mentions, words(data.decode("utf-8", "replace")))
        found |= {f"u{word}" for word in used if f"d{word}" not in found}
    return FoundReferences(tuple(sorted(found)), parsed.why if grammar.strict else "")


def _plain(text: str) -> str:
    """A text in quotes without them; other words without comments and blanks between them."""
    return text[1:-1] if text[:1] in _QUOTES else _COMMENT.sub("", text)


def _is_name(fact: str) -> bool:
    return 1 < len(fact) <= _LONGEST and "${" not in fact and not {"\\", "\0", "\n"} & set(fact)


PARSED: Final = {
    name: partial(facts, grammar, name) for grammar in GRAMMARS for name in grammar.suffixes.values()
}
