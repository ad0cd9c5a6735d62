"""The tools the rules lean on."""

import gettext
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools import catalog, environment, requirements_report

from tests.helpers import make_files

ROOT = Path(__file__).resolve().parents[2]

PO = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

# a note
#: src/ringi/x.py
msgid "plain \"quoted\" {name}"
msgstr "\tschlicht {name}\\"

#, fuzzy
msgid "guessed"
msgstr "geraten"

msgid "not yet"
msgstr ""

msgid "one file"
msgid_plural "{n} files"
msgstr[0] "eine Datei"
msgstr[1] "{n} Dateien"

msgid ""
"two\n"
"lines"
msgstr ""
"zwei\n"
"Zeilen"

#~ msgid "gone"
#~ msgstr "weg"
"""


def compiled(text: str) -> gettext.GNUTranslations:
    return gettext.GNUTranslations(io.BytesIO(catalog.binary(catalog.parse(text))))


def test_compiled_catalogue_is_what_gettext_reads():
    words = compiled(PO)
    assert words.gettext('plain "quoted" {name}') == "\tschlicht {name}\\"
    assert words.gettext("two\nlines") == "zwei\nZeilen"
    assert [words.ngettext("one file", "{n} files", n) for n in (1, 2)] == ["eine Datei", "{n} Dateien"]
    assert [words.gettext(text) for text in ("guessed", "not yet", "gone")] == ["guessed", "not yet", "gone"]
    assert words.info()["content-type"] == "text/plain; charset=UTF-8"


def test_rendered_catalogue_reads_back():
    entries = catalog.parse(PO)
    assert catalog.parse(catalog.render(entries)) == entries


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), unique_by=lambda pair: pair[0]))
def test_any_text_survives(pairs: list[tuple[str, str]]):
    entries = [catalog.Entry(id=original, strings=[text]) for original, text in pairs]
    assert catalog.parse(catalog.render(entries)) == entries


@pytest.mark.parametrize(
    "text",
    [
        'msgid "a"\nmsgstr "x"\nmsgid "a"\nmsgstr "y"',
        '"nothing"',
        'msgctxt "a"',
        'msgid "a"\nmsgid_plural "b"\nmsgstr[1] "x"',
    ],
)
def test_broken_catalogue_is_refused(text: str):
    with pytest.raises(catalog.CatalogueError):
        catalog.parse(text)


def found(source: str, name: str = "src/ringi/x.py") -> list[tuple[str, str | None]]:
    return [(message.id, message.plural) for message in catalog.extract(source, name)]


def test_messages_are_found_where_they_are_written():
    source = (
        '_("a")\ngettext("b" " c")\nText("d {x}", x=1)\nngettext("e", "es", n)\nwords._(variable)\n"f"\n'
        '_("g" if x else "h")\n_("{only} [{these}]")\nText("i", "is", count=n)\nText(variable, other)'
    )
    assert found(source) == [
        ("a", None),
        ("b c", None),
        ("d {x}", None),
        ("e", "es"),
        ("g", None),
        ("h", None),
        ("i", "is"),
    ]
    with pytest.raises(catalog.CatalogueError):
        found('Text("one", variable, count=n)')


def test_words_of_errors_are_messages():
    source = 'class E(X):\n    code = "e"\n    message: ClassVar[str] = "M"\n    hint = "H"\n'
    assert found(source, "src/ringi/errors.py") == [("M", None), ("H", None)]
    assert found(source, "src/ringi/other.py") == []


def test_help_of_commands_is_a_message_as_click_keeps_it():
    source = (
        '@cli.command()\n@click.option("--x", help="Option.")\n'
        'def run():\n    """Runs.\n\n    More.\n    """\n'
        '@click.group\ndef all():\n    """All."""\n'
        '@cli.command(help="Given.")\ndef other():\n    """Unseen."""\n'
        'def helper():\n    """Unseen, too."""\n'
    )
    expected = ["Option.", "Runs.\n\nMore.", "All.", "Given."]
    assert [text for text, _ in found(source, "src/ringi/cli/x.py")] == expected
    assert found(source) == []


@pytest.mark.parametrize("source", ['_(f"a {x}")', '_("a" + b)', 'Text("a" % b)'])
def test_message_put_together_is_refused(source: str):
    with pytest.raises(catalog.CatalogueError, match=r"x\.py:1"):
        catalog.extract(source, "x.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "src" / "ringi"
    folder.mkdir(parents=True)
    (folder / "b.py").write_text('_("second")\n_("first {x}")\nngettext("{n} one", "{n} many", n)\n')
    (folder / "a.py").write_text('_("second")\n')
    return tmp_path


def japanese(project: Path) -> Path:
    return project / "src/ringi/locale/ja/LC_MESSAGES/ringi.po"


def ours(problems: list[str]) -> list[str]:
    return [problem for problem in problems if "(click)" not in problem]


def test_update_then_check_names_what_is_missing(project: Path):
    catalog.update(project)
    text = japanese(project).read_text()
    assert text.index("Missing command.") < text.index("first") < text.index("second") < text.index("{n} one")
    assert "#:" not in text  # a move changes no catalogue
    assert ours(catalog.check(project)) == [
        "ja: not translated: 'second' (src/ringi/a.py, src/ringi/b.py)",
        "ja: not translated: 'first {x}' (src/ringi/b.py)",
        "ja: not translated: '{n} one' (src/ringi/b.py)",
    ]
    assert "ja: not translated: 'Missing command.' (click)" in catalog.check(project)


def test_check_names_what_is_wrong_or_unused(project: Path):
    japanese(project).parent.mkdir(parents=True)
    japanese(project).write_text(
        'msgid "second"\nmsgstr "}"\n\nmsgid "first {x}"\nmsgstr "{y}"\n\nmsgid "gone"\nmsgstr "x"\n\n'
        'msgid "{n} one"\nmsgid_plural "{n} many"\nmsgstr[0] "{n}"\n'
    )
    assert ours(catalog.check(project)) == [
        "ja: other placeholders than the original: 'second' (src/ringi/a.py, src/ringi/b.py)",
        "ja: other placeholders than the original: 'first {x}' (src/ringi/b.py)",
        "ja: no longer used: 'gone'",
    ]
    catalog.update(project)
    assert "gone" not in japanese(project).read_text()
    assert 'msgstr "{y}"' in japanese(project).read_text()


def test_update_changes_nothing_the_second_time(project: Path):
    catalog.update(project)
    before = japanese(project).stat()
    catalog.update(project)
    after = japanese(project).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_compile_only_when_older(project: Path):
    catalog.update(project)
    catalog.compile_all(project)
    machine_form = japanese(project).with_suffix(".mo")
    machine_form.write_bytes(b"as it is")
    catalog.compile_all(project)
    assert machine_form.read_bytes() == b"as it is"
    later = machine_form.stat().st_mtime + 1
    os.utime(japanese(project), (later, later))
    catalog.compile_all(project)
    assert machine_form.read_bytes() != b"as it is"


def test_context_tells_equal_messages_apart():
    text = 'msgctxt "a"\nmsgid "first"\nmsgstr "1"\n\nmsgctxt "b"\nmsgid "first"\nmsgstr "2"\n'
    entries = catalog.parse(text)
    assert catalog.render(entries) == text
    compiled = gettext.GNUTranslations(io.BytesIO(catalog.binary(entries)))
    assert [compiled.pgettext(context, "first") for context in "ab"] == ["1", "2"]


def test_sentences_of_the_playbook_have_a_catalogue_of_their_own(project: Path):
    shutil.copytree(catalog.ROOT / catalog.CONTENT, project / catalog.CONTENT)
    playbook = japanese(project).with_name("playbook.po")
    catalog.update(project)
    assert 'msgctxt "bug"\nmsgid "What should happen instead?"\nmsgstr ""' in playbook.read_text()
    missing = "ja: not translated: 'What should happen instead?' (playbook: bug)"
    assert missing in catalog.check(project)
    shutil.copy(catalog.ROOT / playbook.relative_to(project), playbook)
    assert missing not in catalog.check(project)


@pytest.mark.parametrize(
    ("text", "names"),
    [("{a} and {b!r}", {"a", "b"}), ("%(prog)s {{x}}", {"prog"}), ("100 %", set()), ("{broken", None)],
)
def test_placeholders(text: str, names: set[str] | None):
    assert catalog.placeholders(text) == names


TESTS = """
pytestmark = pytest.mark.req("PT-1")
@pytest.mark.req("PT-2", "PT-3")
def test_a(): ...
class TestB:
    pytestmark = [pytest.mark.req("PT-3")]
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.req("PT-4"))])
    def test_c(self): ...
