"""A brief, understood: what was asked and answered, which files it is about, and the book in its language."""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.models.prompt import NewCriterion, NewQuestion
from ringi.project.context import Definition, FileKind, FoundFile, ProjectFacts
from ringi.project.kinds import is_test_name
from ringi.sessions.document import Brief
from ringi.sessions.playbook.book import (
    ChangePlace,
    Chapter,
    CriterionEntry,
    DecisionEntry,
    Kind,
    OptionEntry,
    PlaybookStep,
    QuestionEntry,
    Said,
    book,
)
from ringi.sessions.playbook.instruction import PlaybookInstruction, read, things_said
from ringi.sessions.playbook.quote import cut, one_line
from ringi.sessions.playbook.words import Searched, split_words, stance

Slots = Mapping[str, str]
_LINE: Final = 300
_PHRASE: Final = 120
_LONGEST_ANSWER: Final = 400


class Case(NamedTuple):
    brief: Brief
    instruction: PlaybookInstruction
    chapter: Chapter
    sentences: Slots
    files: "Files"
    slots: Slots
    answers: "CaseAnswers"

    @property
    def commands(self) -> tuple[str, ...]:
        """Those by which the project is tested."""
        return tuple(filter(_is_shown, self.brief.project.test_commands))

    @property
    def said(self) -> frozenset[Said]:
        place = {Said.PLACE} if self.files.named else set()
        return self.instruction.said | self.answers.said | place

    def line(self, template: str) -> str:
        return cut(fill(template, self.slots), _LINE)

    def phrase(self, template: str) -> str:
        return cut(fill(template, self.slots), _PHRASE)

    def sentence(self, key: str, **values: str) -> str:
        return self.sentences[key].format(**values)

    def quote(self, text: str) -> str:
        """Quotation marks inside become single ones."""
        inner = text.translate({0x201C: "\u2018", 0x201D: "\u2019", 0x300C: "\u300e", 0x300D: "\u300f"})
        return self.sentence("quote", text=inner)

    def question(self, entry: QuestionEntry) -> NewQuestion:
        return NewQuestion(
            type=entry.type,
            question=self.line(entry.question),
            context=self.line(entry.context),
            options=tuple(self.phrase(answer.text) for answer in entry.answers),
        )

    def steps(self) -> Iterator[tuple[PlaybookStep, str]]:
        """Those of what was chosen, with their words."""
        chosen = self.choose()
        for entry in self.chapter.steps:
            if _applies(entry, chosen) and (text := fill(entry.step, self.slots)):
                yield entry, text

    def criteria(self) -> Iterator[NewCriterion]:
        """What the request says should happen, what was answered, and what is true of every such change."""
        chosen = self.choose()
        asked = {self.question(entry).question for entry in self.chapter.questions if entry.criterion}
        answers = (question.answer for question in self.brief.questions if question.question in asked)
        for text in filter(None, (self.instruction.expected, *answers)):
            said = self.quote(one_line(text, _LONGEST_ANSWER))
            yield NewCriterion(self.sentence("this_case"), self.sentence("tried"), said)
        for entry in self.chapter.criteria:
            if _applies(entry, chosen):
                yield NewCriterion(
                    *(fill(text, self.slots) for text in (entry.given, entry.when, entry.then))
                )

    def decisions(self) -> list[DecisionEntry]:
        """Those that request and answers leave open, those made already, and those of the feedback."""
        made = {decision.topic for decision in self.brief.decisions}
        heard = self.answers.feedback
        spoken_of = [
            entry
            for entry in self.chapter.decisions
            if all(self.phrase(option.name) for option in entry.options)
            and any(stance(heard, option.hints) for option in entry.options)
        ]
        return [
            entry
            for entry in self.chapter.decisions
            if self.phrase(entry.topic) in made or self.is_open(entry) or entry in spoken_of
        ]

    def is_open(self, entry: QuestionEntry | DecisionEntry) -> bool:
        """The request does not answer it, and every name in it is known."""
        named = not isinstance(entry, DecisionEntry) or all(
            self.phrase(option.name) for option in entry.options
        )
        settled = isinstance(entry, DecisionEntry) and _option_by_verb(entry, self.instruction.verb)
        meant = entry.only is None or entry.only in self.said
        return bool(named and meant and not settled and not entry.unless & self.said)

    def earlier(self, entry: DecisionEntry) -> str:
        """The option that was chosen, by its words."""
        chosen = {d.topic: d.selected.name for d in self.brief.decisions if d.selected}
        name = chosen.get(self.phrase(entry.topic))
        return next((option.key for option in entry.options if self.phrase(option.name) == name), "")

    def recommend(self, entry: DecisionEntry) -> str:
        # The first does what was asked.
        return max(entry.options, key=lambda option: self._score(option, self.earlier(entry))).key

    def _score(self, option: OptionEntry, earlier: str) -> int:
        words = (self.phrase(option.name).lower(), *option.hints)
        score = _BY_FEEDBACK * stance(self.answers.feedback, words)
        score += _EARLIER * (option.key == earlier)
        # What the request says of others who use it is no reason to do something else than it asks for.
        score += _BY_WORDS * stance((self.instruction.words, *self.answers.free), words)
        return score + _BY_ANSWER * len(option.suits & self.answers.said)

    def choose(self) -> set[str]:
        """One option of each decision: as decided, otherwise as asked for."""
        due = self.decisions()
        settled = {
            _option_by_verb(entry, self.instruction.verb)
            for entry in self.chapter.decisions
            if entry not in due
        }
        return settled.union(self.earlier(entry) or self.recommend(entry) for entry in due)


