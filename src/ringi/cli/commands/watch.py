"""`ringi watch`: what is said on a forge carries sessions and runs on."""

import time

import click

from ringi.approvals.forge import page_of
from ringi.cli.app import EXIT_PERSON_NEEDED, App
from ringi.cli.plan_names import RUN
from ringi.cli.run_driver import ending_alike, exit_code
from ringi.cli.ui import json_line
from ringi.errors import Busy, Interrupted
from ringi.forges.watch import Round, Watcher, lock_watching
from ringi.forges.watch import watch as watch_all
from ringi.forges.watch_project import NewsKind, Standing, WatchEvent
from ringi.kernel.process.progress import watch_progress
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session, short
from ringi.runs.document import RunEvent

_STYLES = {
    NewsKind.APPROVED: "green",
    NewsKind.REFUSED: "yellow",
    NewsKind.STANDS: "yellow",
    NewsKind.FAILED: "red",
    NewsKind.IGNORED: "dim",
}


@click.command()
@click.argument("name", metavar="[RUN|SESSION]", type=RUN, required=False)
@click.option("--once", is_flag=True, help="Look once, then end.")
@click.pass_context
def watch(ctx: click.Context, name: str | None, once: bool) -> None:
    """Carry sessions and runs on with what is said about them on a forge.

    Reads answers, reviews and comments of people with write access there, every forge.poll_sec seconds, until
    nothing is left to wait for. Without a name, all that are open. With --once the exit code says how things
    stand: 0 nothing is left, 3 somebody is needed, 7 another process is at work, 1 the forge failed.
    """
    app: App = ctx.obj
    raise click.exceptions.Exit(_Command(app, name or "").go(once=once))


class _Command:
    def __init__(self, app: App, name: str) -> None:
        self._app = app
        self._ui = app.ui
        self._name = name
        self._linked: set[str] = set()

    def go(self, *, once: bool) -> int:
        app = self._app
        watcher = Watcher(app.workspace, self._tell, self._hear)
        poll = app.workspace.config.forge.poll_sec
        try:
            with lock_watching(app.places.state), ending_alike(), watch_progress(None):
                found = watcher.round(self._name)
                if not once and not found.is_last:
                    self._begin(found, poll)
                    time.sleep(poll)
                    found = watch_all(watcher, self._name, poll, time.sleep)
        except (KeyboardInterrupt, Interrupted):
            self._ui.line()
            self._ui.line(Text("Interrupted; nothing is half-written. Go on with:"))
            self._ui.next_step(f"ringi watch {self._name}".rstrip())
            return Interrupted.exit_code
        return self._tell_end(found)

    def _begin(self, found: Round, poll: float) -> None:
        count = sum(one is not Standing.OVER for one in found.standing.values())
        words = Text(
            "Watching every {seconds} s ({count} open); Ctrl-C ends it.", count=count, seconds=round(poll)
        )
        self._ui.line(words, style="dim")

    def _tell(self, news: WatchEvent) -> None:
        if self._ui.as_json:
            json_line({
                "at": self._app.workspace.clock.now(),
                "about": news.about,
                "kind": news.kind,
                "message": str(news.words),
                "by": news.by,
                "url": news.url,
            })  # fmt: skip
            return
        line = Text("{about}  {words}", about=news.about, words=news.words)
        self._ui.line(line, style=_STYLES.get(news.kind, ""))
        if news.kind is NewsKind.WORKED and news.url:  # where a person has to look now
            self._linked.add(news.url)
            self._ui.line(Text("{url}", url=news.url), indent=2)

    def _hear(self, event: RunEvent) -> None:
        if not event.line and str(event.what):
            words = Text("{step}  {what}", step=event.step_id or "·", what=event.what)
            self._ui.line(words, style="dim", indent=2)

    def _tell_end(self, found: Round) -> int:
        ui, standing = self._ui, found.standing
        if found.failure is not None:
            ui.error(found.failure)
            return found.failure.exit_code
        if not standing:
            ui.line(Text("Nothing to watch: no open session or run has anything to do with a forge."))
            ui.next_step("ringi run --issue URL")
            return self._code()
        for name, one in standing.items():
            if one is Standing.WAITS:
                ui.line(Text("{name} waits for somebody", name=name))
                self._tell_next(name)
        if Standing.WAITS in standing.values():
            return EXIT_PERSON_NEEDED
        return Busy.exit_code if Standing.AT_WORK in standing.values() else self._code()

    def _tell_next(self, name: str) -> None:
        planning = self._app.workspace.planning
        if not is_session(name):
            offer = planning.run(name).offer
            if offer and offer.url and offer.url not in self._linked:
                self._ui.line(Text("{url}", url=offer.url), indent=2)
            self._ui.next_step(f"ringi status {name}")
            return
        terms = planning.get(name).facts.forge
        if terms and terms.item:
            self._ui.line(Text("{url}", url=page_of(terms.project, terms.item)), indent=2)
        self._ui.next_step(f"ringi plan --resume {short(name)}")

    def _code(self) -> int:
        """Of the run that was named: how it ended."""
        if not self._name or is_session(self._name):
            return 0
        planning = self._app.workspace.planning
        return exit_code(planning.run(planning.find_run(self._name)))
