"""How long it takes to verify a long range by its notes, beside `git log --raw` of the same range."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure import Figure, command, ratio, size, take_turns
from ringi.approvals.document import NAMESPACE, ProofKind, SignedAct, Strength
from ringi.approvals.statement import (
    Approved,
    ApprovedPlan,
    Digests,
    InToto,
    OneSide,
    Resource,
    Transition,
    build_envelope,
    to_sign,
)
from ringi.kernel.codec import blob_id, digest
from ringi.provenance.clone import open_clone
from ringi.provenance.verdict import Mode
from ringi.provenance.verify_range import range_of, verify_range

COMMITS, EACH, PATHS = size(1_000, 4), 5, size(700, 20)
GOAL = 3
ROUNDS = 9
_SHA1 = "0" * 40
_AT = "2026-01-02T03:04:05.000000Z"
_COMMITTER = "committer Bench <bench@example.invalid> {time} +0000\n"


def _content(path: int, version: int) -> bytes:
    return "".join(f"{path} {line} {version if line == 7 else 0}\n" for line in range(20)).encode()


def _blob(path: int, version: int) -> str:
    return blob_id(_content(path, version), like=_SHA1)


def _file(path: int, version: int) -> OneSide:
    return OneSide("100644", Digests(digest(_content(path, version)), _blob(path, version)))


def _statement(root: str, changed: dict[int, int], number: int) -> str:
    """One approval of five files, each from its version before to this one."""
    subject = tuple(
        Resource(f"p{path}.txt", _file(path, version).digest, Transition("100644", _file(path, version - 1)))
        for path, version in changed.items()
    )
    said = Approved(
        act=SignedAct.APPROVE,
        digest=digest(str(number).encode()),
        approver="bench",
        at=_AT,
        note="",
        after_event="0" * 64,
        proof=ProofKind.SIGNED,
        strength=Strength.STRONG,
        repository=(root,),
        plan=ApprovedPlan(f"plan-{number}", 1, "A change"),
    )
    return to_sign(InToto(subject=subject, predicate=said))


def _entry(name: str, data: bytes) -> bytes:
    return f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n"


def _commit(ref: str, number: int, parent: str, entries: bytes) -> bytes:
    head = f"commit {ref}\n{_COMMITTER.format(time=1_700_000_000 + number)}data 6\nchange"
    return f"{head}\n{parent}".encode() + entries


class _Repository:
    """Every commit of main changes five files, and every change is approved by a key."""

    def __init__(self, folder: Path) -> None:
        self.root, self._folder = folder / "project", folder
        self.environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        self._git("init", "-q", "-b", "main", str(self.root), at=folder)
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / "key")]
        subprocess.run(key, check=True)
        (folder / "ringi").mkdir(mode=0o700)
        signers = folder / "ringi" / "allowed_signers"
        signers.write_text(f"bench {(folder / 'key.pub').read_text()}")
        signers.chmod(0o600)
        first = b"".join(_entry(f"p{path}.txt", _content(path, 0)) for path in range(PATHS))
        self._import(_commit("refs/heads/main", 0, "", first))
        self.base = self._git("rev-parse", "main").strip()
        self._import(*self._changes())
        self._git("gc", "-q")

    def _changes(self) -> Iterator[bytes]:
        versions, notes = dict.fromkeys(range(PATHS), 0), dict[str, bytes]()
        stated = []
        for number in range(1, COMMITS + 1):
            paths = [(number * EACH + at) % PATHS for at in range(EACH)]
            versions |= {path: versions[path] + 1 for path in paths}
            changed = {path: versions[path] for path in paths}
            stated.append((_statement(self.base, changed, number), changed))
            entries = b"".join(_entry(f"p{path}.txt", _content(path, now)) for path, now in changed.items())
            parent = f"from {self.base}\n" if number == 1 else ""
            yield _commit("refs/heads/main", number, parent, entries)
        with ThreadPoolExecutor() as pool:
            lines = pool.map(lambda one: build_envelope(one[0], self._signed(one[0])) + b"\n", stated)
            for line, (_, changed) in zip(lines, stated, strict=True):
                for path, version in changed.items():
                    notes[_blob(path, version)] = line
        entries = b"".join(_entry(f"{blob[:2]}/{blob[2:]}", line) for blob, line in notes.items())
        yield _commit("refs/notes/ringi", 0, "", entries)

    def _signed(self, statement: str) -> str:
        words = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(self._folder / "key")]
        return subprocess.run(
            words, input=statement.encode(), capture_output=True, check=True
        ).stdout.decode()

    def _import(self, *commits: bytes) -> None:
        words = ["git", "fast-import", "--quiet"]
        subprocess.run(words, cwd=self.root, input=b"\n".join(commits), env=self.environment, check=True)

    def _git(self, *words: str, at: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=at or self.root, env=self.environment, capture_output=True, check=True
        )
        return done.stdout.decode()

    def verify(self) -> None:
        with open_clone(self.root, self.environment) as found:
            asked = range_of(found.history, f"{self.base}..main", Mode.STRICT)
            document = verify_range(found.history, asked, found.signing).document
        assert document.covered, document.problems
        assert len(document.files) == PATHS


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        made = _Repository(Path(folder))
        log = ["git", "log", "--raw", "--no-renames", f"{made.base}..main"]
        jobs = [made.verify, command(log, cwd=made.root, env=made.environment)]
        take_turns(1, *jobs)  # from now on the signatures are known
        name = f"verify of {COMMITS:,} commits with {COMMITS * EACH:,} approved changes ÷ git log --raw"
        yield ratio(name, take_turns(ROUNDS, *jobs), GOAL)