_BY_FEEDBACK: Final = 40
_EARLIER: Final = 20
_BY_WORDS: Final = 4
_BY_ANSWER: Final = 3


def case_of(brief: Brief) -> Case:
    instruction, found = read(brief.instruction), book(brief.language)
    chapter, files = found.chapters[instruction.kind], files_for(instruction, brief.project)
    slots = dict(_slots(brief.project, files, chapter, found.sentences))
    case = Case(brief, instruction, chapter, found.sentences, files, slots, _NONE)
    return case._replace(answers=_answers(case))


def places(case: Case, place: ChangePlace) -> tuple[str, ...]:
    """The paths of what a step changes, as far as they are known."""
    project = case.brief.project
    paths = {
        ChangePlace.START: tuple(file.path for file in case.files.start),
        ChangePlace.TEST: (case.files.test,),
        ChangePlace.DOCS: (case.files.docs,),
        ChangePlace.CHANGELOG: (project.changelog,),
        ChangePlace.MANIFEST: project.manifests[:1],
    }[place]
    return tuple(path for path in paths if path and _is_shown(path))


def _option_by_verb(entry: DecisionEntry, verb: str) -> str:
    """The option that the request begins with: “deprecate …”."""
    return next((option.key for option in entry.options if verb in option.hints), "")


def _applies(entry: PlaybookStep | CriterionEntry, chosen: set[str]) -> bool:
    option = entry.option.removeprefix("!")
    return not option or (option in chosen) == (option == entry.option)


# --- what was answered -------------------------------------------------------------------------------------

_MOST_OF_AN_ANSWER: Final = 1_500


class CaseAnswers(NamedTuple):
    said: frozenset[Said]
    free: tuple[Searched, ...]
    """In people's own words."""
    feedback: tuple[Searched, ...]


_NONE: Final = CaseAnswers(frozenset(), (), ())


def _answers(case: Case) -> CaseAnswers:
    entries = {case.question(entry).question: entry for entry in case.chapter.questions}
    said: set[Said] = set()
    free: list[Searched] = []
    for question in case.brief.questions:
        entry = entries.get(question.question)
        offered = {case.phrase(answer.text): answer.says for answer in entry.answers} if entry else {}
        words = (question.answer or "")[:_MOST_OF_AN_ANSWER]
        if words in offered:
            said |= offered[words]
        elif words:
            said.update(things_said(words))
            free.append(split_words(words))
    return CaseAnswers(
        frozenset(said),
        tuple(free),
        tuple(split_words(text[:_MOST_OF_AN_ANSWER]) for text in case.brief.feedback),
    )


# --- the files it is about ---------------------------------------------------------------------------------

_MOST_NAMED: Final = 2
_MOST_OTHERS: Final = 3
_NEARLY: Final = 0.9
_MOST_DEFINITIONS: Final = 2
_LONGEST_PATH: Final = 100
_FORMS: Final = ".github/"
_SLOWLY: Final = "deprecate"
_CODE_NAME: Final = re.compile(r"(?!__)[A-Za-z_]\w{2,60}", re.ASCII)
_PART: Final = "A-Za-z0-9_.-"
"""Of a name. Japanese follows one without a space."""
_INLINE: Final = re.compile(r"`([^`\n]{1,200})`")
# A call, a dotted name, snake_case, CamelCase or one that begins with an acronym: JSONField.
_LIKE_CODE: Final = re.compile(
    r"\b\w{2,60}(?=\()|\b\w{1,60}(?:\.\w{1,60}){1,6}|\b\w{1,60}_\w{1,60}"
    r"|\b[A-Z]\w{0,60}[a-z]\w{0,60}[A-Z]\w{0,60}|\b[A-Z]{2,20}[a-z]\w{1,60}",
    re.ASCII,
)
_PREFERRED: Final = {
    Kind.DOCS: (FileKind.DOC,),
    Kind.BUILD: (FileKind.OTHER,),
    Kind.RELEASE: (),
    Kind.DEPENDENCY: (FileKind.SOURCE,),
}


