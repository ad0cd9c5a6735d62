"""Every error of the program, in one tree.

RingiError                    code, message, hint, exit code; message and hint are templates
├── Failed              1     the attempt failed
│   ├── StorageFailed         the ledger or a file could not be written
│   │   ├── FolderUnusable    a folder of ours outside the project
│   │   ├── Unreadable        a file could not be read
│   │   │   └── TooLarge      it is larger than what is read at all
│   │   ├── HalfWritten       an execution stopped in the middle, and could not take back
│   │   └── InTheWay          a link or a file in place of a folder of ours
│   ├── LedgerCorrupt         the ledger is damaged
│   ├── LedgerOlder           the ledger is an older copy of itself
│   ├── EarlierVersion        the ledger was written before the first format that is read
│   ├── NewerVersion          written by a later version of the program
│   ├── LedgerUpgraded        a later version migrated the ledger that this process has open
│   ├── CopyFailed            the work copy could not be made or read
│   │   └── WorkKept          an agent's work could not become a plan yet
│   ├── ExecutionAborted      an execution stopped before its end
│   ├── CommitFailed          the files are written, but not committed
│   ├── StepNotCommitted      a step of a run that could not become a commit, and was taken back
│   ├── RevertFailed          the files are restored, but the plan's commit is not reverted
│   ├── NotesFailed           the notes that prove an approval could not be written or exchanged
│   │   └── NotesDamaged      they cannot be read
│   ├── SyncFailed            notes could not be exchanged with a remote
│   │   └── PushRefused       it took none of ours
│   ├── PushFailed            a branch could not be pushed
│   │   ├── NotOffered        a step that somebody has to look at here first
│   │   ├── BranchOvertaken   somebody changed it there at the same moment
│   │   └── OfferMoved        it is not as the run left it there
│   ├── ForgeFailed           a forge did not do what was asked
│   │   ├── ForgeUnreachable  no connection, or it was lost
│   │   ├── ForgeBusy         too many calls, or it failed until the time was up
│   │   ├── ForgeRejected     the token is missing something, or is not valid any more
│   │   ├── ForgeMissing      there is no such thing, or the token may not see it
│   │   ├── ForgeConflict     it is not possible as things are there now
│   │   │   ├── ChangeOver    a pull or merge request is closed or merged
│   │   │   └── ChangeTaken   somebody else opened one from the branch of the run, or into another branch
│   │   └── BadForgeAnswer    not what its interface promises
│   ├── CloneUnreadable       a clone lacks something that a check must read
│   │   └── CloneDamaged      though it was made to have everything
│   ├── RefDamaged            a ref that leads to no commit
│   ├── SigningFailed         no signature could be made
│   ├── SignatureUnchecked    whether a signature counts could not be found out
│   ├── NotProven             what was carried out is not what was approved
│   ├── LogBroken             the log was changed
│   ├── SignersForged         the ledger's list of signers was changed
│   ├── SessionFailed         a planning session stopped; it can be resumed
│   ├── ModelFailed           a language model gave no usable answer
│   │   ├── ModelRejected     its service refused the call: the key, the name, the request
│   │   ├── ModelUnreachable  no connection, or it was lost
│   │   ├── ModelBusy         too many calls, or the service failed until the time was up
│   │   ├── ModelTimeout      no answer in time
│   │   ├── RoleTimeout       a model in a role: its whole turn took too long
│   │   ├── ModelDeclined     no answer, or a refusal
│   │   ├── BadModelAnswer    an answer in the wrong form
│   │   ├── BudgetUsed        models may take no more in this run
│   │   └── OutlineFailed     nothing could be outlined because of one of these
│   └── Unsupported           this file system or system lacks something
├── Usage               2     the call itself is wrong
│   ├── NotFound              no such plan, file, key
│   ├── AmendedTwice          a file of a plan that is to be changed in two ways at once
│   ├── NoCurrentPlan         no plan was named, and none is current
│   ├── NoRun                 no run was named, and none fits
│   ├── NameTaken             another program has the name
│   ├── Ambiguous             more than one plan is meant
│   ├── NoSuchProgram         the command to run does not exist
│   ├── NothingToResume       no copy in which an agent could continue
│   │   └── BegunInEditor     an agent that speaks only with an editor
│   ├── NothingToDo           an agent without a message and without a terminal
│   ├── Unreviewable          a branch, commit or worktree that cannot become a plan
│   ├── NoSuchCommit          a name that this clone has no commit for
│   ├── AmbiguousName         a name that a branch and a tag share
│   ├── NoForge               no remote leads to a forge that is known
│   ├── NoForgeToken          no token for a forge
│   ├── ItemRefused           an issue or change that cannot be worked on here
│   ├── NotOnForge            a run that was approved without one
│   ├── NoRemote              no remote to exchange notes with
│   ├── NoExtra               an optional part that is not installed
│   ├── NoState               no project state was captured yet
│   ├── NothingToAdopt        no ledger of an earlier path
│   ├── NoHome                no home folder is known
│   ├── NotAbsolute           a variable that has to name a whole path
│   ├── NoWorkspace           there is no workspace here
│   ├── UnknownModel          the configuration names an unknown model
│   ├── NoTaskModel           a task, and no model to do it
│   ├── NoModelKey            the key for a model is not in the environment
│   └── BadConfiguration      a configuration file or variable is wrong
├── PersonNeeded        3     an approval or an answer is missing
│   ├── NotApproved           execute without approval
│   │   └── ReadNotApproved   read what is not free to read
│   ├── NotRequested          approve without a request
│   ├── UnknownCommand        nobody knows how a command ended
│   ├── Conflicting           a person and a proposer changed the same
│   ├── NoChannel             nobody can be asked here
│   └── OutOfReach            an agent in its copy asks for the ledger
├── Stale               4     the workspace changed since
│   ├── EffectsUnknown        a command was cut off, and no undo knows what it changed
│   ├── UndoStale             what somebody wrote since conflicts with the undo
│   ├── UndoChanged           files changed between the question and the answer
│   ├── PlanChanged           the plan is not what the person was shown
│   ├── Superseded            a change plan of an earlier project state
│   └── PushStale             an editor's data is about older files
├── NotGranted          5     declined, cancelled or expired
│   ├── Expired
│   ├── RevisionExpired       nobody approved a revision of a plan in time
│   ├── ChangeRejected        a change plan that a person rejected
│   └── GrantRefused          a standing approval that does not cover it
├── Refused             6     validation or a gate said no
│   ├── NotCovered            a range has changes that nobody provably approved
│   ├── PathRefused
│   ├── BadDocument
│   │   ├── BadAnswers        a file of answers that cannot be read
│   │   ├── BadBrought        an agent brought what a session cannot use
│   │   └── UnfitForRun       a planning.json or a request that no run can begin with
│   ├── BadTransition
│   │   ├── AlreadyDone       a plan that was carried out
│   │   │   └── AlreadyUndone   and taken back
│   │   └── NotNow            a plan that must be somewhere else first
│   ├── BadInstruction        a planning session cannot begin with it
│   ├── BadAnswer             it does not answer the question
│   ├── BadFeedback           words that cannot be taken as feedback
│   ├── NotAsked              an answer to another question
│   ├── SessionOver           a planning session that has ended
│   ├── RunOver               a run that has ended, or that another one replaced
│   ├── NotAmended            a path or a test that would change nothing about a run as it is
│   ├── CannotReplan          a run that planning again would not help
│   ├── InvalidSpecs          a plan's specs cannot be carried out
│   ├── UnfitSpecs            specs that did not become a plan
│   ├── WrongAnswer           typed for something else, or not what was asked
│   ├── SignatureRefused      a signature that proves nothing
│   │   ├── UnlistedKey       by a key that nobody listed
│   │   │   └── UnacceptedList  a line that does not count in this workspace
│   │   ├── SignatureNeeded   a typed answer, where only a signature counts
│   │   │   └── SignerNeeded  it changes whose signatures count
│   │   └── BadSignature      not a signature of these bytes
│   ├── ReviewRefused         a yes on a forge that does not count
│   ├── NoSigners             only signatures would count, and nobody could sign
│   ├── BadGrant              a standing approval that cannot be given
│   ├── NotTogether           plans that must be approved one by one
│   ├── NoSandbox             a command must run in a sandbox, and there is none
│   ├── StateInWorkspace      an agent's own folder that leads into the workspace
│   ├── ModelOutside          a model that an agent would start outside its sandbox
│   ├── NoCommit              nothing can be committed here
│   │   └── FilterNeeded      a program would have to run that nobody has approved the input of
│   ├── BranchMerged          the branch of a run that another branch has taken in
│   ├── StepElsewhere         a step of a run, which is carried out on the run's branch
│   ├── BranchRefused         a run cannot have its branch
│   │   ├── NoGit             there is no repository
│   │   ├── UnbornBranch      a branch without a commit
│   │   ├── DetachedHead      no branch is checked out
│   │   ├── BaseBranchMissing the branch it begins with is not checked out
│   │   ├── WorkBranchExists  another branch has the name
│   │   ├── MainBranch        the run would commit to a main branch
│   │   └── BranchMoved       somebody else changed the branch
│   ├── TooManyFiles          an agent changed more than one plan can hold
│   ├── NotTaken              a person's text that the plan cannot take
│   ├── NotYours              a plan that somebody else proposed
│   ├── TakenFromCopy         a plan that only follows the files of its copy
│   ├── NotPermitted          a user who may not plan and run here
│   ├── NoTool                an outside tool that is missing
│   ├── CheckFailed           a check before or after an execution
│   ├── NothingToUndo
│   ├── NoSuchForm            a plan that cannot be shown in another form
│   ├── BadPatch              a patch that cannot be read
│   │   └── BinaryPatch       it holds a file that is not text
│   ├── PatchMismatch         a patch that does not fit the file
│   │   └── AmbiguousPatch    it fits in several places
│   └── ChangeRefused         a rule of change plans
│       ├── NoBasis           no reason given
│       ├── NoDiagnostics     it claims an error but names none
│       ├── UnknownDiagnostic it names an error that nothing reports
│       ├── NoDiff            it changes nothing
│       ├── ScopeMismatch     it names other files than it changes
│       ├── PathMismatch      a diff names another file
│       ├── NotAnEdit         an editor could not apply it
│       ├── PartialChange     only a part of it was selected
│       ├── ChangeFixed       its diffs cannot be replaced
│       ├── StateIncomplete   its project state is incomplete
│       └── RiskMismatch      its risk is not what its files say
├── Busy                7     someone else holds the lock
│   ├── LostRace              somebody saved the same plan first
│   ├── SessionRace           somebody else continued the same planning session
│   └── RunRace               somebody else changed the same run
└── Interrupted         130
"""

