"""A project's own commands do nothing until a person has pinned them, and never after they changed."""

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.config.keys import Config, KeyOrigin
from ringi.config.load import executable, load
from ringi.config.pins import SIGNERS, Pin, PinnedPart, Trust, TrustState, TrustVerdict, commands_part
from ringi.errors import BadConfiguration, InTheWay
from ringi.kernel.places import project_file, signers_file, trust_file
from tests.helpers import NOBODY, in_child, reachable_folder

CHECKS = "with:\n  checks: [make test]\n"
BOTH = CHECKS + "diagnostics:\n  commands: [ruff check, mypy]\n"


class Place:
    def __init__(self, root: Path, name: str = "ws") -> None:
        self.root = root
        self.workspace = root / name
        (self.workspace / ".agent").mkdir(parents=True)
        self.environment = {"HOME": str(root / "home")}
        self.file = root / "home" / ".config" / "ringi" / "trusted.json"

    def configure(self, text: str) -> None:
        project_file(self.workspace).write_text(text)

    def sign(self, data: bytes) -> None:
        signers_file(self.workspace).write_bytes(data)

    @property
    def trust(self) -> Trust:
        return Trust(self.workspace, self.environment)

    def look(self) -> TrustVerdict:
        return self.trust.state(executable(self.workspace))

    def pin(self) -> Pin:
        parts = executable(self.workspace)
        return self.trust.pin(parts, at="2026-01-02T03:04:05Z", by="hanako", channel="/dev/pts/7")

    def load(self, **variables: str) -> Config:
        return load(self.workspace, self.environment | variables)

    def pins(self) -> Any:
        return json.loads(self.file.read_bytes())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# What counts


def test_nothing_to_trust(place: Place):
    assert place.look().state is TrustState.NOTHING
    place.configure("language: ja\nwith: {carry: [node_modules]}\n")
    assert place.look() == TrustVerdict(TrustState.NOTHING, (), place.look().digest)
    assert place.load().trust is None


def test_every_executable_part_is_named_with_its_lines(place: Place):
    place.configure(BOTH)
    place.sign(b"hanako@example.invalid ssh-ed25519 AAAA\n# a word\n")
    parts = executable(place.workspace)
    assert [(part.name, part.lines) for part in parts] == [
        ("diagnostics.commands", ("ruff check", "mypy")),
        ("with.checks", ("make test",)),
        (SIGNERS, ("hanako@example.invalid ssh-ed25519 AAAA", "# a word")),
    ]
    assert place.look().state is TrustState.UNTRUSTED


def test_commands_count_once_they_are_pinned_and_not_after_a_change(place: Place):
    place.configure(BOTH)
    config = place.load()
    assert (config.beside.checks, config.diagnostics.commands) == ((), ())
    assert config.sources["with.checks"].origin is KeyOrigin.IGNORED
    assert len(config.notes) == 2
    place.pin()
    config = place.load()
    assert config.beside.checks == ("make test",)
    assert config.diagnostics.commands == ("ruff check", "mypy")
    assert config.sources["with.checks"].origin is KeyOrigin.PROJECT
    assert not config.notes
    place.configure(BOTH.replace("mypy", "mypy; curl evil"))
    config = place.load()
    assert (config.beside.checks, config.diagnostics.commands) == ((), ())
    assert "what was trusted here changed since" in str(config.notes[0])
    place.configure(BOTH)
    assert place.load().beside.checks == ("make test",)


def test_a_model_and_its_address_count_once_they_are_pinned(place: Place):
    place.configure("model: openai:gpt-5\nllm: {base_url: 'http://models.internal/v1/'}\n")
    assert [(part.name, part.lines) for part in executable(place.workspace)] == [
        ("model", ("openai:gpt-5",)),
        ("llm.base_url", ("http://models.internal/v1",)),
    ]
    assert place.load().model == "playbook"
    place.pin()
    config = place.load()
    assert (config.model, config.llm.base_url) == ("openai:gpt-5", "http://models.internal/v1")
    assert config.sources["model"].origin is KeyOrigin.PROJECT
    assert place.load(RINGI_MODEL="playbook").model == "playbook"
    place.configure("model: openai:gpt-5\nllm: {base_url: 'http://evil.invalid/v1'}\n")
    config = place.load()
    assert (config.model, config.llm.base_url) == ("playbook", "")
    assert "what was trusted here changed since" in str(config.notes[0])
    # A model alone is not what was pinned either.
    place.configure("model: openai:gpt-5\n")
    assert place.look().state is TrustState.CHANGED


def test_the_users_own_commands_need_no_trust(place: Place):
    place.configure(CHECKS)
    user = place.file.with_name("config.yaml")
    user.parent.mkdir(parents=True)
    user.write_text("with: {checks: [pytest]}\ndiagnostics: {commands: [ruff check]}\n")
    config = place.load()
    assert config.beside.checks == ("pytest",)
    assert config.diagnostics.commands == ("ruff check",)
    place.pin()
    assert place.load().beside.checks == ("make test",)
    assert place.load(RINGI_WITH_CHECKS="tox").beside.checks == ("tox",)


