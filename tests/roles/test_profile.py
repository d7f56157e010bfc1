"""What root takes out of the /tmp of a service, which may put there what it likes."""

import os

import pytest
from loading import load


@pytest.fixture(scope="module")
def profile():
    return load("roles/health/files/profile.py")


def test_a_profile_is_read_once_and_removed(profile, tmp_path):
    place = tmp_path / "profile"
    place.write_text("a;b 3\n")
    assert profile.taken(os.getpid(), str(place)) == b"a;b 3\n"
    assert not place.exists()


def test_a_link_in_place_of_a_profile_is_not_followed(profile, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    place = tmp_path / "profile"
    place.symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        profile.taken(os.getpid(), str(place))
    assert secret.exists()
    assert not place.is_symlink()


def test_a_pipe_or_too_long_a_profile_is_refused(profile, tmp_path, monkeypatch):
    place = tmp_path / "profile"
    os.mkfifo(place)
    with pytest.raises(profile.RefusedError, match="is no file"):
        profile.taken(os.getpid(), str(place))
    monkeypatch.setattr(profile, "MOST_BYTES", 3)
    place.write_text("four")
    with pytest.raises(profile.RefusedError, match="its profile has more than"):
        profile.taken(os.getpid(), str(place))


def test_a_link_to_a_socket_is_no_socket(profile, tmp_path):
    (tmp_path / "link").symlink_to("/dev/null")
    assert not profile.is_socket(tmp_path / "link")
    assert not profile.is_socket(tmp_path / "nothing")


def test_the_files_of_a_profile_share_its_limit(profile, tmp_path, monkeypatch):
    (tmp_path / "unit.event").write_text("ctimer")
    monkeypatch.setattr(profile, "ROOM", tmp_path)
    monkeypatch.setattr(profile, "load", lambda pid, options: "")
    monkeypatch.setattr(profile, "taken", lambda pid, path: b"four")
    found = profile.end("unit", 1, 16)
    assert (found["stacks"], found["page"], found["recording"]) == ("four", "four", "Zm91cg==")
    with pytest.raises(profile.RefusedError, match="its profile has more than"):
        profile.end("unit", 1, 15)
