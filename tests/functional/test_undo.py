"""Undo as a person meets it, after they went on working in the same files."""

import pytest

from tests.functional.desk import Desk

TEXT = "".join(f"line {n}\n" for n in range(1, 13))
TAKE = (
    "sed -i 's/line 2$/their 2/' one.txt two.txt three.txt; printf 'more\\n' >> README.md; echo new > new.txt"
)


def taken(desk: Desk) -> str:
    for name in ("one.txt", "two.txt", "three.txt"):
        (desk.root / name).write_text(TEXT)
    desk.git("add", "-A", "--", ":!.agent")
    desk.git("commit", "-qm", "Texts")
    name = desk.agent(TAKE)
    terminal = desk.terminal("apply", name)
    terminal.answer(r"\[q\]uit", "a")
    code, rest = terminal.end()
    assert code == 0, rest
    return name


def edited(desk: Desk) -> None:
    """One file far from the agent's line, one in the very same place."""
    two, three = desk.root / "two.txt", desk.root / "three.txt"
    two.write_text(two.read_text() + "mine 1\nmine 2\n")
    three.write_text(three.read_text().replace("their 2", "my 2"))


@pytest.mark.req("PT-12")
def test_everything_is_said_before_the_answer(desk: Desk):
    before = desk.files()
    name = taken(desk)
    edited(desk)
    terminal = desk.terminal("undo")
    seen = " ".join(terminal.answer(r"\[y/n\]", "y").split())
    code, after = terminal.end()
    assert "one.txt is restored " in seen
    assert "two.txt is restored and keeps your 2 later lines" in seen
    assert "! three.txt is left alone: the same lines were changed since" in seen
    assert f"→ ringi show {name} --since" in seen
    question = f"4 files go back to before {name}; 1 keeps your 2 later lines; 1 is left alone. Go? [y/n]"
    assert question in seen
    after = " ".join(after.split())
    assert code == 4, after
    assert "✓ 3 files restored byte for byte" in after
    assert "✓ 1 file restored, merged with what you wrote since" in after
    assert "are left alone, because they were changed since: three.txt" in after
    assert (desk.root / "one.txt").read_text() == TEXT
    assert (desk.root / "two.txt").read_text() == TEXT + "mine 1\nmine 2\n"
    assert (desk.root / "three.txt").read_text() == TEXT.replace("line 2\n", "my 2\n")
    assert desk.files()["README.md"] == before["README.md"]
    assert "new.txt" not in desk.files()
    shown = desk.run("show", name, "--since")
    assert shown.returncode == 0
    assert "-their 2\n" in shown.stdout
    assert "+my 2\n" in shown.stdout
    assert "two.txt" not in shown.stdout
    assert list(desk.json("show", name, "--since")) == ["three.txt"]
