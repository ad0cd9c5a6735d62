"""An approval that is used leaves its proof on the files, in the repository itself."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope

from tests.fakes.signing import RealKey
from tests.functional.conftest import signers
from tests.functional.desk import Desk
from tests.functional.test_proving import carried_out

ABSENT = "000000"


def notes(desk: Desk) -> dict[str, list[dict[str, Any]]]:
    """What hangs on each blob, as git tells it."""
    found = {}
    for line in desk.git("notes", "--ref", "ringi", "list").splitlines():
        blob = line.split(" ")[1]
        found[blob] = [
            json.loads(one) for one in desk.git("notes", "--ref", "ringi", "show", blob).splitlines()
        ]
    return found


def said(envelope: dict[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(base64.b64decode(envelope["payload"]))
    return payload


def changes(statement: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """For each path the mode after it, and the blobs before and after."""
    found = {}
    for one in statement["subject"]:
        before, mode = one["annotations"]["before"], one["annotations"]["mode"]
        after = "" if mode == ABSENT else one["digest"]["gitBlob"]
        found[one["name"]] = mode, before["digest"]["gitBlob"] if before else "", after
    return found


def blob(desk: Desk, path: str) -> str:
    return desk.git("hash-object", path).strip()


def typed(desk: Desk, plan: str) -> None:
    terminal = desk.terminal("approve", plan)
    terminal.answer(r"\[y/n\]", "y")
    code, rest = terminal.end()
    assert code == 0, rest
    assert desk.run("execute", plan).returncode == 0


def reference_check(envelope: dict[str, Any]) -> bytes:
    """By the libraries of in-toto; the bytes that are signed."""
    read = Envelope.from_dict(json.loads(json.dumps(envelope)))
    message = json_format.Parse(read.payload, statement_pb2.Statement())
    Statement.copy_from_pb(message).validate()
    signed: bytes = read.pae()
    return signed


def test_a_signed_approval_hangs_on_every_file_it_is_about(
    desk: Desk, listed: RealKey, tmp_path: Path
) -> None:
    before = {path: blob(desk, path) for path in ("README.md", "app/hello.py")}
    (desk.root / ".gitignore").write_text("*.log\n")
    plan = desk.agent(
        "echo more >> README.md; rm app/hello.py; printf '#!/bin/sh\\n' > run; chmod +x run; echo x > a.log"
    )
    carried_out(desk, plan, listed)
    hung = notes(desk)
    after = {path: blob(desk, path) for path in ("README.md", "run")}
    assert set(hung) == {after["README.md"], after["run"], before["app/hello.py"]}
    [envelope] = hung[after["run"]]
    assert all(lines == [envelope] for lines in hung.values())
    statement = said(envelope)
    assert changes(statement) == {
        "README.md": ("100644", before["README.md"], after["README.md"]),
        "app/hello.py": (ABSENT, before["app/hello.py"], ""),
        "run": ("100755", "", after["run"]),
    }
    predicate = statement["predicate"]
    assert (predicate["proof"], predicate["strength"], predicate["act"]) == ("signed", "strong", "approve")
    assert predicate["repository"] == desk.git("rev-list", "--max-parents=0", "HEAD").split()
    assert "a.log" not in json.dumps(statement)
    # The diff is what git itself would apply to get there.
    desk.git("stash", "-u")
    (tmp_path / "diff").write_text(predicate["diff"])
    desk.git("apply", str(tmp_path / "diff"))
    assert {path: blob(desk, path) for path in after} == after
    assert not (desk.root / "app/hello.py").exists()
    # Anyone can check it: in-toto's own libraries read it, and ssh-keygen agrees.
    signed = reference_check(envelope)
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    verify = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        str(signers()),
        "-n",
        "ringi-approval",
        "-s",
        str(tmp_path / "sig"),
    ]
    who = signers().read_text().split()[0]
    assert (
        subprocess.run([*verify, "-I", who], input=signed, check=False, capture_output=True).returncode == 0
    )
    assert (
        subprocess.run([*verify, "-I", who], input=signed + b" ", check=False, capture_output=True).returncode
        != 0
    )


def test_an_undo_is_approved_and_proven_too(desk: Desk, listed: RealKey) -> None:
    original = blob(desk, "README.md")
    plan = desk.agent("echo more >> README.md; echo new > new.txt")
    carried_out(desk, plan, listed)
    changed, new = blob(desk, "README.md"), blob(desk, "new.txt")
    assert desk.run("undo", plan, "--sign", str(listed.path)).returncode == 0
    hung = notes(desk)
    [back] = hung[original]
    assert said(back)["predicate"]["act"] == "undo"
    assert changes(said(back)) == {
        "README.md": ("100644", changed, original),
        "new.txt": (ABSENT, new, ""),
    }
    assert back in hung[new]
    reference_check(back)


def test_a_note_has_no_contents_of_a_file_for_credentials(desk: Desk, listed: RealKey) -> None:
    plan = desk.agent("echo TOKEN=hunter2 > .env; echo one > one.txt")
    carried_out(desk, plan, listed)
    statement = said(notes(desk)[blob(desk, "one.txt")][0])
    assert changes(statement).keys() == {".env", "one.txt"}
    assert "+one" in statement["predicate"]["diff"]
    assert "hunter2" not in json.dumps(statement)


def test_notes_that_cannot_be_written_stop_it_before_anything_changes(desk: Desk) -> None:
    plan = desk.agent("echo one > one.txt")
    terminal = desk.terminal("approve", plan)
    terminal.answer(r"\[y/n\]", "y")
    terminal.end()
    blocked = desk.root / ".git/refs/notes"
    blocked.write_text("in the way\n")
    done = desk.run("execute", plan)
    assert done.returncode == 1
    assert "provenance.notes" in done.stderr
    assert not (desk.root / "one.txt").exists()
    assert desk.run("execute", plan, RINGI_PROVENANCE_NOTES="off").returncode == 0
    assert (desk.root / "one.txt").read_text() == "one\n"
