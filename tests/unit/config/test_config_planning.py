"""The configuration of the planning process: its chapters' own YAML, variables, tasks and repositories."""

from pathlib import Path
from typing import Any

import pytest

from ringi.config.keys import KEYS, Config, DecompositionLevel, KeyOrigin, PlanningStrategy
from ringi.config.load import load
from ringi.engine.levels import Measure, measure_of, subtask_limit
from ringi.errors import BadConfiguration
from ringi.kernel.places import project_file
from tests.fakes.config import values_of
from tests.tables import each

CHAPTERS = {
    "9.1": """
planning:
  enabled: true
  strategy: "chain_of_thought"
  max_subtasks: 10
  decomposition_level: "moderate"
  reflection:
    enabled: true
    trigger_on_error: true
    trigger_interval: 3
    depth: "moderate"
  revision:
    max_revisions: 3
    require_human_approval: false
    approval_timeout: 3600
  cache:
    enabled: true
    ttl: 86400
""",
    "9.3": """
planning:
  enabled: true
  strategy: "chain_of_thought"
  # タスクタイプ別の設定オーバーライド
  task_specific:
    github_issue:
      max_subtasks: 15
      reflection:
        trigger_interval: 5

    github_pr:
      strategy: "hierarchical"
      reflection:
        depth: "deep"
    gitlab:
      decomposition_level: "detailed"
""",
    "11.1": """
planning:
  decomposition_level: "moderate"  # detailed/moderate/minimal
  auto_adjust_level: true
  complexity_threshold:
    simple: 100    # 100トークン以下は簡易
    moderate: 500
    complex: 9999
""",
    "11.2": """
planning:
  execution:
    action_timeout: 60
    total_timeout: 3600
    early_termination:
      enabled: true
      max_consecutive_failures: 3
""",
    "11.3": """
planning:
  revision:
    max_history_in_memory: 5
    max_history_on_disk: 50
    auto_summarize: true
""",
    "12.1": """
planning:
  security:
    allowed_tools:
      - "github_get_*"
      - "github_create_or_update_file"
      - "github_search_*"
    forbidden_tools:
      - "github_delete_*"
      - "*_admin_*"
    require_approval:
      - "github_create_or_update_file"  # メインブランチへの変更
      - "github_merge_*"
""",
    "12.2": """
planning:
  logging:
    level: "INFO"  # DEBUG/INFO/WARNING/ERROR
    mask_sensitive_data: true
    sensitive_patterns:
      - "password"
      - "token"
      - "secret"
      - "api_key"
""",
    "12.3": """
planning:
  permissions:
    allowed_users:
      - "admin-team"
      - "developer-group"
    auto_execution_allowed:
      - "trusted-user"
    always_require_approval:
      - "external-contributor"
""",
    "16.1": """
metrics:
  planning_accuracy:
    target: 80%  # 80%のタスクが最初の計画で完了

  revision_rate:
    target: <30%

  avg_revisions:
    target: <1.5
""",
    "16.2.1": """
performance_metrics:
  planning_time:
    measure: "プランニングフェーズの所要時間"
    unit: "seconds"

  execution_time:
    measure: "実行フェーズの所要時間"
    unit: "seconds"

  reflection_time:
    measure: "リフレクションフェーズの所要時間"
    unit: "seconds"

  total_time:
    measure: "タスク全体の所要時間"
    unit: "seconds"
""",
    "16.2.2": """
resource_metrics:
  llm_calls:
    measure: "LLM API呼び出し回数"
    breakdown:
      - planning: "プランニング用"
      - execution: "実行用"
      - reflection: "リフレクション用"

  tokens_used:
    measure: "使用トークン数"
    breakdown:
      - input: "入力トークン"
      - output: "出力トークン"

  api_cost:
    measure: "API使用コスト"
    unit: "USD"
""",
    "16.3": """
quality_metrics:
  task_completion_rate:
    measure: "タスク完了率"
    calculation: "完了タスク数 / 全タスク数"
    target: ">90%"

  first_try_success_rate:
    measure: "初回成功率"
    calculation: "計画修正なしで完了 / 全タスク数"
    target: ">70%"

  error_recovery_rate:
    measure: "エラー回復率"
    calculation: "回復成功 / 全エラー数"
    target: ">80%"
""",
    "16.4": """
tracing:
  enabled: true
  provider: "opentelemetry"

  spans:
    - name: "planning.understand_goal"
    - name: "planning.decompose_task"
    - name: "planning.generate_action_plan"
    - name: "execution.execute_action"
    - name: "reflection.evaluate_action"
    - name: "reflection.revise_plan"
""",
}
TASK = "planning.task_specific"


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root / "shop"
        self.user = root / "config.yaml"
        project_file(self.root).parent.mkdir(parents=True)

    def load(self, *, user: str = "", project: str = "", **variables: str) -> Config:
        self.user.write_text(user)
        project_file(self.root).write_text(project)
        home = str(self.root.parent)
        return load(self.root, {"HOME": home, "RINGI_CONFIG": str(self.user), **variables})

    def refused(self, **given: str) -> str:
        with pytest.raises(BadConfiguration) as caught:
            self.load(**given)
        return str(caught.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.req("PP-11")
@each("chapter", CHAPTERS)
def test_the_chapters_are_taken_as_they_are_written(place: Place, chapter: str):
    mine = place.load(user=CHAPTERS[chapter])
    assert mine.notes == ()
    assert any(source.origin is KeyOrigin.USER for source in mine.sources.values())
    place.load(project=CHAPTERS[chapter])  # a project may say the same


@pytest.mark.req("PP-11")
def test_the_chapters_say_the_defaults(place: Place):
    """As far as they are no examples: lists of tools and users, a switch that sends data, words of people."""
    untouched = values_of(place.load())
    for chapter in ("9.1", "11.1", "11.2", "11.3", "16.1"):
        assert values_of(place.load(user=CHAPTERS[chapter])) == untouched, chapter
    resources = place.load(user=CHAPTERS["16.2.2"]).resource_metrics
    assert resources.llm_calls.breakdown == untouched["resource_metrics.llm_calls.breakdown"]
    tracing = place.load(user=CHAPTERS["16.4"]).tracing
    assert (tracing.enabled, tracing.spans) == (True, untouched["tracing.spans"])


@pytest.mark.req("PP-11")
@each(
    ("variable", "text", "name", "value"),
    [
        ("PLANNING_ENABLED", "false", "planning.enabled", False),
        ("PLANNING_STRATEGY", "simple", "planning.strategy", "simple"),
        ("PLANNING_MAX_SUBTASKS", "4", "planning.max_subtasks", 4),
        ("REFLECTION_ENABLED", "0", "planning.reflection.enabled", False),
        ("REFLECTION_INTERVAL", "0", "planning.reflection.trigger_interval", 0),
        ("MAX_PLAN_REVISIONS", "1", "planning.revision.max_revisions", 1),
    ],
)
def test_the_six_variables_come_last(place: Place, variable: str, text: str, name: str, value: Any):
    config = place.load(user=CHAPTERS["9.1"], project=CHAPTERS["9.1"], **{variable: text})
    assert KEYS[name].of(config) == value
    assert config.sources[name] == (KeyOrigin.ENVIRONMENT, variable, "")
    refusal = place.refused(**{variable: "perhaps so"})
    assert refusal.startswith(f"{variable}: {name} ")


def test_ours_counts_before_the_short_name(place: Place):
    config = place.load(PLANNING_MAX_SUBTASKS="4", RINGI_PLANNING_MAX_SUBTASKS="5")
    assert config.planning.max_subtasks == 5


@each("word", ["true", "True", "yes", "on", "false", "no", "OFF"])
def test_true_and_false_in_the_words_people_use(place: Place, word: str):
    found = place.load(user=f"planning: {{enabled: {word}}}").planning.enabled
    assert found == (word.lower() in {"true", "yes", "on"})


@each("word", ['"true"', "1", "maybe", "[true]", "~"])
def test_what_is_no_truth_is_refused(place: Place, word: str):
    assert "planning.enabled is true or false, not " in place.refused(user=f"planning: {{enabled: {word}}}")


@pytest.mark.req("PP-11")
def test_settings_for_a_kind_of_task(place: Place):
    config = place.load(user=CHAPTERS["9.3"])
    assert config.planning.max_subtasks == 10
    issue = config.for_task("github_issue").planning
    assert (issue.max_subtasks, issue.reflection.trigger_interval) == (15, 5)
    assert (issue.strategy, issue.reflection.depth) == ("chain_of_thought", "moderate")
    request = config.for_task("github_pr").planning
    assert (request.strategy, request.reflection.depth) == ("hierarchical", "deep")
    assert config.for_task("gitlab").planning.decomposition_level == "detailed"
    assert config.by_task[f"{TASK}.github_issue.max_subtasks"][1].where.endswith(":8")
    variable = place.load(user=CHAPTERS["9.3"], PLANNING_MAX_SUBTASKS="3")
    assert variable.for_task("github_issue").planning.max_subtasks == 3


@pytest.mark.req("PP-11")
def test_a_project_only_tightens_for_a_task_too(place: Place):
    def of_task(text: str) -> str:
        return f"planning: {{task_specific: {{gitlab: {text}}}}}"

    tools = "{security: {forbidden_tools: [b]}}"
    config = place.load(user="planning: {security: {forbidden_tools: [a]}}", project=of_task(tools))
    assert config.for_task("gitlab").planning.security.forbidden_tools == ("a", "b")
    assert config.for_task("github_pr").planning.security.forbidden_tools == ("a",)
    looser = of_task("{revision: {require_human_approval: false}}")
    asked = "planning: {revision: {require_human_approval: true}}"
    assert "a project may only tighten it" in place.refused(user=asked, project=looser)
    assert place.load(user=looser, project=asked).for_task("gitlab").planning.revision.require_human_approval
    trusted = of_task("{permissions: {auto_execution_allowed: [me]}}")
    assert "for all tasks, not for one kind" in place.refused(project=trusted)


@each(
    ("text", "problem"),
    [
        (
            "planning: {task_specific: {jira: {}}}",
            f"there is no key {TASK}.jira; the nearest known one is {TASK}.",
        ),
        ("planning: {task_specific: {gitlab: {max_subtask: 1}}}", "there is no key planning.max_subtask"),
        ("planning: {task_specific: {gitlab: {model: x}}}", "there is no key planning.model"),
        ("planning: {task_specific: 1}", f"{TASK} is a section"),
        ("planning: {reflection: true}", "planning.reflection is a section"),
        ("planning: {reflection.depth: deep}", "write depth: below planning.reflection:, indented"),
        ("planning.enabled: true", "write enabled: below planning:, indented"),
        ("metrics: {planning_accuracy: {target: about 80%}}", "a target looks like 80%, >90% or <1.5"),
        ("tracing: {spans: [{name: a, other: b}]}", "tracing.spans holds texts, not a section"),
        ("tracing: {spans: [{nome: a}]}", "tracing.spans holds texts, not a section"),
        (
            "planning: {logging: {level: LOUD}}",
            "planning.logging.level is one of DEBUG, INFO, WARNING, ERROR",
        ),
        ("planning: {max_subtasks: 0}", "planning.max_subtasks must be from 1 to 99"),
    ],
)
def test_what_is_wrong_is_named(place: Place, text: str, problem: str):
    assert problem in place.refused(user=text)
    assert problem in place.refused(project=text)


@pytest.mark.req("PP-27")
def test_a_list_that_allows_can_only_become_shorter(place: Place):
    def allowing(*tools: str) -> str:
        return f"planning: {{security: {{allowed_tools: [{', '.join(tools)}]}}}}"

    assert place.load(project=allowing("a")).planning.security.allowed_tools == ("a",)
    assert place.load(user=allowing("a", "b"), project=allowing("b")).planning.security.allowed_tools == (
        "b",
    )
    for wider in (allowing("a", "c"), allowing()):
        assert "a project may only tighten it" in place.refused(user=allowing("a", "b"), project=wider)


@pytest.mark.req("PP-5", "PP-11")
def test_the_engine_plans_as_it_is_configured(place: Place):
    assert subtask_limit(place.load()) is None
    assert measure_of(501, place.load()).most == 15
    text = """
planning:
  enabled: false
  strategy: simple
  max_subtasks: 10
  decomposition_level: minimal
  auto_adjust_level: false
  complexity_threshold: {simple: 1, moderate: 2}
  security: {allowed_tools: [read], forbidden_tools: [write]}
"""
    config = place.load(user=text)
    assert subtask_limit(config) == 10
    assert config.planning.strategy is PlanningStrategy.SIMPLE
    assert measure_of(501, config) == Measure(
        DecompositionLevel.MINIMAL, 2, 5, hierarchical=False, reasoned=False, at_once=True
    )


@pytest.mark.req("PP-27")
def test_settings_per_repository(place: Place):
    text = """
planning: {strategy: simple, max_subtasks: 5}
repositories:
  ~/shop:
    planning: {strategy: hierarchical}
    logs: {detail: off}
  ~/elsewhere:
    planning: {max_subtasks: 1}
  /nowhere/*: {}
"""
    config = place.load(user=text)
    assert (config.planning.strategy, config.planning.max_subtasks) == ("hierarchical", 5)
    assert config.logs.detail == "off"
    assert config.sources["planning.strategy"].where.endswith(":5")
    assert place.load(user=text.replace("~/shop", "~/s*")).logs.detail == "off"
    assert "repositories belongs in your own file" in place.refused(project=text)
    for wrong in ("repositories: [a]", "repositories: {relative: {}}", "repositories: {~/x: {nonsense: 1}}"):
        assert place.refused(user=wrong)
