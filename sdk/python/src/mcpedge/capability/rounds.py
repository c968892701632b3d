"""Runs a handler for one round, and classifies its end."""

import asyncio
import builtins
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Literal

import grpc

from mcpedge.v1 import input_pb2

from .answers import Answers, InputRequired, Unwound, check_requests
from .call import CallBase
from .failure import DefinitionError, Failure, Reason, StatusError, Unanswered
from .wire import duration

_OF_DATA = (OSError, ValueError, LookupError, ArithmeticError, Warning)
FAULTS = frozenset(
    e
    for e in vars(builtins).values()
    if isinstance(e, type) and issubclass(e, Exception) and e not in (Exception, RuntimeError) and not issubclass(e, _OF_DATA)
)
"""The exceptions of Python that indicate faults of the code, not of its data: TypeError, NameError, AttributeError and others. If a handler
raises one, its call ends with INTERNAL, and only the log has the message. Subclasses of the program's own are not faults."""
_PLAIN_NAMES = (Exception, ValueError, RuntimeError)

_GROUP: Any = getattr(builtins, "BaseExceptionGroup", ())  # since Python 3.11


@dataclass(frozen=True)
class Work:
    """The work of a round."""

    what: str
    """The name of the work in logs and faults, such as tool greet."""
    function: Callable[..., Any]
    finish: Callable[[Any], Any]
    """Converts the value that the function returned. It may raise Failure."""
    plain: Callable[[Exception], Any]
    """Converts an exception without a reason into a result, or raises Failure."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    not_found: Callable[[str], Any] | None = None
    """Converts the message of a NOT_FOUND that the function raised into a result. None means that it ends the round as a Failure."""
    is_async: bool | None = None
    """Whether the function is a coroutine function, None if unknown."""


@dataclass(frozen=True)
class Outcome:
    """The end of a round. The kinds are those of the contract's streams."""

    kind: Literal["result", "input_required", "failure"]
    value: Any


def fail_plainly(error: Exception) -> Any:
    """Converts an exception without a reason for reads, prompts and lists: raises Failure INTERNAL."""
    raise Failure(Reason.INTERNAL, shown(error))


def shown(error: Exception) -> str:
    """Returns the message of an exception. For exceptions of Python whose message says little, such as KeyError, it begins with the class
    name."""
    name, text = type(error).__name__, str(error)
    plain = type(error) in _PLAIN_NAMES or isinstance(error, OSError) or type(error).__module__ != "builtins"
    return (text if plain else f"{name}: {text}") if text else name


@dataclass(frozen=True)
class _Raised:
    error: BaseException