def test_an_empty_list_needs_trust_too(place: Place):
    """It would take the user's own checks away."""
    user = place.file.with_name("config.yaml")
    user.parent.mkdir(parents=True)
    user.write_text("with: {checks: [pytest]}\n")
    place.configure("with: {checks: []}\n")
    assert place.look().state is TrustState.UNTRUSTED
    assert place.load().beside.checks == ("pytest",)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda place: place.configure(CHECKS), ("diagnostics.commands",)),
        (lambda place: place.configure(BOTH.replace("make test", "make  test")), ("with.checks",)),
        (lambda place: place.configure(BOTH.replace("ruff check, mypy", "mypy, ruff check")),
         ("diagnostics.commands",)),
        (lambda place: place.sign(b"key\n\n"), (SIGNERS,)),
        (lambda place: place.sign(b"key\r\n"), (SIGNERS,)),
        (lambda place: signers_file(place.workspace).unlink(), (SIGNERS,)),
        (lambda place: place.configure(""), ("diagnostics.commands", "with.checks")),
    ],
)  # fmt: skip
def test_a_change_of_any_part_is_named(place: Place, change: Any, names: tuple[str, ...]):
    place.configure(BOTH)
    place.sign(b"key\n")
    place.pin()
    assert place.look().state is TrustState.TRUSTED
    assert place.look().changed == ()
    change(place)
    assert place.look().state is TrustState.CHANGED
    assert place.look().changed == names


def test_what_is_not_executable_may_change(place: Place):
    place.configure(CHECKS)
    place.pin()
    place.configure("# words\nlanguage: ja\ndiagnostics: {format: sarif}\n" + CHECKS)
    assert place.look().state is TrustState.TRUSTED


def test_bytes_that_look_alike_are_not_the_same(place: Place):
    place.sign(b"\xff")
    place.pin()
    assert place.look().parts[0].lines == ("\\xff",)
    place.sign(b"\\xff")
    assert place.look().parts[0].lines == ("\\xff",)
    assert place.look().state is TrustState.CHANGED


@given(st.lists(st.lists(st.text(), max_size=3), min_size=2, max_size=2, unique_by=tuple))
def test_different_commands_have_different_digests(lists: list[list[str]]):
    trust = Trust(Path("/nonexistent"), {})
    verdicts = [trust.state((commands_part("with.checks", tuple(one)),)) for one in lists]
    assert verdicts[0].digest != verdicts[1].digest


def test_another_place_is_another_workspace(tmp_path: Path):
    first, second = Place(tmp_path, "one"), Place(tmp_path, "two")
    for place in (first, second):
        place.configure(CHECKS)
    first.pin()
    assert first.look().state is TrustState.TRUSTED
    assert second.look().state is TrustState.UNTRUSTED
    assert first.look().digest != second.look().digest
    moved = tmp_path / "moved"
    first.workspace.rename(moved)
    first.workspace = moved
    assert first.look().state is TrustState.UNTRUSTED


def test_a_link_to_the_workspace_is_the_same_workspace(place: Place):
    place.configure(CHECKS)
    place.pin()
    link = place.root / "link"
    link.symlink_to(place.workspace)
    assert load(link, place.environment).beside.checks == ("make test",)


def test_a_pin_under_the_same_hash_for_another_path_does_not_count(place: Place):
    place.configure(CHECKS)
    place.pin()
    pins = place.pins()
    next(iter(pins["workspaces"].values()))["path"] = "/elsewhere"
    place.file.write_text(json.dumps(pins))
    assert place.look().state is TrustState.UNTRUSTED


def test_signers_must_be_a_file_of_the_project(place: Place):
    place.configure(CHECKS)
    signers_file(place.workspace).symlink_to("/etc/passwd")
    with pytest.raises(BadConfiguration, match="symbolic link"):
        place.look()


# The file


def test_a_pin_is_recorded_with_who_and_when(place: Place):
    place.configure(CHECKS)
    pin = place.pin()
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    kept = place.pins()
    assert list(kept["workspaces"].values()) == [
        {
            "path": str(place.workspace),
            "digest": pin.digest,
            "parts": [{"name": "with.checks", "lines": ["make test"], "sha256": pin.parts[0].sha256}],
            "at": "2026-01-02T03:04:05Z",
            "by": "hanako",
            "channel": "/dev/pts/7",
        }
    ]
    assert place.trust.revoke(at="later", by="taro") == pin
    assert place.trust.revoke(at="later", by="taro") is None
    assert place.look().state is TrustState.UNTRUSTED
    kept = place.pins()
    assert kept["workspaces"] == {}
    assert [(one["act"], one["by"], one["digest"]) for one in kept["history"]] == [
        ("trusted", "hanako", pin.digest),
        ("revoked", "taro", pin.digest),
    ]
    assert sorted(path.name for path in place.file.parent.iterdir()) == ["trusted.json", "trusted.lock"]


