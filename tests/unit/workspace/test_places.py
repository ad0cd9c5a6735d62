import hashlib
import os
from pathlib import Path

import pytest

from ringi.kernel.places import state_name


@pytest.mark.parametrize("path", ["/", "/srv/project", "/srv/日本語", os.fsdecode(b"/not/utf-8/\xff")])
def test_a_state_folder_is_named_by_the_hash_of_the_root(path: str):
    assert state_name(Path(path)) == hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
