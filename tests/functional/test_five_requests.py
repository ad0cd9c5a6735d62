"""A request on a small package; `make show-planning` does the same on real ones."""

import subprocess
from pathlib import Path

import pytest

from tests.functional.desk import Desk
from tests.functional.five_requests import Request, led

FILES = {
    "README.md": "# Till\n\nTill adds up what a shop sells.\n",
    "CHANGELOG.md": "# Changelog\n\n## 1.1\n\n- Receipts.\n",
    "pyproject.toml": '[project]\nname = "till"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "src/till/money.py": "def round_up(amount):\n    return 1\n\n\ndef in_cents(amount):\n    return 1\n",
    "src/till/receipt.py": "class Receipt:\n    def total(self):\n        return 0\n",
    "tests/test_money.py": "from till.money import round_up\n\n\ndef test_it():\n    assert round_up(1)\n",
} | {f"src/till/part{n}.py": f"def work_{n}(value):\n    return value + {n}\n" * 20 for n in range(40)}
"""More than can be shown whole."""


@pytest.mark.req("IP-3", "PP-2", "RN-1")
@pytest.mark.parametrize(
    "request_",
    [
        Request(
            "in_cents gives a wrong amount", ("src/till/money.py", "tests/test_money.py", "CHANGELOG.md")
        ),
        Request("Make it faster", ("src/till/part7.py",), "It is work_7, with a million values"),
    ],
    ids=["bug", "faster"],
)  # fmt: skip
def test_no_question_that_the_project_answers(repo: Path, tmp_path: Path, request_: Request):
    for name, text in FILES.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    subprocess.run(["git", "add", "--all"], cwd=repo, check=True)
    story = led(Desk(repo), request_, tmp_path)
    assert len(story.asked) == bool(request_.slow)
    assert story.calls == 4
