"""Compiles the message catalogues when a wheel or an editable install is made."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileCatalogues(BuildHookInterface):  # type: ignore[misc]  # hatchling ships no types here
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version, build_data
        tool = Path(self.root, "tools", "catalog.py")
        subprocess.run([sys.executable, str(tool), "compile"], check=True)
