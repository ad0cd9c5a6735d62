"""Small projects in memory to ask about."""

import hashlib
import random
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ringi.project.index import Corpus, corpus_of
from ringi.project.ranking import Ranked, rank
from ringi.tree.file_state import StateFile


def oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Project:
    """Remembers what was read of it."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self.data = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        self.was_read: list[str] = []

    def listed(self) -> list[StateFile]:
        return [StateFile(path, "100644", oid(data)) for path, data in self.data.items()]

    def contents(self, files: Iterable[StateFile]) -> Iterable[tuple[StateFile, bytes]]:
        for file in files:
            self.was_read.append(file.path)
            yield file, self.data[file.path]

    def corpus(self, folder: Path, shuffled: int = 0) -> Corpus:
        self.was_read.clear()
        files = self.listed()
        if shuffled:
            random.Random(shuffled).shuffle(files)
        return corpus_of(files, self.contents, folder)


def ranked(files: Mapping[str, str | bytes], request: str, shuffled: int = 0) -> list[Ranked]:
    with tempfile.TemporaryDirectory() as folder:
        return rank(request, Project(files).corpus(Path(folder), shuffled))


SHOP = {
    "README.md": "# Shop\n\nSells things. Install it with pip.\n",
    "shop/__init__.py": "",
    "shop/basket.py": (
        "class Basket:\n    def add(self, item):\n        self.items.append(item)\n\n"
        "    def total_price(self):\n        return sum(item.price for item in self.items)\n"
    ),
    "shop/invoice.py": (
        "def render_invoice(basket):\n    if not basket:\n"
        "        raise ValueError('cannot bill an empty basket')\n"
        "    return 'Invoice'\n"
    ),
    "shop/mail.py": "def send(address, text):\n    print(address, text)\n",
    "tests/test_basket.py": "def test_total_price_with_discount():\n    assert basket.total_price() == 3\n",
    "tests/test_mail.py": "def test_send():\n    send('a@b', 'hello')\n",
    "docs/usage.md": "How to send an invoice by mail\n",
}