def test_where_it_lies():
    home = {"HOME": "/home/a"}
    assert trust_file({}) is None
    assert trust_file(home) == Path("/home/a/.config/ringi/trusted.json")
    assert trust_file(home | {"XDG_CONFIG_HOME": "/x"}) == Path("/x/ringi/trusted.json")
    # A configuration that a project hands out must not bring its own trust along.
    assert trust_file(home | {"RINGI_CONFIG": "/ws/c.yaml"}) == Path("/home/a/.config/ringi/trusted.json")


def test_a_project_cannot_bring_its_own_pins(place: Place):
    place.configure(CHECKS)
    place.environment = {"HOME": str(place.root / "home"), "XDG_CONFIG_HOME": str(place.workspace)}
    for attempt in (place.pin, lambda: place.trust.revoke(at="", by="")):
        with pytest.raises(InTheWay, match="inside the workspace"):
            attempt()
    verdict = place.look()
    assert verdict.state is TrustState.UNTRUSTED
    assert "nothing is trusted: it lies inside the workspace" in str(verdict.note)
    link = place.root / "home" / ".config"
    link.parent.mkdir()
    link.symlink_to(place.workspace)
    place.environment = {"HOME": str(place.root / "home")}
    assert place.look().problem is not None


def test_without_a_home_nothing_is_trusted(place: Place):
    place.configure(CHECKS)
    place.environment = {}
    assert place.look().state is TrustState.UNTRUSTED
    with pytest.raises(InTheWay, match="no home folder"):
        place.pin()


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff", b'{"workspaces": 3}', b'{"workspaces": {"x": {}}}', b'{"schema_version": 99}',
     b'{"unknown": 1}', b'{"workspaces": ' + b"[" * 100_000],
    ids=range(9),
)  # fmt: skip
def test_a_damaged_file_trusts_nothing_and_is_not_overwritten(place: Place, data: bytes):
    place.configure(CHECKS)
    place.pin()
    place.file.write_bytes(data)
    config = place.load()
    assert config.beside.checks == ()
    assert f"{place.file} cannot be used, so nothing is trusted" in str(config.notes[0])
    for attempt in (place.pin, lambda: place.trust.revoke(at="", by="")):
        with pytest.raises(InTheWay):
            attempt()
    assert place.file.read_bytes() == data


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_trusts_nothing(place: Place, mode: int):
    place.configure(CHECKS)
    place.pin()
    place.file.chmod(mode)
    assert place.look().state is TrustState.UNTRUSTED
    assert "another user could have written it" in str(place.look().note)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_file_of_another_user_trusts_nothing():
    with reachable_folder() as folder:
        place = Place(folder)
        place.configure(CHECKS)
        place.pin()
        os.chown(place.file, NOBODY, NOBODY)
        assert place.look().state is TrustState.UNTRUSTED

        def as_nobody() -> None:
            assert place.look().problem is not None  # the folder is closed to them

        assert in_child(as_nobody, uid=NOBODY) == 0


def test_what_is_no_file_trusts_nothing_without_waiting(place: Place):
    place.configure(CHECKS)
    place.file.parent.mkdir(parents=True)
    os.mkfifo(place.file)
    assert place.look().state is TrustState.UNTRUSTED
    place.file.unlink()
    place.file.mkdir()
    assert place.look().state is TrustState.UNTRUSTED


def test_the_file_may_be_a_link_and_stays_one(place: Place):
    place.configure(CHECKS)
    real = place.root / "dotfiles" / "pins.json"
    real.parent.mkdir()
    place.file.parent.mkdir(parents=True)
    place.file.symlink_to(real)
    place.pin()
    assert place.file.is_symlink()
    assert real.is_file()
    assert place.look().state is TrustState.TRUSTED


def test_pins_set_at_the_same_time_are_all_kept(tmp_path: Path):
    places = [Place(tmp_path, f"ws{number}") for number in range(8)]
    for place in places:
        place.configure(CHECKS)
    places[0].pin()
    threads = [threading.Thread(target=place.pin) for place in places[1:]]
    threads.append(threading.Thread(target=lambda: places[0].trust.revoke(at="", by="")))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [place.look().state for place in places] == [TrustState.UNTRUSTED] + [TrustState.TRUSTED] * 7
    assert len(places[0].pins()["history"]) == 9


def test_a_part_that_comes_later_is_untrusted_until_then(place: Place):
    place.configure(CHECKS)
    place.pin()
    later = (*executable(place.workspace), PinnedPart("mcp.servers", ("npx server",), "0" * 64))
    verdict = place.trust.state(later)
    assert verdict.state is TrustState.CHANGED
    assert verdict.changed == ("mcp.servers",)
