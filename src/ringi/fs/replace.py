import contextlib
import os
from pathlib import Path

from ringi.fs.calls import OsFileSystem, opened


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, synced: bool = True) -> None:
    """Replaces the file atomically; its folder must exist.

    Without `synced`, a loss of power may leave it empty: only for data that can be regenerated.
    """
    fs, fresh = OsFileSystem(), f".{path.name}.{os.urandom(4).hex()}"
    with opened(fs, fs.open_root(path.parent)) as folder:
        try:
            fs.create(folder, fresh, data, mode)
            if synced:
                fs.sync_file(folder, fresh)
            fs.move(folder, fresh, folder, path.name)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                fs.remove(folder, fresh)
            raise
        if synced:
            fs.sync_folder(folder)
