import re
from typing import Final

from ringi.domain.session import Language

# Kana, and the characters that Japanese shares with Chinese: the other language spoken here is English.
_JAPANESE: Final = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f]")


_WORD: Final = re.compile("[A-Za-z]+")


def language_of(instruction: str) -> Language:
    """The one that most of it is in: English may name a label that is Japanese, Japanese an English name."""
    japanese = len(_JAPANESE.findall(instruction))
    return "ja" if japanese and japanese >= len(_WORD.findall(instruction)) else "en"
