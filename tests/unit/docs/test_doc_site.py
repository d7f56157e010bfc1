"""The pages as a site, as `make docs` builds it: strictly, for a reader without a network."""

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from test_doc_links import ROOT

MKDOCS = ROOT / ".venv/docs/bin/mkdocs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not MKDOCS.exists():
        pytest.skip("make docs or make test-unit installs what builds the site")
    directory = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [MKDOCS, "build", "--quiet", "--strict", "--site-dir", directory],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def test_the_search_finds_every_page_without_a_server(site):
    script = (site / "search/search_index.js").read_text(encoding="utf-8")
    found = {
        entry["location"].partition("#")[0]
        for entry in json.loads(script.removeprefix("var __index = "))["docs"]
    }
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r": (\S+)\.md$", text.partition("\nnav:\n")[2], re.M)
    assert len(pages) > 30
    assert {f"{re.sub('README$', 'index', page)}.html" for page in pages} <= found


class Loaded(HTMLParser):
    """What a page loads, which is not where its links lead."""

    def __init__(self, page):
        super().__init__()
        self.files = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        if tag != "a":
            self.files += [value for name, value in attributes if name in {"src", "href"}]


def test_no_page_loads_anything_from_another_host(site):
    pages = {page.relative_to(site).as_posix(): page for page in site.rglob("*.html")}
    assert {"404.html", "index.html"} <= pages.keys()
    loaded = {name: Loaded(page).files for name, page in pages.items()}
    assert all(loaded.values())
    others = {(name, one) for name in loaded for one in loaded[name] if urlsplit(one).netloc}
    assert others == set()
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text()), style