from typing import Any, ClassVar


class RingiError(Exception):
    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    message: ClassVar[str] = "{what}"
    hint: ClassVar[str] = ""

    def __init__(self, **details: object) -> None:
        super().__init__()
        self.details = details

    def __str__(self) -> str:
        return self.message.format_map(self.details)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.details)


def _rebuild(kind: type[RingiError], details: dict[str, object]) -> RingiError:
    return kind(**details)


class Failed(RingiError):
    code = "failed"


class StorageFailed(Failed):
    code = "storage_failed"
    message = "{what} could not be written: {why}"
    hint = "Free some space or fix the permissions, then run the same command again; nothing is half-written."


class FolderUnusable(StorageFailed):
    code = "folder_unusable"
    message = "{what} could not be written: {why}"
    hint = "{todo}"


class Unreadable(StorageFailed):
    code = "unreadable"
    message = "{what} could not be read: {why}"
    hint = "Fix its permissions or close the program that writes to it, then run the same command again."


class TooLarge(Unreadable):
    code = "too_large"
    message = "{what} is too large to be read: {why}"
    hint = "Give a smaller one. A file that no plan can hold is changed by hand: cp, mv or rm"


class HalfWritten(StorageFailed):
    code = "half_written"
    message = "Stopped with {done} of {total} files written: {why}"
    hint = "Once this is mended, run: ringi recover (it finishes or takes back the rest)."


