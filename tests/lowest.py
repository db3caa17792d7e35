"""The lowest versions that pyproject.toml allows, as constraints for pip: `make lowest` installs and tests them."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in (*project["dependencies"], *extras["learn"], *extras["report"], *extras["spreadsheets"]):
    name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups()
    sys.stdout.write(f"{name}=={version}\n")
