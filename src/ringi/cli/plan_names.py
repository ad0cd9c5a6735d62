"""The names of plans, runs and branches, as the shell completes them."""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from ringi.cli.arguments import require_named
from ringi.errors import RingiError
from ringi.kernel.places import Places, find_root, places_of
from ringi.kernel.text import Text, visible

_MOST: Final = 100


class PlanName(click.ParamType[str]):
    name = "plan"
    what = Text("plan")
    see = "ringi list"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        # An option without a value means the newest one.
        if value or getattr(param, "flag_value", None) != "":
            require_named(value, self.what, self.see)
        return super().convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """With their titles; writes nothing, and keeps quiet if anything is wrong."""
        del param
        found = ctx.find_root()
        environment = found.obj if isinstance(found.obj, Mapping) else {}
        with contextlib.suppress(RingiError, OSError):
            places = places_of(find_root(found.params.get("workspace") or Path()), environment)
            return [
                CompletionItem(name, help=visible(title, keep=""))
                for name, title in self.names(places)
                if name.startswith(incomplete)
            ]
        return []

    def names(self, places: Places) -> Iterable[tuple[str, str]]:
        """The newest plans."""
        from ringi.app.lists import names_of_plans  # noqa: PLC0415  # only when the shell asks

        return names_of_plans(places.state, _MOST)


class ReviewedName(PlanName):
    """What can be reviewed: a plan, or something that git has a name for."""

    name = "plan or branch"

    def names(self, places: Places) -> Iterable[tuple[str, str]]:
        from ringi.tree.revision import branches  # noqa: PLC0415  # only when the shell asks

        yield from super().names(places)
        yield from branches(places.root, _MOST)


class RunName(PlanName):
    name = "run"
    what = Text("run")
    see = "ringi status"

    def names(self, places: Places) -> Iterable[tuple[str, str]]:
        from ringi.app.lists import names_of_runs  # noqa: PLC0415  # only when the shell asks

        return names_of_runs(places.state, _MOST)


PLAN: Final = PlanName()
RUN: Final = RunName()
REVIEWED: Final = ReviewedName()
