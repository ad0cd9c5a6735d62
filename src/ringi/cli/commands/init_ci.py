"""`ringi init --ci`: a workflow for a forge, as a plan that the person sees first."""

import click

from ringi._version import __version__
from ringi.app.ci import GITLAB_ROOT, CiOffer, offer_ci, propose_ci
from ringi.approvals.forge import ForgeKind
from ringi.cli.app import EXIT_PERSON_NEEDED, App
from ringi.cli.commands.review import decide
from ringi.cli.review_dialogue import ApplyPrompter
from ringi.errors import NoChannel
from ringi.kernel.process.installation import Requirement, requirement
from ringi.kernel.text import Text
from ringi.provenance.clone import default_branch


def set_up_ci(ctx: click.Context, forge: ForgeKind, install: str) -> None:
    app: App = ctx.obj
    wanted = Requirement(install, local=False) if install else requirement(__version__, extra="forges")
    branch = default_branch(app.root)
    offer = offer_ci(app.workspace, forge, branch=branch, requirement=wanted.words)
    plan_id = propose_ci(app.workspace, offer, app.workspace.person.user()) if offer.files else None
    if app.ui.as_json:
        app.ui.document(
            {
                "ci": str(forge),
                "files": [*offer.files],
                "left_alone": {file: str(why) for file, why in offer.problems.items()},
                "missing": [*offer.lines],
                "requirement": wanted.words,
                "plan": app.workspace.plan.ref(plan_id) if plan_id else None,
            }
        )
        if plan_id:
            raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
        return
    _tell_offer(app, offer)
    if plan_id:
        _tell_requirement(app, forge, wanted)
        name = app.workspace.plan_name(plan_id)
        if refusal := app.workspace.person.refusal():
            app.ui.line(
                Text("{plan} creates {files}; it waits for you.", plan=name, files=", ".join(offer.files))
            )
            raise NoChannel(why=refusal, command=f"ringi apply {name}")
        decide(ctx, plan_id, full=False, prompter=ApplyPrompter)
    _tell_rest(app, forge, offer, branch)


def _tell_offer(app: App, offer: CiOffer) -> None:
    for file, why in offer.problems.items():
        app.ui.line(Text("! {file} is left as it is: {why}", file=file, why=why), style="yellow")
    if not offer.files and not offer.problems:
        app.ui.line(Text("✓ CI is set up"), style="green")


def _tell_requirement(app: App, forge: ForgeKind, wanted: Requirement) -> None:
    if not wanted.local:
        return
    app.ui.line(
        Text(
            "! ringi comes from a folder of this machine. CI will install {requirement} from a package "
            "index; if yours does not have it, say what to install:",
            requirement=wanted.words,
        ),
        style="yellow",
    )
    app.ui.line(
        Text(
            "{line}", line=f"ringi init --ci {forge} --install 'ringi[forges] @ git+https://HOST/PATH@COMMIT'"
        ),
        indent=4,
    )


def _tell_rest(app: App, forge: ForgeKind, offer: CiOffer, branch: str) -> None:
    """What only the person can do."""
    if offer.lines:
        app.ui.line(Text("! Add this to {file}:", file=GITLAB_ROOT), style="yellow")
        for line in offer.lines:
            app.ui.line(Text("{line}", line=line), indent=4)
    if offer.files:
        where = "GitHub" if forge is ForgeKind.GITHUB else "GitLab"
        app.ui.line(
            Text(
                "{forge} uses it once it is on {branch}. It only reports until you set MODE.",
                forge=where,
                branch=branch,
            )
        )
