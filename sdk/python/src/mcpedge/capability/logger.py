"""Loggers of the standard library whose records go to the client."""

import logging
from typing import TYPE_CHECKING

from .types import Level

if TYPE_CHECKING:
    from .call import CallBase

_LEVELS: tuple[tuple[int, Level], ...] = ((50, "critical"), (40, "error"), (30, "warning"), (25, "notice"), (20, "info"), (0, "debug"))
_OFF = 1000
_PLAIN = set(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def call_logger(call: "CallBase", name: str) -> logging.Logger:
    """Returns a logger without a parent. Messages below the client's level cost nothing."""
    wanted = [number for number, level in _LEVELS if call.wants_log(level)]
    logger = logging.Logger(name or "call", min(wanted, default=_OFF))
    logger.addHandler(_CallHandler(call, name))
    return logger


class _CallHandler(logging.Handler):
    def __init__(self, call: "CallBase", name: str) -> None:
        super().__init__()
        self._call = call
        self._logger = name

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = next(level for number, level in _LEVELS if record.levelno >= number)
        extra = {k: v for k, v in record.__dict__.items() if k not in _PLAIN}
        self._call.log(level, {"msg": record.getMessage(), **extra}, logger=self._logger)
