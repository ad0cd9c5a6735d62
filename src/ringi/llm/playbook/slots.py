"""What the templates of a language are filled with: words of the instruction, names of the project."""

from collections.abc import Callable, Mapping
from typing import Final

from ringi.domain.session import Brief, ProjectFacts
from ringi.llm.playbook import english, japanese
from ringi.llm.playbook.kinds import Words
from ringi.llm.playbook.quoting import one_line
from ringi.llm.playbook.reading import Reading

WORDS: Final[Mapping[str, Words]] = {"en": english.WORDS, "ja": japanese.WORDS}

_MOST_OF_A_NAME: Final = 40
# What runs the tests wherever there is such a file; others are a matter of taste.
_RUNNERS: Final = {"Cargo.toml": "cargo test", "go.mod": "go test ./..."}

Slots = Mapping[str, str]


def slots(brief: Brief, reading: Reading, shown: Callable[[str], str] = str) -> Slots:
    """`shown` makes other people's words fit for where they are shown."""
    sentences = WORDS[brief.language].sentences
    about = reading.wanted

    def own(words: str) -> str:
        return quoted(sentences, shown(words)) if words else sentences["task"]

    def named(names: tuple[str, ...], key: str) -> str:
        return code(names[0]) if names else sentences[key]

    folder = test_folder(brief.project)
    return {
        "subject": own(about.subject),
        "matter": own(about.matter) if about.matter else sentences["fault"],
        "thing": own(about.thing),
        "place": named(reading.places, "place"),
        "manifest": named(brief.project.manifests, "manifest"),
        "language": one_line(brief.project.languages[0], _MOST_OF_A_NAME)
        if brief.project.languages
        else sentences["language"],
        "folder": code(folder) if folder else sentences["folder"],
        "tests": sentences["tests_in"].format(folder=code(folder)) if folder else sentences["tests"],
    }


def quoted(sentences: Mapping[str, str], text: str) -> str:
    """Quotation marks inside become single ones."""
    inner = text.translate({0x201C: "\u2018", 0x201D: "\u2019", 0x300C: "\u300e", 0x300D: "\u300f"})
    return sentences["quote"].format(text=inner)


def code(name: str) -> str:
    return f"`{one_line(name.replace('`', ''), _MOST_OF_A_NAME)}`"


def filled(template: str, values: Slots) -> str:
    """With a capital, where a name in small letters has come to the front."""
    text = template.format_map(values)
    return text[:1].upper() + text[1:] if template.startswith("{") else text


def test_folder(project: ProjectFacts) -> str:
    return next((tests for tests in project.tests if not _is_command(tests)), "")


def test_command(project: ProjectFacts) -> str:
    given = (tests for tests in project.tests if _is_command(tests))
    known = (_RUNNERS[name] for name in project.manifests if name in _RUNNERS)
    return one_line(next(given, "") or next(known, ""), 2 * _MOST_OF_A_NAME).replace("`", "")


def _is_command(tests: str) -> bool:
    return " " in tests.strip() or tests.strip() in {
        "pytest",
        "tox",
        "nox",
        "jest",
        "vitest",
        "rspec",
        "phpunit",
    }
