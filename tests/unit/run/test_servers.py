"""The pools that studies need: the numbers of servers that any of them names."""

from pathlib import Path

from collect.run.servers import numbers_of_servers

STUDIES = Path(__file__).parents[3] / "playbooks/studies"


def test_pools_are_the_sizes_that_any_study_names_anywhere(tmp_path):
    (tmp_path / "a.yml").write_text(
        "factors: {servers: [1, 3], integers: [500]}\n"
        "domains: {servers: {type: integer, minimum: 2, maximum: workers}}\n"
        "servers: servers\n"
        "where: [{cells: {integers: 500}, constants: {servers: 9}}]\n"
        "profiles: {night: {factors: [{servers: 7}, {servers: [3, 12]}]}}\n"
    )
    (tmp_path / "b.yaml").write_text("constants: {servers: 4}\nlist: [[{servers: 5}], 6]\n")
    assert numbers_of_servers(tmp_path) == [1, 3, 4, 5, 7, 9, 12]


def test_what_is_no_number_of_servers_makes_no_pool(tmp_path):
    (tmp_path / "odd.yml").write_text("servers: [0, -1, true, 2.5, '3', null]\n")
    (tmp_path / "broken.yml").write_text("servers: [1\n")
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe\x00servers: 3")
    (tmp_path / "empty.yml").write_text("")
    (tmp_path / "kind.yml").write_text("servers: 3\nrotate: !!bool maybe\n")
    (tmp_path / "day.yml").write_text("servers: 3\nday: !!timestamp noon\n")
    (tmp_path / "number.yml").write_text("servers: 3\nseed: !!int many\n")
    (tmp_path / "itself.yml").write_text("where: &a [*a]\n")
    (tmp_path / "notes.txt").write_text("servers: 3\n")
    assert numbers_of_servers(tmp_path) == []
    assert numbers_of_servers(tmp_path / "absent") == []


def test_the_kits_own_studies_need_five_pools():
    assert numbers_of_servers(STUDIES) == [1, 2, 3, 4, 5]
