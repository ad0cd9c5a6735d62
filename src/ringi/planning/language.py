import re
from typing import Final

from ringi.domain.session import Language

# Kana, and the characters Japanese shares with Chinese: the other language that is spoken here is English.
_JAPANESE: Final = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f]")


def language_of(instruction: str) -> Language:
    return "ja" if _JAPANESE.search(instruction) else "en"
