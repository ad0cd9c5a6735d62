import hashlib
import os
import pwd
from pathlib import Path

import pytest

from ringi.errors import NoHome, NotAbsolute
from ringi.kernel.places import models_folder, places_of, signatures_file, state_name, user_folder
from tests.tables import each


@each("path", ["/", "/srv/project", "/srv/日本語", os.fsdecode(b"/not/utf-8/\xff")])
def test_a_state_folder_is_named_by_the_hash_of_the_root(path: str):
    assert state_name(Path(path)) == hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


ROOT = Path("/srv/project")


@pytest.mark.parametrize("home", [{}, {"HOME": ""}, {"HOME": "rel"}])
def test_places_are_absolute_whatever_the_home_is(monkeypatch: pytest.MonkeyPatch, home: dict[str, str]):
    relative = {f"XDG_{kind}_HOME": "rel" for kind in ("CACHE", "CONFIG", "STATE")}
    for process in ("/home/hanako", "rel"):
        monkeypatch.setenv("HOME", process)
        expected = process if process.startswith("/") else pwd.getpwuid(os.getuid()).pw_dir
        places = places_of(ROOT, {**relative, **home})
        assert places.states == Path(expected, ".local/state/ringi")
        assert places.copies.parent == Path(expected, ".cache/ringi/work")
        assert models_folder({**relative, **home}) == Path(expected, ".cache/ringi/models")
        assert signatures_file({**relative, **home}).parent == places.states
    assert user_folder({**relative, **home}) is None


def test_absolute_places_are_taken_as_they_are():
    places = places_of(ROOT, {"HOME": "/h", "RINGI_STATE_DIR": "/s", "XDG_CACHE_HOME": "/c"})
    assert (places.states, places.copies.parent) == (Path("/s"), Path("/c/ringi/work"))
    assert places_of(ROOT, {"HOME": "/h", "RINGI_STATE_DIR": "~/s"}).states == Path("/h/s")


@each("variable", ["RINGI_STATE_DIR", "RINGI_CACHE_DIR"])
@each("value", ["rel", "./rel", "~nobody-by-this-name/x", "~"])
def test_relative_place_of_our_own_is_refused_by_name(variable: str, value: str):
    with pytest.raises(NotAbsolute) as refused:
        places_of(ROOT, {"HOME": "/h", variable: value})
    assert refused.value.details == {"variable": variable, "value": value}


def test_no_home_at_all_is_said(monkeypatch: pytest.MonkeyPatch):
    def nobody(user: int) -> pwd.struct_passwd:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.delenv("HOME")
    with pytest.raises(NoHome):
        places_of(ROOT, {})
    assert places_of(ROOT, {"RINGI_STATE_DIR": "/s", "RINGI_CACHE_DIR": "/c"}).states == Path("/s")
