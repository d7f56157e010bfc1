import csv
import json
import re
import shutil
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from browser import answer_of_browser
from made_up_studies import changed
from synthetic import edit_json, harness_times, make_run, sort_times

from collect.cells.analysis import analyse
from collect.cli import main
from collect.replication import charts
from collect.replication.claims import Verdict
from collect.replication.replicate import replicate
from collect.report import page as report_page
from collect.report.deviations import conditions_of
from collect.report.provenance import link_of
from collect.report.templates import page_templates
from collect.report.warnings import find_warnings
from collect.run.directory import open_run
from collect.stats.course import course_of
from collect.stats.estimates import Estimate

STUDIES = ("sort", "binding", "mtom", "overhead", "attachments", "harness")
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Collects what the tests ask of the page and checks that its elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.attributes.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.append(values.get("href", ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text += data


def report(*runs, output=None, code=0):
    arguments = ["report", *(str(run.directory) for run in runs)]
    assert main([*arguments, *(["-o", str(output)] if output else [])]) == code
    path = output or runs[0].directory / "report.html"
    return Page(path.read_text(encoding="utf-8")), path


@pytest.fixture(autouse=True)
def _draw_nothing(request, monkeypatch):
    """Drawing is most of what a report takes; only the pages of all tests have their charts."""
    if "paper" in request.fixturenames:
        return

    def save(panels, stem):
        for suffix in (".svg", ".pdf"):
            stem.parent.mkdir(exist_ok=True)
            stem.with_suffix(suffix).write_text("nothing drawn")

    monkeypatch.setattr(charts, "save", save)
    monkeypatch.setattr(charts, "page_svg", lambda spec: "<svg></svg>")


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    directory = tmp_path_factory.mktemp("paper") / "results" / "paper-sort"
    make_run(directory, sort_times, study="sort", profile="paper")
    run = open_run(str(directory))
    page, path = report(run)
    return run, page, path


def test_the_page_is_well_formed_and_asks_nothing_of_the_network(paper):
    _, page, path = paper
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    for tag, attributes in page.attributes:
        for name in ("src", "href"):
            value = attributes.get(name) or ""
            assert not re.match(r"[a-z]+:|//", value) or value == "data:,", (tag, value)
    assert "@import" not in path.read_text(encoding="utf-8")
    assert path.stat().st_size < 2_000_000


def test_every_link_leads_somewhere(paper):
    _, page, path = paper
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids, link
        else:
            assert (path.parent / link).exists(), link


def test_what_all_numbers_depend_on_is_not_folded_away(run_of):
    _, path = report(run_of(profile="demo"))
    text = path.read_text(encoding="utf-8")
    folded = text.index("</details>", text.index('id="warnings"'))
    assert text.index("all numbers depend on one start of each server") > folded


def test_only_a_study_of_a_paper_compares_with_its_hardware(run_of):
    of_none, _ = report(run_of(harness_times, study="harness"))
    of_paper, _ = report(run_of(name="other"))
    assert ["The papers measured" in page.text for page in (of_none, of_paper)] == [False, True]


def test_links_hold_when_trials_are_too_many_for_the_page(run_of, monkeypatch):
    monkeypatch.setattr(report_page, "TRIALS_IN_PAGE", 10)
    page, path = report(run_of())
    assert "too many for this page" in page.text
    for link in page.links:
        assert link[1:] in page.ids if link.startswith("#") else (path.parent / link).exists(), link


def test_figure_7_stands_in_the_page_printed_and_measured(paper):
    run, page, _ = paper
    assert "Replication" in page.text
    for printed in ("2\u202f627\u202f119", "1\u202f177\u202f286", "2\u202f128"):
        assert printed in page.text
    assert "Figure 7" in page.text
    for number in (8, 9, 10, 11):
        assert f"Figure {number}" in page.text
        for kind in ("svg", "pdf"):
            assert (run.directory / "charts" / f"sort-figure-{number}.{kind}").stat().st_size > 1000
    assert "not even in the paper" in page.text


def test_the_legend_has_the_change_of_level_that_makes_a_cell_drift(paper):
    """3 % is beyond half of 5 %, and 2 % is not."""
    noise = np.random.default_rng(4).normal(0, 1e-3, (6, 400))
    for change, steadiness in ((1.03, "drifting"), (1.02, "steady")):
        levels = np.where(np.arange(400) < 200, 10.0, 10.0 * change)
        assert course_of(list(levels * np.exp(noise))).steadiness == steadiness
    text = " ".join(paper[1].text.split())
    assert (
        "no change of level of more than 2.5 % was found in the measured phase (PELT change "
        "points), and the test would have detected one of 5 %. Drifting: a larger change was found."
    ) in text


def test_the_page_says_of_which_change_a_cell_is_steady(paper):
    """Each trial is too noisy to show a drift of 5 %, but their mean is not."""
    trials = np.random.default_rng(8).lognormal(0, 0.2, size=(40, 200))
    assert course_of(list(trials)).steadiness == "steady"
    assert "steady" not in {course_of([one]).steadiness for one in trials}
    text = " ".join(paper[1].text.split())
    assert "would have detected one of 5 % that all trials have in common." in text


@pytest.mark.parametrize(
    ("share", "text"), [(0.95, "95.0 %"), (0.9504, "95.0 %"), (0.9496, "94.96 %"), (1, "100.0 %")]
)
def test_a_share_of_answers_below_95_percent_is_not_shown_as_95(share, text):
    assert page_templates(is_markup=True).filters["answered"](share) == text


PROBE = """<script>
const look = (tries) => {
  const charts = document.querySelectorAll(".chart .vega-embed").length;
  if (charts < 8 && tries > 0) {
    document.querySelector(".chart:not(:has(.vega-embed))")?.scrollIntoView();
    return setTimeout(look, 100, tries - 1);
  }
  const table = document.querySelector(".exhibit table.sortable");
  const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].textContent);
  const before = column();
  const button = [...table.tHead.rows].at(-1).cells[1].querySelector("button");
  button.click(); button.click();
  location.hash = "#r1-c3-trials";
  const saved = [];
  URL.createObjectURL = (blob) => saved.push(blob) && "#";
  for (const one of [table, document.querySelector("[data-name=cells-paper-sort]")])
    one.parentElement.nextElementSibling.click();
  const fits = document.documentElement.scrollWidth <= innerWidth;
  setTimeout(async () => fetch("found", {method: "POST", body: JSON.stringify({
    charts, fits, faults, saved: await Promise.all(saved.map((blob) => blob.text())),
    reversed: column().reverse().join() === before.join(),
    open: document.getElementById("r1-c3-trials").open,
  })}), 300);
};
const faults = [];
addEventListener("error", (event) => faults.push(event.message));
addEventListener("load", () => look(400));
</script>"""


needs_chromium = pytest.mark.skipif(not shutil.which("chromium"), reason="no Chromium here")


@needs_chromium
@pytest.mark.parametrize("width", [1280, 500])
def test_the_page_works_in_a_browser(paper, tmp_path, width):
    """Charts become interactive, a head sorts its column, a link opens the fold it leads to."""
    run, _, path = paper
    found = answer_of_browser(path.read_bytes() + PROBE.encode(), tmp_path, width)
    figure_7, cells = (list(csv.DictReader(text.splitlines())) for text in found.pop("saved"))
    assert found == {"charts": 8, "fits": True, "faults": [], "reversed": True, "open": True}
    assert float(figure_7[0]["5 servers, SOAP, paper"]) == 1177286
    written = list(csv.DictReader((run.directory / "cells.csv").read_text().splitlines()))
    for saved, cell in zip(cells, written, strict=True):
        assert float(saved["mean, ms"]) == pytest.approx(float(cell["mean_ms"]), abs=1e-6)
        low, high = (float(saved[f"95 % interval, {end}"]) for end in ("low", "high"))
        assert low == pytest.approx(float(cell["ci95_low_ms"]), abs=1e-6)
        assert high == pytest.approx(float(cell["ci95_high_ms"]), abs=1e-6)


AXE = """<script>
addEventListener("load", async () => {
  // Of what repeats a few: each further row would take as long and is made by the same template.
  const kept = {tbody: 2, ".settings": 1, ".timelines": 1, ".claim-rows": 4};
  for (const [some, most] of Object.entries(kept))
    for (const parent of document.querySelectorAll(some))
      for (const one of [...parent.children].slice(most)) one.remove();
  for (const one of [...document.querySelectorAll(".chart")].slice(2)) one.replaceChildren();
  for (const one of [...document.querySelectorAll(".wide")].slice(20)) one.remove();
  for (const one of document.querySelectorAll("details[id$=-trials] ~ details")) one.remove();
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const found = [], papers = [];
  for (const theme of ["light", "dark"]) {
    if (theme === "dark") {
      const style = document.querySelector("style").textContent;
      const [, dark] = style.match(/scheme: dark\\) {([^}]*})/);
      document.head.append(Object.assign(document.createElement("style"), {textContent: dark}));
    }
    papers.push(getComputedStyle(document.documentElement).backgroundColor);
    // All but colours is the same in both.
    const rules = theme === "dark" ? {runOnly: ["color-contrast"]} : {};
    const {violations} = await axe.run(document, {resultTypes: ["violations"], ...rules});
    found.push(...violations.map(({id, nodes}) =>
      ({theme, id, where: nodes.slice(0, 3).map((node) => node.html)})));
  }
  fetch("found", {method: "POST", body: JSON.stringify({found, papers})});
});
</script>"""


@needs_chromium
def test_axe_finds_nothing_in_light_and_dark(everything, tmp_path):
    page = everything[1].read_text(encoding="utf-8")
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
    page += "<script>" + axe.replace("</script", "<\\/script") + "</script>" + AXE
    answer = answer_of_browser(page.encode(), tmp_path, 1280)
    assert len(set(answer["papers"])) == 2
    assert answer["found"] == []


def test_charts_carry_their_numbers_and_words(paper):
    _, page, path = paper
    specs = re.findall(r'class="spec">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)
    assert len(specs) == 8
    for spec in specs:
        assert json.loads(spec)["layer"]
    charts = [a for tag, a in page.attributes if tag == "div" and a.get("class") == "chart"]
    assert len(charts) == 8
    assert all(len(chart["aria-label"]) > 40 and chart["role"] == "img" for chart in charts)


def test_files_have_real_colours(paper):
    run, _, _ = paper
    assert "var(--" not in (run.directory / "charts" / "sort-figure-8.svg").read_text()


def test_the_same_run_gives_the_same_page(paper):
    run, _, path = paper
    before = path.read_bytes()
    report(run)
    assert path.read_bytes() == before


def test_what_went_wrong_stands_first(run_of, capsys):
    def times(planned, rng):
        return "oom" if planned.factors["servers"] == 5 else sort_times(planned, rng)

    run = run_of(times, until=30)
    log = run.trials_directory / run.plan[0].id / "calls.csv"
    log.write_text(log.read_text()[:-9])
    page, _ = report(run, code=1)
    head = page.text.split("Summary")[0]
    for part in (
        "1 trial refused",
        run.plan[0].id,
        "6 of 36 trials are missing",
        # The first of three lacks the refused trial, the last one the missing ones.
        "1 of 3 blocks are complete",
        "oom",
    ):
        assert part in head, part
    assert "calls.csv" in capsys.readouterr().err


def test_nodes_that_differ_are_named_at_the_head(run_of):
    run = run_of()
    path = run.directory / "run.json"
    record = json.loads(path.read_text())
    record["nodes"][3]["kernel"] = "6.1.0"
    path.write_text(json.dumps(record))
    page, _ = report(run)
    head = page.text.split("Summary")[0]
    assert "The nodes were not identical" in head
    assert "6.1.0 on worker2" in head


def test_the_link_rate_is_that_of_the_plan_else_that_of_the_lab(run_of):
    planned = run_of(study=changed(node={"link_mbit": 10}), until=1)
    assert link_of(analyse(planned)) == "10"
    left_as_it_is = run_of(study=changed(node={}), until=1, name="other")
    assert link_of(analyse(left_as_it_is)) == "100"


def test_the_link_rate_is_that_of_the_lab_where_no_sweep_sets_the_links(run_of):
    run = run_of(study=changed(node={"link_mbit": 10}), until=1)
    path = run.directory / "run.json"

    def links(rate):
        lab = {"name": "rack", "kind": "physical", "link_mbit": rate}
        edit_json(path, lab=lab)
        analysis = analyse(open_run(str(run.directory)))
        return link_of(analysis), [one.text for one in find_warnings(analysis)]

    rate, warnings = links(1000)
    assert rate == "1000"
    told = "The study asks for links of 10 Mbit/s, but those of this lab have 1000 Mbit/s: sweeps"
    assert len([text for text in warnings if text.startswith(told)]) == 1
    rate, warnings = links("10")  # as an inventory in INI has it
    assert rate == "10"
    assert not [text for text in warnings if "asks for links" in text]


@pytest.mark.parametrize(("memory_mb", "is_met"), [(1900, True), (1800, False), (2300, False)])
def test_a_number_within_ten_percent_counts_as_stated(run_of, memory_mb, is_met):
    run = run_of(lambda planned, rng: [1.0] * planned.calls, study="mtom", until=1)
    path = run.directory / "run.json"
    record = json.loads(path.read_text())
    for node in record["nodes"]:
        node["memory_mb"] = memory_mb
    path.write_text(json.dumps(record))
    found = {one.name: one for one in conditions_of(analyse(open_run(str(run.directory))))}
    assert found["memory of a node, MB"].is_met is is_met


def test_conditions_that_no_run_recorded_are_not_counted_as_the_same(run_of):
    run = run_of(until=1)
    edit_json(run.directory / "run.json", nodes=[], versions={})
    page, _ = report(open_run(str(run.directory)))
    assert re.search(r"The run does not record \d of them: .*system", page.text)
    assert "different here: none" not in page.text


def test_the_client_of_an_imported_run_is_that_of_its_log(run_of):
    run = run_of(lambda planned, rng: [1.0] * planned.calls, study="binding", until=1)

    def client():
        found = conditions_of(analyse(open_run(str(run.directory))))
        return next((one.here, one.is_met) for one in found if one.name == "client")

    assert client() == ("the harness of rackbench, a fresh JVM for each trial", False)
    lab = {"name": "imported from JMeter", "kind": "imported"}
    edit_json(run.directory / "run.json", lab=lab, imported={})
    assert client() == ("JMeter", True)


def without_usual(warnings):
    """All but that a demo depends on one start of each server, and drifts of made-up noise."""
    usual = ("restart: none", " drifted while measured")
    return [warning for warning in warnings if not any(part in warning.text for part in usual)]


def test_what_was_left_out_to_fit_is_said_at_the_head(run_of):
    run = run_of(workers=2, fit=True)
    (warning,) = without_usual(find_warnings(analyse(run)))
    assert "because the inventory had 2 workers: servers 3, 5. Claims that need" in warning.text
    verdicts = {judged.measured.verdict for judged in replicate(analyse(run)).claims}
    assert Verdict.HOLDS not in verdicts
    assert Verdict.NOT_TESTED in verdicts
    assert without_usual(find_warnings(analyse(run_of(name="whole", fit=True)))) == []


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (["broker", "client", "workers"], "client, broker and worker at once: the client and the"),
        (["client", "workers"], "client and worker at once: the client and the services on it"),
        (["broker", "workers"], "broker and worker at once: the services on it share"),
        (["workers"], None),
    ],
)
def test_a_machine_that_does_several_nodes_work_is_named_at_the_head(run_of, groups, said):
    run = run_of()
    box = {**run.provenance.recorded["nodes"][0], "name": "box", "groups": groups}
    edit_json(run.directory / "run.json", nodes=[box])
    warnings = without_usual(find_warnings(analyse(open_run(str(run.directory)))))
    assert [f"box is {said}" in t.text for t in warnings] == ([True] if said else [])
    assert all("crosses no network" in t.text and t.is_grave for t in warnings)


def test_one_command_writes_a_page_for_each_run_as_well(run_of, tmp_path):
    runs = [run_of(name=name) for name in ("monday", "tuesday")]
    output = tmp_path / "results/both/report.html"
    asked = [str(run.directory) for run in runs]
    assert main(["report", *asked, "--each", "-o", str(output)]) == 0
    pages = [(run.directory / "report.html").read_text() for run in runs]
    assert all("2 runs" not in page for page in pages)
    assert "2 runs" in output.read_text()


def test_jars_are_compared_between_nodes_of_a_role_alone(run_of):
    run = run_of()
    path = run.directory / "run.json"
    record = json.loads(path.read_text())
    for node in record["nodes"]:
        node["files"] = {"/opt/app.jar": node["groups"][0]}
        node["sysctls"] = {"net.core.somaxconn": 4096}
    path.write_text(json.dumps(record))
    assert "not identical" not in report(run)[0].text
    record["nodes"][6]["files"]["/opt/app.jar"] = "other"
    record["nodes"][0]["sysctls"]["net.core.somaxconn"] = 128
    path.write_text(json.dumps(record))
    head = report(run)[0].text.split("Summary")[0]
    assert "files /opt/app.jar: other on worker5; worker on the others" in head
    assert "sysctls net.core.somaxconn: 128 on client" in head


def test_no_interval_of_a_time_reaches_0_however_skewed_trials_are(run_of):
    run = run_of(lambda planned, rng: [5.0**planned.block] * planned.calls)
    page, _ = report(run)
    assert "Figure 8" in page.text
    assert ",-" not in (run.directory / "cells.csv").read_text()
    assert all(0 < cell.mean.low < 5 for cell in analyse(run).cells)


def test_a_run_without_provenance_says_so(run_of):
    run = run_of()
    (run.directory / "run.json").unlink()
    page, _ = report(run)
    assert "not recorded" in page.text
    assert "Figure 7" in page.text


def test_several_runs_stand_in_one_page(run_of, tmp_path):
    first, second = run_of(name="one"), run_of(name="two")
    page, path = report(first, second, output=tmp_path / "elsewhere" / "all.html")
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {"run-1", "run-2"} <= set(page.ids)
    for link in page.links:
        assert link.startswith("#") or (path.parent / link).exists(), link


@pytest.fixture(scope="module")
def everything(shared_run, tmp_path_factory):
    """One page for students over a demo of each study and of the bench."""
    runs = [str(shared_run(study, "demo").directory) for study in STUDIES]
    path = tmp_path_factory.mktemp("all") / "report.html"
    assert main(["report", *runs, "--audience", "student", "-o", str(path)]) == 0
    page = Page(path.read_text(encoding="utf-8"))
    return page, path


def test_one_page_over_every_study_stays_small_and_whole(everything):
    page, path = everything
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert path.stat().st_size < 5_000_000
    for link in page.links:
        assert link[1:] in page.ids if link.startswith("#") else (path.parent / link).exists(), link


def test_the_contents_lead_to_every_study_and_exhibit(everything):
    page, _ = everything
    start = page.text.index("Contents")
    contents = page.text[start : page.text.index("Conditions of the run")]
    for title in (
        *("Sorting integers", "SOAP over HTTP and SOAP over JMS", "Inline base64", "overhead"),
        *("A matrix as", "The bench itself", "Figure 7", "Table 2", "The MTOM threshold"),
    ):
        assert title in contents, title
    assert {f"run-{number}" for number in range(1, 7)} <= set(page.ids)


def test_with_the_bench_measured_its_part_stands_with_every_cell(everything):
    page, _ = everything
    assert page.text.count("the bench itself") >= len(STUDIES)
    assert "(run demo-harness)" in page.text


def test_without_the_bench_its_part_is_left_out(paper):
    assert "the bench itself" not in paper[1].text


def test_a_study_without_a_document_says_so(everything):
    assert "none: a study of our own" in everything[0].text


def test_runs_where_nothing_went_wrong_share_a_sentence(everything):
    head = " ".join(everything[0].text.split("Summary")[0].split())
    (quiet,) = re.findall(r"((?:demo-\w+(?:, )?)+): nothing. Every planned trial", head)
    assert len(quiet.split(", ")) > 1


def test_a_study_of_ones_own_is_reported_without_exhibits(run_of):
    study = changed(
        study="mine",
        factors={"way": ["</script>", "<b>&"], "servers": [1]},
        domains={},
        clients="any",
        needs=[],
        title="</title><script>alert(1)</script>",
        profiles={"demo": {"replicates": 2}},
    )
    page, path = report(run_of(lambda planned, rng: [1.0] * planned.calls, study=study))
    assert page.open == []
    assert "alert(1)" in page.text
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    assert "no claims or exhibits" in page.text


@pytest.mark.parametrize("outcome", ["failed", "oom"])
def test_a_run_where_nothing_worked_is_still_a_report(run_of, outcome):
    page, _ = report(run_of(lambda planned, rng: outcome))
    assert "Some trials of 12 cells did not end well" in page.text
    assert page.open == []


def test_an_empty_run_is_still_a_report(run_of):
    page, _ = report(run_of(until=0))
    assert "36 of 36 trials are missing" in page.text


def test_one_trial_a_cell_is_inconclusive_and_has_no_interval(run_of):
    page, _ = report(run_of(study=changed(replicates=1, profiles={"demo": {}})))
    assert "no interval" in page.text
    assert "inconclusive" in page.text


def test_the_report_leaves_the_sealed_trials_alone(run_of):
    run = run_of()
    before = {p: p.read_bytes() for p in Path(run.trials_directory).rglob("*") if p.is_file()}
    report(run)
    after = {p: p.read_bytes() for p in Path(run.trials_directory).rglob("*") if p.is_file()}
    assert after == before


def test_a_warmup_that_ended_before_the_calls_were_steady_is_said_at_the_head(run_of):
    rule = {"least": 3, "most": 90, "steady": 0.05}
    demo = {"replicates": 2, "calls": 4, "warmup": rule}
    run = run_of(lambda planned, rng: [1.0] * 4, study=changed(profiles={"demo": demo}))
    assert not [w for w in find_warnings(analyse(run)) if "warm-up" in w.text]
    first = run.trials_directory / run.plan[0].id
    edit_json(first / "trial.json", warmup={"calls": 3, "rows": 3, "steady": False})
    (warning,) = [w for w in find_warnings(analyse(run)) if "warm-up" in w.text]
    assert warning.text.startswith("In 1 cell the warm-up ended at its largest number")
    assert "3, 1 of 2 steady (calls of each thread)" in warning.details[0]
    assert not warning.is_grave


def test_a_report_in_the_repository_links_to_the_whole_replication(run_of, tmp_path, monkeypatch):
    page = tmp_path / "docs/replication/README.md"
    monkeypatch.setattr("collect.report.page.REPLICATION", page)
    analyses = [analyse(run_of(lambda planned, rng: [1.0] * planned.calls))]
    report = tmp_path / "results/demo/report.html"
    report.parent.mkdir(parents=True)
    report_page.write_report(analyses, report)
    assert "docs/replication" not in report.read_text()
    page.parent.mkdir(parents=True)
    page.touch()
    report_page.write_report(analyses, report)
    assert '<a href="../../docs/replication/README.md">' in report.read_text()


def test_a_run_keeps_its_links_next_to_an_archive_of_its_name(run_of, tmp_path):
    run = run_of(lambda planned, rng: [1.0] * planned.calls)
    archive, output = tmp_path / "night.zip", tmp_path / "both.html"
    assert main(["archive", str(run.directory), "-o", str(archive)]) == 0
    assert main(["report", str(run.directory), str(archive), "-o", str(output)]) == 0
    links = Page(output.read_text(encoding="utf-8")).links
    assert "results/night/cells.csv" in links
    assert all((tmp_path / link).exists() for link in links if not link.startswith("#"))


def test_the_calls_that_part_mean_and_median_are_named(run_of):
    def times(planned, rng):
        is_odd = planned.block == 2 and planned.factors["integers"] == 500
        return [10.0] * (planned.calls - 1) + [200.0 if is_odd else 10.0]

    run = run_of(times)
    assert main(["report", str(run.directory)]) == 0
    page = " ".join((run.directory / "report.html").read_text().split())
    assert "Mean and median call differ by over 20 % in 6 cells" in page
    assert "One of 24 calls makes the difference: it took 200 ms." in page
    assert "dominate the mean of 6 cells (" in page


@pytest.mark.parametrize(("longer", "is_said"), [(3.0, True), (1.1, False), (1.0, False)])
def test_intervals_that_rare_trials_make_too_narrow_are_named(run_of, longer, is_said):
    def times(planned, rng):
        is_rare = planned.block == 4 and planned.factors["servers"] == 5
        return [10.0 * (longer if is_rare else 1) * rng.lognormal(0, 0.01) for _ in range(8)]

    few = {"transport": ["soap"], "servers": [1, 5], "integers": [500]}
    study = changed(factors=few, replicates=10, calls=8, warmup=1)
    run = run_of(times, study=study, profile="paper")
    page = " ".join(report(run)[0].text.split())
    said = (
        "Rare calls or rare trials dominate the mean of 1 cell (soap, 5, 500). Its interval may be "
        "too narrow. If one trial in ten takes three times as long, a 95 % interval contains the "
        "true mean in only 70 of 100 runs."
    )
    assert (said in page) == ("Rare calls or rare trials" in page) == is_said


def test_calls_that_scatter_in_every_trial_are_not_rare(run_of):
    def times(planned, rng):
        return list(rng.exponential(10.0, planned.calls))

    few = {"transport": ["soap"], "servers": [1, 5], "integers": [500]}
    study = changed(factors=few, replicates=10, calls=200, warmup=1)
    page = " ".join(report(run_of(times, study=study, profile="paper"))[0].text.split())
    assert "differ by over 20 % in 2 cells" in page
    assert "Rare calls or rare trials" not in page


def test_a_count_of_one_has_its_noun_in_the_singular(run_of):
    profiles = {"demo": {"replicates": 1, "calls": 1, "warmup": 1}}
    factors = {"transport": ["soap"], "servers": [1], "integers": [500]}
    run = run_of(study=changed(factors=factors, profiles=profiles), until=1)
    edit_json(run.directory / "run.json", nodes=run.provenance.recorded["nodes"][:1])
    page, _ = report(open_run(str(run.directory)))
    labels = [attributes.get("aria-label") or "" for _, attributes in page.attributes]
    plural = r"\b1 (?:measured )?(?:trials|nodes|cells|blocks|claims|calls|attempts)\b"
    assert re.findall(plural, "\n".join([page.text, *labels])) == []
    assert "1 node, virtual" in page.text


@pytest.mark.parametrize(
    ("macro", "value", "text"),
    [
        ("bytes", 1.0, "1"),
        ("bytes", 12345.0, "12\N{NARROW NO-BREAK SPACE}345"),
        ("bytes", 20.25, "20.2"),
        ("bytes", None, "\N{EN DASH}"),
        ("percent", 0.0, "0 %"),
        ("percent", 0.0004, "&lt; 0.1 %"),
        ("percent", 0.0005, "0.1 %"),
        ("percent", 1.0, "100.0 %"),
        ("percent", None, "\N{EN DASH}"),
    ],
)
def test_a_number_of_a_table_has_the_digits_that_it_has(macro, value, text):
    tables = page_templates(is_markup=True).get_template("tables.html.j2").module
    assert f">{text}</td>" in getattr(tables, macro)(value)


def test_what_is_no_number_is_sorted_and_downloaded_as_none(shared_run):
    tables = page_templates(is_markup=True).get_template("tables.html.j2").module
    assert 'data-sort=""' in tables.interval_cell(Estimate(2.0))
    assert 'data-sort="0.5"' in tables.interval_cell(Estimate(2.0, 1.5, 2.5))
    cells = analyse(shared_run("binding", "demo")).cells
    row = "".join(str(tables.levels(cell)) for cell in cells)
    assert "data-sort" in row
    assert 'data-sort="True"' not in row
    assert ">true<" in row
