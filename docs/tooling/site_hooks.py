"""What mkdocs does beyond its own: pages of the repository outside docs/ become pages of the site.

Links of a page are those of the repository, so that they work there and in an editor. On the site
a link to a file outside docs/ leads to a copy below repository/, and README.md is the first page.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = "repository"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
WORKER = "assets/javascripts/iframe-worker.js"  # mkdocs.yml has it, too
_FROM_OUTSIDE = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
_REMOTE = ("http:", "https:", "mailto:", "#", "/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add README.md as the first page, and each file outside docs/ that a page links to."""
    _add(files, config, "index.md", ROOT / "README.md")
    _add(files, config, WORKER, Path(__file__).with_name("frame-worker.js"))
    waiting = [file for file in files if file.src_uri.endswith(".md")]
    while waiting:
        page = waiting.pop()
        for target in _outside(page):
            name = f"{OUTSIDE}/{target}"
            if files.get_file_from_path(name) is None:
                added = _add(files, config, name, ROOT / target)
                if name.endswith(".md"):
                    waiting.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point the links of a page at where their targets are on the site."""
    return rewritten(markdown, page.file.src_uri)


def rewritten(markdown: str, page: str) -> str:
    """Return a page's text with each link as the site has it; code stays."""

    def follow(match: re.Match[str]) -> str:
        target = _target(page, match[2])
        if target is None:
            return match[0]
        place = _on_site(target)
        if place is None:  # a directory has no page
            return f"{match[1].removeprefix('!')[1:-2]} (`{target}`)"
        return f"{match[1]}{relpath(place, str(PurePosixPath(page).parent))}{match[3]}"

    parts, at = [], 0
    for code in _CODE.finditer(markdown):
        if not code[0].startswith("```") and _in_link(markdown, code):
            continue
        parts += [LINK.sub(follow, markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, LINK.sub(follow, markdown[at:])])


def _in_link(markdown: str, code: re.Match[str]) -> bool:
    """Whether code is the text of a link, as in [`sort.md`](sort.md)."""
    return markdown[code.end() : code.end() + 2] == "](" or markdown[: code.start()].endswith("[")


def _add(files: Files, config: MkDocsConfig, name: str, path: Path) -> File:
    file = File.generated(config, name, abs_src_path=str(path))
    files.append(file)
    return file


def _outside(page: File) -> list[str]:
    if page.abs_src_path is None:
        return []
    text = _CODE.sub("", Path(page.abs_src_path).read_text(encoding="utf-8"))
    targets = {_target(page.src_uri, match[2]) for match in LINK.finditer(text)}
    return sorted(
        target
        for target in targets
        if target and not target.startswith("docs/") and target != "README.md"
        if (ROOT / target).is_file()
    )


def _target(page: str, link: str) -> str | None:
    """Return the path in the repository that a link of a page means, None if it leads elsewhere."""
    if link.startswith(_REMOTE):
        return None
    return normpath(str(PurePosixPath(_in_repository(page)).parent / link))


def _in_repository(page: str) -> str:
    if page == "index.md":
        return "README.md"
    if page.startswith(f"{OUTSIDE}/"):
        return page.removeprefix(f"{OUTSIDE}/")
    return f"docs/{page}"


def _on_site(target: str) -> str | None:
    if target == "README.md":
        return "index.md"
    if (ROOT / target).is_dir():
        return None
    return target.removeprefix("docs/") if target.startswith("docs/") else f"{OUTSIDE}/{target}"


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a file of another host."""
    if found := _FROM_OUTSIDE.search(output):
        raise PluginError(f"{page.file.src_uri}: {found[0]} comes from another host; remove it")
    return output