class InTheWay(StorageFailed):
    code = "in_the_way"
    message = "{what} cannot be used: {why}"
    hint = "Move it away, then run the same command again; ringi makes its own."


class LedgerCorrupt(Failed):
    code = "ledger_corrupt"
    message = "The ledger {path} is damaged: {why}"
    hint = "Run: ringi doctor --repair (it keeps the damaged file under another name)."


class LedgerOlder(Failed):
    code = "ledger_older"
    message = "The ledger is an older copy: event {seq} was committed and is not in it."
    hint = "If you restored a backup, run: ringi doctor --accept-backup. If not, somebody replaced it."


class EarlierVersion(Failed):
    code = "earlier_version"
    message = "The ledger in {path} was written by an earlier version of ringi, which this one does not read."
    hint = "Move that folder away, then run the same command again; ringi makes its own. Nothing was changed."


class NewerVersion(Failed):
    code = "newer_version"
    message = "{what} was written by a later version of ringi (format {found}, this one knows {known})."
    hint = "Upgrade ringi, then try again. Nothing was changed."


class LedgerUpgraded(Failed):
    code = "ledger_upgraded"
    message = "The ledger was upgraded by a newer Ringi; start this command again."
    hint = "If an agent started it, restart the agent. The next command finishes what was interrupted."


class CopyFailed(Failed):
    code = "copy_failed"
    message = "The work copy cannot be used: {why}"
    hint = "Your files were not touched. Free some space or fix the cause, then run the same command again."


class WorkKept(CopyFailed):
    code = "work_kept"
    message = "The agent's work is not a plan yet: {why}"
    hint = "It is kept in {path}. Free some space or fix the cause, then run: ringi doctor --repair"


class ExecutionAborted(Failed):
    code = "execution_aborted"
    message = "Plan {plan} was not completed: {why}"
    hint = "Incomplete parts were rolled back. See what was done: ringi show {plan}"


class CommitFailed(Failed):
    code = "commit_failed"
    message = "The files of {plan} are written, but there is no commit: {why}"
    hint = "Commit them yourself, or undo the plan: ringi undo {plan}"


class StepNotCommitted(Failed):
    code = "step_not_committed"
    message = "{plan} is not committed ({why}); {became}"
    hint = "Fix the hook or the change, then go on with the run: ringi continue {run}"


class RevertFailed(Failed):
    code = "revert_failed"
    message = "The files are back to before {plan}, but no commit reverts its own: {why}"
    hint = "Commit them yourself: git status"


class SessionFailed(Failed):
    code = "session_failed"
    message = "Planning session {session} stopped: {why}"
    hint = (
        "Your answers are saved; the log is {log}. Continue: ringi plan --resume {session} "
        "or, with another model: RINGI_MODEL=playbook ringi plan --resume {session}"
    )


class ModelFailed(Failed):
    code = "model_failed"
    message = "{model} gave no usable answer: {why}"
    hint = "Try again, or use another model: RINGI_MODEL=playbook needs none."

    exchanges: tuple[Any, ...] = ()
    """The attempts, for the log."""
    usage: Any = None
    """What it cost all the same."""


class BudgetUsed(ModelFailed):
    code = "budget_used"
    message = "{model} is not asked: {key} allows no further call."
    hint = "See what is allowed, and raise it in your configuration: ringi config show"


class ModelRejected(ModelFailed):
    code = "model_rejected"
    message = "{model} refused the call: {why}"
    hint = "Check the key in the environment and the name of the model: ringi config show"


class ModelUnreachable(ModelFailed):
    code = "model_unreachable"
    message = "{model} cannot be reached: {why}"
    hint = "Check the network and llm.base_url, or do without a model: RINGI_MODEL=playbook"


class ModelBusy(ModelFailed):
    code = "model_busy"
    message = "{model} takes no calls now: {why}"
    hint = "Try again later, or give it more time: {key}"

    def __init__(self, *, key: object = "llm.timeout_sec", **details: object) -> None:
        super().__init__(key=key, **details)


class ModelTimeout(ModelFailed):
    code = "model_timeout"
    message = "{model} did not answer within {seconds} seconds ({key})."
    hint = "Give it more time: {key}"

    def __init__(self, *, key: object = "llm.timeout_sec", **details: object) -> None:
        super().__init__(key=key, **details)


class RoleTimeout(ModelFailed):
    code = "role_timeout"
    message = "{who} did not end within {seconds} s ({key})."
    hint = "Give it more time: {key}"


class ModelDeclined(ModelFailed):
    code = "model_declined"
    message = "{model} did not answer the question: {why}"
    hint = "Rephrase the instruction, or use another model."


class BadModelAnswer(ModelFailed):
    code = "bad_model_answer"
    message = "{model} answered in a form that cannot be used: {why}"
    hint = "Try again, or use a larger model."


class OutlineFailed(ModelFailed):
    code = "outline_failed"
    message = "Nothing was outlined: {why}"
    hint = "The log is {log}. Try again, or without a model: RINGI_MODEL=playbook ringi run --outline '…'"


class Unsupported(Failed):
    code = "unsupported"
    message = "This needs something that is missing here: {what}"
    hint = "Run: ringi doctor"


