"""Run by the recorded program's Python, in a project: the script of docs/python.md, with its results."""

import ringi
from ringi import ActionSpec, RingiError, SpecKind

with ringi.open_workspace(".") as workspace:
    plan = workspace.plan
    plan_id = plan.propose("Greet in the morning, too", proposer="my-script")
    report = plan.set_action_specs(plan_id, [ActionSpec(SpecKind.CREATE, "morning.txt", "good morning\n")])
    print(report)
    preview = plan.preview(plan_id)
    print(preview.diffs[0].diff, preview.risk_score)
    print(plan.request_approval(plan_id))
    for act in (lambda: plan.approve(plan_id, approver="my-script"), lambda: plan.execute(plan_id)):
        try:
            act()
        except RingiError as refusal:
            print(type(refusal).__name__, refusal)
    print(plan.get_state(plan_id))
    print(plan.list())
    print(plan.discard(plan_id))
    print(workspace.metrics().groups[0])
    print(ringi.check_document(b'[{"kind": "write"}]', "specs.json"))
