"""What the plan tool is measured against: LangGraph, asking a person and writing one file.

It lives in an environment of its own below .make, so that the program's has nothing that it does not need.
This file is imported here and run there: as a script it answers each line with the seconds of one step.
"""

import contextlib
import fcntl
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".make" / "bench"
PYTHON = VENV / "bin" / "python"
PINS = "requirements/bench.txt"


class Missing(Exception):
    """It cannot be installed here."""


class Question(TypedDict):
    """The state of the graph."""

    path: str
    content: str


@contextlib.contextmanager
def steps(folder: Path) -> Iterator[Callable[[], float]]:
    """A process that waits for its turn; its own clock is read there, so that the pipe costs nothing."""
    install()
    # Nothing is to be sent to a tracing service.
    settings = ("LANGCHAIN_", "LANGSMITH_", "LANGGRAPH_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    argv = [str(PYTHON), "-P", str(Path(__file__)), str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=kept, stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        answers, turn = child.stdout, child.stdin

        def step() -> float:
            turn.write("\n")
            turn.flush()
            return float(answers.readline())

        yield step


def install() -> None:
    from tools import environment  # noqa: PLC0415  # not where this file runs as a script

    from bench.measure import QUICK  # noqa: PLC0415  # as above

    stamp = VENV.with_suffix(".stamp")
    pins = (ROOT / PINS).read_text(encoding="utf-8")
    wanted = f"{environment.PYTHON} {sys.version}\n{VENV}\n{pins}"
    environment.OWN.mkdir(exist_ok=True)
    with (environment.OWN / "lock").open("w") as lock:  # make -j may want it twice at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if PYTHON.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return
        if QUICK:  # it takes longer than all the rest
            raise Missing("without --quick it is set up")
        print("Setting up LangGraph, to compare with …", file=sys.stderr, flush=True)
        stamp.unlink(missing_ok=True)
        problems = []
        for commands in _ways(environment.PYTHON, environment._uv()):  # noqa: SLF001  # one project
            try:
                for command in commands:
                    environment._run(command)  # noqa: SLF001  # as above
            except environment.SetUpError as problem:
                problems.append(str(problem))
            else:
                stamp.write_text(wanted, encoding="utf-8")
                return
        raise Missing("\n".join(problems))


def _ways(python: str, uv: str | None) -> Iterator[Sequence[list[str]]]:
    """With uv; with pip when uv does not get through, since the two are told apart where packages are."""
    pins = ["--require-hashes", "-r", PINS]
    if uv:
        yield (
            [uv, "venv", "--quiet", "--clear", "--python", python, str(VENV)],
            [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON), *pins],
        )
    yield (
        [python, "-m", "venv", "--clear", str(VENV)],
        [str(PYTHON), "-m", "pip", "install", "--quiet", *pins],
    )


def text(number: int) -> str:
    """What is written, on both sides."""
    return f"This is line {number} of a file.\n" * 100


def answer_with_seconds(folder: Path) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415  # only in its own environment
    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415  # as above
    from langgraph.types import Command, interrupt  # noqa: PLC0415  # as above

    def write(state: Question) -> dict[str, str]:
        if interrupt(state["path"]) == "yes":
            Path(state["path"]).write_text(state["content"], encoding="utf-8")
        return {}

    database = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL").fetchone()
    database.execute("PRAGMA synchronous = FULL")
    graph = StateGraph(Question).add_node(write).add_edge(START, "write").add_edge("write", END)
    ready = graph.compile(checkpointer=SqliteSaver(database))
    for number, _ in enumerate(sys.stdin):
        thread = {"configurable": {"thread_id": str(number)}}
        question = Question(path=str(folder / f"f{number}.txt"), content=text(number))
        start = time.perf_counter()
        ready.invoke(question, thread)
        ready.invoke(Command(resume="yes"), thread)
        taken = time.perf_counter() - start
        assert Path(question["path"]).exists()
        print(taken, flush=True)
    database.close()


if __name__ == "__main__":
    answer_with_seconds(Path(sys.argv[1]))
