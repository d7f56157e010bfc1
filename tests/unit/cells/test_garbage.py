"""The search for garbage: put off while a run is analysed, and back afterwards."""

import gc

import pytest

from collect.garbage import uncollected


def test_garbage_is_searched_again_afterwards():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_garbage_is_searched_again_after_a_failure():
    @uncollected()
    def fail():
        raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert gc.isenabled()


def test_what_was_there_is_not_gone_through_again():
    with uncollected():
        kept = [[number] for number in range(1000)]
    try:
        assert gc.get_freeze_count() > len(kept)
        assert not any(found is kept for found in gc.get_objects())
    finally:
        gc.unfreeze()
