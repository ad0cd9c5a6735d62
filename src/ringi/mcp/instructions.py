"""What an agent learns about the flow: a short text when it connects, and a prompt."""

from typing import Final

INSTRUCTIONS: Final = """\
ringi controls changes to this repository: you propose exact changes, a person approves exactly those \
bytes, and ringi writes them. Flow: plan_propose, plan_set_action_specs, plan_preview, \
plan_request_approval, plan_wait, plan_execute. Only a person can approve, in their own \
terminal; never try to do it for them. If it is unclear what your user wants, take them through a planning \
session: planning_start, planning_answer, planning_decide. Your user answers its questions, not you."""

FLOW_NAME: Final = "ringi_flow"
FLOW_TITLE: Final = "Change files through ringi"
FLOW_DESCRIPTION: Final = "How to get a change approved by a person and executed."
TASK_DESCRIPTION: Final = "What should be changed, in a sentence or two."

FLOW: Final = """\
Change files of this repository only through ringi's tools:

1. plan_propose: describe what should change and why. The first line is the title the person sees.
2. plan_set_action_specs: the exact changes, in order. Kinds: create, write (whole content), patch (a \
unified diff), delete, move, mkdir, run (a command as a list of words, no shell), read, analyze. If the \
report is not ok, fix the reported problems and set the specs again.
3. plan_preview: check your own diffs. Keep plans small; a person reads every line.
4. plan_request_approval: returns the command that the person should type, such as `ringi review p7`. \
Tell them.
5. plan_wait: returns when the person decides or comments. If outcome is null, call it again.
   - approved: continue with 6.
   - declined: read the feedback and the line comments, set corrected specs, and ask again. Do not ask \
again with the same specs.
   - cancelled or expired: check plan_get_state, then ask again.
   - The person may drop or edit parts. The answer lists what they changed; their version is the one \
that counts.
6. plan_execute: executes exactly what was approved. If a file has changed since, it refuses: set the \
specs again and ask again.

You cannot approve, and no tool can. Do not run `ringi approve` or `ringi review`, do not answer for the \
person, and do not look for a workaround: an approval covers exact bytes, which are checked again before \
anything is written.

If the task is large or unclear, plan it with your user first: planning_start, then pass on their \
answers (planning_answer) and choices (planning_decide), one at a time, never your own. \
planning_get shows the state of a session. The person approves the summary in their terminal."""


def flow(task: str) -> str:
    """The task is untrusted, so it is delimited as data."""
    if not task.strip():
        return FLOW
    return f"{FLOW}\n\nThe task as given:\n<task>\n{task.replace('</', '< /')}\n</task>"
