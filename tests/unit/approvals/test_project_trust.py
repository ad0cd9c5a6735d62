"""A person trusts exactly what they saw; giving it up needs no proof."""

from pathlib import Path

import pytest

from ringi.approvals.document import TypedAnswer
from ringi.approvals.project_trust import ProjectTrust
from ringi.config.pins import PinnedPart, Trust, TrustState, commands_part
from ringi.errors import NoChannel, WrongAnswer
from ringi.kernel.text import Text
from tests.helpers import Person, SetClock


class Project:
    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "ws"
        self.root.mkdir()
        self.parts: tuple[PinnedPart, ...] = (commands_part("logs.mask", ("PIN",)),)
        self.pins = Trust(self.root, {"HOME": str(tmp_path / "home")})

    def trust(self, person: Person | None = None) -> ProjectTrust:
        return ProjectTrust(self.root, self.pins, lambda: self.parts, person or Person(), SetClock())

    def answer(self) -> TypedAnswer:
        digest = self.trust().look().digest
        return TypedAnswer(digest, digest[:6])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.req("PP-17")
def test_what_was_seen_is_pinned_with_who_and_when(project: Project):
    trust = project.trust()
    assert trust.look().state is TrustState.UNTRUSTED
    pin = trust.trust(project.answer())
    assert (pin.by, pin.channel, pin.at) == ("hanako", "/dev/pts/7", SetClock().now())
    found = trust.look()
    assert found.trusted
    shown = trust.document(found)
    assert shown["trusted"] == {"digest": pin.digest, "at": pin.at, "by": "hanako"}
    assert shown["workspace"] == str(project.root)


def test_what_changed_while_the_person_read_is_not_trusted(project: Project):
    answer = project.answer()
    project.parts = (commands_part("logs.mask", (".*",)),)
    with pytest.raises(WrongAnswer, match="something else"):
        project.trust().trust(answer)
    assert project.trust().look().state is TrustState.UNTRUSTED


def test_another_answer_or_nobody_there(project: Project):
    answer = project.answer()
    with pytest.raises(WrongAnswer, match="6 characters"):
        project.trust().trust(TypedAnswer(answer.digest, "yes"))
    with pytest.raises(NoChannel):
        project.trust(Person(Text("an agent started this."))).trust(answer)
    assert project.trust().look().state is TrustState.UNTRUSTED


def test_it_is_given_up_without_a_proof(project: Project):
    assert project.trust().revoke() is None
    pin = project.trust().trust(project.answer())
    assert project.trust(Person(Text("no terminal."))).revoke() == pin
    assert project.trust().look().state is TrustState.UNTRUSTED
