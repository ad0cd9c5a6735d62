"""What somebody else did to a plan while a person reviews it."""

from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans import words
from ringi.plans.document import PlanStatus
from ringi.plans.reviewed_plan import ReviewedPlan


class News:
    """Notices changes made to the plan elsewhere during the review; reports each once."""

    def __init__(self, plan: ReviewedPlan) -> None:
        self._plan = plan
        self._told: tuple[int, PlanStatus] | None = None

    def look(self) -> TextSpan | None:
        status, now = self._plan.status, self._plan.moved_on()
        if now is None:
            self._told = None
            return None
        version, became = now.plan.version, now.state.status
        if self._told == (version, became):
            return None
        self._told = (version, became)
        if became in {PlanStatus.PENDING_REVIEW, status}:
            line = Text("The plan was changed: version {version}. [s] shows it.", version=version)
        else:
            name = self._plan.name
            line = Text("{plan} was decided elsewhere: {status}", plan=name, status=words.STATUS[became])
        return TextSpan(line, Style.WARNING)
