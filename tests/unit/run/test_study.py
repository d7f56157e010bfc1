import pytest
import yaml
from made_up_studies import SORT, changed, study_of

from collect.errors import InputError
from collect.run.study import find_study, load_study, parse_study
from collect.run.warmup import Warmup

RULE = {"least": 20, "most": 2000, "steady": 0.02}


def message_of(text, profile="paper", workers=5):
    with pytest.raises(InputError) as caught:
        parse_study(text, "studies/sort.yml").profile(profile, workers)
    return str(caught.value)


@pytest.mark.parametrize("study", sorted(SORT.parent.glob("*.yml")), ids=lambda path: path.stem)
def test_every_profile_of_every_study_resolves(study):
    loaded = load_study(study)
    assert loaded.content["study"] == study.stem
    assert {"demo", "paper", "overnight"} <= set(loaded.content["profiles"])
    for profile in loaded.content["profiles"]:
        resolved = loaded.profile(profile, 5)
        for cell in resolved.cells():
            assert resolved.settings(cell).client
        if profile == "demo":
            assert len(resolved.cells()) * resolved.replicates <= 72


def test_the_paper_profile_is_the_grid_of_the_document():
    cells = load_study(SORT).profile("paper", 5).cells()
    assert len(cells) == 2 * 3 * 4
    assert {cell["integers"] for cell in cells} == {500, 5000, 50000, 100000}
    assert {cell["servers"] for cell in cells} == {1, 3, 5}


def test_more_servers_than_workers_names_the_exact_level():
    assert message_of(SORT.read_text(), workers=4) == (
        "studies/sort.yml: factors.servers[2] is 5, but the inventory has 4 workers; "
        "add workers, lower the level, or leave it out with -e fit=true (collect plan --fit)"
    )


def test_levels_that_need_more_workers_are_left_out_on_demand():
    profile = load_study(SORT).profile("overnight", 3, fit=True)
    assert {cell["servers"] for cell in profile.cells()} == {1, 2, 3}
    assert (profile.left_out, profile.fitted_to) == ({"servers": (4, 5)}, 3)
    whole = load_study(SORT).profile("paper", 5, fit=True)
    assert (whole, whole.fitted_to) == (load_study(SORT).profile("paper", 5), 0)


def test_a_grid_that_loses_all_levels_of_a_factor_is_left_out():
    grids = [
        {"transport": ["soap"], "servers": [3, 5], "integers": [500]},
        {"transport": ["jms"], "servers": [1], "integers": [500]},
    ]
    text = changed(factors=grids)
    profile = parse_study(text, "a").profile("paper", 2, fit=True)
    assert [cell["transport"] for cell in profile.cells()] == ["jms"]
    none = changed(factors=grids[:1])
    with pytest.raises(InputError, match=r"no cell of the profile paper fits .* 2 workers"):
        parse_study(none, "a").profile("paper", 2, fit=True)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"factors": {"transport": ["soap"], "servers": ["9"], "integers": [1]}}, "not of type"),
        ({"factors": {"transport": ["soap"], "servers": [9.5], "integers": [1]}}, "not of type"),
        ({"servers": 3}, "servers is 3, but the inventory has 1 worker; add workers"),
        (
            {"servers": "servers", "domains": {}, "constants": {"client_heap_mb": 8, "servers": 2}},
            "constants.servers is 2, but the inventory has 1 worker",
        ),
    ],
)
def test_what_cannot_be_left_out_is_refused_with_fit_too(changes, part):
    with pytest.raises(InputError) as caught:
        parse_study(changed(**changes), "x").profile("paper", 1, fit=True)
    assert part in str(caught.value)


def test_a_level_of_a_profile_is_named_by_its_place_in_the_profile():
    profiles = {"demo": {"factors": {"servers": [1, 9]}}}
    assert "profiles.demo.factors.servers[1] is 9" in message_of(changed(profiles=profiles), "demo")