class NotesFailed(Failed):
    code = "notes_failed"
    message = "The notes that prove approvals could not be written or exchanged: {why}"
    hint = (
        "Nothing else was changed. Fix that, or do without notes: provenance.notes: off in your configuration"
    )


class NotesDamaged(NotesFailed):
    code = "notes_damaged"
    message = "The notes that prove approvals are damaged: {why}"
    hint = "Rebuild them: ringi recover"


class SyncFailed(Failed):
    code = "sync_failed"
    message = "The notes could not be exchanged with {remote}: {why}"
    hint = "Your own notes are safe. Fix that, then run the same command again."


class PushRefused(SyncFailed):
    code = "push_refused"
    message = "{remote} did not take the notes: {why}"
    hint = (
        "They are safe here, and what {remote} had has been merged. To only fetch, run: ringi sync --no-push"
    )


class PushFailed(Failed):
    code = "push_failed"
    message = "The branch could not be pushed to {remote}: {why}"
    hint = "Nothing is lost. Check the network and your access there, then run the same command again."


class NotOffered(PushFailed):
    code = "not_offered"
    message = "{step} goes to no forge before somebody has looked at it here: {why}"
    hint = "ringi review {plan}"


class BranchOvertaken(PushFailed):
    code = "branch_overtaken"
    message = "{branch} was changed at {remote} at the same moment"
    hint = "Run the same command again."


class OfferMoved(PushFailed):
    code = "offer_moved"
    message = "The branch {branch} on {host} is not as the run left it: {why}"
    hint = "Put it back there, decide about the run here with ringi review, or end it: ringi cancel {run}"


class ForgeFailed(Failed):
    code = "forge_failed"
    message = "{host} did not do what was asked: {why}"
    hint = "Nothing is lost. Run the same command again; ringi status shows what is left to do."


class ForgeUnreachable(ForgeFailed):
    code = "forge_unreachable"
    message = "{host} cannot be reached: {why}"
    hint = "Check the network and forge.base_url, then run the same command again."


class ForgeBusy(ForgeFailed):
    code = "forge_busy"
    message = "{host} is busy, or wants fewer calls: {why}"
    hint = "Run the same command again later; nothing is done twice."


class ForgeRejected(ForgeFailed):
    code = "forge_rejected"
    message = "{host} refused the token: {why}"
    hint = (
        "Give one that may do this. On GitHub it reads and writes contents, issues, pull requests and commit "
        "statuses; on GitLab it has the scope api and the role Developer."
    )


class ForgeMissing(ForgeFailed):
    code = "forge_missing"
    message = "{host} has no {what}, or the token may not see it"
    hint = "Check the address, and that the token may read the project."


class ForgeConflict(ForgeFailed):
    code = "forge_conflict"
    message = "{host} cannot do that as things are there now: {why}"
    hint = "Look at it there, then run the same command again."


class ChangeOver(ForgeConflict):
    code = "change_over"
    message = "{change} on {host} is {state}; nothing is opened a second time"
    hint = "Decide about the run here: ringi review. Or end it: ringi cancel {run}"


class ChangeTaken(ForgeConflict):
    code = "change_taken"
    message = "{change} on {host} is from the same branch and not the run's own: {why}"
    hint = "Close it there, then: ringi continue. Or decide about the run here: ringi review"


class BadForgeAnswer(ForgeFailed):
    code = "bad_forge_answer"
    message = "{host} answered with something else than its interface promises: {why}"
    hint = "Check forge.base_url: perhaps another program answers there."


class CloneUnreadable(Failed):
    code = "clone_unreadable"
    message = "This clone cannot be checked: {why}"
    hint = "Fetch what it lacks: git fetch --unshallow if it is shallow, else git fetch --refetch --no-filter"


class CloneDamaged(CloneUnreadable):
    code = "clone_damaged"
    message = "This clone is damaged: {why}"
    hint = (
        "The notes and the branches of runs: ringi recover. "
        "The rest from a remote that has it: git fetch --refetch"
    )


class RefDamaged(Failed):
    code = "ref_damaged"
    message = "{ref} in the repository is damaged: {why}"
    hint = "The branch of a run: ringi recover. Of any other, {log} may say which commits it was at"


class SigningFailed(Failed):
    code = "signing_failed"
    message = "No signature could be made with {key}: {why}"
    hint = "Try the key by itself: ssh-keygen -Y sign -n ringi-approval -f {key} SOME-FILE"


class NotProven(Failed):
    code = "not_proven"
    message = "Plan {plan} is not proven: {why}"
    hint = "Look at its history: ringi log {plan}"


class SignersForged(Failed):
    code = "signers_forged"
    message = "The ledger's list of signers is not what the log says was accepted; nothing can be approved."
    hint = "See what was changed: ringi log --verify. Then restore a backup of the ledger."


class LogBroken(Failed):
    code = "log_broken"
    message = "The log was altered ({count} places)."
    hint = "Something changed the ledger. Compare it with a backup or with .agent/logs/plans/*/events.jsonl"


class Usage(RingiError):
    code = "usage"
    exit_code = 2


class AmendedTwice(Usage):
    code = "amended_twice"
    message = (
        "{path} is named twice: a file is dropped, loses hunks, or gets other content. Nothing was changed."
    )
    hint = "Do one after the other; what is shown in between: ringi show {plan} --as review"


class NoCurrentPlan(Usage):
    code = "no_current_plan"
    message = "There is no current plan."
    hint = "See the plans, and name one: ringi list"


class NoRun(Usage):
    code = "no_run"
    message = "No run is there for this command."
    hint = 'See the runs: ringi status; start one: ringi run "…"'


class NameTaken(Usage):
    code = "name_taken"
    message = "There is a program of this name already: {path}"
    hint = "Choose another name: ringi init --alias NAME"


class NotFound(Usage):
    code = "not_found"
    message = "There is no {what} {name}."
    hint = "See what there is: {see}"

    def __init__(self, *, see: str = "ringi list", **details: object) -> None:
        super().__init__(see=see, **details)


