"""Loggers of the standard library whose records go to the client."""

import logging
from typing import TYPE_CHECKING

from .types import Level

if TYPE_CHECKING:
    from .call import Call

_LEVELS: tuple[tuple[int, Level], ...] = ((50, "critical"), (40, "error"), (30, "warning"), (25, "notice"), (20, "info"))
_PLAIN = set(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def call_logger(call: "Call", name: str) -> logging.Logger:
    """A logger of its own, below no other, that costs nothing below the client's level."""
    logger = _CallLogger(name or "call")
    logger.addHandler(_CallHandler(call, name))
    logger.propagate = False
    logger.call = call
    return logger


class _CallLogger(logging.Logger):
    call: "Call"

    def isEnabledFor(self, level: int) -> bool:
        return self.call.wants_log(_level(level))


class _CallHandler(logging.Handler):
    def __init__(self, call: "Call", name: str) -> None:
        super().__init__()
        self._call = call
        self._logger = name

    def emit(self, record: logging.LogRecord) -> None:
        extra = {k: v for k, v in record.__dict__.items() if k not in _PLAIN}
        self._call.log(_level(record.levelno), {"msg": record.getMessage(), **extra}, logger=self._logger)


def _level(number: int) -> Level:
    for least, name in _LEVELS:
        if number >= least:
            return name
    return "debug"
