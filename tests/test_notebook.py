"""The notebook runs from its first cell to its last, in an empty folder with the example study."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.filterwarnings("ignore")  # the notebook runs in its own process; its client warns about event loops
def test_the_notebook_runs(tmp_path):
    for name in ("votes.csv", "gold.csv"):
        shutil.copyfile(EXAMPLES / name, tmp_path / name)
    notebook = nbformat.read(EXAMPLES / "decision.ipynb", as_version=4)
    done = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    texts = [str(output.get("data", output)) for cell in done.cells for output in cell.get("outputs", [])]
    assert sum("vega" in text.lower() for text in texts) == 3  # the charts
    assert any(
        "would win instead of" in str(output.get("text", ""))
        for cell in done.cells
        for output in cell.get("outputs", [])
    )
    assert (tmp_path / "report.html").stat().st_size > 500_000
    assert all(not cell.get("outputs") for cell in nbformat.read(EXAMPLES / "decision.ipynb", as_version=4).cells)
