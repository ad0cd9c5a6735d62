"""What a run does on a forge, in plain words: whoever approves its plan approves this, too."""

from collections.abc import Iterator
from typing import Final

from ringi.approvals.document import ProofKind, ProofRecord, Strength
from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind, Project
from ringi.engine.run_plan import RunPlan
from ringi.kernel.lines import EMPTY, Line, Style, line, prose
from ringi.kernel.text import GRANT_SHOWN, Text, moment

_CHANGE: Final = {ForgeKind.GITHUB: Text("pull request"), ForgeKind.GITLAB: Text("merge request")}
NAME_ISSUE: Final = Text(
    "Name the issue by its number, such as 12, or by its whole address, such as {address}",
    address="https://github.com/acme/app/issues/12",
)
_SIGN: Final = {ForgeKind.GITHUB: "#", ForgeKind.GITLAB: "!"}


def not_pushed(commit: str) -> Text:
    return Text("it has commit {id}, which the run did not push", id=commit)


def change_name(project: Project) -> Text:
    return _CHANGE[project.kind]


def item_name(project: Project, item: Item) -> Text:
    """As people there call it."""
    if item.kind is ItemKind.ISSUE:
        return Text("issue #{number}", number=item.number)
    return Text("{change} {number}", change=change_name(project), number=item_number(project, item))


def item_number(project: Project, item: Item) -> str:
    """As a text there refers to it."""
    sign = "#" if item.kind is ItemKind.ISSUE else _SIGN[project.kind]
    return f"{sign}{item.number}"


def terms_lines(terms: ForgeTerms, plan: RunPlan) -> Iterator[Line]:
    yield EMPTY
    where = f"{terms.project.host}/{terms.project.path}"
    yield line(Text("What it does on {where}", where=where), Style.STRONG)
    yield from (prose(words, indent=2, mark="- ") for words in terms_words(terms, plan))


def terms_words(terms: ForgeTerms, plan: RunPlan) -> Iterator[Text]:
    """One for each thing that somebody else can see."""
    change = change_name(terms.project)
    if terms.opens_change and terms.approved_here:
        yield Text(
            "pushes the branch {branch} to {remote} ({url}), with every step as a commit; later the notes "
            "that prove the approvals",
            branch=plan.work_branch,
            remote=terms.remote,
            url=terms.remote_url,
        )
        yield Text(
            "opens a draft {change} from it into {base}, with the report as its text, and sets the status "
            "of its commits; a review there approves nothing: a person approves the steps where the run is",
            change=change,
            base=plan.base_branch,
        )
    elif terms.opens_change:
        yield Text(
            "pushes the branch {branch} to {remote} ({url}), with every step as a commit that nobody has "
            "approved yet; later the notes that prove the approvals",
            branch=plan.work_branch,
            remote=terms.remote,
            url=terms.remote_url,
        )
        yield Text(
            "opens a draft {change} from it into {base}, with the report as its text, and sets the status "
            "of its commits; the review there becomes the approval",
            change=change,
            base=plan.base_branch,
        )
    if terms.item:
        yield from _on_item(terms, item_name(terms.project, terms.item))


def _on_item(terms: ForgeTerms, item: Text) -> Iterator[Text]:
    if terms.comments:
        yield Text("writes one comment on {item} and keeps it up to date", item=item)
    if terms.label:
        yield Text(
            "sets the label “{label}” on {item} while a person is needed, and removes it afterwards",
            label=terms.label,
            item=item,
        )


def format_approval(who: str, when: str) -> Text:
    return Text("approved by {who}, {when}", who=who, when=moment(when))


def format_proof(record: ProofRecord) -> Text:
    """How it is known that a person said yes, and how much that is worth."""
    if record.kind is ProofKind.SIGNED:
        return Text("signed with a listed key of {name} (strong)", name=record.principal or record.user)
    if record.kind is ProofKind.GRANT:
        return Text("covered by the standing approval {grant}", grant=(record.grant or "")[:GRANT_SHOWN])
    if record.kind is ProofKind.CONFIGURED:
        return Text("your configuration demands it")
    if record.kind is ProofKind.REVIEW and record.review:
        where = {"name": record.principal or record.user, "url": record.review.url}
        if record.strength is Strength.WEAK:
            return Text("by {name} in {url} (weak: this machine holds credentials of that account)", **where)
        return Text("by {name} in {url} (medium)", **where)
    typed = Text("typed by {user} at {terminal} (weak)", user=record.user, terminal=record.channel)
    if record.fresh_since:
        when = moment(record.fresh_since)
        return Text("{typed}; fresh terminal: opened {when}, after this was proposed", typed=typed, when=when)
    return typed
