"""Sentences in documents, in the language of the reader."""

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ringi.kernel.text import Text, in_language
from ringi.kernel.words import KeptText, restore_kept
from ringi.runs.document import Stop, StopCode, stop_for
from tests.tables import each

PATH = Text("{path} may contain a secret", path="a{b}.py")
WHY = Text("{step} goes to no forge before somebody has looked at it here: {why}", step="S01", why=PATH)


def test_a_stop_with_details_is_read_in_either_language():
    hint = Text("Go on with it: {command}, or ringi watch. Or end it first: ringi cancel {name}",
                command="ringi x", name="r1")  # fmt: skip
    stop = stop_for(StopCode.APPROVAL_NEEDED, WHY, hint, step_id="S01")
    stop = msgspec.json.decode(msgspec.json.encode(stop), type=Stop)
    assert (str(stop.why), str(stop.todo)) == (stop.message, stop.next_action) == (str(WHY), str(hint))
    shown = in_language("ja")(stop.why)
    assert "a{b}.py" in shown
    assert "may contain" not in shown
    assert "goes to no forge" not in shown
    assert in_language("ja")(stop.todo) != str(hint)


def test_what_needs_no_details_keeps_none_and_is_translated_all_the_same():
    stop = stop_for(StopCode.APPROVAL_NEEDED, Text("the result waits for a review"), "ringi watch")
    assert (stop.told, stop.then, stop.next_action) == (UNSET, UNSET, "ringi watch")
    assert in_language("ja")(stop.why) != stop.message


def test_details_are_masked():
    stop = stop_for(StopCode.APPROVAL_NEEDED, WHY, "ringi watch", mask=lambda text: text.replace("a{", "***"))
    assert "***b}.py may contain a secret" in stop.message
    assert str(stop.why) == stop.message
    assert b"a{" not in msgspec.json.encode(stop)


@each(
    "kept",
    [
        KeptText("{path.__class__} may", {"path": "x"}),
        KeptText("{path:>99999}", {"path": "x"}),
        KeptText("{other}", {"path": "x"}),
        KeptText("{path", {"path": "x"}),
        KeptText("\x1b[2J{path}", {"path": "x"}),
        KeptText("{path} is not what the English words say", {"path": "x"}),
        KeptText("{path}", {"path": KeptText("{0.a}", {})}),
    ],
)
def test_a_template_that_is_none_of_ours_is_not_shown(kept: KeptText):
    stop = replace(stop_for(StopCode.APPROVAL_NEEDED, WHY, "ringi watch"), told=kept)
    assert str(stop.why) == stop.message
    assert restore_kept(kept, "x").details["words"]


def test_older_documents_have_only_the_words():
    assert (
        in_language("ja")(restore_kept(UNSET, "the result waits for a review"))
        != "the result waits for a review"
    )
    assert str(restore_kept(UNSET, "something {else}")) == "something {else}"


@each("count", [0, 1, 2, "1", "1,234"])
def test_a_sentence_counts_in_either_language(count: int | str):
    counted = Text("1 file", "{count} files", count=count)
    assert str(counted) == ("1 file" if str(count) == "1" else f"{count} files")
    assert in_language("ja")(counted) == f"ファイル {count} 個"
    assert counted != Text("1 file", count=count)


def test_a_document_keeps_how_a_sentence_counts():
    stop = stop_for(StopCode.APPROVAL_NEEDED, Text("1 file", "{count} files", count=1), "ringi watch")
    stop = msgspec.json.decode(msgspec.json.encode(stop), type=Stop)
    assert (stop.message, str(stop.why)) == ("1 file", "1 file")
    assert in_language("ja")(stop.why) == "ファイル 1 個"