@pytest.mark.parametrize(
    ("levels", "part"),
    [
        ({"servers": ["three"]}, "factors.servers[0] is 'three', not of type integer"),
        ({"servers": [True]}, "factors.servers[0] is True, not of type integer"),
        ({"servers": [1.5]}, "factors.servers[0] is 1.5, not of type integer"),
        ({"servers": [0]}, "factors.servers[0] is 0, below the minimum of 1"),
        ({"transport": ["soap", "rmi"]}, "factors.transport[1] is 'rmi'; choose one of soap, jms"),
    ],
)
def test_a_level_outside_its_domain_is_refused(levels, part):
    factors = {"transport": ["soap"], "servers": [1], "integers": [500], **levels}
    assert part in message_of(changed(factors=factors))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"replicates": 0}, "replicates: 0 is less than the minimum of 1"),
        ({"calls": "many"}, "calls: 'many' is not of type 'integer'"),
        ({"factors": {"servers": []}}, "factors.servers: [] should be non-empty"),
        ({"factors": {"servers": [1, 1]}}, "factors.servers: [1, 1] has non-unique elements"),
        ({"replicate": 3}, "'replicate' was unexpected"),
        ({"constants": {"delivery": "persistent"}}, "client_heap_mb is missing in constants"),
        ({"constants": {"client_heap_mb": 8, "persistence": "often"}}, "constants.persistence is"),
        ({"threads": "concurrency"}, "threads is 'concurrency', which is no factor"),
        ({"clients": {"factor": "protocol", "a": "b"}}, "clients.factor is 'protocol'"),
        ({"clients": {"factor": "transport", "soap": "s"}}, "clients has no client for transport"),
        ({"where": [{"cells": {"size": 1}, "calls": 2}]}, "where[0].cells.size is no factor"),
        ({"schema": 2}, "schema: 1 was expected"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(changes, part):
    message = message_of(changed(**changes))
    assert part in message
    assert all(line.startswith("studies/sort.yml: ") for line in message.splitlines())


@pytest.mark.parametrize(
    ("levels", "named"),
    [
        ([1, True], "1 and true"),
        ([1, "1"], '1 and "1"'),
        ([False, 2, "false"], 'false and "false"'),
        ([0.5, "0.5"], '0.5 and "0.5"'),
    ],
)
def test_levels_that_would_be_one_cell_are_refused(levels, named):
    assert f"factors.size has the levels {named}, which" in message_of(study_of({"size": levels}))
    apart = [{"size": [level]} for level in levels]
    assert f"factors[0].size has the levels {named}, which" in message_of(study_of(apart))


@pytest.mark.parametrize("levels", [[1, 2], [True, False], ["a", "b"]])
def test_clients_and_needs_are_chosen_by_levels_of_any_kind(levels):
    choice = {
        "clients": {"factor": "kind", levels[0]: "one", levels[1]: "other"},
        "needs": {"factor": "kind", levels[0]: ["broker"], levels[1]: []},
    }
    text = changed(factors={"kind": levels}, domains={}, servers=1, **choice)
    profile = parse_study(text, "a").profile("paper", 5)
    found = [profile.settings(cell) for cell in profile.cells()]
    assert [(s.client, s.needs) for s in found] == [("one", ["broker"]), ("other", [])]


def test_the_same_level_in_two_grids_is_one_level():
    text = study_of([{"size": [1, 2]}, {"size": [2, 3]}])
    assert len(parse_study(text, "a").profile("paper", 5).cells()) == 3


@pytest.mark.parametrize("level", [float("nan"), float("inf")])
def test_a_level_that_is_no_number_is_refused(level):
    assert f"factors.size[0] is {level}" in message_of(study_of({"size": [level]}))


def test_an_exception_of_a_profile_is_named_by_its_place():
    wrong = [{"cells": {"servers": 1}, "constants": {"persistence": "never"}}]
    message = message_of(changed(profiles={"demo": {"where": wrong}}), "demo")
    assert "profiles.demo.where[0].constants.persistence is 'never'" in message


def test_a_factor_named_like_a_column_of_cells_is_refused():
    text = changed(factors={"transport": ["soap"], "calls": [1]})
    assert "factors.calls has the name of a column of cells.csv" in message_of(text)


def test_a_missing_key_is_named():
    content = yaml.safe_load(SORT.read_text())
    del content["replicates"]
    assert "replicates is missing" in message_of(yaml.safe_dump(content))


def test_a_key_given_twice_is_refused():
    text = SORT.read_text() + "\nreplicates: 99\n"
    assert "the key 'replicates' is given twice" in message_of(text)


@pytest.mark.parametrize("text", ["{", "- 1", "", "a: b: c"])
def test_what_is_no_study_is_refused_in_one_message(text):
    assert message_of(text).startswith("studies/sort.yml: ")


def test_an_unknown_profile_lists_the_known_ones():
    assert "choose one of demo, sample, paper, warmth, overnight" in message_of(
        SORT.read_text(), "nightly"
    )


def test_an_unknown_study_lists_the_known_ones():
    with pytest.raises(InputError, match=r"there is no study 'srot'.*sort"):
        find_study("srot")


def test_a_union_of_grids_holds_each_cell_once():
    grids = [
        {"transport": ["soap"], "servers": [1, 3], "integers": [500]},
        {"transport": ["soap", "jms"], "servers": [1], "integers": [500]},
    ]
    cells = parse_study(changed(factors=grids), "x").profile("paper", 5).cells()
    assert [(c["transport"], c["servers"]) for c in cells] == [("soap", 1), ("soap", 3), ("jms", 1)]


def test_grids_of_other_factors_are_refused():
    grids = [{"transport": ["soap"], "servers": [1]}, {"transport": ["soap"], "integers": [1]}]
    assert "factors[1] has the factors transport, integers" in message_of(changed(factors=grids))


def test_settings_follow_the_factors_constants_and_exceptions():
    text = changed(
        threads="servers",
        node={"heap": "client_heap_mb", "count": "servers", "kind": "plain"},
        where=[
            {"cells": {"servers": [3, 5]}, "calls": 7},
            {"cells": {"servers": 5, "transport": "jms"}, "calls": 2, "constants": {"x": 1}},
        ],
    )
    profile = parse_study(text, "x").profile("paper", 5)
    seen = {
        (cell["transport"], cell["servers"]): profile.settings(cell) for cell in profile.cells()
    }
    assert [seen["jms", n].calls for n in (1, 3, 5)] == [10, 7, 2]
    assert seen["soap", 5].calls == 7
    assert seen["jms", 5].constants["x"] == 1
    assert "x" not in seen["soap", 5].constants
    assert seen["soap", 3].threads == 3
    assert seen["soap", 3].node == {"heap": 512, "count": 3, "kind": "plain"}
    assert (seen["soap", 1].client, seen["jms", 1].client) == ("sort-soap", "sort-jms")


def test_needs_follow_the_level_and_the_number_of_servers():
    profile = load_study(SORT).profile("paper", 5)
    seen = {(c["transport"], c["servers"]): profile.settings(c) for c in profile.cells()}
    assert (seen["soap", 5].needs, seen["soap", 5].servers) == (["tomcat"], 5)
    assert (seen["jms", 3].needs, seen["jms", 3].servers) == (["broker", "sort-worker"], 3)
    plain = parse_study(changed(needs=["tomcat"], servers=2), "x").profile("paper", 5)
    assert {(*plain.settings(c).needs, plain.settings(c).servers) for c in plain.cells()} == {
        ("tomcat", 2)
    }


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"needs": {"factor": "transport", "soap": ["tomcat"]}}, "needs has no list for transport"),
        ({"needs": {"factor": "size", "soap": ["tomcat"]}}, "needs.factor is 'size'"),
        ({"needs": ["Tomcat!"]}, "needs[0]"),
        ({"needs": "tomcat"}, "needs"),
        ({"servers": "machines"}, "servers is 'machines', which is no factor"),
    ],
)
def test_needs_that_cannot_be_resolved_are_refused(changes, part):
    assert part in message_of(changed(**changes))