TestD = Machine.TestCase
TestD.pytestmark = [pytest.mark.req("PT-2")]
@pytest.mark.req("PT-99")
def test_e(): ...
"""


def test_marks_are_found_on_everything_that_can_carry_them():
    result = requirements_report.Proofs()
    requirements_report.scan(TESTS, "t.py", requirements_report.requirements(ROOT), result)
    assert result.tests == {
        "PT-1": ["t.py"],
        "PT-2": ["t.py::test_a", "t.py::TestD"],
        "PT-3": ["t.py::test_a", "t.py::TestB"],
        "PT-4": ["t.py::TestB::test_c"],
    }
    assert result.problems == ["t.py:11: no such requirement: 'PT-99'"]


def test_requirements_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    known = requirements_report.requirements(ROOT)
    prefixes = [name.partition("-")[0] for name in known]
    assert {prefix: prefixes.count(prefix) for prefix in prefixes} == {
        "PT": 16, "IP": 17, "PP": 29, "CP": 11, "RN": 16,
    }  # fmt: skip
    result = requirements_report.Proofs({name: ["t"] for name in known if name not in {"CP-2", "CP-11"}})
    lines = list(requirements_report.report(known, result))
    assert "CP  9 of 11 proven" in lines
    assert f"    CP-11  {known['CP-11']}" in lines
    marked = "@pytest.mark.req('PT-1')\ndef test(): ..."
    make_files(tmp_path, {"tests/requirements.txt": "PT-1 One\n", "tests/t.py": marked})
    assert requirements_report.main(["--tests", "PT-1", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "tests/t.py::test\n"
    with pytest.raises(SystemExit):
        requirements_report.main(["--tests", "PT-99"])
    assert "PT-99" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["plain", "with space", "quo'te", "日本", "long" * 40])
def test_launchers_start_whatever_the_folder_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
):
    root = tmp_path / folder
    packages = root / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (root / ".venv" / "bin").mkdir()
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    program = root / "src" / "ringi" / "cli"
    program.mkdir(parents=True)
    (program / "__init__.py").write_text("import sys\ndef main():\n    print(*sys.argv[1:])\n    return 3\n")
    monkeypatch.setattr(environment, "ROOT", root)
    monkeypatch.setattr(environment, "VENV", root / ".venv")
    environment._link()
    assert (packages / (packages / "ringi.pth").read_text().strip()).resolve() == (root / "src").resolve()
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    done = subprocess.run([root / ".venv/bin/agent", "a b", "c"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "a b c\n", "")