class NoSuchProgram(Usage):
    code = "no_such_program"
    message = "There is no program {name}."
    hint = "Check its spelling and your PATH, or give its full path."


class NothingToResume(Usage):
    code = "nothing_to_resume"
    message = "There is nothing to resume: {why}"
    hint = "Start a new one: ringi with AGENT"


class BegunInEditor(NothingToResume):
    code = "begun_in_editor"
    message = "{agent} was started by an editor, and speaks only with editors."
    hint = "Continue in that thread: your next message there carries what you decided and commented."


class NothingToDo(Usage):
    code = "nothing_to_do"
    message = "{agent} got no message, and there is no terminal to type one."
    hint = "Start it in a terminal, or say what it should do: {command}"


class Unreviewable(Usage):
    code = "unreviewable"
    message = "{name} cannot be reviewed: {why}"
    hint = "Try: {command}"


class NoSuchCommit(Usage):
    code = "no_such_commit"
    message = "There is no commit {name} here"
    hint = "Try: {command}"


class AmbiguousName(Usage):
    code = "ambiguous_name"
    message = "{name} names more than one thing here, such as a branch and a tag."
    hint = "Write the whole name of the one you mean, such as refs/heads/main or refs/remotes/origin/main"


class NoForge(Usage):
    code = "no_forge"
    message = "No forge is known for this: {why}"
    hint = "{todo}"


class NoForgeToken(Usage):
    code = "no_forge_token"
    message = "There is no token for {host}"
    hint = (
        "Set {variable}, or log in with git's credential helper. On GitHub it reads and writes contents, "
        "issues, pull requests and commit statuses; on GitLab it has the scope api and the role Developer."
    )


class ItemRefused(Usage):
    code = "item_refused"
    message = "{item} cannot be worked on here: {why}"
    hint = "{todo}"


class NotOnForge(Usage):
    code = "not_on_forge"
    message = "{run} cannot be reviewed on a forge: {why}"
    hint = "Plan it so that this is approved, too: ringi run --review forge …"


class NoRemote(Usage):
    code = "no_remote"
    message = "Notes cannot be exchanged: {why}."
    hint = "Name a remote or an address: ringi sync REMOTE (git remote -v lists the remotes)"


class NoExtra(Usage):
    code = "no_extra"
    message = "{what} needs a package that is not installed."
    hint = "Install it with: {command}"


class NoState(Usage):
    code = "no_state"
    message = "No project state was captured yet."
    hint = "Capture one: ringi state capture"


class NothingToAdopt(Usage):
    code = "nothing_to_adopt"
    message = "No ledger was found for an earlier location of {path}."
    hint = "If the ledger is elsewhere, say where: RINGI_STATE_DIR=… ringi doctor --adopt"


class Ambiguous(Usage):
    code = "ambiguous"
    message = "{name} could be any of: {candidates}."
    hint = "Give more characters of the id."


class NoHome(Usage):
    code = "no_home"
    message = "No home folder is known: HOME is not set, and the system names none for this user."
    hint = "Set it to an absolute path: export HOME=/…"


class NotAbsolute(Usage):
    code = "not_absolute"
    message = "{variable} is {value}, which is not an absolute path."
    hint = "Write the whole path: export {variable}=/…"


class NoWorkspace(Usage):
    code = "no_workspace"
    message = "{path} is neither a git repository nor a ringi workspace."
    hint = "Go to your project, or make this folder a workspace: ringi init"


class UnknownModel(Usage):
    code = "unknown_model"
    message = "{model} cannot be used as a model: {why}"
    hint = (
        "Set model to playbook, openai:NAME, anthropic:NAME, ollama:NAME, command:claude, command:codex, "
        "command:gemini or command:PROGRAM …"
    )


class NoTaskModel(Usage):
    code = "no_task_model"
    message = "A task needs a language model, and none is configured."
    hint = (
        "Name one: RINGI_MODEL=openai:gpt-5, or model: in your configuration."
        ' Without one: ringi run "…" --with COMMAND'
    )


class NoModelKey(Usage):
    code = "no_model_key"
    message = "{model} needs a key, and {variable} is not set."
    hint = "Set {variable} in the environment, or do without a model: RINGI_MODEL=playbook"


class BadConfiguration(Usage):
    code = "bad_configuration"
    message = "{where}: {problem}"
    hint = "See every key and where it comes from: ringi config show"


class PersonNeeded(RingiError):
    code = "person_needed"
    exit_code = 3


class NotApproved(PersonNeeded):
    code = "not_approved"
    message = "Nobody has approved plan {plan} as it is now; nothing was changed."
    hint = "A person approves it with: ringi review {plan} (or: ringi approve {plan})"


class ReadNotApproved(NotApproved):
    code = "read_not_approved"
    message = "Nobody has approved what plan {plan} reads, and it is not free to read: {why}"


class NotRequested(PersonNeeded):
    code = "not_requested"
    message = "Nobody was asked to approve plan {plan} as it is now."
    hint = "Ask first (request_approval), show what was asked, then approve; or: ringi review {plan}"


class Conflicting(PersonNeeded):
    code = "conflicting"
    message = "You and the proposer of {plan} changed the same: {places}"
    hint = "Decide it in a review: ringi review {plan}"


class UnknownCommand(PersonNeeded):
    code = "unknown_command"
    message = "Plan {plan}: {spec} was started ({command}) and nobody knows how it ended."
    hint = "See what it did, then say: ringi recover {plan} --done {spec}, or --again {spec} to run it again"


class NoChannel(PersonNeeded):
    code = "no_channel"
    message = "Nobody can be asked here: {why}"
    hint = "A person runs this in a terminal of their own: {command}"

    def __init__(self, *, plan: str = "", command: str = "", **details: object) -> None:
        super().__init__(command=command or f"ringi review {plan}".rstrip(), plan=plan, **details)


