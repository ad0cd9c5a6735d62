"""What an editor needs to start agents through `ringi acp`: an entry for the person's own files."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ringi.agents.editors import Editor, EditorAgent
from ringi.agents.table import AGENTS


class EditorEntry(NamedTuple):
    editor: Editor
    file: str
    """Where it belongs."""
    text: str
    found: bool
    """False if no agent that speaks ACP is installed; then it is an example."""


def editor_entries(
    editors: Iterable[Editor], environment: Mapping[str, str], words: Sequence[str]
) -> list[EditorEntry]:
    """`words` start ringi. An editor may have another PATH than a terminal, so programs are named in full."""
    path = environment.get("PATH", os.defpath)
    speaking = [agent for agent in AGENTS.values() if agent.acp]
    there = [agent for agent in speaking if shutil.which(agent.acp[0], path=path)]
    start = [*_in_full(words, path), "acp", "--"]
    started = [
        EditorAgent(agent.name, agent.title, [*start, *_in_full(agent.acp, path)])
        for agent in there or [AGENTS["opencode"]]
    ]
    return [
        EditorEntry(
            editor,
            str(editor.file.find(environment) or editor.file.path),
            editor.entry(started),
            found=bool(there),
        )
        for editor in editors
    ]


def _in_full(words: Sequence[str], path: str) -> list[str]:
    return [shutil.which(words[0], path=path) or words[0], *words[1:]]
