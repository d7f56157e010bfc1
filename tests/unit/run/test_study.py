import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
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


@pytest.mark.parametrize("threads", [1, "servers"])
def test_a_factor_threads_that_sets_no_threads_is_refused(threads):
    grid = {"threads": [1, 30], "servers": [1]}
    said = message_of(study_of(grid, threads=threads))
    assert said.endswith(
        "factors.threads does not set the threads of a trial; write `threads: threads`, or rename "
        "the factor"
    )
    profile = parse_study(study_of(grid, threads="threads"), "x").profile("paper", 5)
    assert [profile.settings(cell).threads for cell in profile.cells()] == [1, 30]
    assert parse_study(study_of({"threads": [1]}), "x").profile("paper", 5).cells()


@pytest.mark.parametrize("key", ["threads", "servers"])
@pytest.mark.parametrize("level", ["one", "5", 2.5, True, 0, -1, 3_000_000_000])
def test_a_level_that_is_no_count_is_refused_where_one_is_needed(key, level):
    any_level = {"domains": {}, "clients": "any", "needs": [], "servers": 1}
    text = changed(factors={"users": [level]}, **{**any_level, key: "users"})
    fitting = 5_000_000_000  # so many workers that none is too few
    assert message_of(text, workers=fitting) == (
        f"studies/sort.yml: factors.users has the level {json.dumps(level)}, but {key} takes whole "
        "numbers from 1 to 2147483647; correct the level"
    )
    if level in (2.5, True):  # which earlier versions planned
        recorded = parse_study(text, "x", is_recorded=True).profile("paper", 5)
        assert [getattr(recorded.settings(cell), key) for cell in recorded.cells()] == [int(level)]


def test_more_servers_than_workers_names_the_exact_level():
    assert message_of(SORT.read_text(), workers=4) == (
        "studies/sort.yml: factors.servers[2] is 5, but the inventory has 4 workers; "
        "add workers, lower the level, or skip it with --fit (playbooks: -e fit=true)"
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
    ("level", "of", "shown"),
    [
        (0, [False], "0; choose one of false"),
        (1, [True, False], "1; choose one of true, false"),
        (True, [1, 2], "True; choose one of 1, 2"),
    ],
)
def test_a_number_is_no_boolean_of_a_domain(level, of, shown):
    domains = {"kind": {"of": of}}
    text = changed(factors={"kind": [level]}, domains=domains, clients="any", needs=[], servers=1)
    assert f"factors.kind[0] is {shown}" in message_of(text)
    assert parse_study(text, "x", is_recorded=True).profile("paper", 5).cells()


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"replicates": 0}, "replicates: 0 is less than the minimum of 1"),
        ({"calls": "many"}, "calls: 'many' is not of type 'integer'"),
        ({"factors": {"servers": []}}, "factors.servers: [] should be non-empty"),
        ({"factors": {"servers": [1, 1]}}, "factors.servers: [1, 1] has non-unique elements"),
        ({"replicate": 3}, "'replicate' was unexpected"),
        (
            {"constants": {"client_heap_mb": 4}},
            "constants.client_heap_mb: 4 is less than the minimum of 8",
        ),
        ({"constants": {"client_heap_mb": 8, "persistence": "often"}}, "constants.persistence is"),
        ({"threads": "concurrency"}, "threads is 'concurrency', which is not a factor"),
        ({"clients": {"factor": "protocol", "a": "b"}}, "clients.factor is 'protocol'"),
        ({"clients": {"factor": "transport", "soap": "s"}}, "clients has no client for transport"),
        ({"where": [{"cells": {"size": 1}, "calls": 2}]}, "where[0].cells.size is not a factor"),
        (
            {"where": [{"cells": {"servers": "3"}, "calls": 2}]},
            'where[0].cells.servers has "3", which is a level of no profile, so the entry has no '
            "effect; correct it",
        ),
        (
            {"where": [{"cells": {"servers": 3, "integers": [500, 5001]}, "calls": 2}]},
            "where[0].cells.integers has 5001, which is a level of no profile, so it has no effect",
        ),
        ({"schema": 2}, "schema: 1 was expected"),
        *(
            ({key: 3_000_000_000}, f"{key}: 3000000000 is greater than the maximum of 2147483647")
            for key in ("calls", "warmup", "threads", "timeout_s")
        ),
        *(
            ({"where": [{"cells": {"servers": 1}, key: 3_000_000_000}]}, f"where[0].{key}: 3000")
            for key in ("calls", "warmup", "timeout_s")
        ),
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


