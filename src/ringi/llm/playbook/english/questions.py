"""What is asked about changes of the program itself, in English. `asks` says when, and what an answer means."""

# ruff: noqa: E501  # one sentence a line reads best

from collections.abc import Mapping
from typing import Final

from ringi.llm.playbook.kinds import QuestionWords as Q

QUESTIONS: Final[Mapping[str, Q]] = {
    # --- feature
    "feature.example": Q(
        "Who or what will use {thing}, and what shows that it works? One example of input and result is enough.",
        "The example becomes the first test; without one, nobody can say when it is done.",
    ),
    "feature.extent": Q(
        "How far should the first version of {thing} go?",
        "Decides how many steps the plan has, and what it names as out of scope.",
        (
            "The main path only; everything else gets a clear error",
            "The main path and the edge cases known today",
            "Complete, with documentation and examples",
        ),
    ),
    "feature.ground": Q(
        "What should {thing} build on?",
        "Says where the code goes and whether {manifest} changes.",
        (
            "The nearest existing feature, in the same style",
            "A module of its own",
            "A library made for it",
        ),
    ),
    "feature.present": Q(
        "How should {thing} join what is there?",
        "It exists already; this says how much of it changes.",
        (
            "In the present code, in the same way",
            "Behind one interface for the present and the new",
            "As separate from it as possible",
        ),
    ),
    "feature.keep": Q(
        "What must {thing} leave exactly as it is?",
        "Each step is checked against it, and no option that breaks it will be recommended.",
        (
            "Existing outputs and public interfaces",
            "No new dependency in {manifest}",
            "Stored data and file formats",
            "Nothing in particular",
        ),
    ),
    "feature.first": Q(
        "If not everything can be had at once, what counts most for {thing}?",
        "Shifts what is recommended in the decisions that follow.",
        (
            "Usable soon, refined later",
            "Easy to understand and maintain",
            "Fast at run time",
            "Easy to switch off or take back",
        ),
    ),
    # --- bug
    "bug.reproduction": Q(
        "How can {matter} be reproduced: which steps or input, what happens, and what should happen instead?",
        "The reproduction becomes a failing test; a fix without one is a guess.",
    ),
    "bug.expected": Q(
        "About {matter}: what exactly should happen instead, such as a result, an error message or an exit code?",
        "The failing test needs the right outcome, and several outcomes may look right.",
    ),
    "bug.extent": Q(
        "The same mistake may sit elsewhere. What should this fix cover?",
        "One place is a small diff; a pattern in many places deserves steps of its own.",
        (
            "Only the case reported",
            "The same pattern everywhere",
            "Only this case now, and a list of the other places",
        ),
    ),
    "bug.since": Q(
        "Since when does it happen?",
        "A version that still worked lets the cause be found by comparison. A version or date can be typed.",
        (
            "Since a recent change",
            "Since an update of a dependency or of the environment",
            "It never worked",
            "Not known",
        ),
    ),
    "bug.notice": Q(
        "May code that works today notice the fix, for example another return value or a new error?",
        "Callers may rely on the faulty behaviour without knowing it.",
        (
            "No: same results for every input that works today",
            "A changed error or message is fine",
            "Yes, the callers are adapted as well",
        ),
    ),
    "bug.first": Q(
        "What counts more: stopping the harm now, or removing the cause?",
        "Decides between a guard where it shows and a change where it comes from.",
        (
            "Stop it now, find the cause later",
            "Remove the cause, even if it takes longer",
            "Both, as two separate commits",
        ),
    ),
    # --- refactor
    "refactor.aim": Q(
        "What should be easier once {subject} is done?",
        "Structure is never right or wrong by itself; this tells when to stop. A feature that needs it can be named.",
        (
            "Testing parts on their own",
            "Reading and reviewing the code",
            "Changing one place instead of several",
        ),
    ),
    "refactor.extent": Q(
        "Where does the rework end?",
        "What lies outside is not touched, even where it would look better changed.",
        (
            "At {place}",
            "At {place} and its direct callers",
            "At the whole package around it",
        ),
    ),
    "refactor.net": Q(
        "Would {tests} notice if the behaviour changed by accident?",
        "Without a net, tests that pin down today's behaviour come first, as a step of their own.",
        (
            "Yes, it is well covered",
            "Only partly",
            "Hardly or not at all",
            "Not known",
        ),
    ),
    "refactor.names": Q(
        "May names, signatures or imports that other code uses change?",
        "Decides whether old names stay as aliases for a while.",
        (
            "No, the public interface stays",
            "Yes, if the old names keep working for a while",
            "Yes, all callers are in this repository",
        ),
    ),
    "refactor.first": Q(
        "What is worth more here?",
        "Small steps are easier to review and to take back; one large step is done sooner.",
        (
            "Small steps, each of which could be released",
            "Done soon, in one go",
            "The cleanest result, even if it takes longer",
        ),
    ),
    # --- performance
    "performance.figure": Q(
        "For {subject}: which figure is too high today, how is it measured, and what would be good enough?",
        "Without a number before and after, nobody can say that it got better, or when to stop.",
    ),
    "performance.target": Q(
        "For {subject}: which figure would be good enough, and how is it measured?",
        "The figure in the instruction is taken as today's; the target says when to stop.",
    ),
    "performance.case": Q(
        "Which case counts?",
        "What helps large inputs often slows down small ones.",
        (
            "The typical case",
            "The worst case, with large input",
            "Start-up or the first call",
            "Memory rather than time",
        ),
    ),
    "performance.where": Q(
        "Is it known where the time goes?",
        "A guess is wrong more often than not; if it is not known, the first step measures. The place can be typed.",
        (
            "Yes, a profile shows it",
            "Probably computing in our own code",
            "Probably database, network or disk",
            "Not known",
        ),
    ),
    "performance.trade": Q(
        "What may be given in exchange for speed?",
        "Caches cost memory and freshness, clever code costs readers.",
        (
            "Nothing: same results, same memory, simple code",
            "More memory",
            "Results that may be a little out of date",
            "Code that is harder to read, in one place",
        ),
    ),
    "performance.enough": Q(
        "When should the work stop?",
        "The last ten per cent usually cost most.",
        (
            "As soon as the target is met",
            "When the simple changes are used up",
            "As fast as possible, complexity is acceptable",
        ),
    ),
    # --- removal
    "removal.users": Q(
        "Who still uses {thing}?",
        "Decides whether it can go at once or needs a warning first.",
        (
            "Nobody outside this repository",
            "Users or other services, who need notice",
            "Not known",
        ),
    ),
    "removal.extent": Q(
        "What goes along with it?",
        "Leftovers such as settings and documents are what people stumble over later.",
        (
            "The code and its tests",
            "Also documentation and settings",
            "Also stored data",
        ),
    ),
    "removal.instead": Q(
        "What takes its place?",
        "Messages and documents have to say where to go instead. Something that exists already can be named.",
        (
            "Nothing, it is no longer needed",
            "Something new, made in this change",
        ),
    ),
    "removal.grace": Q(
        "How long must those who use it be able to go on?",
        "A removal in one step cannot be announced afterwards. A date or release can be typed.",
        (
            "It can go at once",
            "One release with a warning",
        ),
    ),
    "removal.first": Q(
        "What counts more?",
        "Shifts the recommendation between a clean cut and a slow farewell.",
        (
            "Being rid of it soon",
            "Nobody is surprised",
            "Being able to bring it back",
        ),
    ),
    # --- ui
    "ui.story": Q(
        "For {subject}: what does the user do, step by step, and what do they see at the end?",
        "The steps become the test, and show which states are needed besides the obvious one.",
    ),
    "ui.extent": Q(
        "Which screens and states belong to it?",
        "Empty, loading and error states are half of the work and are forgotten most easily.",
        (
            "Only the screen named, in its normal state",
            "That screen with empty, loading and error states",
            "Every screen that has the same element",
        ),
    ),
    "ui.ground": Q(
        "What should {thing} be made of?",
        "Says whether it fits in by itself, and whether {manifest} changes.",
        (
            "Existing components and styles only",
            "A new component in the same style",
            "A component library",
        ),
    ),
    "ui.keep": Q(
        "What has to work in any case?",
        "Added later, these cost a rebuild.",
        (
            "Keyboard and screen readers",
            "Small screens",
            "All languages of the interface",
            "As much as on the existing screens",
        ),
    ),
    "ui.first": Q(
        "What comes first?",
        "Shifts the recommendation between a quick look and a finished piece.",
        (
            "Something to look at soon",
            "Finished in every detail",
            "Easy to switch off or take back",
        ),
    ),
    # --- general
    "general.outcome": Q(
        "What will be different when {subject} is done? One example of before and after is enough.",
        "It is what the result is checked against.",
    ),
    "general.extent": Q(
        "Which part of the project may change for it?",
        "Everything else is left alone and named as out of scope. A module or folder can be named.",
        (
            "Only the smallest place that does it",
            "The whole project",
        ),
    ),
    "general.ground": Q(
        "Is there anything to follow: similar code, a ticket, a specification, a library?",
        "It saves inventing a second way of doing the same thing.",
    ),
    "general.keep": Q(
        "What must stay exactly as it is?",
        "Each step is checked against it, and no option that breaks it will be recommended.",
        (
            "Existing outputs and public interfaces",
            "No new dependency in {manifest}",
            "Stored data and file formats",
            "Nothing in particular",
        ),
    ),
    "general.first": Q(
        "If not everything can be had at once, what counts most?",
        "Shifts what is recommended in the decisions that follow.",
        (
            "Usable soon, refined later",
            "Easy to understand and maintain",
            "Fast at run time",
            "Easy to switch off or take back",
        ),
    ),
}
