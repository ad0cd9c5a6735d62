"""Decision points fit the work, the answers and, after a reject, the feedback."""

# ruff: noqa: E501  # one case a line reads best

from typing import Any

import msgspec
import pytest

from ringi.domain.context import ProjectFacts
from ringi.domain.prompt import NewDecision
from ringi.domain.session import Brief, DecisionPoint, DesignOption, Question, Tradeoffs
from ringi.llm.playbook.book import book
from ringi.llm.playbook.questions import decisions, questions

PROJECT = ProjectFacts(languages=("Python",), manifests=("pyproject.toml",), tests=("tests/",))


def started(text: str, language: Any = "en", **answers: str) -> Brief:
    """A brief whose questions are answered; by type, the others by their first option or not at all."""
    brief = Brief(instruction=text, language=language, project=PROJECT)
    asked = [
        Question(
            id=f"q-{number}",
            type=made.type,
            question=made.question,
            options=made.options or None,
            answer=answers.get(made.type.value),
            answered_at="now",
        )
        for number, made in enumerate(questions(brief).questions, 1)
    ]
    return msgspec.structs.replace(brief, questions=tuple(asked))


def chosen(brief: Brief, *, option: str = "") -> Brief:
    """With each recommendation taken, or the option of that name where there is one."""
    points = []
    for number, made in enumerate(decisions(brief).decisions, 1):
        names = [o.name for o in made.options]
        at = names.index(option) if option in names else recommended_at(made)
        offered = tuple(
            DesignOption(
                id=f"opt-{n}", name=o.name, description=o.description, tradeoffs=Tradeoffs(o.pros, o.cons)
            )
            for n, o in enumerate(made.options)
        )
        points.append(
            DecisionPoint(id=f"d-{number}", topic=made.topic, options=offered, selected_option_id=f"opt-{at}")
        )
    return msgspec.structs.replace(brief, decisions=tuple(points))


def rejected(brief: Brief, feedback: str) -> Brief:
    return msgspec.structs.replace(brief, feedback=(*brief.feedback, feedback))


def recommended_at(made: NewDecision) -> int:
    return [option.recommendation for option in made.options].index(True)


def recommended(brief: Brief, topic: str) -> str:
    made = found(brief, topic)
    assert made is not None
    return made.options[recommended_at(made)].name


def found(brief: Brief, topic: str) -> NewDecision | None:
    return next((made for made in decisions(brief).decisions if topic in made.topic), None)


@pytest.mark.req("IP-4")
@pytest.mark.parametrize(
    ("language", "text", "topic", "option"),
    [
        ("en", "Fix the wrong total", "fault is fixed", "Smallest change at the cause"),
        ("en", "Refactor the parser", "rework proceeds", "In small steps, tests green after each"),
        ("en", "Make the search faster", "speed comes from", "Measure first, then the hottest place"),
        ("en", "Change the schema of the orders table", "old and new form", "Expand, move, contract"),
        ("en", "Remove the unused XML exporter", "goes", "Remove at once"),
        ("en", "SQL injection in the search form", "protection sits", "In one central place"),
        ("en", "Rename the function foo to bar in src/app.py", "old name", "Rename everywhere at once"),
        (
            "en",
            "Delete all users who have not logged in for two years",
            "taken back",
            "Mark first, delete after a waiting time",
        ),
        (
            "en",
            "Delete all users who have not logged in for two years",
            "selection",
            "Dry run with counts and samples",
        ),
        ("en", "Set up CI with GitHub Actions", "introduced", "Not required at first"),
        ("en", "Set up CI with GitHub Actions", "written down", "A command that people and CI share"),
        ("en", "Upgrade Django from 3.2 to 5.0", "version rises", "One major version at a time"),
        ("en", "Upgrade Django from 4.2 to 5.0", "version rises", "Straight to the target"),
        (
            "en",
            "Bump version to 2.0 and tag a release",
            "release is made",
            "By a workflow that the tag starts",
        ),
        ("en", "Encrypt customer data at rest", "keys are kept", "In a key service"),
        (
            "en",
            "Make the notifications support both Slack and email",
            "fits into",
            "One interface, an implementation for each",
        ),
        ("ja", "Djangoを3.2から5.0に上げる", "段階", "メジャーバージョンを一つずつ"),
        ("ja", "GitHub ActionsでCIを導入したい", "どこに記述", "人とCIが共有するコマンド"),
        (
            "ja",
            "2年間ログインしていないユーザーを削除する",
            "取り消せる",
            "まず印を付けて隠し、一定期間の後に削除",
        ),
        ("ja", "合計が間違っている不具合を修正", "どこで直すか", "原因箇所を最小限に修正"),
        (
            "ja",
            "パーサーをリファクタリング",
            "どのように進めるか",
            "小さなステップで、毎回テストを通しながら",
        ),
        ("ja", "検索を速くする", "何によって速くするか", "まず計測し、最も重い箇所を直す"),
        ("ja", "注文テーブルのスキーマを変更する", "新旧の形式", "追加、移行、削除の順に段階的に"),
        ("ja", "使われていないXML出力を削除", "どうなくすか", "すぐに削除"),
    ],
)
def test_the_usual_recommendation(language: Any, text: str, topic: str, option: str):
    assert recommended(started(text, language), topic) == option


