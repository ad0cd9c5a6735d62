"""The patches and logs of a run: bounded, masked, readable while they grow, never through a link."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.errors import InTheWay
from ringi.policy.masking import mask_secrets
from ringi.runs.files import RunFiles

REQUEST, RUN = "RQ-20260102-001", "20260102-030405-a1b2c3"
LOG = f"runs/{REQUEST}/{RUN}/logs/step.S01.unit-00-01.log"
PATCH = f"runs/{REQUEST}/{RUN}/patches/S01.patch"
MOST = 256 * 1024
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
BODY = "MIIEpAIBAAKCAQEAx4q7vPz9Tn2sKd83LmWb5Yc0Rf6Hj1Ge+UoXiV/aQwErTy"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + f"{BODY}\n" * 12 + "-----END RSA PRIVATE KEY-----\n"


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(tmp_path, REQUEST, RUN, mask_secrets)


def written(root: Path, path: str = LOG) -> bytes:
    return (root / ".agent" / path).read_bytes()


@pytest.mark.req("RN-11")
def test_a_log_can_be_read_while_it_grows(files: RunFiles, tmp_path: Path):
    with files.log(LOG) as write:
        write(b"collecting ...\n3 pas")
        assert files.tail(LOG, 100) == "collecting ...\n"
        write(b"sed\xff\n")
        assert files.tail(LOG, 9) == " passed�\n"[-9:]
        write(b"no newline")
    assert written(tmp_path) == b"collecting ...\n3 passed\xff\nno newline"
    with files.log(LOG) as write:
        write(b"anew\n")
    assert written(tmp_path) == b"anew\n"
    assert files.tail("nothing.log", 10) == ""


@pytest.mark.req("RN-11", "PP-17")
@given(st.lists(st.integers(1, 40), max_size=20), st.sampled_from([TOKEN, KEY]))
@settings(max_examples=50, deadline=None)
def test_secrets_are_masked_wherever_the_text_is_cut(tmp_path_factory, cuts: list[int], secret: str):
    root = tmp_path_factory.mktemp("run")
    text, at = f"before\n{secret}\nafter\n".encode(), 0
    with RunFiles(root, REQUEST, RUN, mask_secrets).log(LOG) as write:
        for count in cuts:
            write(text[at : at + count])
            at += count
        write(text[at:])
    found = written(root)
    assert TOKEN.encode() not in found
    assert BODY.encode() not in found
    assert found.startswith(b"before\n")
    assert found.endswith(b"after\n")


@pytest.mark.req("RN-11")
def test_of_gigabytes_the_beginning_and_the_end_are_kept(files: RunFiles, tmp_path: Path):
    lines = b"".join(b"line %06d\n" % number for number in range(4000))
    with files.log(LOG) as write:
        write(b"first\n")
        for _ in range(50):
            write(lines)
            assert len(written(tmp_path)) < 2 * MOST + 100
        write(b"last\n")
    found = written(tmp_path)
    assert len(found) < 2 * MOST + 100
    assert found.startswith(b"first\nline 000000\n")
    assert found.endswith(b"line 003999\nlast\n")
    assert b" bytes left out " in found
    left_out = int(found.split(b" bytes left out ")[0].rsplit(b" ", 1)[1])
    kept = len(found) - len(b"\n\xe2\x80\xa6 %d bytes left out \xe2\x80\xa6\n" % left_out)
    assert left_out + kept == 50 * len(lines) + len(b"first\nlast\n")


@pytest.mark.req("RN-11")
def test_one_line_without_end_is_bounded_too(files: RunFiles, tmp_path: Path):
    with files.log(LOG) as write:
        for _ in range(100):
            write(b"x" * 100_000)
    assert len(written(tmp_path)) < 2 * MOST + 100


@pytest.mark.req("RN-11")
def test_patches_are_bytes_and_names_stay_in_the_folder_of_the_run(files: RunFiles, tmp_path: Path):
    files.write(PATCH, b"\x00\xff patch")
    assert written(tmp_path, PATCH) == b"\x00\xff patch"
    files.write("runs/RQ-other/run/stage.json", b"mine")
    assert written(tmp_path, f"runs/{REQUEST}/{RUN}/patches/stage.json") == b"mine"
    assert not (tmp_path / ".agent/runs/RQ-other").exists()
    with files.log("runs/..") as write:
        write(b"x\n")
    assert files.newest_log() == "unnamed"


@pytest.mark.req("RN-11")
@pytest.mark.parametrize("part", [".agent", ".agent/runs", f".agent/runs/{REQUEST}/{RUN}/logs"])
def test_a_folder_that_is_a_link_is_not_followed(files: RunFiles, tmp_path: Path, part: str):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / part).symlink_to(elsewhere)
    with pytest.raises(InTheWay), files.log(LOG) as write:
        write(b"x\n")
    assert files.tail(LOG, 10) == files.newest_log() == ""
    assert not list(elsewhere.iterdir())


@pytest.mark.req("RN-11")
def test_a_file_that_is_a_link_or_a_pipe_is_replaced(files: RunFiles, tmp_path: Path):
    precious = tmp_path / "precious"
    precious.write_text("stays")
    folder = tmp_path / ".agent" / "runs" / REQUEST / RUN
    for name in ("logs", "patches"):
        (folder / name).mkdir(parents=True)
    (folder / "logs" / "a.log").symlink_to(precious)
    os.mkfifo(folder / "logs" / "b.log")
    (folder / "patches" / "S01.patch").symlink_to(precious)
    for name in ("a.log", "b.log"):
        assert files.tail(name, 10) == ""
        with files.log(name) as write:
            write(b"x\n")
        assert files.tail(name, 10) == "x\n"
    files.write(PATCH, b"y")
    assert precious.read_text() == "stays"
    assert written(tmp_path, PATCH) == b"y"
