"""Everything that has a name: commands and their help, schemas, keys, what Python can import."""

import json
import re
from pathlib import Path

from tests.records.scene import Scene

_COMMAND = re.compile(r"^  ([a-z][a-z-]+)  ", re.MULTILINE)
_HERE = Path(__file__).resolve().parent
GROUPS = ("config", "hook", "grant", "state")


def help_pages(scene: Scene) -> None:
    """Help of every command in both languages."""
    scene.make_project()
    names = commands(scene)
    rows = [[*language, *name.split(), "--help"] for name in names for language in ((), ("--lang", "ja"))]
    shown = [scene.print(*row) for row in rows]
    for at, name in enumerate(names):
        pages = [done.out + done.errors for done in shown[2 * at : 2 * at + 2]]
        scene.save_text(f"help/{name.replace(' ', '-') or 'ringi'}", "\n\n".join(pages))


def commands(scene: Scene) -> list[str]:
    """All of them by their own help; the program itself is the empty name."""
    rows = [["help", "--all"], *([group, "--help"] for group in GROUPS)]
    pages = [scene.print(*row).out for row in rows]
    names = ["", *_COMMAND.findall(pages[0].partition("\nStart:")[2])]
    for group, page in zip(GROUPS, pages[1:], strict=True):
        names += [f"{group} {name}" for name in _COMMAND.findall(page.partition("Commands:")[2])]
    return names


def schemas(scene: Scene) -> None:
    """The schema of every document."""
    scene.make_project()
    names = scene.print("check", "--schema").out.split()
    scene.save_text("schemas/names", "\n".join(names))
    for name in names:
        scene.save_text(f"schemas/{name}", scene.print("check", "--schema", name).out)


def keys(scene: Scene) -> None:
    """Every key of the configuration with its default, and what is said of a wrong value."""
    scene.make_project()
    default, plain = scene.print("--json", "config", "show"), scene.print("config", "show")
    scene.save_text("keys/defaults", f"{plain.out}\n{default.out}")
    names = list(json.loads(default.out))
    refused = [(name, value) for name in names for value in ([{"no": "such thing"}], -1)]
    rows = []
    for number, (name, value) in enumerate(refused):
        folder = scene.world / f"key-{number}" / ".agent"
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(json.dumps(_nested(name, value)))
        rows.append(["--workspace", str(folder.parent), "config", "check"])
    shown = [scene.print(*row) for row in rows]
    lines = []
    for (name, value), row, done in zip(refused, rows, shown, strict=True):
        said = (done.out + done.errors).replace(row[1], "<project>")
        lines.append(f"{name}: {json.dumps(value)}\nexit code {done.code}\n{said}")
    scene.save_text("keys/refused", "\n".join(lines))


def _nested(name: str, value: object) -> object:
    for part in reversed(name.split(".")):
        value = {part: value}
    return value


def python(scene: Scene) -> None:
    """The public names of the package."""
    scene.make_project()
    scene.record("python/names", python=f"{_HERE}/python_names.py")


def api(scene: Scene) -> None:
    """A script that uses the package."""
    scene.make_project()
    scene.record("python/script", python=f"{_HERE}/python_script.py")