@pytest.mark.parametrize(
    ("language", "text", "answers", "topic", "option"),
    [
        ("en", "Add search", {"priority": "Easy to switch off or take back"}, "switched on", "Behind a feature flag for a while"),
        ("en", "Add search", {"constraint": "Existing outputs and public interfaces"}, "switched on", "By an option of the user"),
        ("en", "Fix the wrong total", {"priority": "we are in a hurry, it is urgent", "technical": "Not known"}, "fault is fixed", "Guard at the boundary"),
        ("en", "Fix the wrong total", {"priority": "Remove the cause, even if it takes longer", "scope": "The same pattern everywhere"}, "fault is fixed", "Rework the part"),
        ("en", "Remove the old API", {"clarification": "Users or other services, who need notice"}, "goes", "Deprecate with a warning, remove later"),
        ("en", "Change the orders schema", {"scope": "Only this application", "priority": "Two forms side by side for long"}, "old and new form", "One step"),
        ("ja", "検索を追加", {"priority": "簡単に無効化・取り消しできること"}, "有効にするか", "しばらくフィーチャーフラグで制御"),
        ("ja", "検索を追加", {"constraint": "既存の出力と公開インターフェース"}, "有効にするか", "利用者がオプションで指定"),
        ("ja", "古いAPIを廃止", {"clarification": "利用者やほかのサービスが使っていて、予告が必要"}, "どうなくすか", "警告を出し、後で削除"),
    ],
)  # fmt: skip
def test_answers_shift_the_recommendation(
    language: Any, text: str, answers: dict[str, str], topic: str, option: str
):
    assert recommended(started(text, language, **answers), topic) == option


@pytest.mark.parametrize(
    ("language", "text", "answer", "topic", "library"),
    [
        ("en", "Add search", "No new dependency in `pyproject.toml`", "lives", "Through a library"),
        ("en", "Add search", "please add no new dependencies, hurry", "lives", "Through a library"),
        ("ja", "検索を追加", "`pyproject.toml`に依存を増やさない", "どこに置くか", "ライブラリを使う"),
        ("ja", "検索を追加", "急ぎですが標準ライブラリのみで", "どこに置くか", "ライブラリを使う"),
    ],
)
def test_nobody_who_wants_no_dependency_is_recommended_one(
    language: Any, text: str, answer: str, topic: str, library: str
):
    brief = started(text, language, constraint=answer, priority="soon 早く")
    assert recommended(brief, topic) != library


