"""Rows of approvals and executions to documents."""

import sqlite3

import msgspec

from ringi.domain import codec
from ringi.domain.approval import Approval, ApprovalRequest, read_approval
from ringi.domain.execution import CommandEnd, CommandStart, ExecutionIntent, ExecutionResult
from ringi.domain.grant import Grant
from ringi.ports import StoredCommand, StoredGrant, StoredIntent
from ringi.store import sql
from ringi.store.planrows import as_bytes


def load_requests(database: sqlite3.Connection, plan_id: str) -> tuple[ApprovalRequest, ...]:
    rows = database.execute(sql.REQUESTS, (plan_id,))
    return tuple(codec.trusted(as_bytes(row[0]), ApprovalRequest, "approval request") for row in rows)


def load_approvals(
    database: sqlite3.Connection, name: str, statement: str = sql.APPROVALS
) -> tuple[Approval, ...]:
    """Those of the subject with this id, or what else the statement asks for."""
    return tuple(
        msgspec.structs.replace(read_approval(as_bytes(document)), spent_by=spent_by)
        for document, spent_by in database.execute(statement, (name,))
    )


def load_executions(database: sqlite3.Connection, plan_id: str) -> tuple[StoredIntent, ...]:
    return tuple(
        StoredIntent(
            codec.trusted(as_bytes(intent), ExecutionIntent, "intent"),
            None if result is None else codec.trusted(as_bytes(result), ExecutionResult, "result"),
        )
        for intent, result in database.execute(sql.EXECUTIONS, (plan_id,))
    )


def load_commands(database: sqlite3.Connection, execution_id: str) -> tuple[StoredCommand, ...]:
    return tuple(
        StoredCommand(
            codec.trusted(as_bytes(started), CommandStart, "command"),
            None if ended is None else codec.trusted(as_bytes(ended), CommandEnd, "command"),
        )
        for started, ended in database.execute(sql.COMMANDS, (execution_id,))
    )


def load_grants(database: sqlite3.Connection) -> tuple[StoredGrant, ...]:
    return tuple(
        StoredGrant(codec.trusted(as_bytes(document), Grant, "grant"), revoked_at)
        for document, revoked_at in database.execute(sql.GRANTS)
    )