class OutOfReach(PersonNeeded):
    code = "out_of_reach"
    message = "The plans are out of reach in an agent's copy; a person decides about them, outside of it."
    hint = (
        "What is changed in the copy becomes a plan when the agent is done. "
        "A person runs this in a terminal of their own: {command}"
    )


class Stale(RingiError):
    code = "stale"
    exit_code = 4
    message = "Plan {plan} no longer fits the workspace; nothing was changed. Different now: {paths}"
    hint = "Look at the difference and decide again: ringi review {plan}"


class EffectsUnknown(Stale):
    code = "effects_unknown"
    message = "Not undone: what these commands of {plan} changed, because they were cut off: {commands}"
    hint = "See what differs with git status and restore it by hand. Another plan: ringi undo PLAN"


class UndoStale(Stale):
    code = "undo_stale"
    message = "These files of {plan} are left alone, because they were changed since: {paths}"
    hint = "See the difference: ringi show {plan} --since; then change them by hand"


class UndoChanged(Stale):
    code = "undo_changed"
    message = "The files or the branch changed after they were shown to you; nothing was undone."
    hint = "Look again: ringi undo {plan}"


class PlanChanged(Stale):
    code = "plan_changed"
    message = "Plan {plan} was changed since you looked at it; nothing was done."
    hint = "Look at it again: ringi review {plan}"


class Superseded(Stale):
    code = "superseded"
    message = "Change plan {plan} is rejected: the project changed since it was made, so it is superseded."
    hint = "Propose it for the current project, as a new plan: ringi propose --again {plan}"


class PushStale(Stale):
    code = "push_stale"
    message = (
        "The editor's data is about snapshot {pushed}, but the files are {found} now; nothing was stored."
    )
    hint = "Push it again with the current snapshot, shown by: ringi state capture"


class NotGranted(RingiError):
    code = "not_granted"
    exit_code = 5


class Expired(NotGranted):
    code = "expired"
    message = "The approval of plan {plan} expired at {when}; nothing was changed."
    hint = "Approve it again: ringi review {plan}"


class RevisionExpired(NotGranted):
    code = "revision_expired"
    message = "Nobody approved the revision of run {run} in time (planning.revision.approval_timeout)."
    hint = 'Go on without it: {command}; say what should change: ringi feedback {run} "…"'


class ChangeRejected(NotGranted):
    code = "change_rejected"
    message = "Change plan {plan} was rejected, and stays rejected."
    hint = "Propose it for the current project, as a new plan: ringi propose --again {plan}"


class GrantRefused(NotGranted):
    code = "grant_refused"
    message = "Standing approval {grant} does not cover this: {why}"
    hint = "A person decides: ringi review {plan}; or makes another one: ringi grant new"


class Refused(RingiError):
    code = "refused"
    exit_code = 6


class NotCovered(Refused):
    code = "not_covered"
    message = "Not covered by an approval that counts: {count} of {total} changed files"
    hint = "Approve them with a listed key, then share the notes: ringi sync"


class PathRefused(Refused):
    code = "path_refused"
    message = "{path} is refused: {why}"
    hint = "Use a plain path below the workspace, with forward slashes, that names no link."


class BadDocument(Refused):
    code = "bad_document"
    message = "{what} cannot be read: {why}"
    hint = "Compare it with: {see}"

    def __init__(self, *, see: str = "ringi check --schema", **details: object) -> None:
        super().__init__(see=see, **details)


class BadAnswers(BadDocument):
    code = "bad_answers"
    message = "Cannot use the answers in {what}: {why}"
    hint = "It has answers: and decisions:, each as a list in order or by id; see: ringi plan --help"


class BadBrought(BadDocument):
    code = "bad_brought"
    message = "{what} cannot be used: {why}"
    hint = "Nothing was saved. Correct all of it and bring it again."


class UnfitForRun(BadDocument):
    code = "unfit_for_run"
    message = "No run can begin with {what}:{why}"
    hint = "Correct it, and see whether all is well: ringi check {what}"


class BadTransition(Refused):
    code = "bad_transition"
    message = "A {machine} cannot go from {current} to {target}."
    hint = "From {current} it can go to: {allowed}"


class AlreadyDone(BadTransition):
    code = "already_done"
    message = "Plan {plan} was carried out already; nothing was changed."
    hint = (
        "Look at it: ringi show {plan}; undo it: ringi undo {plan}; do it again: ringi propose --fork {plan}"
    )


class AlreadyUndone(AlreadyDone):
    code = "already_undone"
    message = "Plan {plan} was carried out and undone; nothing was changed."
    hint = "Decide about it again: ringi review {plan}; or make a new plan of it: ringi propose --fork {plan}"


class NotNow(BadTransition):
    code = "not_now"
    message = "{what}; nothing was changed."
    hint = "{todo}"


class InvalidSpecs(Refused):
    code = "invalid_specs"
    message = "Plan {plan} cannot be carried out as it is: {issues}"
    hint = "Drop the invalid parts: ringi review {plan}; a program can set corrected specs."


class UnfitSpecs(Refused):
    code = "unfit_specs"
    message = "Nothing was proposed: {why}"
    hint = "Fix it and propose it again; nothing was stored."


class BadInstruction(Refused):
    code = "bad_instruction"
    message = "A planning session cannot begin with that: {why}"
    hint = 'Say in a sentence what should change: ringi plan "…"'


class BadAnswer(Refused):
    code = "bad_answer"
    message = "That does not answer {asked}: {why}"
    hint = "See what is asked: ringi status --session {session}"


class BadFeedback(Refused):
    code = "bad_feedback"
    message = "This feedback cannot be used: {why}"
    hint = "Say in a few sentences what should be different; a long text belongs in a file of the project."


