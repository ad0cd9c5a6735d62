"""The last look at bytes before they are staged."""

import pytest

from ringi.errors import StorageFailed
from ringi.kernel.codec import digest
from ringi.plans.executor import verify_bytes
from tests.tables import each


@pytest.mark.req("PT-9")
@each("found", [None, b"", b"approved\r\n"])
def test_only_the_bytes_with_the_approved_hash_are_taken(found: bytes | None):
    assert verify_bytes(digest(b"approved\n"), b"approved\n") == b"approved\n"
    with pytest.raises(StorageFailed):
        verify_bytes(digest(b"approved\n"), found)
