"""What is not covered, in the form that code scanners exchange: SARIF 2.1.0."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from ringi.kernel import codec
from ringi.provenance.verdict import FileVerdict, Mode, RangeVerdict

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_RULE: Final = "ringi/not-covered"


def sarif(documents: Sequence[RangeVerdict], version: str) -> dict[str, Any]:
    """One result for each file that is not covered. In English, as scanners expect."""
    runs = [_run(document, version) for document in documents]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}


def _run(document: RangeVerdict, version: str) -> dict[str, Any]:
    level = "warning" if document.mode is Mode.REPORT else "error"
    driver = {
        "name": "ringi",
        "version": version,
        "rules": [
            {
                "id": _RULE,
                "shortDescription": {"text": "A change is not covered by an approval"},
                "fullDescription": {
                    "text": "No chain of approvals that count leads from the file before to the file after."
                },
                "defaultConfiguration": {"level": level},
            }
        ],
    }
    return {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": problem}} for problem in document.problems
                ],
            }
        ],
        "results": [_result(file, level) for file in document.uncovered],
    }


def _result(file: FileVerdict, level: str) -> dict[str, Any]:
    sides = [f"{side.mode} {side.blob}" if side else "" for side in (file.before, file.after)]
    told = "; ".join(file.why) or "nobody approved it"
    where = {"uri": quote(file.path), "uriBaseId": "%SRCROOT%"}
    return {
        "ruleId": _RULE,
        "ruleIndex": 0,
        "level": level,
        "message": {"text": f"{file.path} is not covered: {told}"},
        "locations": [{"physicalLocation": {"artifactLocation": where}}],
        "partialFingerprints": {"transition/v1": codec.digest("\n".join([file.path, *sides]).encode())},
        "properties": {"coverage": str(file.level)},
    }
