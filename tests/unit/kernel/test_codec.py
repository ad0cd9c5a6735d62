"""Documents from outside: cut, empty, huge, deep, doubled, or full of what JSON should not hold."""

import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import BadDocument, NewerVersion, RingiError
from ringi.kernel import codec
from ringi.plans.document import MessageRef, Plan, PlanDocument, PlanPreview, PlanState, PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.tables import each

PLAN = PlanDocument(
    plan=Plan("1", "題 \u2013 title", "content", (MessageRef("m", "t"),), "why", ("a", "b"), "2026", 1),
    state=PlanState(PlanStatus.PROPOSED),
)
PREVIEW = b'{"files":[],"diffs":[],"risk_score":%s}'


def refusal(data: bytes, kind: type = PlanDocument) -> str:
    with pytest.raises(BadDocument) as caught:
        codec.decode_foreign(data, kind, "plan.json")
    return str(caught.value)


@each("write", [codec.canonical, codec.pretty])
def test_cut_at_every_byte(write):
    data = write(PLAN).rstrip()
    for end in range(len(data)):
        assert refusal(data[:end]).startswith("plan.json cannot be read: ")
        with pytest.raises(RingiError):
            codec.decode_own(data[:end], PlanDocument, "plan.json")


@each("data", [b"", b" ", b"\n\n\t", b"\r\n" * 1000])
def test_empty(data: bytes):
    assert "it is empty" in refusal(data)


def test_a_hundred_megabytes_are_refused_by_their_size_alone():
    data = b"[" * (100 * 1024 * 1024)
    words = refusal(data)
    assert "104857600 bytes, 67108864 are allowed" in words


@each(
    "data",
    [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"plan":[' * 100_000],
)
def test_deeply_nested(data: bytes):
    assert "nested too deeply" in refusal(data)
    with pytest.raises(RingiError):
        codec.decode_own(data, PlanDocument, "it")


@each("raw", [b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x80"])
def test_not_utf8_is_named_with_its_place(raw: bytes):
    assert "it is not UTF-8 at byte 15" in refusal(b'{"message_id":"' + raw + b'"}', MessageRef)


def test_other_encodings_are_refused():
    text = codec.canonical(PLAN).decode()
    for data in (text.encode("utf-16"), text.encode("utf-32"), b"\xef\xbb\xbf" + text.encode()):
        assert refusal(data)


@each(
    "data",
    [
        b'{"plan":1,"plan":2}',
        b'{"plan":{"id":"1","id":"1"}}',
        b'{"a":[{"b":[{"id":1,"id":2}]}]}',
        b'{"id":1,"\\u0069d":2}',
    ],
)
def test_a_key_may_stand_only_once(data: bytes):
    assert "is in it twice" in refusal(data)


def test_a_key_twice_in_free_arguments_is_refused_too():
    assert "the key x is in it twice" in refusal(
        b'{"kind":"call","arguments":{"deep":[{"x":1,"x":1}]}}', ActionSpec
    )


@each(
    "number",
    [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1" * 20, b"9" * 5000, b"-" + b"9" * 19],
)
def test_numbers_that_cannot_be_kept(number: bytes):
    assert "is not a number that can be kept" in refusal(PREVIEW % number, PlanPreview)


@each("number", [2**63 - 1, -(2**63) + 1, 0, 1])
def test_numbers_that_can(number: int):
    spec = codec.decode_foreign(b'{"kind":"run","timeout_sec":%d}' % number, ActionSpec, "it")
    assert spec == ActionSpec(SpecKind.RUN, timeout_sec=number)


@each("half", [r"\ud800", r"\uDFFF", r"x\udc00y", r"\ud83d\ud83d", r"\ude00\ud83d"])
def test_half_characters_are_refused(half: str):
    assert "half a character" in refusal(f'{{"message_id":"{half}","timestamp":""}}'.encode(), MessageRef)
    assert "half a character" in refusal(f'{{"{half}":1}}'.encode(), MessageRef)


def test_whole_characters_written_as_two_halves_are_fine():
    found = codec.decode_foreign(rb'{"message_id":"\ud83d\ude00 \\ud800","timestamp":""}', MessageRef, "it")
    assert found.message_id == "\U0001f600 \\ud800"


def test_what_cannot_be_written_is_refused_before_it_is_hashed():
    with pytest.raises(BadDocument, match="half a character"):
        codec.canonical(MessageRef("\ud800", ""))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_document_or_our_error(data: bytes):
    check_answers(data)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text() | st.sampled_from(["plan", "state", "schema_version", "id"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_any_json_gives_a_document_or_our_error(value: object):
    check_answers(json.dumps(value).encode())


@given(st.data())
def test_any_damage_gives_a_document_or_our_error(data: st.DataObject):
    raw = bytearray(codec.pretty(PLAN))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check_answers(bytes(raw))


def check_answers(data: bytes) -> None:
    for decode in (codec.decode_foreign, codec.decode_own):
        try:
            document = decode(data, PlanDocument, "it")
        except (BadDocument, NewerVersion):
            continue
        assert isinstance(document, PlanDocument)
        if decode is codec.decode_foreign:
            assert codec.decode_foreign(codec.canonical(document), PlanDocument, "it") == document


def test_pretty_is_for_people():
    lines = codec.pretty(PLAN).decode().splitlines()
    assert lines[:3] == ["{", '  "schema_version": 1,', '  "plan": {']
    assert '    "title": "題 \u2013 title",' in lines


def test_canonical_has_one_spelling():
    assert (
        codec.canonical({"b": 1, "a": {"z": "é", "y": [1, 2]}}) == '{"a":{"y":[1,2],"z":"é"},"b":1}'.encode()
    )
    assert msgspec.json.decode(codec.canonical(PLAN)) == msgspec.json.decode(codec.pretty(PLAN))


_AT_ONCE = """
import sys, threading
from ringi.kernel.codec import decode_foreign
from ringi.plans.document import PlanDocument
from ringi.plans.rows import as_document

data, specs = (sys.argv[1].encode(), b"[]")
sys.setswitchinterval(1e-6)
gate = threading.Barrier(4)

def read(number):
    gate.wait()
    as_document(data, specs) if number % 2 else decode_foreign(data, PlanDocument, "plan")

threads = [threading.Thread(target=read, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_be_the_first_to_read_a_kind_of_document():
    data = codec.canonical(PLAN).decode()
    for _ in range(10):  # each in a fresh interpreter: only the first time matters
        done = subprocess.run([sys.executable, "-c", _AT_ONCE, data], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
