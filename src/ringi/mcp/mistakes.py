"""Where a call goes wrong by a mistake of ours."""

import logging
from types import TracebackType
from typing import Self

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ringi.errors import RingiError, StorageFailed


class Mistakes:
    """A mistake of ours is told as one, without its inside; what the system says is told in our words."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, RingiError | MCPError) or not isinstance(error, Exception):
            return
        if isinstance(error, OSError):
            raise StorageFailed(
                what=str(error.filename or "A file"), why=error.strerror or str(error)
            ) from None
        logging.getLogger(__name__).error("a mistake in ringi", exc_info=error)
        raise MCPError(types.INTERNAL_ERROR, "This is a mistake in ringi, not yours.") from None
