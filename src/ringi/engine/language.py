"""The language of a request."""

from typing import Final

from ringi.kernel.text import lazy_pattern
from ringi.models.usage import Language

# Kana, and the characters that Japanese shares with Chinese.
_JAPANESE: Final = lazy_pattern("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f]")


_WORD: Final = lazy_pattern("[A-Za-z]+")


def language_of(instruction: str) -> Language:
    """The language of our own words in the session; a model is told to write in that of the instruction.

    An English text may quote Japanese, and a Japanese one may contain English names.
    """
    japanese = len(_JAPANESE.findall(instruction))
    return "ja" if japanese and japanese >= len(_WORD.findall(instruction)) else "en"