@pytest.mark.parametrize("key", ["clients", "needs"])
def test_a_choice_by_two_levels_that_are_one_is_refused(key):
    choice = {"factor": "size", 1: "a", "1": "b"}
    if key == "needs":
        choice = {"factor": "size", 1: ["broker"], "1": []}
    plain = {"domains": {}, "clients": "any", "needs": [], "servers": 1}
    text = changed(factors={"size": [1]}, **{**plain, key: choice})
    assert message_of(text) == (
        f'studies/sort.yml: {key} has the levels 1 and "1", which are the same; remove one'
    )
    assert parse_study(text, "x", is_recorded=True).profile("paper", 5).cells()


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


def with_line(line):
    """A small study with a line in place of its calls, and the number of that line."""
    text = SMALL.replace("calls: 8", line)
    return text, SMALL.splitlines().index("calls: 8") + 1


SMALL = """\
schema: 1
study: small
title: A small study
factors: {transport: [soap, jms], servers: [1], integers: [500]}
domains:
  integers: {type: integer, minimum: 1}
clients: {factor: transport, soap: sort-soap, jms: sort-jms}
constants: {client_heap_mb: 256}
replicates: 3
calls: 8
warmup: 5
timeout_s: 60
seed: 7
profiles:
  paper: {}
"""


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("calls: {{ n }}", "has a list or a mapping as a key, which is how YAML reads {{ … }}"),
        ("calls: {{ n | int }}", "quote it"),
        ("calls: {[1]: 2}", "has a list or a mapping as a key"),
        ("? [a, b]\n: 1", "has a list or a mapping as a key"),
        ("calls: {% n %}", "is not valid YAML: while scanning for the next token"),
        ("calls: 8\ncalls: 9", "the key 'calls' is given twice; remove one"),
        ("calls: 8\n<<: {}\n<<: {}", "the key '<<' is given twice"),
        ("calls: 0500", "0500 is 320 in YAML 1.1 and 500 in YAML 1.2; write 500, or quote it"),
        ("calls: 0800", "0800 is a text in YAML 1.1 and 800 in YAML 1.2; write 800, or quote it"),
        ("calls: 0o17", "0o17 is a text in YAML 1.1 and 15 in YAML 1.2; write 15, or quote it"),
        ("calls: 190:20:30", "190:20:30 is 685230 in YAML 1.1 and a text in YAML 1.2"),
        ("calls: 1:30.5", "1:30.5 is 90.5 in YAML 1.1 and a text in YAML 1.2"),
        ("calls: 22:00", "write 1320, or quote it"),
        ("calls: 1_000", "1_000 is 1000 in YAML 1.1 and a text in YAML 1.2; write 1000, or"),
        ("calls: 0b11", "0b11 is 3 in YAML 1.1"),
        ("calls: 1e3", "1e3 is a text in YAML 1.1 and 1000 in YAML 1.2; write 1000, or quote it"),
        ("calls: 1.5e3", "write 1500, or quote it"),
        ("calls: yes", "yes is true in YAML 1.1 and a text in YAML 1.2; write true, or quote it"),
        ("calls: Off", "Off is false in YAML 1.1 and a text in YAML 1.2; write false, or quote it"),
        ("calls: 2026-03-01", "2026-03-01 is a date in YAML; quote it"),
        ("calls: 2026-13-45", "2026-13-45 is a date in YAML; quote it"),
        ("calls: 2026-03-01 22:00:00", "is a date in YAML; quote it"),
        ("calls: =", "= is no plain text in YAML; quote it"),
        ("calls: 0x_", "0x_ cannot be read as int; correct or quote it"),
        (f"calls: {'9' * 5000}", "cannot be read as int; correct or quote it"),
        (f"calls: {'9' * 400}", "9… is too large for a number; correct or quote it"),
        (f"calls: !!int {'9' * 400}", "9… is too large for a number; correct or quote it"),
        ("calls: 9223372036854775808", "9223372036854775808 is too large for a number"),
        ("calls: -9223372036854775808", "-9223372036854775808 is too large for a number"),
        ("calls: !!int many", "many cannot be read as int"),
        ('calls: !!int ""', "cannot be read as int"),
        ("calls: !!bool maybe", "maybe cannot be read as bool"),
        ("calls: !!timestamp x", "has the tag"),
        ("calls: !!binary x", "has the tag"),
        ("calls: !!set {a, b}", "has the tag"),
        ("calls: !!omap [a: 1]", "has the tag"),
        ("calls: !vault x", "has the tag !vault; write the value without a tag"),
        ("calls: !!python/name:os.system ''", "has the tag"),
        ('calls: "\\UFFFFFFFF"', "is not valid YAML"),
        ('calls: "\\ud800"', "holds half a character"),
        ("calls: \x01", "it holds the control character"),
        ("calls: *nobody", "is not valid YAML: found undefined alias"),
        ("calls: &a [*a]", "contains itself by an alias"),
        ("where: &a {<<: *a}", "contains itself"),
        ("\tcalls: 8", "is not valid YAML"),
    ],
)
def test_what_yaml_reads_otherwise_than_people_is_refused_with_its_line(line, part):
    text, number = with_line(line)
    message = message_of(text)
    assert message.startswith(f"studies/sort.yml: line {number}") or "twice" in part
    assert part in message
    assert len(message.splitlines()) == 1