# Where an error or a constant is defined is seldom where it has to be changed.
_NO_PLACE: Final = re.compile(r"(?:Error|Exception|Warning)$|(?:^|\.)[A-Z][A-Z0-9_]*$")


class Files(NamedTuple):
    start: tuple[FoundFile, ...]
    named: bool
    """The request names them, or what they define."""
    told: bool
    """It names their paths."""
    others: tuple[FoundFile, ...]
    test: str
    """A file of tests, or the nearest folder of them."""
    docs: str


def files_for(instruction: PlaybookInstruction, project: ProjectFacts) -> Files:
    title = _names(instruction.title)
    found = [_narrow(file, title) for file in project.found if _is_shown(file.path)]
    told = find_mentions(instruction.plain, found)
    fitting = [file for file in found if file.kind in _PREFERRED.get(instruction.kind, (FileKind.SOURCE,))]
    # In a longer text a path may be that of a log, an input or a script that was run.
    paths = [file for file in told if file in fitting]
    named = [file for file in found if _counts(file, instruction.kind) and _defines(file, title)][:1]
    traced = _files_in_trace(instruction.traced, fitting)
    asked = [file for file in find_mentions(instruction.title, told) if _counts(file, instruction.kind)]
    start = asked or list(dict.fromkeys([*named, *fitting[:1], *paths, *traced[:1], *_close(fitting)]))
    start = _everywhere(instruction, title, found) or start[:_MOST_NAMED]
    tests = [file.path for file in told if file.kind is FileKind.TEST and _is_test(file.path)]
    tests += [test for file in start for test in file.tests if _is_test(test)]
    tests += [file.path for file in found if _is_shown(file.path) and is_test_name(file.path)]
    tests += sorted(filter(_is_shown, project.tests), key=lambda folder: _distance(folder, start))
    docs = [
        file.path
        for file in found
        if file.kind is FileKind.DOC
        and file.path != project.changelog
        and file not in start
        and not file.path.startswith(_FORMS)
    ]
    others = [file for file in dict.fromkeys((*traced, *fitting)) if file not in start][:_MOST_OTHERS]
    certain = bool(start) and all(file in told for file in start)
    known = bool(asked or paths or named)
    return Files(tuple(start), known, certain, tuple(others), "".join(tests[:1]), "".join(docs[:1]))


def _everywhere(
    instruction: PlaybookInstruction, names: frozenset[str], found: Sequence[FoundFile]
) -> list[FoundFile]:
    """For a name that goes or changes: the files that have it, its definition first."""
    if instruction.kind not in {Kind.RENAME, Kind.REMOVAL} or instruction.verb == _SLOWLY:
        return []
    having = [file for file in found if any(map(_is_special, names.intersection(file.has)))]
    return sorted(having, key=lambda file: not _defines(file, names))


def _files_in_trace(trace: str, fitting: Sequence[FoundFile]) -> list[FoundFile]:
    """The files of a trace, the place of the error first."""
    lines = trace.splitlines()[::-1]
    return list(dict.fromkeys(file for line in lines for file in fitting if _is_framed(file, line)))


def _is_framed(file: FoundFile, line: str) -> bool:
    end = _longest_mention(file, line)
    return "/" in end or end == file.path


def _close(fitting: Sequence[FoundFile]) -> list[FoundFile]:
    """The second best, if it fits nearly as well."""
    return [file for file in fitting[1:2] if file.score >= _NEARLY * fitting[0].score > 0]


def _counts(file: FoundFile, kind: Kind) -> bool:
    """A document that names what is to be changed is seldom the place of the change."""
    return file.kind in {FileKind.SOURCE, FileKind.OTHER, *_PREFERRED.get(kind, ())}


def _names(text: str) -> frozenset[str]:
    """What the text names as code."""
    spans = [*_INLINE.findall(text), *_LIKE_CODE.findall(text)]
    return frozenset(name for span in spans for name in _CODE_NAME.findall(span))


def _narrow(file: FoundFile, names: frozenset[str]) -> FoundFile:
    """With the definitions that the title names, if it names some."""
    named = tuple(each for each in file.definitions if _last(each) in names)
    return replace(file, definitions=named or file.definitions)


def _last(definition: Definition) -> str:
    return definition.name.rpartition(".")[2]


