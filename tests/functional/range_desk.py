"""A repository whose changes are approved with real keys, as notes on its files; without any ledger."""

import os
import subprocess
from pathlib import Path

from msgspec import UNSET

from ringi.approvals.document import ProofKind, SignedAct, Strength
from ringi.approvals.forge import ReviewProof
from ringi.approvals.statement import (
    ABSENT,
    NOTES,
    Approved,
    ApprovedPlan,
    Digests,
    InToto,
    OneSide,
    Resource,
    Transition,
    anchor,
    build_envelope,
    steps_of,
    to_sign,
)
from ringi.ledger.subject import StepOf
from tests.fakes.signing import RealKey
from tests.functional.desk import Desk

SIGNERS = ".agent/allowed_signers"
AT = "2026-01-02T03:04:05.000000Z"
NUMBERS = "".join(f"{number}\n" for number in range(1, 51))
AGENT = "\n\nAssisted-by: claude"
_WHO = {
    "GIT_AUTHOR_NAME": "Hanako",
    "GIT_AUTHOR_EMAIL": "hanako@example.invalid",
    "GIT_COMMITTER_NAME": "Hanako",
    "GIT_COMMITTER_EMAIL": "hanako@example.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
    "GIT_ALLOW_PROTOCOL": "file",
}


def line(name: str, key: RealKey, options: str = 'namespaces="ringi-approval,git"') -> str:
    return f"{name} {options} {' '.join(key.public.split()[:2])}\n"


class Clone:
    """A repository of git, bare or not."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.desk = Desk(root)

    def git(self, *words: str, stdin: bytes | None = None, fails: bool = False, **more: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env={**os.environ, **_WHO, **more},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
        assert bool(done.returncode) is fails, (words, done.stderr.decode())
        said = done.stdout if not fails else done.stdout + done.stderr
        return said.decode("utf-8", "surrogateescape").strip()

    def write(self, path: str, text: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text
        self.write(path, text.replace(old, new, 1))

    def commit(self, message: str, *words: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, *words)
        return self.id()

    def id(self, name: str = "HEAD") -> str:
        return self.git("rev-parse", name)

    def cloned(self, name: str, *words: str, notes: bool = True) -> "Clone":
        """A fresh clone beside it."""
        place = self.root.parent / name
        self.git("clone", "-q", *words, self.root.as_uri(), str(place))
        made = Clone(place)
        if notes and self.git("for-each-ref", NOTES):
            made.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
        return made

    def levels(self, name: str, *words: str) -> dict[str, str]:
        document = self.desk.json("verify", name, *words)
        return {file["path"]: file["level"] for file in document["files"]}

    def refused(self, name: str, mode: str = "strict") -> str:
        """What it prints if it refuses."""
        done = self.desk.run("verify", name, "--mode", mode)
        assert done.returncode == 6, done.stdout + done.stderr
        return done.stdout

    def accepted(self, name: str, mode: str = "strict") -> str:
        done = self.desk.run("verify", name, "--mode", mode)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


class Office(Clone):
    """With a list of signers and some files on main."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "office")
        self.root.mkdir()
        self.alice, self.bob = RealKey(folder, "alice"), RealKey(folder, "bob")
        self.git("init", "-q", "-b", "main")
        self.write(SIGNERS, line("alice", self.alice))
        self.write("numbers.txt", NUMBERS)
        self.write("docs/page.md", "# Page\n")
        self.base = self.commit("Begin")

    def approve(
        self,
        old: str,
        new: str,
        key: RealKey | None = None,
        *,
        at: str = AT,
        act: SignedAct = SignedAct.APPROVE,
        step: str = "",
        typed: bool = False,
        review: ReviewProof | None = None,
    ) -> bytes:
        """Everything that differs between the two, in one approval. Gives its envelope."""
        roots = tuple(self.git("rev-list", "--max-parents=0", new).split())
        signed = to_sign(
            InToto(
                subject=tuple(self._resources(old, new)),
                predicate=Approved(
                    act=act,
                    digest="0" * 64,
                    approver=review.account if review else "whoever",
                    at=at,
                    note="",
                    after_event="0" * 64,
                    proof=ProofKind.REVIEW if review else ProofKind.TYPED if typed else ProofKind.SIGNED,
                    strength=Strength.WEAK if typed or review else Strength.STRONG,
                    repository=roots,
                    plan=ApprovedPlan("p-1", 1, "Improve the numbers"),
                    step=StepOf("run-1", step, "request-1") if step else UNSET,
                    review=review or UNSET,
                    diff=self.git("diff", "--no-renames", old, new) + "\n",
                ),
            )
        )
        made = b"" if typed or review else (key or self.alice).sign(signed).signature.encode()
        envelope = build_envelope(signed, made.decode())
        self.attach(envelope)
        return envelope

    def attach(self, envelope: bytes) -> None:
        from ringi.approvals.statement import parse_envelope  # the one use

        for blob in {anchor(step) for step in steps_of(parse_envelope(envelope).statement)}:
            self.git("notes", "--ref", NOTES, "append", "-F", "-", blob, stdin=envelope + b"\n")

    def _resources(self, old: str, new: str) -> list[Resource]:
        fields = self.git("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", old, new).split("\0")
        found = []
        for meta, path in zip(fields[::2], fields[1::2], strict=False):
            before, after, was, blob, _ = meta.removeprefix(":").split(" ")
            there = OneSide(before, Digests("", was)) if before != ABSENT else None
            digest = Digests("", was if after == ABSENT else blob)
            found.append(Resource(path, digest, Transition(after, there)))
        return found

    def two_steps(self) -> None:
        """On the branch work, made by an agent and approved one by one; main went on in another file."""
        self.git("checkout", "-q", "-b", "work")
        self.edit("numbers.txt", "\n10\n", "\nten\n")
        self.commit(f"Step 1{AGENT}")
        self.edit("numbers.txt", "\n40\n", "\nforty\n")
        self.write("new.txt", "new\n")
        self.commit(f"Step 2{AGENT}")
        self.approve("work~2", "work~1", step="S1")
        self.approve("work~1", "work", step="S2", at=AT.replace("03:04", "03:05"))
        self.git("checkout", "-q", "main")
        self.write("docs/page.md", "# Page\n\nMore.\n")
        self.commit("Other work")