class Runner:
    """Runs handlers: async ones in the loop, plain ones in threads."""

    def __init__(self, log: logging.Logger, threads: int, *, mask_errors: bool = False) -> None:
        """mask_errors hides exceptions without a reason in the same way as faults."""
        self.log = log
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="handler")
        self._mask = mask_errors
        self._jobs: dict[Future[Any], str] = {}

    def start(self, what: str, function: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        """Runs a plain handler in a thread. what names it in the log if it does not end."""
        job = self._pool.submit(contextvars.copy_context().run, function, *args)
        self._jobs[job] = what
        job.add_done_callback(self._forget)
        return asyncio.wrap_future(job)

    def _forget(self, job: Future[Any]) -> None:
        self._jobs.pop(job, None)

    def end(self, seconds: float) -> list[str]:
        """Starts no more handlers, and waits for the running ones, also those whose callers disconnected. Returns the names of those that
        still run after the time."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        jobs = self._jobs.copy()
        return sorted({jobs[job] for job in wait(jobs, seconds).not_done})

    async def run(self, work: Work, call: CallBase, answers: Answers | None = None) -> Outcome:
        """Runs one round; without answers, work that cannot ask. Raises Failure for a failed call, StatusError for the status of the RPC,
        and CancelledError if the caller disconnects."""
        got = await self._invoke(work, call)
        error = _ungrouped(got.error) if isinstance(got, _Raised) else None
        try:
            if call.mistake is not None and (error is None or not _is_fault(error)):
                raise Failure(Reason.INTERNAL, call.mistake)
            if error is None or _is_fault(error):
                _check_awaited(call)
            if error is not None and _is_fault(error):
                raise error
            if answers is not None and answers.unwound:
                return _required(answers, list(answers.missing.values()), InputRequired())
            if answers is not None and isinstance(error, InputRequired):
                return _required(answers, [q.request for q in error.requests], error)
            return Outcome("result", work.finish(got) if error is None else self._sorted(work, error))
        except (Failure, StatusError):
            raise
        except BaseException as e:
            self.log.error("a handler failed: %s, call %s", work.what, call.id, exc_info=e)
            raise Failure(Reason.INTERNAL, f"{work.what} failed by a fault of the service") from e

    def _sorted(self, work: Work, error: BaseException) -> Any:
        """Returns the result of an exception that has one. Faults have none."""
        if isinstance(error, grpc.RpcError) and isinstance(code := getattr(error, "code", str)(), grpc.StatusCode):
            error = StatusError(code, getattr(error, "details", str)() or "")
        if work.not_found is not None and isinstance(error, Failure | StatusError) and error.code is grpc.StatusCode.NOT_FOUND:
            return work.not_found(error.message)
        if isinstance(error, Failure | StatusError):
            raise error
        assert isinstance(error, Exception)
        if self._mask and not isinstance(error, Unanswered):
            try:
                work.plain(error)
            except Failure as e:
                if e.reason is not Reason.INTERNAL:  # one without the words of the exception
                    raise
            raise error
        return work.plain(error)

    async def _invoke(self, work: Work, call: CallBase) -> Any:
        """Returns the value that the function returned, or _Raised."""
        if is_coroutine_function(work.function) if work.is_async is None else work.is_async:
            return await _ended(asyncio.ensure_future(_caught_async(lambda: work.function(*work.args, **work.kwargs))), call)
        got = await _ended(self.start(work.what, _caught, work), call)
        # A plain wrapper of an async function returns a coroutine.
        return await _ended(asyncio.ensure_future(_caught_async(lambda: got)), call) if inspect.iscoroutine(got) else got


async def _ended(task: "asyncio.Future[Any]", call: CallBase) -> Any:
    """Returns the result of a handler's task. If the caller disconnects, the task is cancelled, and the call is marked as ended."""
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        call.ended.set()
        task.cancel()
        if isinstance(task, asyncio.Task):  # what runs in a thread cannot be ended
            await asyncio.wait([task])
        raise
    return _Raised(RuntimeError("cancelled by itself")) if task.cancelled() else task.result()


def _check_awaited(call: CallBase) -> None:
    """Raises Failure if the handler did not await something. If something that it awaited was refused, it need not await the rest."""
    left = next((a for a in call.asked if not a.awaited), None)
    if left is not None and not any(a.refused for a in call.asked):
        raise Failure(Reason.INTERNAL, f"{left.what} was not awaited: write await before the call, as in: await call.ask(…)")


def _is_fault(error: BaseException) -> bool:
    """Returns whether an exception is a fault of the program."""
    return type(error) in FAULTS or isinstance(error, DefinitionError) or not isinstance(error, Exception | Unwound)


def _ungrouped(error: BaseException) -> BaseException:
    """Returns the first member of an exception group without faults, such as that of a TaskGroup; otherwise the exception itself."""
    group: Any = error
    members = [_ungrouped(e) for e in group.exceptions] if isinstance(group, _GROUP) else []
    return members[0] if members and not any(map(_is_fault, members)) else error


def _required(answers: Answers, requests: Sequence[input_pb2.InputRequest], ending: InputRequired) -> Outcome:
    """Returns the outcome that asks for the missing answers, with the state for the next round."""
    if ending.state is not None:
        answers.state = ending.state
    after = duration(ending.retry_after) if ending.retry_after > 0 else None
    try:
        check_requests(requests)
        state = answers.memory()
    except ValueError as e:
        raise Failure(Reason.INTERNAL, str(e)) from e
    return Outcome("input_required", input_pb2.InputRequired(requests=requests, state=state, repeatable=ending.repeatable, retry_after=after))


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Returns whether calling the function returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _caught(work: Work) -> Any:
    try:
        return work.function(*work.args, **work.kwargs)
    except BaseException as e:  # a future would not take each of them
        return _Raised(e)


async def _caught_async(make: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await make()
    except asyncio.CancelledError:
        raise
    except BaseException as e:
        return _Raised(e)
