"""Generated versions of a text, and what `git merge-file` makes of them, many in one start."""

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from ringi.patch.merge import Region, RegionKind

WORDS = [b"a\n", b"b\n", b"c\n", b"\n", b"}\n", b"  }\n", b"d\r\n", b"\r\n", b"\xff\n", b"return\n"]
NEW = [b"a\n", b"}\n", b"new\n", b"other new\n", b"\n"]


class Three(NamedTuple):
    base: bytes
    ours: bytes
    theirs: bytes


@st.composite
def versions(draw, lines: list[bytes]) -> list[bytes]:
    """A few stretches of it replaced."""
    result = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        low = draw(st.integers(0, len(result)))
        high = min(len(result), low + draw(st.integers(0, 3)))
        result[low:high] = draw(st.lists(st.sampled_from(NEW), max_size=3))
    return result


@st.composite
def threes(draw) -> Three:
    base = draw(st.lists(st.sampled_from(WORDS), max_size=12))
    ours = draw(versions(base))
    theirs = draw(versions(draw(st.sampled_from([base, base, ours]))))
    ends = draw(st.integers(0, 15))
    texts = [b"".join(lines) for lines in (base, ours, theirs)]
    return Three(*(text.removesuffix(b"\n") if ends >> at & 1 else text for at, text in enumerate(texts)))


def rolled(dice: random.Random) -> Three:
    """Longer and more alike than what Hypothesis draws, and without its cost."""
    words = [b"%d\n" % number for number in range(dice.choice([2, 4, 10, 40, 200]))] + [b"\n", b"  }\n"]
    base = [dice.choice(words) for _ in range(dice.randrange(dice.choice([4, 12, 40, 200])))]

    def version(lines: list[bytes]) -> list[bytes]:
        result = list(lines)
        for _ in range(dice.randrange(dice.choice([2, 4, 9]))):
            low = dice.randint(0, len(result))
            new = [dice.choice([*words, b"new %d\n" % dice.randrange(4)]) for _ in range(dice.randrange(5))]
            result[low : low + dice.randrange(5)] = new
        if dice.random() < 0.1 and result:
            result[-1] = result[-1].removesuffix(b"\n")
        return result

    base = version(base)
    ours = version(base)
    return Three(*map(b"".join, (base, ours, version(dice.choice([base, base, base, ours])))))


class Answer(NamedTuple):
    conflicts: int
    content: bytes


def asked(folder: Path, many: Sequence[Three], *options: str) -> list[Answer]:
    """What git says about each; its own count of conflicts ends at 127."""
    folder.mkdir(exist_ok=True)
    for number, three in enumerate(many):
        for name, text in zip(("base", "ours", "theirs"), three, strict=True):
            (folder / f"{name}{number}").write_bytes(text)
    merge = f"git merge-file -q -p -L ours -L base -L theirs {' '.join(options)}"
    loop = f"for i in $(seq 0 {len(many) - 1}); do {merge} ours$i base$i theirs$i >merged$i; echo $?; done"
    done = subprocess.run(["sh", "-c", loop], cwd=folder, stdout=subprocess.PIPE, check=True)
    counts = map(int, done.stdout.split())
    return [Answer(count, (folder / f"merged{at}").read_bytes()) for at, count in enumerate(counts)]


def marked(regions: Sequence[Region]) -> bytes:
    """As git writes a conflict, only to compare with it."""
    pieces: list[bytes] = []
    for region in regions:
        if region.kind is RegionKind.CONFLICT:
            ours, theirs = (
                text if text.endswith(b"\n") or not text else text + b"\n"
                for text in (b"".join(region.ours), b"".join(region.theirs))
            )
            pieces += [b"<<<<<<< ours\n", ours, b"=======\n", theirs, b">>>>>>> theirs\n"]
        else:
            pieces += region.merged
    return b"".join(pieces)