def test_a_warmup_is_a_number_or_a_rule_and_exceptions_and_profiles_replace_it():
    rule = {"least": 20, "most": 2000, "steady": 0.02}
    text = changed(
        warmup=rule,
        where=[{"cells": {"servers": 3}, "warmup": 7}],
        profiles={"paper": {}, "demo": {"warmup": {**rule, "most": 90}, "where": []}},
    )
    for name, expected in {
        "paper": {Warmup(20, 2000, 0.02), 7},
        "demo": {Warmup(20, 90, 0.02)},
    }.items():
        profile = parse_study(text, "x").profile(name, 5)
        assert {profile.settings(cell).warmup for cell in profile.cells()} == expected


@pytest.mark.parametrize(
    ("warmup", "part"),
    [
        (-1, "warmup: -1 is less than the minimum of 0"),
        ("long", "warmup: 'long' is not of type 'integer'"),
        ({"least": 1, "most": 2}, "steady is missing in warmup"),
        ({"least": 0, "most": 2, "steady": 0.1}, "warmup.least: 0 is less than"),
        ({"least": 1, "most": 2, "steady": 2}, "warmup.steady: 2 is greater than"),
        ({"least": 9, "most": 9, "steady": 0.1}, "warmup needs a least of 1 or more, and a most"),
        ({**RULE, "least_s": 0}, "warmup.least_s: 0 is less than or equal to the minimum of 0"),
        ({**RULE, "least_s": -1.5}, "warmup.least_s: -1.5 is less than or equal to"),
        ({**RULE, "least_s": True}, "warmup.least_s: True is not of type 'number'"),
        ({**RULE, "least_s": "5"}, "warmup.least_s: '5' is not of type 'number'"),
        ({**RULE, "least_s": None}, "warmup.least_s: None is not of type 'number'"),
        ({**RULE, "least_s": float("inf")}, "warmup needs a least_s above 0, in seconds"),
        ({**RULE, "least_s": float("nan")}, "warmup needs a least_s above 0, in seconds"),
        ({**RULE, "seconds": 5}, "'seconds' was unexpected"),
    ],
)
def test_a_warmup_that_cannot_be_is_refused_with_its_place(warmup, part):
    assert part in message_of(changed(warmup=warmup))
    inside = [{"cells": {"servers": 1}, "warmup": warmup}]
    assert part.split("warmup")[-1] in message_of(changed(where=inside))