@pytest.mark.parametrize(
    ("language", "text", "answers", "topic"),
    [
        ("en", "Add search to src/app.py", {}, "lives"),
        ("en", "Add search", {"technical": "A module of its own"}, "lives"),
        ("en", "Add search", {"technical": "put it into src/search.py"}, "lives"),
        ("en", "Add a --deep option to search", {}, "switched on"),
        ("en", "Add search with tests", {}, "tested"),
        ("en", "Fix the wrong total", {"priority": "Stop it now, find the cause later"}, "fault is fixed"),
        ("en", "Remove the old API", {"constraint": "One release with a warning"}, "goes"),
        ("en", "Change the orders schema", {"constraint": "During the roll-out"}, "old and new form"),
        (
            "en",
            "Change the orders schema",
            {"technical": "No stored data, only the interface"},
            "existing data",
        ),
        ("en", "Add a column to the users table", {}, "old and new form"),
        ("ja", "src/app.py に検索を追加", {}, "どこに置くか"),
        ("ja", "検索を追加", {"technical": "独立したモジュールにする"}, "どこに置くか"),
        ("ja", "検索にオプションを追加", {}, "有効にするか"),
        ("ja", "古いAPIを廃止", {"constraint": "警告を出して1リリースは残す"}, "どうなくすか"),
    ],
)
def test_what_is_decided_already_is_left_out(language: Any, text: str, answers: dict[str, str], topic: str):
    brief = started(text, language, **answers)
    assert found(brief, topic) is None
    assert decisions(brief).decisions


def test_another_kind_of_work_brings_its_decision_along():
    made = decisions(started("Add user authentication")).decisions
    assert [decision.topic for decision in made] == [
        "Where “user authentication” lives",
        "Where the protection sits",
        "How “user authentication” is switched on",
    ]


# --- after a reject ---------------------------------------------------------------------------------


@pytest.mark.req("IP-2", "IP-4")
@pytest.mark.parametrize(
    ("language", "text", "before", "feedback", "option"),
    [
        ("en", "Add search", "", "I want it behind a feature flag", "Behind a feature flag for a while"),
        ("en", "Add search", "", "Put it into its own module please", "In a module of its own"),
        ("en", "Fix the wrong total", "", "Please rework this part properly", "Rework the part"),
        ("en", "Make search faster", "", "just cache it", "Cache results"),
        ("en", "Refactor the parser", "", "do it all at once", "All at once"),
        (
            "en",
            "Fix the crash when the config file is empty",
            "",
            "Use the default instead of failing",
            "Fall back to a default",
        ),
        ("en", "Add search", "", "it must live in a module of its own", "In a module of its own"),
        (
            "ja",
            "設定ファイルが空だと落ちる不具合を修正",
            "",
            "エラーではなくデフォルトを使ってほしい",
            "既定値で代替",
        ),
        ("ja", "検索を追加", "", "フラグで切れるようにしたい", "しばらくフィーチャーフラグで制御"),
        ("ja", "検索を追加", "", "別モジュールにしてください", "独立したモジュールにする"),
        ("ja", "検索を速くする", "", "キャッシュを使ってほしい", "結果をキャッシュする"),
        ("ja", "パーサーをリファクタリング", "", "一度にまとめてやりたい", "一度にまとめて"),
    ],
)
def test_feedback_for_another_option(language: Any, text: str, before: str, feedback: str, option: str):
    first = decisions(rejected(chosen(started(text, language), option=before), feedback)).decisions[0]
    best = first.options[recommended_at(first)]
    note = book(language).sentences["wanted"].partition("{")[0]
    assert best.name == option
    assert best.description.startswith(note)


@pytest.mark.parametrize(
    ("language", "text", "before", "feedback"),
    [
        ("en", "Add search", "Behind a feature flag for a while", "not a flag, please"),
        ("en", "Add search", "Behind a feature flag for a while", "the flag is overkill"),
        ("en", "Add search", "Through a library", "I'd rather do it without a library"),
        ("en", "Make search faster", "Cache results", "avoid caching here"),
        ("ja", "検索を追加", "しばらくフィーチャーフラグで制御", "フラグは不要です"),
        ("ja", "検索を追加", "ライブラリを使う", "ライブラリは使わないでください"),
        ("ja", "検索を速くする", "結果をキャッシュする", "キャッシュは避けたい"),
    ],
)
def test_feedback_against_what_was_chosen(language: Any, text: str, before: str, feedback: str):
    first = decisions(rejected(chosen(started(text, language), option=before), feedback)).decisions[0]
    best = first.options[recommended_at(first)]
    assert best.name != before
    assert before in best.description


