"""What a run was told, and in which language: the request, the answers, decisions and design (IP-8)."""

from typing import Final, NamedTuple

from ringi.kernel.text import lazy_pattern
from ringi.models.usage import Language

_ASKED: Final = "Original Instruction: "
_ANSWERS: Final = "\n\n## Clarified Requirements\n"
_DECISIONS: Final = "\n\n## Design Decisions\n"
_SUMMARY: Final = "\n\n## Design Summary"
ANSWER: Final = "  Answer: "
REASON: Final = "  Reason: "
"""What comes below a question, and below a decision."""
NO_REASON: Final = f"{REASON}N/A"


class Instruction(NamedTuple):
    """The sections of the specification, in order."""

    asked: str
    answers: str = ""
    decisions: str = ""
    summary: str = ""

    @classmethod
    def read(cls, text: str) -> "Instruction":
        """Text that does not come from a session was asked as it is."""
        if not text.startswith(_ASKED):
            return cls(text)
        asked, _, rest = text.removeprefix(_ASKED).partition(_ANSWERS)
        answers, _, rest = rest.partition(_DECISIONS)
        decisions, _, summary = rest.partition(_SUMMARY)
        return cls(asked, answers, decisions, summary.strip("\n"))

    def render(self) -> str:
        sections = (_ASKED, self.asked, _ANSWERS, self.answers, _DECISIONS, self.decisions)
        return "".join([*sections, _SUMMARY, "\n", self.summary]).strip()


def title_of(instruction: str) -> str:
    """The first line that says something."""
    lines = (text.strip().lstrip("#").strip() for text in Instruction.read(instruction).asked.split("\n"))
    return next((text for text in lines if text), "—")


# Kana, and the characters that Japanese shares with Chinese.
_JAPANESE: Final = lazy_pattern("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f]")


_WORD: Final = lazy_pattern("[A-Za-z]+")


def language_of(instruction: str) -> Language:
    """The language of our own words in the session; a model is told to write in that of the instruction.

    An English text may quote Japanese, and a Japanese one may contain English names.
    """
    japanese = len(_JAPANESE.findall(instruction))
    return "ja" if japanese and japanese >= len(_WORD.findall(instruction)) else "en"