def test_a_warmup_that_takes_as_long_as_its_trial_may_is_refused():
    warmup = {**RULE, "least_s": 30}
    refused = message_of(changed(warmup=warmup, timeout_s=30))
    assert refused == (
        "studies/sort.yml: warmup.least_s is 30 for soap, 1, 500, but timeout_s ends its trials at "
        "30 s; lower least_s or raise timeout_s"
    )
    where = [{"cells": {"servers": 3}, "timeout_s": 20}]
    assert "is 30 for soap, 3, 500," in message_of(
        changed(warmup=warmup, timeout_s=31, where=where)
    )
    profile = parse_study(changed(warmup=warmup, timeout_s=31), "x").profile("paper", 5)
    assert {profile.settings(cell).warmup for cell in profile.cells()} == {
        Warmup(20, 2000, 0.02, 30)
    }


def test_most_calls_must_be_ok_unless_the_study_or_its_profile_says_otherwise():
    profiles = {"paper": {}, "demo": {"least_ok": 0.25}}
    for changes, expected in (({}, (0.9, 0.25)), ({"least_ok": 1}, (1, 0.25))):
        study = parse_study(changed(profiles=profiles, **changes), "x")
        assert tuple(study.profile(name, 5).least_ok for name in profiles) == expected


@pytest.mark.parametrize(
    ("least_ok", "part"),
    [
        (0, "least_ok: 0 is less than or equal to the minimum of 0"),
        (1.01, "least_ok: 1.01 is greater than the maximum of 1"),
        ("most", "least_ok: 'most' is not of type 'number'"),
        (True, "least_ok: True is not of type 'number'"),
    ],
)
def test_a_share_of_ok_calls_that_cannot_be_is_refused(least_ok, part):
    assert part in message_of(changed(least_ok=least_ok))
    own = {"paper": {}, "demo": {"least_ok": least_ok}}
    assert f"profiles.demo.{part}" in message_of(changed(profiles=own), "demo")


def test_the_constant_observe_is_none_or_absent():
    constants = {"client_heap_mb": 8, "persistence": "none"}
    text = changed(constants={**constants, "observe": "none"})
    assert parse_study(text, "x").profile("paper", 5).constants["observe"] == "none"
    for value in ("all", "None", False, 0):
        message = message_of(changed(constants={**constants, "observe": value}))
        assert message == "studies/sort.yml: constants.observe: 'none' was expected"
    where = [{"cells": {"servers": 1}, "constants": {"observe": "some"}}]
    assert "where[0].constants.observe: 'none' was expected" in message_of(changed(where=where))
