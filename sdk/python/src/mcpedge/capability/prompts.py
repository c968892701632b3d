"""Prompts, and suggestions for arguments."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from typing_extensions import Unpack

from .call import Call
from .content import message, text
from .failure import DefinitionError, Failure, Reason
from .registry import Completer, Entry
from .rounds import Work, fail_plainly
from .schema import Arguments, Options, check_returns, many, misfit, signature_of
from .types import Prompt, PromptArgument, PromptMessage, PromptResult

Suggestions = Sequence[str] | Callable[..., Any]
"""Suggestions for an argument: fixed values, of which those go that begin with what was typed, or a function of what was
typed, and if it has a second parameter, of the arguments already chosen, a dict. It may take a Call, too."""
_RETURNS = (str, list[str], PromptMessage, list[PromptMessage], PromptResult)
PromptEntry = Entry[Prompt]


class PromptOptions(Options, total=False):
    """The options of Server.prompt."""

    complete: Mapping[str, Suggestions]


def make_prompt(function: Callable[..., Any], **options: Unpack[PromptOptions]) -> PromptEntry:
    """Makes a prompt of a function. DefinitionError says what is wrong with it, and what to do."""
    signature = signature_of(function, Call)
    check_returns(signature, _RETURNS, "a text, messages, or a PromptResult")
    arguments = Arguments(f"{signature.name}: a parameter", signature.params, texts=True)
    schema = arguments.schema
    described = [
        PromptArgument(name=name, title=said.get("title", ""), description=said.get("description", ""), required=name in schema.get("required", []))
        for name, said in schema.get("properties", {}).items()
    ]
    listed = Prompt(arguments=described, **signature.listed(options, PromptOptions.__optional_keys__))

    def work(given: Mapping[str, str], call: Call) -> Work:
        try:
            kwargs = arguments.read_strings(given)
        except ValidationError as e:
            raise Failure(Reason.INVALID_ARGUMENT, f"prompt {listed.name}: {misfit(e, 'argument')}") from e
        return Work(f"prompt {listed.name}", function, lambda value: _result(listed, value), fail_plainly, kwargs=signature.arguments(kwargs, call))

    names = [a.name for a in described]
    return PromptEntry(listed.name, listed, work, completers_of(signature.name, f"prompt {listed.name}", options.get("complete", {}), names))


def _result(listed: Prompt, value: Any) -> PromptResult:
    if isinstance(value, PromptResult):
        return copy.deepcopy(value)
    messages = many(value)
    if not all(isinstance(m, str | PromptMessage) for m in messages):
        raise TypeError(f"prompt {listed.name}: return a text, messages, or a PromptResult, not {type(value).__name__}")
    turns = [m if isinstance(m, PromptMessage) else message("user", text(m)) for m in messages]
    return PromptResult(description=listed.description, messages=turns)


def completers_of(function: str, what: str, complete: Mapping[str, Suggestions], names: Sequence[str]) -> dict[str, Completer]:
    """The completers by argument; DefinitionError when there is no such argument."""
    for argument in complete:
        if argument not in names:
            raise DefinitionError(f"{function}: there is no argument {argument!r} to complete, only {', '.join(names) or 'none'}")
    return {argument: _completer(what, argument, by) for argument, by in complete.items()}


def _completer(what: str, argument: str, by: Suggestions) -> Completer:
    what = f"completion of {what}"
    if not callable(by):
        values: list[Any] = list(by)
        if isinstance(by, str) or not all(isinstance(v, str) for v in values):
            raise DefinitionError(f"{what}: the suggestions for {argument!r} must be a list of texts, or a function, not {by!r:.80}")

        def fitting(value: str) -> list[str]:
            return [v for v in values if v[: len(value)].casefold() == value.casefold()]

        return lambda value, _chosen, _call: Work(what, fitting, list, fail_plainly, args=(value,))
    signature = signature_of(by, Call)
    if not 1 <= len(signature.params) <= 2:
        raise DefinitionError(f"{signature.name}: it takes what was typed, and may take the arguments chosen; nothing else but a Call")
    function = by

    def work(value: str, chosen: dict[str, str], call: Call) -> Work:
        given: dict[str, Any] = dict(zip(signature.params, (value, chosen), strict=False))
        return Work(what, function, list, fail_plainly, kwargs=signature.arguments(given, call))

    return work
