"""The documentation site, for Sphinx: `make docs` builds it from the pages of the tree, which stay where they are.

The pages are Markdown that code hosts show as well. The README is the first page; its table of contents is added here.
A link to a file that is not a page becomes a download of that file, one to a folder is shown as its text.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

from cosched.version import VERSION

TOP = Path(__file__).resolve().parents[1]

project = "cosched"
version = release = VERSION
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "deploy/pbs/**.md",
    "deploy/slurm/**.md",
    "sim/cosched_sim/reference/**.md",
    "papers/cosched_papers/studies/**.md",
]
exclude_patterns = [".*", "build", "cosched", "dist"]
myst_heading_anchors = 3
suppress_warnings = ["toc.not_included"]  # of workloads of the reference suite, to which its page links
html_theme = "furo"
html_title = f"cosched {VERSION}"
html_copy_source = html_show_sourcelink = False
html_show_copyright = html_show_sphinx = False

CONTENTS = """
```{toctree}
:hidden:
:caption: Using it

docs/tour
docs/installing
docs/simulator
docs/gallery
docs/configuration
docs/page
docs/schemes
docs/operating
docs/when-and-why
docs/select
docs/other-programs
docs/slurm
docs/two-slurm-clusters
docs/anyone
docs/pbs
deploy/pbs/README
docs/gridengine
```

```{toctree}
:hidden:
:caption: What it does

docs/one-pair
docs/coscheduling
docs/life
docs/scheduling
docs/meet
docs/fluid
docs/models
docs/molding
docs/heterogeneous
docs/protocol
sim/cosched_sim/reference/README
papers/cosched_papers/studies/tang2011/PAPER
papers/cosched_papers/studies/weissman2004/PAPER
papers/cosched_papers/studies/barsanti2006/PAPER
papers/cosched_papers/studies/collins2001/PAPER
papers/cosched_papers/studies/meet/RESULTS
papers/cosched_papers/studies/groups/RESULTS
papers/cosched_papers/studies/fluid/RESULTS
```

```{toctree}
:hidden:
:caption: Working on it

docs/architecture
docs/vocabulary
CONTRIBUTING
docs/releasing
CHANGELOG
deploy/pbs/lab/README
deploy/slurm/hooks/README
deploy/slurm/lab/README
deploy/slurm/trace/README
```
"""


def prepare(_: Sphinx, page: str, source: list[str]) -> None:
    """Add the contents to the first page, and take links to folders out of all."""
    folder = (TOP / page).parent
    source[0] = re.sub(
        r"\[([^]\[]+)\]\(([^)#:]+)\)", lambda link: link[1] if (folder / link[2]).is_dir() else link[0], source[0]
    )
    if page == root_doc:
        source[0] += CONTENTS


def begin_with_the_readme(app: Sphinx, failure: Exception | None) -> None:
    """The site's first page has the name that web servers look for, too."""
    if failure is None:
        built = Path(app.outdir)
        (built / "index.html").write_bytes((built / f"{root_doc}.html").read_bytes())


def setup(app: Sphinx) -> None:
    """Connect the two."""
    app.connect("source-read", prepare)
    app.connect("build-finished", begin_with_the_readme)
