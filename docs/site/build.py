"""Build the documentation site: collect the pages as they stand in the repository, draw their pictures, run Sphinx.

Pages keep their places, so that links between them work in the repository and on the site. Warnings are errors, and
every link within the site must lead somewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/pictures/*", "papers/*/README.md",
    "papers/*/*.csv", "papers/*/*.svg", "papers/*/*.png", "papers/*/*.py", "examples/*", "benchmarks/*.py",
    "src/crowdrank/**/*.py", "tests/**/*.py", "LICENSE",
)  # fmt: skip
# Pages that stand below another one in the list of pages, which would be too long with them.
BELOW = {"docs/methods.md": "method/*", "docs/decisions/README.md": "0*"}


def collect(into: Path) -> None:
    """Copy the pages, and the files that they link to."""
    for pattern in COPIED:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and into not in path.parents and "_build" not in path.parts:
                target = into / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    shutil.copyfile(ROOT / "docs/site/conf.py", into / "conf.py")
    shutil.copyfile(ROOT / "docs/site/index.md", into / "index.md")
    (into / "docs/site/index.md").unlink(missing_ok=True)
    _write_method_pages(into / "docs/method")
    for page in into.rglob("*.md"):
        page.write_text(_linked(page.read_text(encoding="utf-8"), page, into), encoding="utf-8")
    for name, pages in BELOW.items():
        with (into / name).open("a", encoding="utf-8") as page:
            page.write(f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{pages}\n```\n")


def _write_method_pages(folder: Path) -> None:
    """One page for each method, from its class."""
    sys.path.insert(0, str(ROOT / "docs"))
    import generate

    from crowdrank.cli.methods import all_methods

    folder.mkdir()
    for name, method in all_methods().items():
        (folder / f"{name}.md").write_text(generate.method_page(method), encoding="utf-8")


def _linked(text: str, page: Path, root: Path) -> str:
    """Links to folders lead to their README, or to the start page."""

    def target(match: re.Match[str]) -> str:
        link = match[1]
        folder = (page.parent / link).resolve()
        if "://" in link or link.startswith(("#", "mailto:")) or not (ROOT / folder.relative_to(root)).is_dir():
            return match[0]
        readme = folder / "README.md"
        up = "../" * (len(page.relative_to(root).parts) - 1)
        return f"]({link.rstrip('/')}/README.md)" if readme.exists() else f"]({up}index.md)"

    return re.sub(r"\]\(([^)#\s]+/?)\)", lambda m: target(m) if not Path(m[1]).suffix else m[0], text)


def main() -> int:
    """Build into docs/_build/html."""
    work = ROOT / "docs/_build/pages"
    out = ROOT / "docs/_build/html"
    shutil.rmtree(ROOT / "docs/_build", ignore_errors=True)
    work.mkdir(parents=True)
    collect(work)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(work), str(out)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