class NotAsked(Refused):
    code = "not_asked"
    message = "{given} is not asked now; {asked}"
    hint = "See what is asked: ringi status --session {session}"


class SessionOver(Refused):
    code = "session_over"
    message = "Planning session {session} is {status}; nothing was changed."
    hint = 'Begin another one: ringi plan "…"'


class RunOver(Refused):
    code = "run_over"
    message = "Run {run} cannot go on: {why}"
    hint = "Go on with: {command}"


class NotAmended(Refused):
    code = "not_amended"
    message = "--allow and --test change nothing about run {run} now: {why}"
    hint = "Do this instead: {command}"


class CannotReplan(Refused):
    code = "cannot_replan"
    message = "Run {run} cannot be planned again: {why}"
    hint = 'See what can be done: ringi status {run}; or plan it from the start: ringi run "…"'


class WrongAnswer(Refused):
    code = "wrong_answer"
    message = "The answer does not count: {why}"
    hint = "Nothing was approved. Look at it again and answer what is shown."


class SignatureUnchecked(Failed):
    code = "signature_unchecked"
    message = "The signature could not be checked: {why}"
    hint = "The approval stays as it is. Mend this, then run the same command again."


class SignatureRefused(Refused):
    code = "signature_refused"
    message = "The signature does not count: {why}"
    hint = "List your key first, in a terminal of your own: ringi init --key KEY.pub"


class UnlistedKey(SignatureRefused):
    code = "unlisted_key"
    message = "The signature is by a key that is not listed: {key}"


class UnacceptedList(UnlistedKey):
    code = "unaccepted_list"
    message = "The key is listed in {where}, but this workspace has not accepted that line."
    hint = "Accept it in a terminal of your own: ringi config signers --accept"


class SignatureNeeded(SignatureRefused):
    code = "signature_needed"
    message = "A typed answer does not suffice here (approval.proof: signed). Sign it: {command}"
    hint = "To see whose signatures count: ringi config signers"


class SignerNeeded(SignatureNeeded):
    code = "signer_needed"
    message = "Whose signatures count changes only with a signature by a key that counts now."
    hint = "Sign it with such a key: {command}"


class BadSignature(SignatureRefused):
    code = "bad_signature"
    message = "The signature does not match: {why}"
    hint = "Sign it again with: ringi approve PLAN --sign KEY"


class ReviewRefused(Refused):
    code = "review_refused"
    message = "This does not count as an approval: {why}"
    hint = "Another person who may write there approves the newest commit; or approve it here: ringi review"


class NoSigners(Refused):
    code = "no_signers"
    message = "Nobody could approve anything: no list of signers has a key."
    hint = "List your key first, in a terminal of your own: ringi init --key KEY.pub"


class BadGrant(Refused):
    code = "bad_grant"
    message = "Such a standing approval cannot be given: {why}"
    hint = "See what can be granted: ringi grant new --help"


class NotTogether(Refused):
    code = "not_together"
    message = "These plans cannot be approved with one answer: {why}"
    hint = "Approve them one by one, or allow it in your own configuration: approval.together"


class StateInWorkspace(Refused):
    code = "state_in_workspace"
    message = "{path}, where {agent} keeps its state, leads into the workspace: {real}"
    hint = "There it could change your files without a plan. Move the folder out of the workspace."


class ModelOutside(Refused):
    code = "model_outside"
    message = "The model {model} is a command that would run outside the agent's sandbox."
    hint = 'Plan it yourself, in a terminal of your own: ringi plan "…"'


class NoSandbox(Refused):
    code = "no_sandbox"
    message = "The command must run in a sandbox, and there is none: {why}"
    hint = (
        "To get one, see ringi doctor; or set run.sandbox and with.sandbox in your own file to auto or off."
    )


class NoCommit(Refused):
    code = "no_commit"
    message = "It cannot be committed: {why}"
    hint = "Fix that, or leave out --commit: the files change and nothing is staged."


class FilterNeeded(NoCommit):
    code = "filter_needed"
    message = "It cannot be committed before somebody has approved it: {why}"
    hint = "Approve it first: ringi review"


class StepElsewhere(Refused):
    code = "step_elsewhere"
    message = "{plan} cannot be decided or carried out here: {why}"
    hint = "Steps of a run belong on its branch. Go on with: ringi review {plan}"


class BranchMerged(Refused):
    code = "branch_merged"
    message = "{branch} cannot be removed: {other} has its commits"
    hint = "Take them back there: git revert {base}..{branch}"


class BranchRefused(Refused):
    """A run stops with the reason code that has the name of the error's."""

    code = "branch_refused"


class NoGit(BranchRefused):
    code = "no_git"
    message = "A run commits its steps, and there is no git repository in {folder}"
    hint = "git init && git add -A && git commit -m start"


class UnbornBranch(BranchRefused):
    code = "unborn_branch"
    message = "A run needs a commit to begin with, and {branch} has none"
    hint = "git add -A && git commit -m start"


class DetachedHead(BranchRefused):
    code = "detached_head"
    message = "A run begins with a branch, and none is checked out (HEAD is detached)"
    hint = "git switch {branch}"


class BaseBranchMissing(BranchRefused):
    code = "base_branch_missing"
    message = "The run begins with {branch}, but {why}"
    hint = "git switch {branch}"


class WorkBranchExists(BranchRefused):
    code = "work_branch_exists"
    message = "There is a branch {branch} already"
    hint = "Rename or delete it: git branch -m {branch} NEW, or git branch -D {branch}"


class MainBranch(BranchRefused):
    code = "main_branch"
    message = "The run would commit to {branch}, a main branch; a run never does"
    hint = (
        "Name another work_branch in planning.json: ringi run --plan FILE. Merge it yourself once it is done"
    )


class BranchMoved(BranchRefused):
    code = "branch_moved"
    message = "The branch {branch} is not as the run left it: {why}"
    hint = "Put it back, or cancel the run and start another: ringi cancel {run}"


