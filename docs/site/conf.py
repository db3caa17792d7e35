"""Settings of the documentation site; `make docs` builds it from the pages that docs/site/build.py collects."""

project = "crowdrank"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "crowdrank"
exclude_patterns = ["_build"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_copy_source = False
html_show_copyright = False
nitpicky = True
# Examples in the pages are tests (tests/test_docs.py); output in them is not Python.
suppress_warnings = ["misc.highlighting_failure"]
