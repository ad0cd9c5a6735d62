"""What is asked about what stands around the program, in English: tests, documents, packages, data."""

from collections.abc import Mapping
from typing import Final

from ringi.llm.playbook.kinds import QuestionWords as Q

QUESTIONS: Final[Mapping[str, Q]] = {
    # --- tests
    "tests.behaviour": Q(
        "For {subject}: which behaviour must be protected? Name a fault that such a test should have caught.",
        "Tests written for a named fault find faults; tests written for a percentage find lines.",
    ),
    "tests.extent": Q(
        "Which cases should be covered?",
        "Decides how many tests are written, and which are left out on purpose.",
        (
            "The main paths",
            "The main paths and the error cases",
            "Edge cases too, with generated input",
        ),
    ),
    "tests.level": Q(
        "At which level should the tests run?",
        "Says what goes into {folder}, and what has to be set up for it.",
        (
            "Single units, without files or network",
            "Several parts together, with real files or services",
            "End to end, through the interface that users have",
        ),
    ),
    "tests.allowed": Q(
        "May production code change so that it can be tested?",
        "Code that reads the clock or the network itself can often only be tested after a small change.",
        (
            "No, tests only",
            "Small changes without effect are fine",
            "Yes, it may be restructured",
        ),
    ),
    "tests.first": Q(
        "What should be covered first?",
        "The first tests shape those that follow, and time may run out.",
        (
            "What breaks most often",
            "What would do most harm",
            "What is about to change",
        ),
    ),
    # --- docs
    "docs.reader": Q(
        "Who reads it, and what should they be able to do afterwards?",
        "A tutorial, a reference and a note for maintainers have different words and different length.",
        (
            "New users: get it running",
            "Users: look something up",
            "Developers of this project: understand and change it",
            "Those who run it in production",
        ),
    ),
    "docs.extent": Q(
        "Which texts belong to it?",
        "Texts that contradict each other are worse than one that is missing.",
        (
            "Only the page concerned",
            "Every page that mentions the subject",
            "Also docstrings, comments and help texts",
        ),
    ),
    "docs.examples": Q(
        "Should the examples in it be run by {tests}?",
        "Examples that nobody runs are wrong after a few releases.",
        (
            "Yes, the tests run them",
            "No, tried once by hand",
            "It needs no examples",
        ),
    ),
    "docs.form": Q(
        "Which form has to be kept?",
        "Avoids rewriting a page because of tone, outline or language. Languages can be named.",
        (
            "The outline and tone of the existing pages",
            "None, a new outline is welcome",
        ),
    ),
    "docs.first": Q(
        "What comes first?",
        "Both rarely fit into one review.",
        (
            "Correcting what is wrong today",
            "Adding what is missing",
            "Making it shorter and easier to find",
        ),
    ),
    # --- dependency
    "dependency.reason": Q(
        "What is the reason for {subject}?",
        "For a hole the smallest update is best; for a feature or fix it has to reach that. It can be named.",
        (
            "A known vulnerability",
            "The version in use is no longer supported",
            "To stay up to date, no pressing reason",
        ),
    ),
    "dependency.extent": Q(
        "What may be updated along with it?",
        "Each package in the same change is one more suspect if something breaks.",
        (
            "Only the package named",
            "It and whatever it requires",
            "Everything that is out of date",
        ),
    ),
    "dependency.target": Q(
        "Which version is the target?",
        "Says how many breaking changes lie in between. A version can be typed; {manifest} gets it.",
        (
            "The newest stable one",
            "The newest within the present major version",
        ),
    ),
    "dependency.oldest": Q(
        "What is the oldest {language} version or platform that must keep working?",
        "New versions of packages often drop old platforms, and CI may not notice.",
    ),
    "dependency.trouble": Q(
        "If the update breaks something, what is preferred?",
        "Decides whether the plan adapts our code or stops at an older version.",
        (
            "Adapt our code",
            "Stay at the last version that works",
            "Look for a replacement",
        ),
    ),
    # --- build
    "build.event": Q(
        "For {subject}: what should be different afterwards, and when does it run or take effect?",
        "Build and CI changes are hard to try; the expected outcome is what they are checked against.",
    ),
    "build.where": Q(
        "Where should it take effect?",
        "A setting that holds only in CI makes failures that nobody can repeat at home.",
        (
            "Everywhere alike",
            "Only in CI",
            "Only on developers' machines",
            "Only for releases or in production",
        ),
    ),
    "build.ground": Q(
        "What should be extended or replaced?",
        "Two tools for one purpose drift apart.",
        (
            "Extend what is there, such as {manifest}",
            "Add a file of its own",
            "Replace the present tool",
        ),
    ),
    "build.checks": Q(
        "What should run there at first?",
        "Nothing of the kind is there yet. Commands that people run by hand today can be named.",
        (
            "The tests",
            "The tests and the linters",
            "Tests, linters and a build of the package",
        ),
    ),
    "build.keep": Q(
        "What must it not bring with it?",
        "Secrets and network access in a build are hard to take away again.",
        (
            "New secrets or permissions",
            "A noticeably longer run",
            "Downloads at run time",
            "Nothing in particular",
        ),
    ),
    "build.first": Q(
        "What counts most?",
        "A strict check that fails at random is soon ignored.",
        (
            "No false alarms",
            "Finding as much as possible",
            "Quick answers",
        ),
    ),
    # --- security
    "security.threat": Q(
        "Whom or what should {thing} protect against?",
        "A measure against everything usually stops nothing in particular.",
        (
            "Anybody on the network",
            "Signed-in users who reach too far",
            "Secrets that leak through logs, files or errors",
            "A known hole in a dependency",
        ),
    ),
    "security.extent": Q(
        "Which places should be covered?",
        "An attacker takes the one that was left out.",
        (
            "Only the one named",
            "All of the same kind",
            "The whole application; findings first, changes after",
        ),
    ),
    "security.ground": Q(
        "What is there already that the protection can rest on?",
        "Security code of one's own is the most expensive kind; proven parts come first.",
        (
            "What the framework offers",
            "A module of ours",
            "An outside service, such as single sign-on",
            "Nothing yet",
        ),
    ),
    "security.keep": Q(
        "What may present users and clients notice?",
        "Stricter rules end sessions and break old clients; whoever runs it has to know beforehand.",
        (
            "Nothing: sessions, tokens and clients go on",
            "Signing in once more is fine",
            "Old clients may stop working, with notice",
        ),
    ),
    "security.urgency": Q(
        "How pressing is it?",
        "An open hole is closed first and made beautiful later.",
        (
            "Public or already exploited",
            "Known to us only",
            "Hardening, no hole is known",
        ),
    ),
    # --- migration
    "migration.shapes": Q(
        "For {subject}: what does one real record or request look like before, and what after?",
        "Odd cases such as empty, missing or double values only show in real examples.",
    ),
    "migration.readers": Q(
        "Who reads or writes it today?",
        "All of them have to switch, and those we cannot see decide how long the old form must live.",
        (
            "Only this application",
            "Other services of ours",
            "Clients outside our control",
            "Not known",
        ),
    ),
    "migration.amount": Q(
        "How much stored data is concerned, and may it be offline meanwhile?",
        "Decides whether one step will do or whether it runs in batches beside normal work.",
        (
            "Little: done in seconds",
            "Much: in batches, without downtime",
            "Much, but a maintenance window is possible",
            "No stored data, only the interface",
        ),
    ),
    "migration.grace": Q(
        "How long must the old form keep working?",
        "Old and new code run side by side during every roll-out, if only for minutes.",
        (
            "Not at all, everything switches at once",
            "During the roll-out",
            "For at least one release",
            "For good, as a version of its own",
        ),
    ),
    "migration.first": Q(
        "What must not happen under any circumstances?",
        "Safety, downtime and duration pull in different directions.",
        (
            "Lost or changed data",
            "Downtime",
            "Two forms side by side for long",
        ),
    ),
}
