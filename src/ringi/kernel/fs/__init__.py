"""Files through descriptors: the only module with system calls on the workspace.

Everything is named by an open folder and one name in it, never by a path, and nothing follows a link.
"""

from ringi.kernel.fs.bounded import FileTooLarge, read_bounded
from ringi.kernel.fs.calls import (
    Entry,
    EntryKind,
    FileChanged,
    FileSystem,
    NotRegular,
    OsFileSystem,
    open_for_block,
)
from ringi.kernel.fs.checked import read_checked, replace_checked
from ringi.kernel.fs.folders import folder_unusable
from ringi.kernel.fs.replace import open_own, publish, replace_file, spare_of
from ringi.kernel.fs.walk import walk

__all__ = [
    "Entry",
    "EntryKind",
    "FileChanged",
    "FileSystem",
    "FileTooLarge",
    "NotRegular",
    "OsFileSystem",
    "folder_unusable",
    "open_for_block",
    "open_own",
    "publish",
    "read_bounded",
    "read_checked",
    "replace_checked",
    "replace_file",
    "spare_of",
    "walk",
]
