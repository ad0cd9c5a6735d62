"""What an agent learns about the flow: a short text when it connects, and a prompt."""

from typing import Final

INSTRUCTIONS: Final = """\
ringi is the gate between you and this repository: you propose exact changes, a person approves those \
very bytes, ringi writes them. Flow: plan_propose, plan_set_action_specs, plan_preview, \
plan_request_approval, plan_wait, plan_execute. Only a person can approve, in a terminal of their own; \
never try to do it for them. If it is not clear what your user wants, lead them through a planning \
session: planning_start, planning_answer, planning_decide. Its questions are for them."""

FLOW_NAME: Final = "ringi_flow"
FLOW_TITLE: Final = "Change files through ringi"
FLOW_DESCRIPTION: Final = "How to get a change approved by a person and carried out."
TASK_DESCRIPTION: Final = "What should be changed, in a sentence or two."

FLOW: Final = """\
Change files of this repository only through ringi's tools:

1. plan_propose: say in words what should change and why. The first line is the title the person sees.
2. plan_set_action_specs: the exact changes, in order. Kinds: create, write (whole content), patch (a \
unified diff), delete, move, mkdir, run (a command as a list of words, no shell), read, analyze. If the \
report is not ok, mend what it names and set them again.
3. plan_preview: read your own diffs once more. Keep plans small; a person reads every line.
4. plan_request_approval: answers at once with what the person should type, such as `ringi review p7`. \
Tell them.
5. plan_wait: returns when the person decides or says something. With outcome null, call it again.
   - approved: go on to 6.
   - declined: read the feedback and the line comments, set corrected specs, ask again. A decline \
means: not like this. Do not ask again with the same specs.
   - cancelled or expired: look at plan_get_state, then ask again.
   - The person may drop or edit parts; what they changed is named. The plan as they left it is what \
counts.
6. plan_execute: carries out exactly what was approved. If a file changed since, it refuses: set the \
specs anew and ask again.

You cannot approve, and no tool can. Do not run `ringi approve` or `ringi review`, do not answer for the \
person, do not look for a way around: what is approved is bound to its bytes and checked again before \
anything is written.

If the task is large or not clear, plan it with your user first: planning_start, then hand on their \
answers (planning_answer) and their choices (planning_decide), one at a time and never your own. \
planning_get shows the state of a session. The person approves the summary in their terminal."""


def flow(task: str) -> str:
    """The task is untrusted, so it is delimited as data."""
    if not task.strip():
        return FLOW
    return f"{FLOW}\n\nThe task, as it was given:\n<task>\n{task.replace('</', '< /')}\n</task>"
