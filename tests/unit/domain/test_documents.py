"""Every document: encoded and decoded again, and what is refused."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from ringi.app.schemas import SCHEMAS, json_schema
from ringi.approvals import document as approval
from ringi.approvals import forge
from ringi.approvals import grant_document as grant
from ringi.approvals import signers_document as signers
from ringi.approvals import statement as provenance
from ringi.engine import document as planning
from ringi.engine import process, run_plan
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.run_parts import Planned
from ringi.errors import BadDocument, NewerVersion
from ringi.kernel import codec, problems, words
from ringi.kernel.document import EXTRA, Document, OpenDocument, Versioned
from ringi.ledger import event as events
from ringi.metrics import document as metrics
from ringi.models import usage
from ringi.models.cache import AnswerOrigin, KeptAnswer, KeptCounts, KeptPlan, SimilarPlan
from ringi.patch import conflict
from ringi.plans import answer_document as answer
from ringi.plans import change_plan, execution, extraction, feedback, verdict
from ringi.plans import document as plan
from ringi.plans import review_data as review
from ringi.policy import risk_level as risk
from ringi.project import context
from ringi.project import state as project_state
from ringi.provenance import verdict as provenance_verdict
from ringi.runs import document as run
from ringi.runs import offered
from ringi.sessions import document as session
from ringi.sessions import request
from ringi.tools import effects
from ringi.tree import check_result, commit_order, file_state
from tests.tables import each

BOUNDED: dict[type[Any], Document] = {
    run_plan.RunPlan: compile_run_plan(
        Planned("Add a login"), RunNames("RQ-20260102-001", "20260102-030405-0a0b0c", "2026-01-02", "main")
    ),
    request.Request: request.Request(title="Sort by date", test_instructions={"unit": ("make test",)}),
    words.KeptText: words.KeptText("{a}: {b}", {"a": 1, "b": words.KeptText("{c}", {"c": "x"})}),
    project_state.Unsaved: project_state.Unsaved("a.py", sha256="0a" * 32, text="x"),
}

# The names of the specification, written down once more; a renamed field breaks files that people have.
FIELDS: dict[type[Document], str] = {
    plan.Plan: "id title content sources rationale tags created_at version proposer"
    " requester user forked_from left_out",
    plan.MessageRef: "message_id timestamp",
    plan.PlanState: "status action_specs selection approvals previews checks planned_checks"
    " check_commands commit feedback executions comments amended_from"
    " agent_exit from_model merged_lines requester",
    plan.ActionSpec: "kind path content description optional encoding mode group target argv"
    " timeout_sec tool arguments tool_digest",
    plan.ActionSpecExt: "id base risk validated preflight notes risk_reasons before after also since",
    file_state.Touched: "path before after",
    plan.Preflight: "exists overwrite diff_summary",
    file_state.FileState: "sha256 mode folder",
    risk.RiskReason: "code subject",
    plan.SpecSelection: "all ids",
    plan.ApprovalEntry: "approver timestamp selection",
    plan.DiffTotals: "files added removed risk_score weight hunks",
    check_result.CheckResult: "command exit_code duration_sec tree output phase timeout_sec doubt",
    feedback.Feedback: "timestamp text kind amended",
    plan.ExecutionLink: "id kind finished_at overall_success",
    plan.PlanDocument: "schema_version plan state approval result specs_sha256 change step",
    plan.PlanRef: "id number title status version proposer created_at updated_at files"
    " added removed risk undone superseded step called_by",
    plan.PlanIndex: "schema_version recent count page_size pages",
    plan.PlanPage: "schema_version page plans",
    plan.ValidationReport: "ok issues normalized",
    plan.DiffSummary: "spec_id path kind added removed binary risk reasons diff renamed_from mode your_lines",
    plan.PlanPreview: "files diffs risk_score stale overlaps conflicts",
    file_state.FileChange: "spec_id path before after unit optional later_lines",
    approval.SubjectSpec: "id order spec",
    approval.ApprovalSubject: "schema_version kind workspace plan_id plan_version specs changes"
    " expires_at undoes snapshot_id checks sandboxed commit requester step",
    approval.TypedAnswer: "digest answer",
    approval.ProofRecord: "kind strength user channel answer fresh_since statement signature principal key"
    " grant grant_subject used_files used_lines run_dollars review",
    approval.ReviewAnswer: "digest review",
    forge.Project: "kind base_url path",
    forge.Item: "kind number",
    forge.ForgeTerms: "project remote remote_url item opens_change approved_here comments label",
    words.KeptText: "template details",
    offered.OfferedStep: "step_id plan_id plan_version commit",
    offered.Offer: "head steps pushed pushing number url left left_told told",
    forge.ReviewProof: "project item how id login commit step_commit base at url",
    approval.ApprovalRequest: "schema_version id plan_id subject_kind plan_version selection digest"
    " requested_at expires_at kind requester",
    approval.Approval: "schema_version id plan_id subject_kind request_id approver timestamp expires_at"
    " selection digest subject proof after_event note spent_by",
    approval.ApprovalHistory: "schema_version plan_id requests approvals",
    approval.ApprovedPlan: "approval",
    approval.Declined: "feedback comments",
    approval.Cancelled: "reason",
    approval.ExpiredRequest: "expired_at",
    approval.NoChannelFound: "why",
    execution.FileOpOutcome: "spec_id path status detail exit_code output later_lines",
    execution.ExecutionIntent: "schema_version id kind plan_id plan_version approval_id changes"
    " new_folders started_at emptied steps refused unknown commits",
    execution.ExecutionResult: "schema_version execution_id plan_id kind overall_success results"
    " started_at finished_at recovered kept commit",
    events.Counts: "files specs",
    events.Event: "schema_version seq at event plan_id subject_kind actor reason counts"
    " risk_score document evidence previous",
    events.LoggedEvent: "event hash",
    project_state.Diagnostic: "file message line column severity code source endLine endColumn",
    file_state.StateFile: "path mode oid",
    project_state.Unanalysed: "file why",
    project_state.Dependencies: "uses unanalysed",
    project_state.Gap: "code subject detail",
    project_state.ProjectState: "version snapshotId capturedAt source files diagnostics dependencies"
    " criticalFiles mutableStateFiles complete gaps settings",
    project_state.Unsaved: "path sha256 text",
    project_state.EditorState: "version editor snapshotId diagnostics unsaved complete",
    change_plan.DiagnosticRef: "file message line",
    change_plan.PlanBasis: "trigger relatedDiagnostics",
    change_plan.PlanScope: "targetFiles affectedFiles",
    change_plan.FileDiff: "file diff",
    change_plan.PlanValidations: "projectStateComplete noConflictFiles",
    change_plan.PlanRisk: "level reasons",
    change_plan.PlanExplanation: "summary details",
    change_plan.ApprovalState: "status decidedAt decidedBy",
    change_plan.ChangePlan: "version planId createdAt basis scope changes validations risk"
    " explanation approval",
    change_plan.ChangeFacts: "snapshot_id basis scope validations risk explanation superseded_at"
    " explained_by unknown_users",
    project_state.UnknownUsers: "count first why",
    provenance.InToto: "_type subject predicateType predicate",
    provenance.Resource: "name digest annotations",
    provenance.Digests: "sha256 gitBlob",
    provenance.Transition: "mode before",
    provenance.OneSide: "mode digest",
    provenance.Approved: "act digest approver at note after_event proof strength repository plan step grant"
    " review diff",
    provenance.ApprovedPlan: "id version title",
    provenance.GrantProof: "subject statement signature",
    provenance.Envelope: "payload payloadType signatures",
    provenance.Synced: "schema_version remote came went waiting total",
    provenance.Signature: "keyid sig",
    provenance_verdict.RangeVerdict: "schema_version subject name base head mode covered cut_off notes unread"
    " files problems forge",
    provenance_verdict.FileVerdict: "path before after level covered chain why",
    provenance_verdict.LineVerdict: "schema_version path line text commit title approval request step"
    " decisions",
    provenance_verdict.Side: "mode blob",
    provenance_verdict.Evidence: "level by at key act note plan step grant review commit",
    execution.CommandStart: "schema_version execution_id plan_id spec_id argv sandboxed snapshot_id"
    " started_at done",
    execution.CommandEnd: "schema_version execution_id plan_id spec_id exit_code output cut"
    " timed_out duration_sec ended_at effects beyond settled_by",
    grant.GrantSubject: "schema_version id workspace scope created_at expires_at",
    grant.Grant: "schema_version id approver digest subject proof after_event",
    verdict.Proven: "schema_version plan_id name proven carried_out executions unused files"
    " unrecorded log_ok problems forged commit sessions",
    verdict.ProvenSession: "schema_version session_id run_id proven approval log_ok problems forged",
    plan.PlannedChecks: "before after on_failure tests",
    conflict.Conflict: "spec_id path line kind",
    plan.Overlap: "plan_id name title paths",
    approval.SignedAnswer: "statement signature",
    execution.Step: "unit spec_id kind path argv timeout_sec optional sandboxed tool_digest",
    answer.DropSpec: "spec_id",
    answer.DropHunks: "spec_id hunks",
    answer.NewContent: "spec_id content encoding",
    answer.SpecDifference: "path what diff",
    review.ReviewedHunk: "number old_start old_lines new_start new_lines",
    review.ReviewComment: "line side text who at outdated",
    review.ReviewedFile: "spec_id path old_path copied kind action risk reasons notes added removed binary"
    " fits conflicts editable before after why_no_text hunks comments",
    review.ReviewedCheck: "command exit_code passed tail",
    review.Decide: "review apply sign",
    review.PlanReviewDocument: "schema_version plan specs_sha256 explanation change headline checks commit"
    " decide amendable files",
    answer.PlanComparison: "plan_id version other_plan_id other_version differences",
    extraction.Unplaced: "line text why",
    extraction.Extraction: "specs unplaced from_model",
    grant.RunTerms: "run_id plan_sha256 branch steps dollars hooks",
    grant.GrantScope: "requester globs kinds max_risk files_per_use lines_per_use files_total lines_total"
    " run",
    grant.GrantUse: "approval_id plan_id at files lines step_id",
    grant.GrantState: "grant scope expires_at uses revoked_at",
    verdict.ProvenFile: "path status since command",
    verdict.GivenProof: "kind strength user channel principal key grant fresh_since url",
    signers.SignerFile: "path sha256 lines",
    signers.SignersSubject: "schema_version kind workspace lists proof replaces",
    verdict.GivenApproval: "id approver at note proof",
    verdict.ProvenExecution: "id kind started_at finished_at overall_success approval",
    feedback.LineComment: "timestamp path line side text quote version",
    plan.PlannedCommit: "message offered upon",
    approval.CommitSubject: "branch parent message hooks reverts offered",
    commit_order.CommitOutcome: "commit why rewritten",
    answer.PlanAnswer: "plan_id name version status outcome note feedback comments changed",
    verdict.ProvenCommit: "id as_approved notes",
    feedback.Amended: "version files hunks lines contents dropped edited of",
    usage.TokenUsage: "requests inputTokens outputTokens costUsd durationSec cachedTokens materialTokens"
    " reused savedTokens reusedFrom",
    session.Question: "id type question context options answer answeredAt",
    session.Tradeoffs: "pros cons",
    session.DesignOption: "id name description tradeoffs recommendation",
    session.DecisionPoint: "id topic options selectedOptionId rationale decidedAt",
    session.ConversationMessage: "role phase content createdAt",
    session.PlanningSession: "schemaVersion sessionId instruction status currentQuestionIndex"
    " currentDecisionIndex questions decisions designSummary"
    " conversationHistory rejectCount errorMessage plannerSessionId"
    " discoveryLogPath designLogPath reviewLogPath createdAt updatedAt",
    context.ContextFile: "path score kind why",
    context.Context: "files tokens text",
    context.Definition: "name kind line end",
    context.FoundFile: "path kind score definitions tests has",
    context.ProjectFacts: "languages manifests tests entries about rules testCommands changelog found",
    session.Criterion: "given when then",
    session.TargetPath: "path new",
    session.DesignStep: "title targetPaths criteria testCommands",
    session.Design: "acceptanceCriteria targetPaths testCommands assumptions outOfScope openPoints steps",
    session.SessionFacts: "language model usage usageBy failedIn designed feedback project context snapshot"
    " restless design files missing code readIn rejected draft wrong runPlan request replaces agentBrings"
    " findings createdBy byModel forge",
    session.FromRequest: "requestId path request",
    session.OpenCall: "purpose model counted usage",
    session.Brief: "instruction language project questions decisions feedback",
    session.SessionRef: "sessionId title status questionsDone questions decisionsDone decisions"
    " createdAt updatedAt errorMessage",
    session.LogEntry: "phase text",
    session.QuestionPending: "question number of",
    session.DecisionPending: "decision number of",
    session.ApprovalPending: "summary rejectsLeft runPlan forge",
    session.WorkPending: "purpose",
    session.AgentPending: "purpose questions decisions feedback rejected",
    session.FailedPending: "error",
    session.ApprovedSession: "runId",
    session.CancelledSession: "",
    session.SessionView: "sessionId instruction status pending usage model found",
    run.Run: "schema_version run_id planning_session_id phase instruction created_at updated_at created_by"
    " request_id plan_sha256 work_branch base_branch base_commit current_step_index steps review in_place"
    " most_steps allowed tests implementer base_tree copy_id stop stopped_in replaces"
    " replaced_by undone planned budget heard by_model forge offer",
    AnswerOrigin: "subject step_id role turn",
    KeptAnswer: "made_at model origin input_tokens output_tokens value",
    KeptPlan: "made_at task kind value model snapshot reads origin calls tokens",
    SimilarPlan: "task alike made_at model used",
    KeptCounts: "enabled why_not answers plans bytes ttl saved_calls saved_tokens",
    run.Stop: "reason_code message next_action step_id detail told then",
    usage.Spent: "input_tokens output_tokens dollars seconds calls material_tokens planning_tokens"
    " reflection_tokens reused saved_tokens reused_from",
    usage.RunBudget: "tokens dollars planning_tokens execution_tokens reflection_tokens",
    run.Attempt: "role how who cycle started_at ended_at exit_code problem log spent findings",
    run.Evidence: "command kind exit_code duration_sec tree output_sha256 log timed_out sandboxed doubt",
    run.Finding: "role severity message path line criterion",
    run.StepState: "step_id status cycle attempts pending base_tree tree lines files evidence"
    " changed_since_tested findings feedback fallback plan_id plan_version merging commit grant"
    " started_at ended_at",
    problems.ProblemRow: "code level path message",
    approval.SessionSubject: "schema_version kind workspace session_id reject_count instruction"
    " planning_json forge",
    approval.RunSubject: "schema_version kind workspace run_id session_id instruction planning_json forge",
    approval.RevisionSubject: "schema_version kind workspace run_id process_id number before after"
    " difference",
    planning.GoalUnderstanding: "main_objective success_criteria constraints context goals reasoning",
    planning.Subtask: "id description dependencies estimated_complexity required_tools parent reads writes"
    " criteria",
    planning.TaskDecomposition: "reasoning subtasks",
    planning.PlannedAction: "task_id action_type tool purpose expected_outcome fallback_strategy"
    " parallel_group can_parallelize dependencies before_task file description arguments",
    planning.ActionPlan: "execution_order actions total_steps estimated_complexity reasoning",
    planning.UnclearGoal: "message clarification_needed",
    planning.PartialPlan: "feasible_subtasks infeasible_subtasks alternative_approaches",
    planning.DecompositionFailed: "message partial_plan",
    planning.PlanningDocument: "goal_understanding task_decomposition action_plan error comment",
    planning.Finding: "kind task subject",
    planning.FunctionCall: "name arguments",
    planning.ExecutionDocument: "current_task function_call comment",
    planning.Reflection: "action_id action_evaluated status evaluation alignment_with_plan"
    " issues_identified error root_cause_analysis plan_revision_needed feedback_type feedback_source"
    " feedback_summary",
    planning.AddAction: "action",
    planning.ModifyAction: "action_id updates",
    planning.RemoveAction: "action_id",
    planning.PlanRevision: "reason changes updated_action_plan",
    planning.ReflectionDocument: "reflection plan_revision comment",
    planning.CompletionSummary: "goal_achieved tasks_completed tasks_failed key_outcomes lessons_learned"
    " revision_attempts reason current_state recommendations",
    planning.CompletionDocument: "status summary done comment",
    process.ActionRecord: "number action_id task_id tool arguments purpose expect effect state result cut"
    " error message changed tree group revised plan_id started_at duration_sec",
    process.RevisionRecord: "number at reflection revision digest before by strategy approved",
    process.Feedback: "feedback_id run_id at who agent source ref text",
    process.Process: "process_id run_id step_id task phase plan done actions failures turns notes ending"
    " finishing since hint trying revisions revised attempts history heard tree waits waiting_since"
    " proposed planning execution reflection elapsed_sec completion created_at updated_at",
    process.Recovery: "kind tool strategy helped failed",
    planning.Outline: "request outcome model context context_tokens plan planning_json findings notes calls"
    " usage similar",
    metrics.Metrics: "schema_version created_at since events groups agents reasons tasks days",
    metrics.Group: "name figures",
    metrics.Figure: "name unit value from basis without target met median p90 parts measure calculation"
    " shown_in note",
    metrics.AgentFigures: "agent plans approved rejected undone hunks dropped edited",
    metrics.Reason: "at what text",
    metrics.TaskFigures: "task began_at size outcome revisions planning_sec execution_sec reflection_sec"
    " calls input_tokens output_tokens material_tokens dollars",
    metrics.Day: "day approved granted rejected undone",
}
VALUES = {
    plan.PlanStatus: "proposed pending_review approved scheduled executing completed aborted discarded",
    plan.SpecKind: "create write patch delete move mkdir read analyze run call",
    plan.Encoding: "utf-8 base64",
    risk.Risk: "low medium high",
    risk.RiskCode: "delete large_overwrite large_rewrite emptied your_lines critical_file mutable_state"
    " many_files unknown_users secret hidden_characters lookalikes mixed_scripts hidden_name unshown binary"
    " critical_source command foreign_command tool_call",
    conflict.Clash: "text line_ends binary too_large link kind mode deleted_by_ours deleted_by_theirs",
    approval.Act: "execute undo",
    approval.ProofKind: "typed signed grant review configured",
    approval.Strength: "weak medium strong",
    file_state.OpStatus: "done undone conflict failed untouched unknown",
    events.Actor: "ai user system",
    change_plan.Trigger: "error user_request refactor",
    change_plan.ChangeApproval: "pending approved rejected",
    events.EventKind: "plan_proposed specs_set marked_pending checked commented committed"
    " commit_failed commit_rewritten approval_requested approved declined discarded sent_back found_stale"
    " superseded approval_expired executed completed aborted undo_approved"
    " undo_started undone undo_aborted taken_in command_started command_ended"
    " forked reverted amended granted grant_revoked session_started"
    " session_prepared session_answered session_decided session_approved"
    " session_rejected session_cancelled session_failed session_resumed"
    " session_taken_in session_brought run_created run_cancelled run_approved run_advanced run_stopped"
    " run_resumed run_completed run_undone run_feedback run_revision_approved"
    " run_revision_declined signers_set",
    approval.SignedAct: "approve undo grant signers",
    check_result.CheckPhase: "before dry after",
    plan.CheckFailure: "keep undo",
    answer.Difference: "added removed changed basis",
    verdict.FileStanding: "as_approved changed_since undone",
    feedback.FeedbackKind: "declined amended not_approved",
    feedback.Side: "old new",
    answer.OutcomeKind: "approved declined cancelled expired no_channel",
    run.RunPhase: "planning executing integrating completed needs_input cancelled failed",
    session.SessionStatus: "discovery design review approved cancelled failed",
    session.QuestionType: "clarification scope technical priority constraint",
    session.Role: "user assistant system",
    process.ProcessPhase: "initial goal_understanding task_decomposition action_plan"
    " waiting_for_clarification execution reflection plan_revision completion",
    effects.ToolEffect: "reads copy outside",
    effects.ErrorKind: "not_found mismatch invalid_arguments not_allowed unknown_tool timeout died flooded"
    " tool_error command_failed unexpected side_effect precondition declined unknown_outcome no_answer",
    process.ActionState: "started waiting success partial failure skipped",
    process.Wait: "clarification call revision person",
    planning.Complexity: "low medium high",
    planning.ActionStatus: "success failure partial",
    planning.OutlineOutcome: "planned unclear_goal decomposition_failed refused",
    effects.FindingKind: "endless_loop resource_exhaustion privilege_escalation leaking_secrets"
    " forbidden_tool unknown_tool disguised_tool",
}
# What `ringi check --schema` promises as always present.
REQUIRED = {
    "plan": "plan state",
    "action-specs": "",
    "plan-preview": "files diffs risk_score",
    "plan-review": "plan specs_sha256 explanation headline checks commit decide amendable files",
    "validation-report": "ok issues normalized",
    "plan-index": "recent count page_size pages",
    "plan-page": "page plans",
    "approval": "plan_id requests approvals",
    "approval-subject": "kind workspace plan_id plan_version specs changes expires_at",
    "approval-outcome": "",
    "execution-intent": "id kind plan_id plan_version approval_id changes new_folders started_at",
    "execution-result": "execution_id plan_id kind overall_success results started_at finished_at",
    "event": "event hash",
    "grant": "id approver digest subject proof after_event",
    "grant-subject": "id workspace scope created_at expires_at",
    "signers-subject": "workspace lists proof replaces",
    "command-start": "execution_id plan_id spec_id argv sandboxed snapshot_id started_at",
    "command-end": "execution_id plan_id spec_id exit_code output cut timed_out duration_sec ended_at",
    "plan-comparison": "plan_id version other_plan_id other_version differences",
    "extraction": "specs unplaced",
    "plan-answer": "plan_id name version status outcome",
    "proven": "plan_id name proven carried_out executions unused files unrecorded log_ok problems forged",
    "approval-statement": "subject predicate",
    "approval-envelope": "payload payloadType signatures",
    "line-verdict": "path line text",
    "range-verdict": "subject name base head mode covered cut_off notes unread files problems",
    "sync": "remote came went waiting total",
    "proven-session": "session_id run_id proven approval log_ok problems forged",
    "change-plan": "version planId createdAt basis scope changes validations risk explanation approval",
    "project-state": "snapshotId capturedAt source files diagnostics dependencies criticalFiles"
    " mutableStateFiles complete gaps",
    "editor-state": "editor",
    "planning-session": "sessionId instruction status questions decisions designSummary conversationHistory"
    " plannerSessionId createdAt updatedAt",
    "planning-facts": "",
    "planning-subject": "workspace session_id reject_count instruction planning_json",
    "run-subject": "workspace run_id session_id instruction planning_json",
    "revision-subject": "workspace run_id process_id number before after difference",
    "planning-view": "sessionId instruction status pending",
    "run-plan": "version request_id run_id created_at base_branch work_branch limits context steps gates"
    " outputs",
    "problems": "",
    "run": "run_id planning_session_id phase instruction created_at updated_at",
    "goal-understanding": "main_objective",
    "task-decomposition": "subtasks",
    "action-plan": "",
    "planning-document": "phase",
    "execution-document": "phase",
    "reflection-document": "phase reflection",
    "completion-document": "phase summary",
    "outline": "request outcome model context context_tokens plan planning_json findings notes calls usage",
    "metrics": "created_at events groups",
}


def below(kind: type[Document]) -> list[type[Document]]:
    return [found for child in kind.__subclasses__() for found in (child, *below(child))]


# Not those of another specification, nor what models answer with: they have tests of their own.
MODULES = {
    "ringi.approvals.document",
    "ringi.approvals.forge",
    "ringi.approvals.grant_document",
    "ringi.approvals.signers_document",
    "ringi.approvals.statement",
    "ringi.engine.document",
    "ringi.engine.process",
    "ringi.engine.run_plan_rules",
    "ringi.forges.document",
    "ringi.kernel.problems",
    "ringi.kernel.words",
    "ringi.ledger.event",
    "ringi.ledger.subject",
    "ringi.metrics.document",
    "ringi.models.budget",
    "ringi.models.cache",
    "ringi.models.usage",
    "ringi.patch.conflict",
    "ringi.plans.answer_document",
    "ringi.plans.change_plan",
    "ringi.plans.document",
    "ringi.plans.execution",
    "ringi.plans.extraction",
    "ringi.plans.feedback",
    "ringi.plans.review_data",
    "ringi.plans.verdict",
    "ringi.policy.risk_level",
    "ringi.project.context",
    "ringi.project.state",
    "ringi.provenance.verdict",
    "ringi.runs.document",
    "ringi.runs.offered",
    "ringi.sessions.document",
    "ringi.sessions.instruction",
    "ringi.tools.effects",
    "ringi.tools.schema",
    "ringi.tree.check_result",
    "ringi.tree.commit_order",
    "ringi.tree.file_state",
}
KINDS = sorted(
    (kind for kind in below(Document) if kind.__module__ in MODULES), key=lambda kind: kind.__name__
)
OPEN = [kind for kind in KINDS if issubclass(kind, OpenDocument)]
CLOSED = [kind for kind in KINDS if kind not in OPEN]
VERSIONED = [kind for kind in KINDS if issubclass(kind, Versioned)]

# Everything UTF-8 can carry; half characters have a test of their own.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
whole_numbers = st.integers(-(2**63) + 1, 2**63 - 1)
anything = st.recursive(
    st.none() | st.booleans() | whole_numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@cache
def built(kind: type[Document]) -> st.SearchStrategy[Any]:
    return _of(inspect.type_info(kind))


def _of(info: inspect.Type) -> st.SearchStrategy[Any]:
    match info:
        case inspect.StructType(cls=cls) if cls in BOUNDED:
            return st.just(BOUNDED[cls])  # in every field; their own tests make others
        case inspect.StructType():
            fields = {field.name: _of(field.type) for field in info.fields}
            if "schema_version" in fields:
                fields["schema_version"] = st.just(1)
            return st.builds(info.cls, **fields)
        case inspect.EnumType():
            return st.sampled_from(list(info.cls))
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.IntType(ge=int(least)):
            return st.integers(least, 2**63 - 1)
        case inspect.UnionType():
            return st.one_of([_of(one) for one in info.types])
        case inspect.VarTupleType():
            return st.lists(_of(info.item_type), max_size=2).map(tuple)
        case inspect.DictType():
            return st.dictionaries(texts, _of(info.value_type), max_size=3)
    plain = {
        inspect.StrType: texts,
        inspect.IntType: whole_numbers,
        inspect.FloatType: st.floats(allow_nan=False, allow_infinity=False),
        inspect.BoolType: st.booleans(),
        inspect.NoneType: st.none(),
        inspect.AnyType: anything,
    }
    return plain[type(info)]


documents = st.sampled_from(KINDS).flatmap(built)


@pytest.mark.req("PT-1", "PT-2", "PT-3", "PT-5")
@each("kind", KINDS)
def test_fields_have_the_names_of_the_specification(kind: type[Document]):
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    assert " ".join(name for name in names if name != EXTRA) == FIELDS[kind]


@pytest.mark.req("PT-2", "PT-3", "PT-11")
@each(("kind", "values"), VALUES.items())
def test_closed_sets_have_the_values_of_the_specification(kind: type, values: str):
    assert " ".join(kind) == values


@pytest.mark.req("PT-1", "PT-2", "PT-3", "PT-5")
@given(document=documents)
def test_there_and_back(document: Document):
    kind = type(document)
    for data in (codec.canonical(document), codec.pretty(document)):
        assert codec.foreign(data, kind, "it") == document
        assert codec.trusted(data, kind, "it") == document


@given(document=documents)
def test_one_spelling_for_one_document(document: Document):
    data = codec.canonical(document)
    assert codec.canonical(codec.foreign(codec.pretty(document), type(document), "it")) == data
    assert codec.canonical(msgspec.json.decode(data)) == data


def first(kind: type[Document]) -> dict[str, Any]:
    """A small document of this kind, as plain JSON values."""
    plain = {
        inspect.StrType: "x",
        inspect.IntType: 1,
        inspect.FloatType: 0.5,
        inspect.BoolType: False,
        inspect.NoneType: None,
    }

    def of(info: inspect.Type) -> Any:
        match info:
            case inspect.StructType(cls=cls) if cls in BOUNDED:
                return json.loads(codec.canonical(BOUNDED[cls]))
            case inspect.StructType():
                found = {field.encode_name: of(field.type) for field in info.fields if field.required}
                return found | ({info.tag_field: info.tag} if info.tag_field else {})
            case inspect.EnumType():
                return next(iter(info.cls))
            case inspect.LiteralType():
                return info.values[0]
            case inspect.DictType():
                return {}
            case inspect.UnionType():
                kinds = [type(one) for one in info.types]
                return None if inspect.NoneType in kinds else of(info.types[0])
            case inspect.VarTupleType():
                return []
        return plain[type(info)]

    return of(inspect.type_info(kind))


@each("kind", CLOSED)
def test_unknown_fields_are_refused(kind: type[Document]):
    data = json.dumps(first(kind) | {"surprise": 1}).encode()
    for decode in (codec.foreign, codec.trusted):
        with pytest.raises(BadDocument, match="surprise"):
            decode(data, kind, "it")


@pytest.mark.req("PP-29")
@each("kind", OPEN)
def test_unknown_fields_of_open_documents_are_kept(kind: type[OpenDocument]):
    """Also one that has the name under which they are kept."""
    more = {"surprise": {"of": ["later", {EXTRA: 1}]}, EXTRA: "hostile", "extra": None}
    raw = first(kind) | more
    for decode in (codec.foreign, codec.trusted):
        document = decode(json.dumps(raw).encode(), kind, "it")
        assert document.extra == more
        for encode in (codec.canonical, codec.pretty):
            assert json.loads(encode(document)) == raw


@each("kind", VERSIONED)
def test_an_absent_version_is_the_first(kind: type[Versioned]):
    raw = first(kind)
    assert "schema_version" not in raw
    assert codec.foreign(json.dumps(raw).encode(), kind, "it").schema_version == 1
    assert codec.foreign(json.dumps(raw | {"schema_version": 1}).encode(), kind, "it").schema_version == 1


@each("decode", [codec.foreign, codec.trusted])
@each("more", [{}, {"surprise": {"of": "later"}}, {"plan_id": None}])
@each("kind", VERSIONED)
def test_newer_documents_are_refused_as_newer(kind: type[Versioned], more: dict[str, Any], decode):
    """Also where they would fit, and where they would not for another reason."""
    data = json.dumps(first(kind) | more | {"schema_version": 2}).encode()
    with pytest.raises(NewerVersion, match="format 2, this one knows 1"):
        decode(data, kind, "it")


def test_a_newer_document_inside_another_is_refused():
    inner = first(events.Event) | {"schema_version": 7}
    data = json.dumps({"event": inner, "hash": "x"}).encode()
    for decode in (codec.foreign, codec.trusted):
        with pytest.raises(NewerVersion):
            decode(data, events.LoggedEvent, "it")


@each("version", [0, -1, "1", 1.5, None, [], True])
def test_a_version_is_a_number_from_one(version: object):
    data = json.dumps(first(plan.PlanPage) | {"schema_version": version}).encode()
    with pytest.raises(BadDocument):
        codec.foreign(data, plan.PlanPage, "it")


def test_every_schema_is_written_down_here():
    assert set(SCHEMAS) == set(REQUIRED)
    assert set(FIELDS) == set(KINDS)


@each("name", SCHEMAS)
def test_schemas_promise_what_we_write(name: str):
    schema = json_schema(name)
    top = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    assert top.get("required", []) == REQUIRED[name].split()
    assert msgspec.json.decode(codec.canonical(schema)).keys() == schema.keys()


@pytest.mark.parametrize("name", sorted(SCHEMAS.keys() - {"run-plan"}))  # its texts have patterns
@settings(max_examples=10)
@given(data=st.data())
def test_what_we_write_fits_its_schema(name: str, data: st.DataObject):
    kind = SCHEMAS[name]
    document = data.draw(_of(inspect.type_info(kind)))
    schema = json_schema(name)
    assert misfits(json.loads(codec.canonical(document)), schema, schema["$defs"]) == []


def misfits(  # noqa: C901  # one branch for each word of the language
    value: Any, schema: dict[str, Any], known: dict[str, Any], at: str = "$"
) -> list[str]:
    """As much of JSON Schema as our schemas use; an unknown word in one is an error here."""
    extra = schema.keys() - _WORDS
    if extra:
        return [f"{at}: unknown words {extra}"]
    if "$ref" in schema:
        return misfits(value, known[schema["$ref"].rsplit("/", 1)[1]], known, at)
    if "anyOf" in schema:
        found = [misfits(value, one, known, at) for one in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    if "type" in schema and not _TYPES[schema["type"]](value):
        return [f"{at}: {value!r} is no {schema['type']}"]
    if "minimum" in schema and value < schema["minimum"]:
        return [f"{at}: {value} is too small"]
    wrong = [f"{at}: {value} does not fit {word}" for word, fits in _BOUNDS.items()
             if word in schema and not fits(value, schema[word])]  # fmt: skip
    if isinstance(value, list):
        wrong += [
            w for i, item in enumerate(value) for w in misfits(item, schema["items"], known, f"{at}[{i}]")
        ]
    if isinstance(value, dict) and "properties" in schema:
        wrong += [f"{at}: {name} is missing" for name in schema["required"] if name not in value]
        open_ = "additionalProperties" not in schema
        unknown = [] if open_ else [name for name in value if name not in schema["properties"]]
        wrong += [f"{at}: {name} is not allowed" for name in unknown]
        for name, inner in schema["properties"].items():
            if name in value:
                wrong += misfits(value[name], inner, known, f"{at}.{name}")
    return wrong


_BOUNDS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": lambda value, most: value <= most,
    "exclusiveMinimum": lambda value, least: value > least,
    "minLength": lambda value, least: len(value) >= least,
    "maxLength": lambda value, most: len(value) <= most,
    "pattern": lambda value, pattern: re.search(pattern, value),
    "minItems": lambda value, least: len(value) >= least,
    "maxItems": lambda value, most: len(value) <= most,
    "maxProperties": lambda value, most: len(value) <= most,
}
_WORDS = {
    "$ref", "$defs", "anyOf", "enum", "type", "minimum", "items", "properties", "required", "title",
    "description", "default", "additionalProperties", "discriminator", "propertyNames", *_BOUNDS,
}  # fmt: skip
_TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def test_schemas_are_closed_unless_the_document_is_open():
    found = {
        kind: found.get("additionalProperties", True)
        for name in SCHEMAS
        for kind, found in json_schema(name)["$defs"].items()
        if found.get("properties")
    }
    assert {kind for kind, more in found.items() if more} <= {kind.__name__ for kind in OPEN}
    assert not {kind for kind, more in found.items() if not more} & {kind.__name__ for kind in OPEN}
    assert EXTRA not in json.dumps([json_schema(name) for name in SCHEMAS])


@each(
    ("content", "title"),
    [
        ("Add a button", "Add a button"),
        ("\n\n  # Add a button \nand more", "Add a button"),
        ("###\n---", "---"),
        (" \n\t\n#", ""),
        ("x" * 300, "x" * 200),
        ("# \u3000題\n", "題"),
    ],
)
def test_title_is_the_first_line_that_says_something(content: str, title: str):
    assert plan.title_of(content) == title