def find_mentions(text: str, found: Sequence[FoundFile]) -> list[FoundFile]:
    """Those whose path or name the text says; of several with that name the one at the top, or the best."""
    paths, said = {file.path for file in found}, set[str]()
    told = []
    for file in found:
        end = _longest_mention(file, text)
        if end and (end == file.path or (end not in paths and end not in said)):
            said.add(end)
            told.append(file)
    return told


def _longest_mention(file: FoundFile, text: str) -> str:
    """The longest end of its path that the text says; empty if it says none."""
    parts = file.path.split("/")
    ends = {file.path, "/".join(parts[-2:])}
    if not parts[-1].startswith("__"):
        ends.add(parts[-1])
    stem = parts[-1].partition(".")[0]
    if stem.isupper():
        # README
        ends.add(stem)
    longest = sorted(ends, key=len, reverse=True)
    return next((end for end in longest if _says(text, end)), "")


def _says(text: str, end: str) -> bool:
    before = _PART if "/" in end else f"{_PART}/"
    whole = rf"(?<![{before}]){re.escape(end)}(?![A-Za-z0-9_/-]|\.[A-Za-z0-9])"
    return re.search(whole, text) is not None


def _defines(file: FoundFile, names: frozenset[str]) -> bool:
    found = {_last(each) for each in file.definitions if not _NO_PLACE.search(each.name)}
    return any(map(_is_special, found & names))


def _is_special(name: str) -> bool:
    """A plain word such as `get` or `run` is in many places."""
    return "_" in name or name != name.lower()


def _distance(folder: str, start: Sequence[FoundFile]) -> tuple[int, int]:
    """Less if it shares folders with the first file, then if it is nearer to the top."""
    parts = folder.split("/")
    shared = set(parts).intersection(*(file.path.split("/")[:-1] for file in start[:1])) if start else ()
    return -len(shared), len(parts)


def _is_test(path: str) -> bool:
    return _is_shown(path) and path.rpartition("/")[2] not in {"__init__.py", "conftest.py"}


def _is_shown(path: str) -> bool:
    """A path that cannot be quoted as it is would be named wrongly."""
    return one_line(path, _LONGEST_PATH) == path and "`" not in path


# --- templates, filled with names from the project ---------------------------------------------------------

_SENTENCES: Final = re.compile(r".+?(?:\. |[。？]|$)")  # noqa: RUF001


def _slots(
    project: ProjectFacts, files: Files, chapter: Chapter, sentences: Slots
) -> Iterator[tuple[str, str]]:
    """An empty one drops what names it."""

    def code(path: str) -> str:
        return sentences["file"].format(path=path) if path and _is_shown(path) else ""

    def join_files(found: tuple[FoundFile, ...], definitions: int = _MOST_DEFINITIONS) -> str:
        return sentences["between"].join(_locate(file, sentences, definitions) for file in found)

    command = next(filter(_is_shown, project.test_commands), "")
    yield "start", join_files(files.start)
    yield "place", join_files(files.start) or chapter.place or sentences["code"]
    yield "home", code(files.start[0].path) if files.start else ""
    yield "others", join_files(files.others, 1)
    yield "test", code(files.test) or sentences["test_new"]
    yield "beside", code(files.test)
    yield "docs", code(files.docs)
    log = project.changelog
    one_of_many = log.endswith("/") and code(log)
    yield "changelog", sentences["fragment"].format(path=log) if one_of_many else code(log)
    yield "log", "" if one_of_many else code(log)
    yield "manifest", code("".join(project.manifests[:1])) or sentences["dependencies"]
    yield "run", sentences["run"].format(command=command) if command else sentences["run_tests"]


def _locate(file: FoundFile, sentences: Slots, most: int) -> str:
    # A property and its setter have the same name.
    known = {each.name: each for each in reversed(file.definitions) if _is_shown(each.name)}
    names = [
        sentences["definition"].format(name=each.name, line=each.line) for each in reversed(known.values())
    ][:most]
    if not names:
        return sentences["file"].format(path=file.path)
    return sentences["definitions"].format(path=file.path, names=sentences["between"].join(names))


def fill(template: str, values: Slots) -> str:
    """Without the sentences that name something the project does not have."""
    return "".join(_fill_sentence(sentence, values) for sentence in _SENTENCES.findall(template)).strip()


def _fill_sentence(sentence: str, values: Slots) -> str:
    used = [name for _, name, _, _ in Formatter().parse(sentence) if name]
    if not all(values[name] for name in used):
        return ""
    text = sentence.format_map(values)
    return text[:1].upper() + text[1:] if sentence.startswith("{") else text
