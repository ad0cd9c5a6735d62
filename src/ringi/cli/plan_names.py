"""The names of plans, as the shell completes them."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from ringi.errors import RingiError
from ringi.text import visible
from ringi.workspace.places import find_root, places_of

_MOST: Final = 100


class PlanName(click.ParamType[str]):
    name = "plan"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The newest plans with their titles; writes nothing, and keeps quiet if anything is wrong."""
        del param
        from ringi.store.lists import names_of_plans  # noqa: PLC0415  # only when the shell asks

        found = ctx.find_root()
        environment = found.obj if isinstance(found.obj, Mapping) else {}
        with contextlib.suppress(RingiError, OSError):
            state = places_of(find_root(found.params.get("workspace") or Path()), environment).state
            return [
                CompletionItem(name, help=visible(title, keep=""))
                for name, title in names_of_plans(state, _MOST)
                if name.startswith(incomplete)
            ]
        return []


PLAN: Final = PlanName()
