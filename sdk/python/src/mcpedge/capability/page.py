"""Pages of lists."""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from .failure import StatusError

COUNT = 1000
BYTES = 3 << 20
"""The maximum size of a page, since receivers accept messages of 4 MiB by default."""

M = TypeVar("M", bound=Message)


def page(entries: Sequence[M], key: Callable[[M], str], token: str, size: int) -> tuple[list[M], str]:
    """Cuts one page out of a list, by count and by bytes (one entry always goes), and says how to ask for the next one.

    The token has where the page before ended, and after which key, so that what is added or removed meanwhile shifts nothing.
    """
    start = _start(entries, key, token)
    limit = size if 0 < size < COUNT else COUNT
    end = start
    used = 0
    while end < len(entries) and end - start < limit:
        used += entries[end].ByteSize() + 8
        if used > BYTES and end > start:
            break
        end += 1
    rest = f"{end}-{_digest(key(entries[end - 1]))}" if end < len(entries) else ""
    return list(entries[start:end]), rest


def _start(entries: Sequence[M], key: Callable[[M], str], token: str) -> int:
    if not token:
        return 0
    given = re.fullmatch(r"([1-9][0-9]{0,9})-([0-9a-f]{16})", token)
    if given is None:
        what = f"page token {token[:40]!r} was not given by this list; start from the first page"
        raise StatusError(grpc.StatusCode.INVALID_ARGUMENT, what)
    offset, digest = int(given[1]), given[2]
    if offset <= len(entries) and _digest(key(entries[offset - 1])) == digest:
        return offset
    for i, entry in enumerate(entries):
        if _digest(key(entry)) == digest:
            return i + 1
    return min(offset - 1, len(entries))  # the last one is gone: those after it moved up by one


def _digest(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
