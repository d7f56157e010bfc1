import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect.run.cell import Cell, level_text

LEVELS = st.dictionaries(
    st.text(min_size=1),
    st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    max_size=4,
)


@given(levels=LEVELS)
def test_the_order_of_the_factors_makes_no_other_cell(levels):
    cell, turned = Cell(levels), Cell(reversed(levels.items()))
    assert cell == turned == levels
    assert hash(cell) == hash(turned)
    assert list(turned) == list(levels)[::-1]
    assert turned.in_order(levels).levels == cell.levels == tuple(levels.values())


def test_another_level_or_factor_makes_another_cell():
    cell = Cell.of(transport="soap", servers=1)
    assert cell != Cell.of(transport="soap", servers=3)
    assert cell != Cell.of(transport="soap")
    assert cell != "soap"
    assert len({cell, Cell.of(servers=1, transport="soap"), cell.at(servers=3)}) == 2


def test_one_level_is_changed_or_left_out():
    cell = Cell.of(transport="soap", servers=1, integers=500)
    assert cell.at(servers=3) == Cell.of(transport="soap", servers=3, integers=500)
    assert list(cell.at(servers=3)) == ["transport", "servers", "integers"]
    assert cell.without("transport") == Cell.of(servers=1, integers=500)
    assert cell["servers"] == 1
    with pytest.raises(KeyError, match="workers is not a factor"):
        cell.at(workers=3)


def test_a_level_is_written_as_in_yaml():
    assert [level_text(level) for level in (True, False, 3, 0.5, "a b")] == [
        *("true", "false", "3", "0.5", "a b")
    ]
