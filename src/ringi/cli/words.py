"""How documents are put into words: statuses, risks, reasons, one line for a plan."""

from typing import Final

from ringi.domain.plan import Category, CheckResult, PlanRef, PlanStatus, Risk, RiskCode, RiskReason
from ringi.text import Text

STATUS: Final = {
    PlanStatus.PROPOSED: Text("proposed"),
    PlanStatus.PENDING_REVIEW: Text("waiting for you"),
    PlanStatus.APPROVED: Text("approved, not carried out"),
    PlanStatus.SCHEDULED: Text("about to run"),
    PlanStatus.EXECUTING: Text("running"),
    PlanStatus.COMPLETED: Text("done"),
    PlanStatus.ABORTED: Text("rolled back"),
}
RISK: Final = {Risk.LOW: Text("low"), Risk.MEDIUM: Text("medium"), Risk.HIGH: Text("HIGH")}
RISK_STYLE: Final = {Risk.LOW: "green", Risk.MEDIUM: "yellow", Risk.HIGH: "red"}


CATEGORY: Final = {
    Category.LOCK: Text("a lock file"),
    Category.CI: Text("part of the continuous integration"),
    Category.MIGRATION: Text("a migration"),
    Category.CREDENTIALS: Text("a file for credentials"),
    Category.BUILD: Text("a build or deploy file"),
    Category.OBEYED: Text("a file that makes tools run code or agents obey"),
    Category.CONFIGURED: Text("critical by configuration"),
}


def reason(path: str, given: RiskReason) -> Text:
    if given.code is RiskCode.DELETE:
        return Text("{path} is deleted", path=path)
    if given.code is RiskCode.LARGE_OVERWRITE:
        return Text("{path} changes in {count} lines", path=path, count=given.subject)
    if given.code is RiskCode.LARGE_REWRITE:
        return Text("{path} changes in {count} bytes", path=path, count=given.subject)
    return Text("{path} is {what}", path=path, what=CATEGORY[Category(given.subject)])


def status(ref: PlanRef) -> Text:
    return Text("undone") if ref.undone else STATUS[ref.status]


def size(files: int, added: int, removed: int) -> Text:
    if files == 1:
        return Text("1 file  +{added} -{removed}", added=added, removed=removed)
    return Text("{files} files  +{added} -{removed}", files=files, added=added, removed=removed)


def written(count: int) -> Text:
    if count == 1:
        return Text("✓ 1 file written, nothing staged, your index untouched")
    return Text("✓ {count} files written, nothing staged, your index untouched", count=count)


def check(result: CheckResult) -> Text:
    if result.exit_code == 0:
        return Text("passed on exactly these bytes: {command}", command=result.command)
    return Text("failed with exit code {code}: {command}", code=result.exit_code, command=result.command)
