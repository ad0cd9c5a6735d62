"""Executions: intents, results, and commands with their ends."""

from collections.abc import Collection
from typing import Final

from ringi.kernel import codec
from ringi.ledger.connection import as_bytes
from ringi.ledger.events import text_of
from ringi.ledger.ledger import Ledger
from ringi.plans.execution import (
    CommandEnd,
    CommandStart,
    ExecutionIntent,
    ExecutionResult,
    StoredCommand,
    StoredIntent,
)

_UNFINISHED: Final = "SELECT intent FROM executions WHERE result IS NULL ORDER BY at"
_ADD_INTENT: Final = (
    "INSERT INTO executions (id, plan_id, at, intent)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM executions), ?)"
)
_ADD_RESULT: Final = "UPDATE executions SET result = ? WHERE id = ? AND result IS NULL"
_EXECUTIONS: Final = "SELECT intent, result FROM executions WHERE plan_id = ? ORDER BY at"
_INTENT: Final = "SELECT intent FROM executions WHERE id = ?"
_START_COMMAND: Final = (
    "INSERT INTO commands (execution_id, spec_id, at, started)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM commands), ?)"
)
_END_COMMAND: Final = "UPDATE commands SET ended = ? WHERE execution_id = ? AND spec_id = ? AND ended IS NULL"
_COMMANDS: Final = "SELECT started, ended FROM commands WHERE execution_id = ? ORDER BY at"
# As JSON writes the path.
_WROTE: Final = (
    "SELECT plan_id FROM executions WHERE instr(intent, ?1) UNION SELECT e.plan_id FROM commands c"
    " JOIN executions e ON e.id = c.execution_id WHERE instr(c.ended, ?1)"
)


class Executions:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def unfinished(self) -> tuple[ExecutionIntent, ...]:
        found = self._ledger.select(_UNFINISHED)
        return tuple(codec.decode_own(as_bytes(row[0]), ExecutionIntent, "intent") for row in found)

    def intent(self, execution_id: str) -> ExecutionIntent | None:
        found = self._ledger.select(_INTENT, execution_id)
        return codec.decode_own(as_bytes(found[0][0]), ExecutionIntent, "intent") if found else None

    def of(self, plan_id: str) -> tuple[StoredIntent, ...]:
        return tuple(as_execution(*row) for row in self._ledger.select(_EXECUTIONS, plan_id))

    def commands(self, execution_id: str) -> tuple[StoredCommand, ...]:
        return tuple(
            StoredCommand(
                codec.decode_own(as_bytes(started), CommandStart, "command"),
                None if ended is None else codec.decode_own(as_bytes(ended), CommandEnd, "command"),
            )
            for started, ended in self._ledger.select(_COMMANDS, execution_id)
        )

    def plans_that_wrote(self, paths: Collection[str]) -> set[str]:
        """The ids of plans whose executions or commands name one of them."""
        return {
            str(row[0])
            for path in paths
            for row in self._ledger.select(_WROTE, codec.canonical(path).decode())
        }

    def add(self, intent: ExecutionIntent) -> None:
        self._ledger.execute(_ADD_INTENT, intent.id, intent.plan_id, text_of(intent))

    def add_result(self, result: ExecutionResult) -> None:
        self._ledger.execute(_ADD_RESULT, text_of(result), result.execution_id)

    def start_command(self, start: CommandStart) -> None:
        self._ledger.execute(_START_COMMAND, start.execution_id, start.spec_id, text_of(start))

    def end_command(self, end: CommandEnd) -> None:
        self._ledger.execute(_END_COMMAND, text_of(end), end.execution_id, end.spec_id)


def as_execution(intent: object, result: object) -> StoredIntent:
    return StoredIntent(
        codec.decode_own(as_bytes(intent), ExecutionIntent, "intent"),
        None if result is None else codec.decode_own(as_bytes(result), ExecutionResult, "result"),
    )
