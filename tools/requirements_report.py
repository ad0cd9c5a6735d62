"""Says which requirements no test proves yet. Tests name theirs: @pytest.mark.req("PT-6")."""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass
class Proofs:
    tests: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by requirement
    problems: list[str] = field(default_factory=list)


def requirements(root: Path = ROOT) -> dict[str, str]:
    """Title by id, in the order of the list."""
    lines = (root / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {name: title.strip() for name, title in pairs}


def proofs(root: Path = ROOT) -> Proofs:
    known = requirements(root)
    result = Proofs()
    for path in sorted((root / "tests").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        scan(path.read_text(encoding="utf-8"), name, known, result)
    return result


def scan(source: str, name: str, known: dict[str, str], result: Proofs) -> None:
    for owner, call in _marks(ast.parse(source, name), name):
        for argument in call.args:
            identity = argument.value if isinstance(argument, ast.Constant) else None
            if not isinstance(identity, str) or identity not in known:
                result.problems.append(
                    f"{name}:{argument.lineno}: no such requirement: {ast.unparse(argument)}"
                )
            elif owner not in result.tests[identity]:
                result.tests[identity].append(owner)


def _marks(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.Call]]:
    """Each mark with the test, class or module that carries it."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from _marks(child, f"{owner}::{child.name}")
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=carrier), attr="pytestmark")]):
                yield from _marks(child, f"{owner}::{carrier}")
            case ast.Call(func=ast.Attribute(attr="req", value=ast.Attribute(attr="mark"))):
                yield owner, child
            case _:
                yield from _marks(child, owner)


def report(known: dict[str, str], found: Proofs) -> Iterator[str]:
    for prefix in dict.fromkeys(name.partition("-")[0] for name in known):
        ours = [name for name in known if name.startswith(prefix + "-")]
        missing = [name for name in ours if not found.tests.get(name)]
        yield f"{prefix}  {len(ours) - len(missing)} of {len(ours)} proven"
        yield from (f"    {name:<6} {known[name]}" for name in missing)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", metavar="ID", help="list the tests of one requirement instead")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    options = parser.parse_args(arguments)
    known = requirements(options.root)
    if options.tests and options.tests not in known:
        parser.error(f"no such requirement: {options.tests}")
    found = proofs(options.root)
    if found.problems:
        print(*found.problems, sep="\n", file=sys.stderr)
        return 1
    lines = found.tests.get(options.tests, []) if options.tests else report(known, found)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