def test_one_against_and_one_for():
    brief = chosen(started("Add search"), option="Behind a feature flag for a while")
    assert (
        recommended(rejected(brief, "Not a flag but an option"), "switched on") == "By an option of the user"
    )
    brief = chosen(started("検索を追加", "ja"), option="しばらくフィーチャーフラグで制御")
    again = rejected(brief, "フラグではなくオプションにしてください")
    assert recommended(again, "有効にするか") == "利用者がオプションで指定"


@pytest.mark.parametrize(
    ("language", "feedback", "option"),
    [
        ("en", "The name of the command is misleading", "Change that point, keep the rest"),
        ("en", "This is too big for one review", "Make the plan smaller"),
        ("en", "You forgot the French translation", "Add what is missing"),
        ("en", "Completely different approach, please", "Think the design over again"),
        ("ja", "コマンド名が分かりにくいです", "その点だけを変え、残りはそのまま"),
        ("ja", "計画が大きすぎます", "計画を小さくする"),
        ("ja", "翻訳の説明が足りない", "足りないものを加える"),
        ("ja", "最初から考え直してください", "設計を考え直す"),
    ],
)
def test_other_feedback_becomes_a_decision_of_its_own(language: Any, feedback: str, option: str):
    text = {"en": "Add search in src/app.py", "ja": "src/app.py に検索を追加"}[language]
    made = decisions(rejected(chosen(started(text, language)), feedback)).decisions
    assert feedback in made[0].topic
    assert made[0].options[recommended_at(made[0])].name == option
    assert len(made) == 3


@pytest.mark.req("IP-2")
@pytest.mark.parametrize(
    ("language", "text", "feedback"),
    [
        ("en", "Add search", "The name is misleading"),
        ("en", "Fix the wrong total", "This is too big"),
        ("en", "Add search", "Rather through a library"),
        ("en", "Add user authentication", "I want end-to-end tests"),
        ("ja", "検索を追加", "名前が分かりにくいです"),
        ("ja", "合計の不具合を修正", "計画が大きすぎます"),
    ],
)
def test_no_earlier_decision_disappears(language: Any, text: str, feedback: str):
    brief = chosen(started(text, language))
    before = {decision.topic for decision in brief.decisions}
    assert len(before) == 3
    for words in (feedback, "And something else", "もう一つ"):
        brief = chosen(rejected(brief, words))
        assert {decision.topic for decision in brief.decisions} == before


def test_a_decision_about_feedback_stays_as_well():
    brief = chosen(rejected(chosen(started("Add search in src/app.py")), "The name is misleading"))
    again = rejected(brief, "And the colour")
    topics = {decision.topic for decision in decisions(again).decisions}
    assert topics == {decision.topic for decision in brief.decisions}


def test_earlier_choices_stay_recommended():
    before = chosen(started("Add search"), option="In a module of its own")
    made = found(rejected(before, "The name is misleading"), "lives")
    assert made is not None
    best = made.options[recommended_at(made)]
    assert best.name == "In a module of its own"
    assert best.description.startswith("Your choice before.")


def test_what_was_said_first_is_not_forgotten_at_the_second_reject():
    once = chosen(rejected(chosen(started("Add search in src/app.py")), "I want it behind a feature flag"))
    twice = rejected(once, "The name is misleading")
    assert [decision.topic for decision in decisions(twice).decisions][:2] == [
        "What to change after your feedback: “The name is misleading”",
        "How “search” is switched on",
    ]
    assert recommended(twice, "switched on") == "Behind a feature flag for a while"