class TooManyFiles(Refused):
    code = "too_many_files"
    message = "The agent's work is not a plan yet: {why}"
    hint = (
        "It is kept in {path}. Delete there what is no part of the change, or list it in .gitignore there; "
        "then run: ringi doctor --repair"
    )


class NotTaken(Refused):
    code = "not_taken"
    message = "{why} Your text is kept in {file}"
    hint = "Look at the plan again, then edit it once more: ringi review"


class NotYours(Refused):
    code = "not_yours"
    message = "{plan} is not a plan of {name}; nothing was changed."
    hint = "Propose one of your own, or change your own."


class TakenFromCopy(Refused):
    code = "taken_from_copy"
    message = "{plan} is made of the files in a work copy and follows them; nothing was changed."
    hint = "Change the files in the copy: at the end of the turn they are the plan's next version."


class NotPermitted(Refused):
    code = "not_permitted"
    message = "{user} may not plan or run tasks here: {key} names {names}."
    hint = "Ask one of them, or have {user} added there: ringi config show"


class NoTool(Refused):
    code = "no_tool"
    message = "Plan {plan}: {spec} calls {tool}, and no such tool can be called here."
    hint = "Approve and execute the other specs: ringi approve {plan} --only …"


class CheckFailed(Refused):
    code = "check_failed"
    message = "Plan {plan}: {command} {ended}; {became}"
    hint = "See its output: ringi show {plan}"


class NothingToUndo(Refused):
    code = "nothing_to_undo"
    message = "There is nothing to undo: {why}"
    hint = "See what was carried out: ringi list"


class NoSuchForm(Refused):
    code = "no_such_form"
    message = "Plan {plan} cannot be shown like that: {why}"
    hint = "See it with: ringi show {plan} --diff"


class BadPatch(Refused):
    code = "bad_patch"
    message = "The patch cannot be read: {why} (line {line})"
    hint = "Make it with: git diff"


class BinaryPatch(BadPatch):
    code = "binary_patch"
    message = "The patch changes {path}, which is not text (line {line})."
    hint = "Leave that file out of the patch and send its new content as a write spec."


class PatchMismatch(Refused):
    code = "patch_does_not_apply"
    message = "The patch does not apply to {path}: {why}"
    hint = "Make it again from the current file; nothing was changed."


class AmbiguousPatch(PatchMismatch):
    code = "ambiguous_patch"
    message = "The patch fits {path} in more than one place: hunk {hunk} at line {candidates}"
    hint = "Give the hunk more lines of context, so that only one place fits."


class ChangeRefused(Refused):
    code = "change_refused"
    message = "This cannot be a change plan: {why}"
    hint = "Propose it as a plan instead, without --trigger."


class NoBasis(ChangeRefused):
    code = "no_basis"
    message = "A change plan needs a reason: error, user_request or refactor, not {found}."
    hint = "Name it: --trigger error|user_request|refactor"


class NoDiagnostics(ChangeRefused):
    code = "no_diagnostics"
    message = "A change plan against an error must name the error."
    hint = "Name at least one: --diagnostic FILE:LINE:MESSAGE"


class UnknownDiagnostic(ChangeRefused):
    code = "unknown_diagnostic"
    message = "No checker and no editor reports this about {file}: {message}"
    hint = "See what they report: ringi state show. Checkers are named in diagnostics.commands."


class NoDiff(ChangeRefused):
    code = "no_diff"
    message = "There is nothing to propose: no file would change."
    hint = "Compare what you propose with the files as they are: git diff"


class ScopeMismatch(ChangeRefused):
    code = "scope_mismatch"
    message = "The files the change plan names are not those it changes: {why}"
    hint = "Propose the change again; ringi computes its files itself."


class PathMismatch(ChangeRefused):
    code = "path_mismatch"
    message = "The diff given for {path} is about {found}."
    hint = "One diff for each file, and the same path in both."


class NotAnEdit(ChangeRefused):
    code = "not_an_edit"
    message = "An editor could not apply the change of {path}: {why}"
    hint = "Propose it as a plan instead, without --trigger."


class PartialChange(ChangeRefused):
    code = "partial_change"
    message = "Change plan {plan} is applied whole or not at all."
    hint = "Select all of it, or propose a smaller change."


class ChangeFixed(ChangeRefused):
    code = "change_fixed"
    message = "The diffs of change plan {plan} are fixed."
    hint = "Propose another one, or this one for the current project: ringi propose --again {plan}"


class StateIncomplete(ChangeRefused):
    code = "state_incomplete"
    message = "The project state is not complete, so no change plan can be based on it: {why}"
    hint = "See what is missing and why: ringi state show"


class RiskMismatch(ChangeRefused):
    code = "risk_mismatch"
    message = "The risk written in change plan {plan} is not what its files say."
    hint = "ringi computes the risk itself. Propose it again: ringi propose --again {plan}"


class Busy(RingiError):
    code = "busy"
    exit_code = 7
    message = "Someone else is working on this workspace: {holder}"
    hint = "Wait until it is done and run the same command again."


class LostRace(Busy):
    code = "lost_race"
    message = "Plan {plan} was saved by someone else in the meantime; your change was not applied."
    hint = "Run the same command again; it will see the newer plan."


class SessionRace(Busy):
    code = "session_race"
    message = "Somebody else continued planning session {session} in the meantime; your input was not saved."
    hint = "See its current state: ringi plan --resume {session}"


class RunRace(Busy):
    code = "run_race"
    message = "Somebody else changed run {run} in the meantime."
    hint = "See its current state: ringi status {run}"


class Interrupted(RingiError):
    code = "interrupted"
    exit_code = 130
    message = "Interrupted."
    hint = "The next command finishes or rolls back what was interrupted. See your plans: ringi list"