def test_yaml_that_is_nested_too_deep_or_grows_by_aliases_is_refused():
    assert "is nested too deeply" in message_of("[" * 5000)
    bomb = "calls: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    bomb += "".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert "holds more than 100000 values" in message_of(with_line(bomb)[0])


@pytest.mark.parametrize(
    ("written", "level"),
    [
        *(("007", 7), ("0x1F", 31), ("+5", 5), ("5.", 5.0), (".5", 0.5), ("1.0e+3", 1000.0)),
        *(('"0500"', "0500"), ("'yes'", "yes"), ("190:20:60", "190:20:60"), ("07:30", "07:30")),
        *(("true", True), ("FALSE", False), ("y", "y"), ("v1.2.3", "v1.2.3"), ("1.2.3", "1.2.3")),
    ],
)
def test_what_yaml_reads_in_one_way_is_a_level(written, level):
    text = SMALL.replace("[500]", f"[{written}]").replace(
        "{type: integer, minimum: 1}", "{of: [x]}"
    )
    content = parse_study(text, "x").content
    assert content["factors"]["integers"] == [level]
    assert type(content["factors"]["integers"][0]) is type(level)


def test_a_whole_number_is_written_as_one():
    text, _ = with_line("calls: 8.0")
    assert "calls: 8.0 is not of type 'integer'" in message_of(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_from_another_editor_is_the_same_study(tmp_path, encoding, end):
    path = tmp_path / "small.yml"
    path.write_bytes(SMALL.replace("\n", end).encode(encoding))
    assert load_study(path).content == parse_study(SMALL, "x").content


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_that_is_not_utf8_is_refused(tmp_path, encoding):
    path = tmp_path / "small.yml"
    path.write_bytes(SMALL.replace("A small", "Eine größere").encode(encoding))
    with pytest.raises(InputError, match=r"small.yml: cannot be read .* its encoding \(UTF-8\)"):
        load_study(path)


def test_merge_keys_work_wherever_they_stand():
    text = (
        SMALL
        + """\
  demo: &short {replicates: 2, where: [&cell {cells: {servers: 1}, calls: 4}]}
  night: {<<: *short, calls: 9}
  both: {<<: [{calls: 7}, *short], where: [{<<: *cell, calls: 3}]}
  outer: {where: [&own {<<: *cell, calls: 2}]}
  late:
    <<: *short
    where: [*own]
"""
    )
    study = parse_study(text, "x")
    found = {name: study.profile(name, 5) for name in study.content["profiles"]}
    assert [found[n].replicates for n in ("paper", "demo", "night", "both")] == [3, 2, 2, 2]
    assert [found[n].calls for n in ("paper", "demo", "night", "both")] == [8, 8, 9, 7]
    calls = {name: [entry["calls"] for entry in profile.where] for name, profile in found.items()}
    assert calls == {
        **{"paper": [], "demo": [4], "night": [4]},
        **{"both": [3], "outer": [2], "late": [2]},
    }


@pytest.mark.parametrize("wrong", ["[1]", "*no", "text"])
def test_a_merge_of_what_is_no_mapping_is_refused(wrong):
    assert "is not valid YAML" in message_of(f"{SMALL}  demo: {{<<: {wrong}}}\n")


@pytest.mark.parametrize("key", ["1", "true", "~", "1.5"])
def test_a_name_that_is_no_text_is_refused(key):
    for text in (
        f"{SMALL}  {key}: {{}}\n",
        SMALL.replace("domains:", f"domains:\n  {key}: {{type: integer}}"),
        with_line(f"calls: 8\nour_choice: {{{key}: x}}")[0],
        with_line(f"calls: 8\nwhere: [{{cells: {{{key}: x}}, calls: 1}}]")[0],
        with_line(f"calls: 8\n{key}: x")[0],
    ):
        assert message_of(text, "nothing").startswith("studies/sort.yml: ")
        assert "there is no profile" not in message_of(text, "nothing")


@pytest.mark.parametrize(
    ("one", "other"), [("a", "a "), ("a b", "a  b"), ("a", "a\u200b"), ("", " "), ("", "(none)")]
)
def test_levels_that_look_alike_in_tables_are_refused(one, other):
    message = message_of(study_of({"size": [one, other]}))
    alike = f"{json.dumps(one)} and {json.dumps(other)}"
    assert f"factors.size has the levels {alike}, which would be one cell or look like" in message


def test_a_study_that_a_run_recorded_is_read_as_it_was_then():
    text, _ = with_line("calls: 0500\nreplicates: 1_0")
    text = text.replace("replicates: 3\n", "")
    assert "line" in message_of(text)
    recorded = parse_study(text, "x", is_recorded=True).content
    assert (recorded["calls"], recorded["replicates"]) == (320, 10)


@given(st.text(max_size=60))
@settings(derandomize=True, max_examples=300)
def test_any_text_is_read_or_refused_without_a_traceback(text):
    for whole in (text, with_line(f"calls: {text}")[0]):
        try:
            parse_study(whole, "x").profile("paper", 5)
        except InputError as error:
            assert str(error).startswith("x: ")


def test_an_unknown_profile_lists_the_known_ones():
    assert "choose one of demo, sample, paper, paper-short, warmth, overnight" in message_of(
        SORT.read_text(), "nightly"
    )


def test_an_unknown_study_lists_the_known_ones():
    with pytest.raises(InputError, match=r"'srot' in playbooks/studies; .* sort, teaching/conn"):
        find_study("srot")


def test_a_path_is_offered_only_where_one_is_taken(tmp_path):
    with pytest.raises(InputError, match="or give the path of a study file"):
        find_study("srot")
    (tmp_path / "sort.yml").touch()
    (tmp_path / "archived/0123").mkdir(parents=True)
    (tmp_path / "archived/0123/mtom.yml").touch()
    with pytest.raises(InputError, match=r"choose one of sort$"):
        find_study("srot", [tmp_path])


def test_an_unknown_study_names_the_directories_that_were_searched(tmp_path):
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
    folders = [tmp_path / name for name in ("mine", "theirs", "none")]
    with pytest.raises(InputError, match=f"in {tmp_path}/mine or {tmp_path}/theirs; choose"):
        find_study("srot", folders)


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
        node={"worker_heap_mb": "client_heap_mb", "tomcat_threads": "servers", "collector": "g1"},
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
    asked = {"worker_heap_mb": 512, "tomcat_threads": 3, "collector": "g1"}
    assert seen["soap", 3].node == asked
    assert (seen["soap", 1].client, seen["jms", 1].client) == ("sort-soap", "sort-jms")


def test_exceptions_may_name_levels_of_any_profile_and_those_that_did_not_fit():
    rates = {"rate": {"from": 10, "to": 1000, "steps": 3}}
    where = [
        {"cells": {"servers": [3, 5]}, "calls": 7},
        {"cells": {"integers": 7}, "calls": 2},
        {"cells": {"rate": [10, 100, 1000]}, "timeout_s": 99},
    ]
    profiles = {"paper": {}, "demo": {"factors": {"integers": [7]}, "arrival": rates}}
    few = {"rate": {"from": 10, "to": 20, "steps": 2}}
    text = changed(where=where, profiles=profiles, arrival=few, capacity={"p99_ms": 50})
    assert len(parse_study(text, "x").profile("paper", 1, fit=True).cells()) == 2 * 4 * 2
    text = changed(where=[{**where[2], "cells": {"rate": 30}}], profiles=profiles, arrival=few)
    assert "where[0].cells.rate has 30, which is a level of no profile" in message_of(text)


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
        ({"servers": "machines"}, "servers is 'machines', which is not a factor"),
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
