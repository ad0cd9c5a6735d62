"""Lines from a pipe, however they arrive."""

import os
import threading

import anyio
import mcp_types as types
from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.process.lines import TooLong, lines, write
from ringi.mcp.stdio import Refusal, encode, parse_line
from tests.tables import each

LONGEST = 40


def heard(chunks: list[bytes]) -> list[bytes | TooLong]:
    reader, writer = os.pipe()

    def send() -> None:
        for chunk in chunks:
            os.write(writer, chunk)
        os.close(writer)

    async def main() -> list[bytes | TooLong]:
        return [line async for line in lines(reader, LONGEST)]

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return anyio.run(main)
    finally:
        sender.join()
        os.close(reader)


@given(st.lists(st.binary(max_size=80).map(lambda line: line.replace(b"\n", b"")), max_size=5), st.data())
def test_lines_are_the_same_however_they_are_cut(wanted: list[bytes], data: st.DataObject):
    whole = b"\n".join(wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) if a < b]
    found = heard(chunks)
    expected = [line for line in wanted if line.strip()]
    assert len(found) == len(expected)
    for line, want in zip(found, expected, strict=True):
        assert line == want if len(want) <= LONGEST else isinstance(line, TooLong)


@each(
    ("head", "number"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{', 7),
        (b'{"jsonrpc": "2.0", "method": "x", "id": "seven", "params":', "seven"),
        (b'{"params":{"id":9}', None),
        (b'{"id":"' + b"x" * 1000, None),
        (b"garbage", None),
    ],
)
def test_a_message_that_is_too_long_is_answered_by_its_number(head: bytes, number: object):
    refusal = parse_line(TooLong(head))
    assert isinstance(refusal, Refusal)
    assert refusal.answer.id == number
    assert refusal.answer.error.code == types.INVALID_REQUEST


@each(
    ("line", "number"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":[]}', 7),
        (b'{"jsonrpc":"2.0","id":"seven","method":"x","params":{"y":"\\ud800"}}', "seven"),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"x","params":[]}', None),
        (b'{"jsonrpc":"2.0","id":7,"result":1}', None),
        (b'{"id":7,"method":', None),
    ],
)
def test_a_wrong_request_is_answered_by_its_number(line: bytes, number: object):
    refusal = parse_line(line)
    assert isinstance(refusal, Refusal)
    assert refusal.answer.id == number
    assert encode(refusal.answer)


@given(st.binary(max_size=60))
def test_no_bytes_break_it(data: bytes):
    assert parse_line(data) is not None


def test_answers_are_one_line_each():
    message = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "a\nb\u2028 é", "none": None})
    line = encode(message)
    assert line.count(b"\n") == 1
    assert types.JSONRPCResponse.model_validate_json(line) == message


def test_writing_waits_for_whoever_reads():
    reader, writer = os.pipe()
    data = os.urandom(300_000)
    received = bytearray()

    def receive() -> None:
        while chunk := os.read(reader, 1000):
            received.extend(chunk)

    async def main() -> None:
        await write(writer, data)
        os.close(writer)

    thread = threading.Thread(target=receive)
    thread.start()
    anyio.run(main)
    thread.join()
    os.close(reader)
    assert received == data
