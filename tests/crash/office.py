"""A run in which a model works with tools, and what is recorded of its processes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.crash.run_bureau import Bureau, Story
from tests.fakes.model_server import ModelServer, Request

Answer = Callable[[Request], Mapping[str, Any]]


class Told(NamedTuple):
    """What is recorded of a process, without times and the ids of plans and runs."""

    step: str
    actions: tuple[tuple[object, ...], ...]
    revisions: tuple[str, ...]
    notes: tuple[str, ...]
    calls: int
    state: tuple[object, ...]


class Office(Bureau):
    """With a model server, which has to answer the same question the same way."""

    def __init__(
        self, base: Path, monkeypatch: pytest.MonkeyPatch, story: Story, answer: Answer, **config: Any
    ) -> None:
        self.server = ModelServer(answer)
        common = {
            "llm": {"base_url": f"{self.server.url}/v1"},
            "roles": {"implementer": {"model": "openai:gpt-5"}},
            "planning": {"cache": {"enabled": False}, **config.pop("planning", {})},
        }
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        super().__init__(base, monkeypatch, story._replace(config={**common, **config}))

    def told(self) -> list[Told]:
        found = []
        with self.desk.open() as workspace:
            for process in workspace.store.processes.of(self.desk.run_id):
                records = workspace.store.processes.actions(process.process_id)
                assert process.completion
                assert process.completion.done
                found.append(
                    Told(
                        process.step_id,
                        tuple(
                            (one.action_id, one.tool, one.state, one.error, one.changed, one.tree, one.group)
                            for one in records
                        ),
                        tuple(f"{one.by}: {one.digest}" for one in process.revisions),
                        process.notes,
                        process.execution.calls + process.reflection.calls,
                        (process.phase, process.done, process.revised, process.turns, process.tree),
                    )
                )
        return found
