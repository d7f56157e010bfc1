"""Links of the repository's pages lead somewhere, and README says what the other pages say."""

import errno
import json
import os
import re
import shlex
import subprocess
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from collect.run.plan import make_plan
from collect.run.study import find_study, load_study

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / name
    for name in subprocess.run(
        ["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, check=True, text=True
    ).stdout.splitlines()
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|^ {4}[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
STUDIES = ("sort", "binding", "mtom", "overhead", "attachments")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def anchors(page):
    """Return the anchors of a page's headings, as they are made from their text."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", head) for head in heads]
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in plain}


def links(page):
    return LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page):
    for link in links(page):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        place, _, anchor = unquote(link).partition("#")
        target = page.parent / place if place else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_path_of_a_page_that_code_names_exists():
    names = subprocess.run(
        [
            "git",
            "-C",
            ROOT,
            "grep",
            "-hoIE",
            r"\bdocs/[a-z/-]+\.(md|svg)",
            "--",
            ":!tests/unit/docs",
        ],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert len(names) > 20
    assert [name for name in sorted(set(names)) if not (ROOT / name).is_file()] == []


def test_readme_is_short():
    assert README.count("\n") <= 120


def test_readme_has_the_verdicts_of_the_replication():
    rows = re.findall(
        r"^\| (\w+) \|.*\| ([a-z ]+)[^|]*\|$",
        (ROOT / "docs/replication/README.md").read_text(encoding="utf-8"),
        re.M,
    )
    names = {"holds": "hold", "fails": "fail"}
    for study in STUDIES:
        counts = Counter(verdict.strip() for name, verdict in rows if name == study)
        assert counts
        (cell,) = re.findall(rf"^\| \[`{study}`\].*\| ([^|]+) \|$", README, re.M)
        said = {}
        for part in cell.split(", "):
            number, _, verdict = part.partition(" ")
            said[verdict] = int(number)
        expected = {names.get(v, v) if n > 1 else v: n for v, n in counts.items()}
        assert said == expected


def test_readme_counts_the_trials_of_the_demo():
    (playbook,) = yaml.safe_load((ROOT / "playbooks/demo.yml").read_text(encoding="utf-8"))
    studies = [load_study(find_study(name)) for name in playbook["vars"]["study"].split(",")]
    trials = sum(len(make_plan(study.profile("demo", 5))) for study in studies)
    assert f"sweeps six studies ({trials} trials)" in " ".join(README.split())


def test_the_gallery_counts_as_the_page_of_sort():
    page = (ROOT / "docs/replication/sort.md").read_text(encoding="utf-8")
    above, pairs = re.search(r"^(\d+) of (\d+)$", page, re.M).groups()
    words = dict(zip(range(8, 13), ("eight", "nine", "ten", "eleven", "twelve"), strict=True))
    gallery = " ".join((ROOT / "docs/gallery.md").read_text(encoding="utf-8").split())
    assert (
        f"JMS is faster in all {words[int(pairs)]} pairs of cells. In {words[int(above)]} of them "
        "the whole interval lies above the paper's ratio." in gallery
    )


@pytest.mark.parametrize("name", ["README.md", "docs/start/your-rack.md"])
def test_the_machines_are_checked_again_once_their_host_keys_are_known(name):
    steps = re.findall(r"^ {4}rackbench (\w+)", (ROOT / name).read_text(encoding="utf-8"), re.M)
    trust = steps.index("trust")
    assert steps[trust - 1 : trust + 3] == ["doctor", "trust", "doctor", "site"]


def test_a_job_names_its_own_files_where_it_changed_the_directory():
    page = (ROOT / "docs/guides/ci.md").read_text(encoding="utf-8")
    job = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```", page, re.M | re.S)[1])
    script = job["performance"]["script"]
    later = script[script.index('cd "$RACKBENCH_PROJECT"') + 1 :]
    files = re.findall(r"(?:--budget|-o) (\S+)", " ".join(later))
    assert len(files) == 2
    assert all(file.startswith('"$CI_PROJECT_DIR/') for file in files)


def test_the_install_says_where_the_run_of_a_project_directory_is():
    page = (ROOT / "docs/guides/bare-metal.md").read_text(encoding="utf-8")
    assert "With `-i ~/mylab/inventory` the run is in `~/mylab/results/first`." in page


def test_secrets_are_copied_into_a_directory_that_exists():
    page = (ROOT / "docs/guides/nodes.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^    mkdir -p (\S+)\n    scp -rp \S+/secrets (\S+)/$", page, re.M)
    assert block[0] == block[1]


@pytest.mark.parametrize("name", ["README.md", "docs/teach/course.md"])
def test_who_gets_the_wheel_learns_what_it_needs(name):
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    (needs,) = re.findall(r"Linux \(on Windows: WSL\).{60,180}?package index", text)
    assert "Python 3.11" in needs
    assert "`python3-venv`" in needs


def test_no_two_archives_of_a_page_get_one_name():
    page = (ROOT / "docs/guides/archives.md").read_text(encoding="utf-8")
    commands = [shlex.split(line, comments=True) for line in re.findall(r"^ {4}(.+)", page, re.M)]
    published = (ROOT / "docs/replication").glob("*.zip")
    made = {str(path.relative_to(ROOT)): [path.stem] for path in published}
    for words in commands:
        archives = [word for word in words if word.endswith(".zip")]
        if words[:2] == ["collect", "archive"]:
            (name,) = archives
            assert name not in made, "the second one would be refused"
            made[name] = words[2 : words.index("-o")]
        elif archives:
            (name,) = archives
            assert len(made[name]) == 1 or words[1] != "rerun", "which of its runs?"


def test_troubleshooting_quotes_what_the_network_install_prints():
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    source = ROOT / "roles/netboot/action_plugins/install_machines.py"
    (power_s,) = re.findall(r"^POWER_S = (\d+)$", source.read_text(encoding="utf-8"), re.M)
    assert f"`unstarted, Redfish got no answer within {power_s} s`" in page
    in_use = OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    assert f"`ports 8087 and 5514: {in_use}`" in page


def test_the_first_install_shows_no_remaining_time():
    page = (ROOT / "docs/guides/bare-metal.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    \d\d:\d\d:\d\d .*$", page, re.M)
    assert len(shown) > 5
    assert not [line for line in shown if "to go" in line]
    assert "From the second install on" in page


def test_the_page_of_fairness_names_the_studies_that_warm_up_long():
    page = " ".join((ROOT / "docs/explain/fairness.md").read_text(encoding="utf-8").split())
    assert "In the profile `warmth` of each of the five replications" in page
    have = {
        path.stem
        for path in (ROOT / "playbooks/studies").glob("*.yml")
        if "warmth" in yaml.safe_load(path.read_text(encoding="utf-8"))["profiles"]
    }
    assert have == set(STUDIES)


def test_the_page_of_fairness_counts_the_warm_ups_of_sort():
    with zipfile.ZipFile(ROOT / "docs/replication/paper-sort.zip") as archive:
        names = [name for name in archive.namelist() if name.endswith("/trial.json")]
        trials = [json.loads(archive.read(name)) for name in names]
    bounded = [
        trial
        for trial in trials
        if trial["warmup"]["steady"] is not None and not (trial["profiled"] or trial["captured"])
    ]
    steady = sum(trial["warmup"]["steady"] for trial in bounded)
    seconds = max(trial["phases"]["warmup"]["elapsed_ns"] for trial in bounded) / 1e9
    page = " ".join((ROOT / "docs/explain/fairness.md").read_text(encoding="utf-8").split())
    assert f"In `sort` {steady} of the {len(bounded)} trials that had such bounds" in page
    assert f"after {seconds:.0f} s at most" in page


def test_version_changelog_and_citation_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert project["version"] == citation["version"] == newest[1]
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license", "type"} <= citation.keys()


def test_the_licences_name_every_file_that_the_build_contains():
    lines = (ROOT / "java-apps/artefacts.sha256").read_text().splitlines()
    files = {line.split()[1] for line in lines if not line.startswith("#")}
    page = (ROOT / "docs/project/licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| `[^`]+` \| ([^|]+) \| `[^|]+ \|$", page, re.M)
    assert files <= {name for name, _ in rows}
    assert all(licence.strip() for _, licence in rows)


def test_the_navigation_has_every_page_once():
    text = (ROOT / "mkdocs.yml").read_text()
    navigation = yaml.safe_load(text)["nav"]

    def files(part):
        if isinstance(part, str):
            yield part
        for inner in (
            part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        ):
            yield from files(inner)

    named = [name for name in files(navigation) if name != "index.md"]
    there = {
        str(page.relative_to(ROOT / "docs"))
        for page in PAGES
        if page.is_relative_to(ROOT / "docs") and not page.name.startswith("paper-")
        if not any(part.startswith("paper-") for part in page.parts)
    }
    assert len(named) == len(set(named))
    assert set(named) == there
