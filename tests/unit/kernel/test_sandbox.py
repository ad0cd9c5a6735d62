"""Where an agent's places lie among each other; what is deeper counts more."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.process import sandbox
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.kernel.process.hidden import Hidden
from ringi.kernel.process.sandbox import How, Mount, SandboxPlaces, for_agent, for_check, mounts, sees
from ringi.kernel.process.start import JOB

BWRAP = sandbox.find(SYSTEM_PATH)
walled = pytest.mark.skipif(
    BWRAP is None or sandbox.trouble(BWRAP) is not None, reason="bubblewrap does not work here"
)


@pytest.fixture
def base() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()


def made(base: Path, *names: str) -> tuple[Path, ...]:
    for name in names:
        (base / name).mkdir(parents=True, exist_ok=True)
    return tuple(base / name for name in names)


def over(chosen: tuple[Mount, ...], path: Path) -> Mount:
    return [mount for mount in chosen if path.is_relative_to(mount.path)][-1]


PARTS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@given(st.sets(PARTS, max_size=4), st.sets(PARTS, max_size=4), st.sets(PARTS, max_size=4))
def test_the_deepest_word_counts(writable: set[str], read_only: set[str], hidden: set[str]):
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        named = [made(base, *sorted(names)) for names in (writable, read_only - writable, hidden)]
        writable_ones, read_only_ones, hidden_ones = named
        chosen = mounts(SandboxPlaces((), Hidden(hidden_ones), read_only_ones, writable_ones))
        depth = [len(mount.path.parts) for mount in chosen]
        assert depth == sorted(depth)
        for path in named[0]:
            if path not in named[2]:
                assert over(chosen, path).how is How.WRITE
        for path in named[2]:
            assert not sees(chosen, path) or path in named[0]


def test_nothing_but_what_is_named_can_be_written(base: Path):
    tree, state, hidden = made(base, "work/tree", "home/.agent", "home/.ssh")
    chosen = mounts(SandboxPlaces((), Hidden((hidden, base / "work")), (), (tree, state)))
    writable = [mount.path for mount in chosen if mount.how is How.WRITE]
    assert set(writable) == {tree, state}
    words = for_agent("bwrap", "setsid", chosen, tree, "c1")
    assert words[words.index("--share-net") - 1] == "--unshare-all"
    assert "--new-session" not in words
    assert "RINGI_WITH" in words[:10]  # who looks for it among its ancestors reads no further than 16
    assert words[words.index("--") :] == ["--", "setsid", "-c", *JOB]
    assert "--new-session" in for_check("bwrap", chosen, tree, "c1")


def run(chosen: tuple[Mount, ...], folder: Path, script: str) -> str:
    argv = [*for_check(BWRAP or "", chosen, folder, "c1"), "sh", "-c", script]
    return subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False).stdout


@walled
def test_the_top_of_a_home_takes_names_that_go_again(base: Path):
    home, tree, state = made(base, "home", "home/.cache/work/tree", "home/.agent")
    (home / "file").write_text("mine\n")
    (home / "state.json").write_text("{}\n")
    (home / "link").symlink_to("file")
    (home / "secret").write_text("secret\n")
    hidden = Hidden(files=(home / "secret",))
    chosen = mounts(SandboxPlaces((), hidden, (), (tree, state, home / "state.json"), home))
    script = f"""
        cd '{home}'; cat file link secret
        echo x > file || echo refused; echo x > .cache/x || echo refused
        mkdir lock && echo new > second && mv second state.json || echo busy; rmdir lock
        echo 1 > state.json; echo 2 > .agent/x; echo 3 > .cache/work/tree/x; echo 4 > gone; ls -A
    """
    said = run(chosen, tree, script).split()
    assert said[:5] == ["mine", "mine", "refused", "refused", "busy"]
    assert said[5:] == [".agent", ".cache", "file", "gone", "link", "second", "state.json"]
    assert (home / "state.json").read_text() == "1\n"
    assert (home / ".agent" / "x").read_text() == "2\n"
    assert sorted(path.name for path in home.iterdir()) == [
        ".agent", ".cache", "file", "link", "secret", "state.json"
    ]  # fmt: skip


@walled
def test_sockets_are_out_of_sight_and_names_are_found(base: Path):
    (tree,) = made(base, "tree")
    chosen = mounts(SandboxPlaces((), Hidden((Path("/run"),)), (), (tree,), network=True))
    kept = {"current-system", "systemd", "nscd", "resolvconf", "NetworkManager", "connman"}
    assert set(run(chosen, tree, "ls -A /run").split()) <= kept
    assert run(chosen, tree, "cat /etc/resolv.conf; cat /etc/hosts").count("\n") > 0
    assert run(chosen, tree, "grep -c : /proc/net/dev; echo $$").split()[-1] in {"2", "3"}
