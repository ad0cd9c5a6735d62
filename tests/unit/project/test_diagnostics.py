"""What checkers print becomes diagnostics; what cannot be read becomes a reason, never an exception."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel import codec
from ringi.project.diagnostics import (
    CheckPlace,
    DiagnosticLimits,
    Format,
    ParsedDiagnostics,
    Unparsed,
    merge,
    parse,
)
from ringi.project.state import Diagnostic, Severity
from tests.tables import each

FILES = frozenset(["a.py", "src/b.c", "app/(group)/page.tsx", "with space.py", "日本.py", "12", "x&y.py"])
HERE = CheckPlace(("/copy/tree", "/real/tree"), FILES)
ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


def parsed(data: bytes | str, form: Format = Format.AUTO, **more: Any) -> ParsedDiagnostics:
    result = parse(data.encode() if isinstance(data, str) else data, HERE, form, **more)
    assert isinstance(result, ParsedDiagnostics), result
    return result


def refused(data: bytes | str, form: Format = Format.AUTO, **more: Any) -> str:
    result = parse(data.encode() if isinstance(data, str) else data, HERE, form, **more)
    assert isinstance(result, Unparsed), result
    return str(result.why)


def sarif(*results: dict[str, Any], **run: Any) -> bytes:
    driver = {"name": "lint", "rules": run.pop("rules", [])}
    return json.dumps(
        {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": list(results), **run}]}
    ).encode()


def result(uri: str | None = "a.py", line: int | None = 3, **more: Any) -> dict[str, Any]:
    place: dict[str, Any] = {} if uri is None else {"artifactLocation": {"uri": uri}}
    if line is not None:
        place["region"] = {"startLine": line, "startColumn": 7}
    return {"message": {"text": "bad"}, "locations": [{"physicalLocation": place}], **more}


# Lines


@pytest.mark.req("CP-10")
@each(
    ("line", "expected"),
    [
        # gcc and clang
        ("src/b.c:3:7: error: no x", Diagnostic("src/b.c", "no x", 3, 7, ERROR)),
        ("src/b.c:3:7: fatal error: no.h: gone", Diagnostic("src/b.c", "no.h: gone", 3, 7, ERROR)),
        (
            "./src/b.c:3:7: warning: unused [-Wunused-variable]",
            Diagnostic("src/b.c", "unused", 3, 7, WARNING, "-Wunused-variable"),
        ),
        ("src/b.c:3:7: note: here", Diagnostic("src/b.c", "here", 3, 7, NOTE)),
        ("/real/tree/src/b.c:3: error: no", Diagnostic("src/b.c", "no", 3, None, ERROR)),
        # mypy
        (
            'a.py:4: error: "X" has no attribute "y"  [attr-defined]',
            Diagnostic("a.py", '"X" has no attribute "y"', 4, None, ERROR, "attr-defined"),
        ),
        ("a.py:4: note: Revealed type", Diagnostic("a.py", "Revealed type", 4, None, NOTE)),
        # flake8, pylint, ruff's concise form
        ("a.py:1:80: E501 too long", Diagnostic("a.py", "too long", 1, 80, WARNING, "E501")),
        ("a.py:1:0: C0114: no docs", Diagnostic("a.py", "no docs", 1, None, WARNING, "C0114")),
        # tsc, with and without its terminal form; MSVC
        (
            "app/(group)/page.tsx(3,5): error TS2304: no x",
            Diagnostic("app/(group)/page.tsx", "no x", 3, 5, ERROR, "TS2304"),
        ),
        ("a.py:3:5 - error TS2304: no x", Diagnostic("a.py", "no x", 3, 5, ERROR, "TS2304")),
        ("src/b.c(3): warning C4996: old", Diagnostic("src/b.c", "old", 3, None, WARNING, "C4996")),
        # rustc's short form
        ("src/b.c:2:5: error[E0425]: no x", Diagnostic("src/b.c", "no x", 2, 5, ERROR, "E0425")),
        # names
        ("with space.py:1: x", Diagnostic("with space.py", "x", 1)),
        ("日本.py:1: 駄目", Diagnostic("日本.py", "駄目", 1)),
        ("a.py:1: \x1b[31mred\u202e", Diagnostic("a.py", "\x1b[31mred\u202e", 1)),
    ],
)
def test_a_line_is_understood(line: str, expected: Diagnostic):
    assert parsed(f"noise\n{line}\r\nFound 1 error\n").diagnostics == (expected,)
    assert parsed("", errors=f"{line}\n".encode()).diagnostics == (expected,)
    assert parsed(line, source="gcc").diagnostics[0].source == "gcc"


@each(
    "line",
    [
        "",
        "a.py",
        "a.py:",
        "a.py:3",
        "a.py:x: no number",
        "  a.py:3: a quoted line",
        "In file included from src/b.c:3:",
        "Found 3 errors in 1 file (checked 2 source files)",
        "/bin/sh: 1: ruff: not found",
        "sh: line 1: ruff: command not found",
        'File "a.py", line 3, in f',
    ],
)
def test_other_lines_say_nothing(line: str):
    assert parsed(line).diagnostics == ()


@each("path", ["../a.py", "/a.py", "/copy/tree/../a.py", "/copy/treea.py", "gone.py", "~"])
def test_files_that_are_not_the_projects_are_dropped_and_counted(path: str):
    assert parsed(f"{path}:3: x\na.py:1: y\n") == ParsedDiagnostics((Diagnostic("a.py", "y", 1),), outside=1)
    assert parsed(sarif(result(path))).outside == 1
    assert parsed(json.dumps([{"filename": path, "message": "x"}])).outside == 1


@each("path", ["a.py", "./a.py", "src/../a.py", "/copy/tree/a.py", "//copy/tree/./a.py"])
def test_one_file_has_one_name(path: str):
    assert parsed(f"{path}:3: x\na.py:3: x\n").diagnostics == (Diagnostic("a.py", "x", 3),)


def test_the_order_is_that_of_the_places():
    lines = ["src/b.c:1: x", "a.py:10: x", "a.py:9: x", "a.py:9:2: x", "a.py:9: note: x", "a.py:9: x"]
    forward = parsed("\n".join(lines)).diagnostics
    assert forward == parsed("\n".join(reversed(lines))).diagnostics
    assert [(one.file, one.line, one.column) for one in forward] == [
        ("a.py", 9, None),
        ("a.py", 9, None),
        ("a.py", 9, 2),
        ("a.py", 10, None),
        ("src/b.c", 1, None),
    ]
    assert merge([forward, forward[::-1]]) == forward


# ruff's JSON


@pytest.mark.req("CP-10")
def test_ruffs_json():
    rows: list[dict[str, Any]] = [
        {"filename": "/copy/tree/a.py", "message": "m", "code": "F401", "location": {"row": 1, "column": 8}},
        {"filename": "/copy/tree/a.py", "message": "m", "code": None, "location": {"row": 2, "column": 1}},
        {"filename": "a.py", "message": "n", "code": "E1", "severity": "error", "fix": {"edits": [[[]]]}},
        {"filename": "a.py", "message": "n", "code": "E2", "location": None},
    ]
    assert parsed(json.dumps(rows)).diagnostics == (
        Diagnostic("a.py", "n", None, None, ERROR, "E1", "ruff"),
        Diagnostic("a.py", "n", None, None, WARNING, "E2", "ruff"),
        Diagnostic("a.py", "m", 1, 8, WARNING, "F401", "ruff"),
        Diagnostic("a.py", "m", 2, 1, ERROR, "", "ruff"),
    )
    assert parsed(b" \n", errors=json.dumps(rows).encode()) == parsed(json.dumps(rows))
    assert parsed("[]\n") == ParsedDiagnostics(())
    assert parsed(b"\xef\xbb\xbf[ ]", Format.RUFF) == ParsedDiagnostics(())


@pytest.mark.parametrize("form", ["json", "sarif", "concise"])
def test_the_real_ruff_says_the_same_in_each_of_its_forms(tmp_path: Path, form: str):
    ruff = Path(sys.executable).with_name("ruff")
    (tmp_path / "a.py").write_text("import os\nprint(undefined)\n")
    ran = subprocess.run(
        [ruff, "check", "--isolated", "--no-cache", "--select", "F", "--output-format", form, "."],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 1
    told = parse(ran.stdout, CheckPlace((str(tmp_path),), FILES), source="ruff")
    assert isinstance(told, ParsedDiagnostics)
    assert [(one.file, one.line, one.column, one.code, one.source) for one in told.diagnostics] == [
        ("a.py", 1, 8, "F401", "ruff"),
        ("a.py", 2, 7, "F821", "ruff"),
    ]


# SARIF


@pytest.mark.req("CP-10")
def test_sarif():
    rules = [
        {"id": "R1", "defaultConfiguration": {"level": "error"}},
        {"id": "R2", "messageStrings": {"default": {"text": "{0} is not {1} {2}"}}},
    ]
    told = parsed(
        sarif(
            result(line=1, ruleId="R1"),
            result(line=2, ruleIndex=0),
            result(line=3, rule={"id": "R1/fine"}, level="note"),
            result(line=4, ruleId="R2", message={"id": "default", "arguments": ["x", "y"]}),
            result(line=5, level="none"),
            result(line=6, kind="review"),
            result(line=7, message={"text": "no {0}", "arguments": ["z"]}),
            rules=rules,
        )
    )
    assert told.diagnostics == (
        Diagnostic("a.py", "bad", 1, 7, ERROR, "R1", "lint"),
        Diagnostic("a.py", "bad", 2, 7, ERROR, "R1", "lint"),
        Diagnostic("a.py", "bad", 3, 7, NOTE, "R1/fine", "lint"),
        Diagnostic("a.py", "x is not y {2}", 4, 7, WARNING, "R2", "lint"),
        Diagnostic("a.py", "bad", 5, 7, NOTE, "", "lint"),
        Diagnostic("a.py", "bad", 6, 7, NOTE, "", "lint"),
        Diagnostic("a.py", "no z", 7, 7, WARNING, "", "lint"),
    )


@each(
    ("artifact", "run"),
    [
        ({"uri": "file:///copy/tree/x%26y.py"}, {}),
        ({"uri": "file://localhost/real/tree/x&y.py"}, {}),
        ({"uri": "file:/copy/tree/x&y.py"}, {}),
        ({"uri": "/copy/tree/x&y.py"}, {}),
        ({"uri": "x%26y.py", "uriBaseId": "%SRCROOT%"}, {}),
        (
            {"uri": "x&y.py", "uriBaseId": "SRC"},
            {
                "originalUriBaseIds": {
                    "SRC": {"uri": "tree/", "uriBaseId": "UP"},
                    "UP": {"uri": "file:///copy/"},
                }
            },
        ),
        ({"index": 1}, {"artifacts": [{}, {"location": {"uri": "x%26y.py"}}]}),
    ],
)
def test_a_place_in_sarif_has_many_spellings(artifact: dict[str, Any], run: dict[str, Any]):
    one = {"message": {"text": "m"}, "locations": [{"physicalLocation": {"artifactLocation": artifact}}]}
    assert [formats.file for formats in parsed(sarif(one, **run)).diagnostics] == ["x&y.py"]


@each(
    ("artifact", "run"),
    [
        ({"uri": "https://example.invalid/a.py"}, {}),
        ({"uri": "file://elsewhere/copy/tree/a.py"}, {}),
        ({"uri": "a" * 10_000 + "/../a.py"}, {}),
        ({"index": 9}, {}),
        ({"index": -1}, {"artifacts": [{"location": {"uri": "a.py"}}]}),
        ({}, {}),
        ({"uri": "a.py", "uriBaseId": "A"}, {"originalUriBaseIds": {"A": {"uri": "b/", "uriBaseId": "A"}}}),
    ],
)
def test_no_place_of_ours_is_counted(artifact: dict[str, Any], run: dict[str, Any]):
    one = {"message": {"text": "m"}, "locations": [{"physicalLocation": {"artifactLocation": artifact}}]}
    assert parsed(sarif(one, **run)) == ParsedDiagnostics((), outside=1)
    assert parsed(sarif({"message": {"text": "m"}})).outside == 1


@each(
    "more",
    [
        {"suppressions": [{"kind": "inSource"}]},
        {"suppressions": [{"status": "accepted"}]},
        {"kind": "pass"},
        {"kind": "notApplicable"},
        {"baselineState": "absent"},
    ],
)
def test_what_a_tool_says_to_leave_alone_is_left_alone(more: dict[str, Any]):
    assert parsed(sarif(result(**more))) == ParsedDiagnostics(())
    assert len(parsed(sarif(result(suppressions=[{"status": "rejected"}]))).diagnostics) == 1


def test_a_tool_that_says_it_failed_is_believed_unless_it_names_something():
    invocations = [{"executionSuccessful": False}]
    assert refused(sarif(invocations=invocations)) == "lint says that it failed"
    assert len(parsed(sarif(result(), invocations=invocations)).diagnostics) == 1


# Hostile and broken


@each(
    ("data", "form"),
    [
        (b'{"runs": [', Format.AUTO),
        (b'[{"filename": "a.py"', Format.AUTO),
        (b'[{"filePath": "a.py", "messages": []}]', Format.AUTO),
        (b'{"version": "1.0.0", "runs": []}', Format.AUTO),
        (b'{"runs": {}}', Format.AUTO),
        (b'{"runs": [{}]}', Format.AUTO),
        (b"", Format.SARIF),
        (b"{}", Format.SARIF),
        (b"[]", Format.SARIF),
        (b"", Format.RUFF),
        (b"{}", Format.RUFF),
        (b"null", Format.RUFF),
        (b"a.py:1: x", Format.RUFF),
        (b'[{"filename": "a.py", "message": "\xff"}]', Format.RUFF),
        (b'[{"filename": "a.py", "message": "\\ud800"}]', Format.RUFF),
        (b'{"runs": [{"tool": {"driver": {}}, "x": ' + b"[" * 100_000, Format.SARIF),
        (b'[{"filename": "a.py", "message": "m", "fix": ' + b'{"a":' * 100_000, Format.RUFF),
        (b"[" + b"{}," * 2_100_000, Format.RUFF),
    ],
)
def test_what_cannot_be_read_is_a_reason(data: bytes, form: Format):
    assert refused(data, form)


def test_too_much_is_a_reason():
    many = "".join(f"a.py:{number}: x\n" for number in range(1, 60))
    assert len(parsed(many).diagnostics) == 59
    assert refused(many, limits=DiagnosticLimits(diagnostics=50)) == "it names more than 50 places"
    assert "it names more than" in refused("a.py:1: x\n" * 11, limits=DiagnosticLimits(named=10))
    short = DiagnosticLimits(output_bytes=100)
    assert refused("a" * 101, limits=short) == "it printed more than 100 bytes"
    assert refused("", errors=b"a" * 101, limits=short) == "it printed more than 100 bytes"


def test_one_template_cannot_become_a_flood():
    rules = [{"id": "R", "messageStrings": {"d": {"text": "{0}" * 100_000}}}]
    message = {"id": "d", "arguments": ["y" * 100_000]}
    told = parsed(sarif(result(ruleId="R", message=message), rules=rules)).diagnostics
    assert len(told[0].message) < 20_000


@each("number", [0, -1, 2**31, 2**40, 10**30])
def test_a_line_that_no_file_has_is_no_line(number: int):
    rows = [{"filename": "a.py", "message": "m", "location": {"row": number, "column": number}}]
    told = parsed(json.dumps(rows)).diagnostics
    assert (told[0].line, told[0].column) == (None, None)
    assert parsed(sarif(result(line=number))).diagnostics[0].line is None


@given(data=st.binary(max_size=200), form=st.sampled_from(Format))
def test_any_bytes_are_read_or_refused(data: bytes, form: Format):
    assert isinstance(parse(data, HERE, form, errors=data), ParsedDiagnostics | Unparsed)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["runs", "tool", "driver", "results", "message", "text", "filename", "locations", "uri"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=_JSON, form=st.sampled_from(Format))
def test_any_json_is_read_or_refused(value: Any, form: Format):
    assert isinstance(parse(json.dumps(value).encode(), HERE, form), ParsedDiagnostics | Unparsed)


_DIAGNOSTICS = st.builds(
    Diagnostic,
    file=st.sampled_from(sorted(FILES)),
    message=st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1),
    line=st.integers(1, 10**6),
    column=st.integers(1, 1000) | st.none(),
    severity=st.sampled_from(Severity),
    code=st.sampled_from(["", "E1"]),
    source=st.just("lint"),
)


@given(st.lists(_DIAGNOSTICS, max_size=8))
def test_sarif_carries_every_field(diagnostics: list[Diagnostic]):
    rows = []
    for one in diagnostics:
        region = {"startLine": one.line} | ({"startColumn": one.column} if one.column else {})
        where = {"artifactLocation": {"uri": one.file}, "region": region}
        named = {"ruleId": one.code} if one.code else {}
        words = {"message": {"text": one.message}, "level": one.severity}
        rows.append({**words, **named, "locations": [{"physicalLocation": where}]})
    told = parsed(sarif(*rows))
    assert told == ParsedDiagnostics(merge([diagnostics]))
    assert codec.canonical(told.diagnostics)
