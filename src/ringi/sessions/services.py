from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ringi.approvals.permits import Permits
from ringi.kernel.telemetry.port import SILENT, Telemetry

if TYPE_CHECKING:  # only names of types
    from collections.abc import MutableMapping
    from contextlib import AbstractContextManager

    from ringi.approvals.forge import ReviewChecks
    from ringi.approvals.person import PersonChannel
    from ringi.approvals.signing import Signatures
    from ringi.kernel.system import Clock, Ids
    from ringi.models.prompt import Budget, LanguageModel, Prompt
    from ringi.models.usage import TokenUsage
    from ringi.project.context import CodeContext
    from ringi.sessions.document import StoredSession
    from ringi.sessions.rows import SessionStore


class SessionServices(NamedTuple):
    """What planning sessions work with."""

    store: SessionStore
    clock: Clock
    ids: Ids
    model: Callable[[], LanguageModel]
    """The configured model. Raises UnknownModel, NoModelKey, NoExtra."""
    budget: Budget
    person: PersonChannel
    signatures: Signatures
    code: CodeContext
    runs: Callable[[str], bool]
    """Whether the search path has this program."""
    mask: Callable[[str], str]
    """Masks secrets in what is written to a log."""
    detailed: bool
    """Whether prompts and answers are logged."""
    working_on: Callable[[str], AbstractContextManager[None]]
    """Held while a model works for this session, so that nobody pays for it twice. Raises Busy."""
    open_calls: MutableMapping[str, bytes]
    """By session: what a call took whose answer is not saved yet. A killed process leaves it there."""
    sleep: Callable[[float], None]
    base_branch: Callable[[], str]
    """What a run would begin from."""
    requests: Callable[[], Iterable[str]]
    """The ids of the files in `requests/`."""
    test_timeout_sec: float = 600.0
    """What one test command of a run may take."""
    approved: Callable[[StoredSession], None] = lambda _: None
    """Gets a session as it was approved."""
    confidential: bool = False
    """Whether no log has what people and models wrote."""
    telemetry: Telemetry = SILENT
    permits: Permits = Permits()
    """Who may plan."""
    within: Callable[[Prompt, str, TokenUsage], None] = lambda _prompt, _model, _used: None
    """Raises BudgetUsed if the call could not end within what is left, after so much was used."""
    priced: Callable[[str, TokenUsage], TokenUsage] = lambda _model, usage: usage
    """With its cost, if the model's price is known."""
    reviews: ReviewChecks | None = None
    """None if a yes on a forge does not count."""
