"""Planning sessions with the built-in playbook: no model, the same questions every time."""

import json

from tests.records.scene import Scene

REQUEST = "Print the total below the report"


def planning(scene: Scene) -> None:
    """A request, its questions and decisions, a summary that is approved."""
    scene.make_project()
    key = scene.list_key()
    scene.refuse("cli/plan", "plan")
    scene.record("cli/plan/show-prompt", "plan", REQUEST, "--show-prompt")
    first = scene.forms("cli/plan", "plan", REQUEST)
    session = json.loads(first.out)["sessionId"]
    scene.refuse("cli/plan", "plan", "--resume", session, "--answer", "x", "--to", "q-9", form="refusal-to")
    scene.refuse(
        "cli/plan", "plan", "--resume", session, "--approve", "--sign", key, form="refusal-too-early"
    )
    scene.forms("cli/status-session", "status", session)
    step = scene.record(
        "cli/plan/answer", "plan", "--resume", session, "--answer", "python3 calc.py prints 5"
    )
    for number in range(1, 9):
        view = json.loads(step.out)["pending"]
        if view["kind"] == "approval":
            break
        words = (
            ["--answer", view["decision"]["options"][0]["id"]] if view["kind"] == "decision" else ["--skip"]
        )
        step = scene.record(f"cli/plan/step-{number}", "plan", "--resume", session, *words)
    with scene.rewinding():
        scene.record("cli/plan/reject", "plan", "--resume", session, "--reject", "Smaller, please")
    with scene.rewinding():
        scene.record("cli/plan/cancel", "plan", "--resume", session, "--cancel")
    scene.record("cli/plan/approve", "plan", "--resume", session, "--approve", "--sign", key)
    scene.record("cli/verify/session", "verify")
    scene.record("cli/plan/answers", "plan", "Sort the list", "--answers",
                 scene.write("answers.yaml", "answers:\n- calc.py sorts\n"))  # fmt: skip
    scene.refuse(
        "cli/plan", "plan", "Sort", "--answers", scene.write("bad.yaml", "- 1\n"), form="refusal-answers"
    )
    scene.record("cli/log/session", "log", session)
    typed = [(r"\n> ", "python3 calc.py prints 5"), (r"\[q\]", "a"), (r"\[y/n\]", "y"), (r"\[y/n\]", "n")]
    scene.record("cli/plan/typed", "plan", REQUEST, answers=typed)
