"""`ringi acp`: an editor, an agent in a copy, and plans in the thread."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi import open_workspace
from tests.fakes.signing import RealKey
from tests.functional.acp_desk import editor
from tests.functional.beside_desk import HomeDesk, home_desk
from tests.helpers import Person, accept_signers_in, make_files

USER = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield desk


@pytest.fixture
def listed(desk: HomeDesk) -> RealKey:
    (desk.home / ".ssh").mkdir(mode=0o700)
    key = RealKey(desk.home / ".ssh", "id_ed25519")
    signers = desk.home / ".config" / "ringi" / "allowed_signers"
    signers.parent.mkdir(parents=True)
    signers.write_text(f"{USER} {key.public}\n")
    signers.chmod(0o600)
    accept_signers_in(desk.root)
    return key


@pytest.mark.req("CP-11", "PT-4", "PT-9")
def test_prompt_plan_rejection_next_turn_signature_and_exactly_those_bytes(  # noqa: PLR0915  # one journey
    desk: HomeDesk, listed: RealKey
) -> None:
    root = desk.root
    # As ringi init says: its configuration is committed.
    ignored = {"made.py": "\n", "__pycache__/made.pyc": "\n"}
    make_files(root, {".agent/config.yaml": "# nothing\n", ".gitignore": "made.py\n*.pyc\n", **ignored})
    desk.git("add", "-f", ".agent/config.yaml", ".gitignore")
    desk.git("commit", "-qm", "configuration")
    with editor(desk, "--check", "test -e app/hello.py") as one:
        session = one.begin()
        make_files(root, {"EARLY.md": "early\n"})  # after its copy was made
        before = desk.files()
        first = (
            "<asked>Say good day</asked>\n"  # as avante.nvim wraps it
            "see EARLY.md\nwrite NEW.md <b>\\n\nwrite app/hello.py def hello():\\n    return 'good dya'\\n"
        )
        assert one.prompt(session, first)["result"] == {"stopReason": "end_turn"}
        # The plan is in the thread, and the files are as they were.
        call = one.plans(session)[-1]
        assert call["title"] == "p1 Say good day"
        words, *diffs = call["content"]
        assert diffs == [
            {"type": "diff", "path": f"{root}/NEW.md", "oldText": "", "newText": "<b>\n"},
            {
                "type": "diff",
                "path": f"{root}/app/hello.py",
                "oldText": 'def hello():\n    return "hello"\n',
                "newText": "def hello():\n    return 'good dya'\n",
            },
        ]
        assert '"early\\n"' in one.said()
        assert "not in the copy: made.py\n" in one.said()
        assert "that git ignores" in one.told()[-1]["prompt"][0]
        assert "exit code 0 on exactly these bytes: test -e app/hello.py" in one.said()
        assert "ringi has not touched your files." in one.said()
        assert "ringi review p1" in one.said()
        # An agent may say the same; what ringi says is also in its tool call, which nobody can rewrite.
        assert words == {"type": "content", "content": one.updates("agent_message_chunk")[-1]["content"]}
        assert desk.files() == before
        # No message of the editor approves; nothing that the agent is told does either.
        assert desk.json("list")[0]["status"] == "pending_review"

        with open_workspace(root, person=Person()) as workspace:
            workspace.plan.comment("p1", "app/hello.py", 2, "A typo.")
        assert desk.run("reject", "p1", "--feedback", "No NEW.md, please.").returncode == 0
        second = "Do as they say\nremove NEW.md\nwrite app/hello.py def hello():\\n    return 'good day'\\n"
        assert one.prompt(session, second)["result"] == {"stopReason": "end_turn"}
        news, words = one.told()[-1]["prompt"]
        assert words == second
        assert news.startswith("=== From ringi")
        assert "> No NEW.md, please." in news
        assert "app/hello.py:2: A typo." in news
        assert "p1 is now version 2." in one.said()
        assert one.files() == [f"{root}/app/hello.py"]
        assert desk.files() == before

        assert desk.run("approve", "p1", "--sign", str(listed.path)).returncode == 0
        assert desk.run("execute", "p1").returncode == 0
        good = "def hello():\n    return 'good day'\n"
        assert desk.files() == {**before, "app/hello.py": (good.encode(), before["app/hello.py"][1])}

        # What comes next is a plan of its own, with only what is new.
        (root / "README.md").write_text("# Mine\n")
        assert one.prompt(session, "see README.md\nwrite LATER.md later\\n")["result"]
        news = one.told()[-1]["prompt"][0]
        assert "applied it to the project" in news
        assert '"# Mine\\n"' in one.said()
        assert one.files() == [f"{root}/LATER.md"]
        assert one.plans()[-1]["title"].startswith("p2 ")
        # Nothing new: nothing is said before the person's own words.
        one.prompt(session, "see README.md")
        assert one.told()[-1]["prompt"] == ["see README.md"]
        # What the person changes meanwhile is no change of the agent's.
        one.prompt(session, "Once more\nwrite README.md # Theirs\\n\nwrite Makefile all:\\n")
        assert "HIGH because Makefile is a build or deploy file" in one.said()
        assert one.files() == [f"{root}/{name}" for name in ("Makefile", "LATER.md", "README.md")]
        (root / "README.md").write_text("# Mine again\n")
        one.prompt(session, "write LATER.md even later\\n")
        assert "README.md changed since the proposer saw it" in one.said()
        assert {
            "type": "diff",
            "path": f"{root}/README.md",
            "oldText": "# Mine\n",
            "newText": "# Theirs\n",
        } in (one.plans()[-1]["content"])
        assert one.leave() == 0
    assert {plan["number"]: plan["status"] for plan in desk.json("list")} == {
        1: "completed",
        2: "pending_review",
    }


@pytest.mark.req("PT-4")
def test_a_thread_follows_what_the_person_does_and_each_version_says_what_was_asked(desk: HomeDesk) -> None:
    root = desk.root
    with editor(desk) as one:
        session = one.begin()
        (root / "README.md").write_text("# Mine\n")
        one.prompt(session, "Look first\nsee README.md")
        assert '"# Mine\\n"' in one.said(), "it changed after the session had begun"
        assert len(one.told()[-1]["prompt"]) == 1, "it has seen nothing before"
        one.prompt(session, "Then write\nwrite LATER.md later\\n")
        (root / "README.md").write_text("# Mine\n\nmore\n")
        one.prompt(session, "Look again\nsee README.md\nwrite MORE.md more\\n")
        assert "Read these again before you use them: README.md" in one.told()[-1]["prompt"][0]
        assert '"# Mine\\n\\nmore\\n"' in one.said()
        assert one.files() == [f"{root}/LATER.md", f"{root}/MORE.md"]

        (root / "LATER.md").write_text("sooner\n")
        one.prompt(session, "see LATER.md")
        assert "it would contradict what you changed in LATER.md" in one.told()[-1]["prompt"][0]
        assert "both changed LATER.md. A review of its plan merges the two." in one.said()
        assert one.leave() == 0
    asked = [line["event"]["reason"] for line in desk.json("log", "p1")]
    assert any(": Look first see README.md / Then write write LATER.md" in reason for reason in asked), asked
    assert any(": Look again see README.md" in reason for reason in asked), asked
