"""Rows of approvals and executions to documents."""

import sqlite3

import msgspec

from ringi.domain import codec
from ringi.domain.approval import Approval, ApprovalRequest
from ringi.domain.execution import ExecutionIntent, ExecutionResult
from ringi.ports import StoredIntent
from ringi.store import sql
from ringi.store.planrows import as_bytes


def load_requests(database: sqlite3.Connection, plan_id: str) -> tuple[ApprovalRequest, ...]:
    rows = database.execute(sql.REQUESTS, (plan_id,))
    return tuple(codec.trusted(as_bytes(row[0]), ApprovalRequest, "approval request") for row in rows)


def load_approvals(database: sqlite3.Connection, plan_id: str) -> tuple[Approval, ...]:
    return tuple(
        msgspec.structs.replace(codec.trusted(as_bytes(document), Approval, "approval"), spent_by=spent_by)
        for document, spent_by in database.execute(sql.APPROVALS, (plan_id,))
    )


def load_executions(database: sqlite3.Connection, plan_id: str) -> tuple[StoredIntent, ...]:
    return tuple(
        StoredIntent(
            codec.trusted(as_bytes(intent), ExecutionIntent, "intent"),
            None if result is None else codec.trusted(as_bytes(result), ExecutionResult, "result"),
        )
        for intent, result in database.execute(sql.EXECUTIONS, (plan_id,))
    )
