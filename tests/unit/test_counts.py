"""Shares as people read them: with the decimals that tell them from a limit."""

import pytest

from collect.counts import show_percent


@pytest.mark.parametrize(
    ("share", "decimals", "text"),
    [
        (0.05, 1, "5.0 %"),
        (0.0504, 0, "5.04 %"),
        (0.12, 0, "12 %"),
        (0.05 + 1e-12, 0, "5.0000000001 %"),
    ],
)
def test_a_share_beyond_a_limit_is_not_shown_as_the_limit(share, decimals, text):
    assert show_percent(share, decimals, lambda of: of > 0.05) == text
