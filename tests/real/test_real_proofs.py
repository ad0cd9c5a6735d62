"""Proofs of real tasks, signed with a key, in clones that have nothing but the repository and its notes.

Whatever is done to the commits, they hold; whatever is done to the bytes, they do not.
`make show-runs MIRROR=…` shows it.
"""

import base64
import json
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.approvals.statement import NOTES
from tests.fakes.signing import RealKey
from tests.functional.desk import RINGI, Desk
from tests.functional.range_desk import AGENT, SIGNERS, Clone, line
from tests.functional.run_desk import at_home
from tests.functional.test_notes import reference_check, said
from tests.helpers import accept_signers_in
from tests.real.tasks import REAL_TASKS, Prepared, RealTask, prepared

MIRROR = os.environ.get("RINGI_MIRROR", "")
if not MIRROR:
    pytest.skip("they are fetched first: make show-runs MIRROR=…", allow_module_level=True)
WAITS = 3
NEAR = 4
TASKS = pytest.mark.parametrize("task", REAL_TASKS[1:], ids=lambda task: task.name)
"""Five."""


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


class Person(NamedTuple):
    """With a key, a home and a clone of their own."""

    key: RealKey
    home: Path
    project: Prepared

    def ringi(self, *words: str, code: int = 0) -> str:
        done = Desk(self.project.root).process(*words, HOME=str(self.home))
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def steps(self) -> list[str]:
        """What waits for an approval after the plan was signed, without a terminal."""
        plan, role = str(self.project.plan), self.project.role
        words = ("--json", "run", "--plan", plan, "--with", role, "--sign", str(self.key.path))
        return [step["plan_id"] for step in json.loads(self.ringi(*words, code=WAITS))["steps"]]

    def approve(self, plans: Sequence[str]) -> None:
        for plan in plans:
            self.ringi("approve", plan, "--sign", str(self.key.path))
            self.ringi("execute", plan)
        self.ringi("continue")

    def begin(self, plans: Sequence[str]) -> "subprocess.Popen[bytes]":
        """The same in a process of its own, which syncs after each."""
        ringi = shlex.join(RINGI)
        script = "".join(
            f"{ringi} approve {plan} --sign {self.key.path}; {ringi} execute {plan}; {ringi} sync; "
            for plan in plans
        )
        return subprocess.Popen(
            ["sh", "-ec", f"{script}{ringi} continue"],
            cwd=self.project.root,
            env={**os.environ, "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


def people(task: RealTask, base: Path, *names: str) -> tuple[Clone, list[Person]]:
    """A repository without a work tree, and people whose keys its main branch lists."""
    first = prepared(task, Path(MIRROR), base, tested=False)
    place, hub = Clone(first.root), Clone(base / "hub.git")
    keys = {name: RealKey(base, name) for name in names}
    place.write(SIGNERS, "".join(line(name, key) for name, key in keys.items()))
    place.git("add", "-f", SIGNERS)
    place.git("commit", "-q", "-m", "List who approves")
    options = ("--bare", "--single-branch", "--branch", "main", "--no-tags")
    place.git("clone", "-q", *options, first.root.as_uri(), str(hub.root))
    found = []
    for name, key in keys.items():
        home, root = base / f"home-{name}", base / f"of-{name}"
        own = home / ".config" / "ringi" / "allowed_signers"
        own.parent.mkdir(parents=True)
        own.write_text(line(name, key))
        own.chmod(0o600)
        place.git("clone", "-q", "--no-tags", str(hub.root), str(root))
        (root / "requests").mkdir(exist_ok=True)
        for request in first.root.glob("requests/RQ-*.md"):
            shutil.copy(request, root / "requests")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(home))
            accept_signers_in(root)
        found.append(Person(key, home, first._replace(root=root)))
    shutil.rmtree(first.root)
    return hub, found


class Published(NamedTuple):
    hub: Clone
    branch: str

    def cloned(self, name: str) -> Clone:
        """Fresh, with the notes, and with the branch of the run as its own."""
        made = self.hub.cloned(name)
        made.git("branch", "-q", "--track", "work", f"origin/{self.branch}")
        return made


@pytest.fixture
def published(task: RealTask, base: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    """The commits of a run whose plan and steps were signed; whoever made them is gone, with their ledger."""
    hub, [alice] = people(task, base, "alice")
    alice.approve(alice.steps())
    Clone(alice.project.root).git("push", "-q", "origin", alice.project.branch)
    alice.ringi("sync")
    shutil.rmtree(alice.project.root)
    shutil.rmtree(alice.home)
    monkeypatch.setenv("HOME", str(base / "another"))
    (base / "another").mkdir()
    return Published(hub, alice.project.branch)


def envelopes(clone: Clone) -> dict[str, dict[str, Any]]:
    """Each once, by its line."""
    return {one: json.loads(one) for lines in lines_of(clone).values() for one in lines}


def lines_of(clone: Clone) -> dict[str, list[str]]:
    """What hangs on each blob."""
    found = {}
    for entry in clone.git("notes", "--ref", NOTES, "list").splitlines():
        blob = entry.split(" ")[1]
        found[blob] = clone.git("notes", "--ref", NOTES, "show", blob).split("\n")
    return found


def put(clone: Clone, blob: str, lines: Sequence[str]) -> None:
    """Instead of what hangs there."""
    if lines:
        text = "\n".join([*lines, ""]).encode()
        clone.git("notes", "--ref", NOTES, "add", "-f", "-F", "-", blob, stdin=text)
    else:
        clone.git("notes", "--ref", NOTES, "remove", blob)


def paths_of(envelope: Mapping[str, Any]) -> set[str]:
    return {one["name"] for one in said(dict(envelope))["subject"]}


def changed(clone: Clone, range_: str, *options: str) -> list[str]:
    return clone.git("diff", "--name-only", "--no-renames", *options, range_).splitlines()


def flipped(data: bytes) -> bytes:
    """One bit in the middle."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


# What rewrites commits: each makes a branch of its name, and NAME-base if it does not begin at main.


def squash(place: Clone) -> None:
    place.git("checkout", "-q", "-b", "squash", "main")
    place.git("merge", "-q", "--squash", "work")
    place.commit("All of it")


def rebase(place: Clone) -> None:
    place.git("checkout", "-q", "-b", "rebase-base", "main")
    place.write("elsewhere.txt", "Something else.\n")
    place.commit("Go on elsewhere")
    place.git("checkout", "-q", "-b", "rebase", "work")
    place.git("rebase", "-q", "rebase-base")


def fixup(place: Clone) -> None:
    place.git("checkout", "-q", "-b", "fixup", "work")
    place.git("reset", "-q", "--soft", "HEAD~1")
    place.git("commit", "-q", "--fixup", "HEAD")
    place.git("rebase", "-q", "-i", "--autosquash", "main", GIT_SEQUENCE_EDITOR="true")
    commits = [int(place.git("rev-list", "--count", f"main..{name}")) for name in ("work", "fixup")]
    assert commits[0] == commits[1] + 1


def over(place: Clone) -> None:
    """On another line in every file that was there."""
    place.git("checkout", "-q", "-b", "over-base", "main")
    for path in changed(place, "main...work", "--diff-filter=M"):
        lines = (place.root / path).read_bytes().splitlines(keepends=True)
        lines.insert(away_from_changes(place, path, len(lines)), b"# A line of somebody else.\n")
        place.write(path, b"".join(lines))
    place.commit("Change the same files")
    place.git("checkout", "-q", "-b", "over", "work")
    place.git("rebase", "-q", "over-base")


def away_from_changes(place: Clone, path: str, count: int) -> int:
    """The first line that git can merge with the branch."""
    hunks = re.findall(
        r"^@@ -(\d+)(?:,(\d+))?", place.git("diff", "-U0", "main", "work", "--", path), re.MULTILINE
    )
    taken = [range(int(start) - NEAR, int(start) + int(many or 1) + NEAR) for start, many in hunks]
    return next(at for at in range(count + 1) if not any(at in one for one in taken))


@pytest.mark.req("RN-8", "IP-6")
@TASKS
def test_the_proof_is_about_bytes_not_commits(
    published: Published, task: RealTask, record_property: Callable[[str, object], None]
):
    writer, reader = published.cloned("writer"), published.cloned("reader")
    files = dict.fromkeys(changed(reader, "main..work"), "signed")
    assert reader.levels("main..work") == files
    assert "signed by alice" in reader.accepted("main..work")
    signed = envelopes(reader)
    for envelope in signed.values():
        assert reference_check(envelope)

    replayed = rewritten(writer, reader, files)
    changed_bytes(writer, files)
    changed_notes(writer, files)
    on_a_server(published, writer)
    proven = f"{len(files)} files proven by {len(signed)} approvals"
    record_property("story", [f"{task.name}: {proven}, {replayed} of them replayed over other changes"])


def rewritten(writer: Clone, reader: Clone, files: Mapping[str, str]) -> int:
    """It holds in the other clone, which fetches the branches only; with one byte more it does not."""
    there = changed(writer, "main..work", "--diff-filter=M")
    rewrites = (squash, rebase, fixup, over)
    for rewrite in rewrites:
        rewrite(writer)
        writer.git("checkout", "-q", "-b", f"{rewrite.__name__}-more")
        writer.write(there[0], (writer.root / there[0]).read_bytes() + b"#")
        writer.commit("One byte more", "--amend")
    writer.git("push", "-q", "origin", "--all")
    reader.git("fetch", "-q", "origin", "refs/heads/*:refs/heads/*", "--update-head-ok")
    for rewrite in rewrites:
        name = rewrite.__name__
        start = f"{name}-base" if rewrite in {rebase, over} else "main"
        wanted = {**files, **dict.fromkeys(there if rewrite is over else (), "signed")}
        assert reader.levels(f"{start}..{name}") == wanted, name
        reader.accepted(f"{start}..{name}")
        assert f"✗ {there[0]}" in reader.refused(f"{start}..{name}-more")
    return len(there)


def changed_bytes(place: Clone, files: Mapping[str, str]) -> None:
    """Whichever file it is, it does not hold for this one."""
    for path in files:
        place.git("checkout", "-q", "-B", "other", "work")
        place.write(path, flipped((place.root / path).read_bytes()))
        place.commit(f"Another byte{AGENT}", "--amend")
        assert place.levels("main..other") == {**files, path: "none"}
        assert f"✗ {path}" in place.refused("main..other")


def changed_notes(place: Clone, files: Mapping[str, str]) -> None:
    """Whichever approval it is, it does not hold for the files of this one."""
    whole, signed, hung = place.id(NOTES), envelopes(place), lines_of(place)

    def falls(paths: set[str]) -> None:
        assert place.levels("main..work") == {**files, **dict.fromkeys(paths, "none")}
        place.refused("main..work")
        place.git("update-ref", NOTES, whole)

    for text, envelope in signed.items():
        for other in forged(envelope):
            for blob, lines in hung.items():
                if text in lines:
                    put(place, blob, [json.dumps(other) if one == text else one for one in lines])
            falls(paths_of(envelope))
    gone = set()
    for blob in hung:
        put(place, blob, [])
        # The same approval on another of its files is as good.
        if lost := signed.keys() - envelopes(place).keys():
            falls(set().union(*(paths_of(signed[one]) for one in lost)))
            gone |= lost
        else:
            place.accepted("main..work")
            place.git("update-ref", NOTES, whole)
    assert gone
    place.git("update-ref", "-d", NOTES)
    assert "This clone has no notes" in place.refused("main..work")
    falls(set(files))
    place.accepted("main..work")


def forged(envelope: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """One byte of what was approved, of the time of it, of the signature."""
    payload = base64.b64decode(envelope["payload"])
    at = said(dict(envelope))["predicate"]["at"].encode()
    assert payload.count(at) == 1
    [signature] = envelope["signatures"]
    for other in (flipped(payload), payload.replace(at, at.replace(b"Z", b"1Z"))):
        yield {**envelope, "payload": base64.b64encode(other).decode()}
    sig = flipped(base64.b64decode(signature["sig"]))
    yield {**envelope, "signatures": [{**signature, "sig": base64.b64encode(sig).decode()}]}


def on_a_server(published: Published, place: Clone) -> None:
    """The branch with its notes gets in, one byte more does not."""
    server = Clone(published.hub.root.with_name("server.git"))
    options = ("--bare", "--single-branch", "--branch", "main")
    place.git("clone", "-q", *options, str(published.hub.root), str(server.root))
    done = server.desk.process("init", "--hook", "pre-receive", "--mode", "strict")
    assert done.returncode == 0, done.stderr
    place.git("remote", "add", "server", server.root.as_uri())

    place.git("push", "-q", "server", "work", NOTES)
    assert server.id("work") == place.id("work")

    place.git("checkout", "-q", "work")
    path = changed(place, "main..work", "--diff-filter=M")[0]
    place.write(path, (place.root / path).read_bytes() + b"#")
    place.commit("One byte more")
    assert f"✗ {path}" in place.git("push", "-q", "server", "work", NOTES, fails=True)
    assert server.id("work") == place.id("work^")


@pytest.mark.req("IP-6")
@TASKS
def test_two_people_approve_at_once_and_nothing_is_lost(
    task: RealTask, base: Path, monkeypatch: pytest.MonkeyPatch
):
    """The same bytes even: each file has the notes of both."""
    hub, both = people(task, base, "alice", "bob")
    steps = [person.steps() for person in both]
    running = [person.begin(plans) for person, plans in zip(both, steps, strict=True)]
    printed = [one.communicate()[0].decode() for one in running]
    assert [one.returncode for one in running] == [0, 0], printed

    for person in both:
        person.ringi("sync")
    Clone(both[0].project.root).git("push", "-q", "origin", both[0].project.branch)
    monkeypatch.setenv("HOME", str(base / "another"))
    third = Published(hub, both[0].project.branch).cloned("third")
    found = lines_of(third)
    assert all(lines_of(Clone(person.project.root)) == found for person in both)
    given = Counter(
        (one["signatures"][0]["keyid"], said(one)["predicate"]["step"]["step_id"])
        for one in envelopes(third).values()
    )
    names = [f"S{at:02}" for at in range(1, len(steps[0]) + 1)]
    assert given == Counter(product([fingerprint_of(person.key) for person in both], names))
    third.accepted("main..work")


def fingerprint_of(key: RealKey) -> str:
    words = ["ssh-keygen", "-l", "-f", str(key.path)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]
