"""Prompts, and suggestions for arguments."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from typing_extensions import Unpack

from mcpedge.v1 import prompts_pb2

from .arguments import Arguments, misfit
from .call import Call, CallBase
from .failure import DefinitionError, Failure, Reason
from .official import Official, is_content_type, is_message_type, is_prompt_type, members
from .registry import Completer, Entry
from .results import awaited
from .rounds import Work, fail_plainly
from .schema import Options, alternatives, check_returns, name_of, signature_of
from .types import PromptMessage, PromptResult
from .wire import content_to_wire, json_text, role

Suggestions = Sequence[str] | Callable[..., Any]
"""Suggestions for an argument. Of fixed values those are suggested that begin with the typed text. A function, also a lambda, is called
with positional arguments, as many as it has parameters: the typed text, the arguments already chosen (a dict), and the Call. It returns a
list of str, and may be async."""
_VALUE = 'return a str, a message("user", "…"), or a list of them'
PromptEntry = Entry[prompts_pb2.Prompt]


class PromptOptions(Options, total=False):
    """The options of Server.prompt."""

    complete: Mapping[str, Suggestions]
    unknown_arguments: Literal["refuse", "allow"]


def _returned(type_: Any) -> bool:
    """Returns whether a prompt can be made of a value with this annotation."""
    if get_origin(type_) in (list, tuple):
        return all(_returned(a) for t in get_args(type_) if t is not ... for a in alternatives(t))
    dicts = type_ in (dict, Mapping) or get_origin(type_) in (dict, Mapping)
    return dicts or type_ in (str, list, Any) or is_message_type(type_) or is_prompt_type(type_) or is_content_type(type_)


def make_prompt(function: Callable[..., Any], **options: Unpack[PromptOptions]) -> PromptEntry:
    """Makes a prompt of a function. Raises DefinitionError with what is wrong and what to do."""
    signature = signature_of(function, Call)
    check_returns(signature, _returned, "a text, messages, or a PromptResult")
    arguments = Arguments(f"{signature.name}: a parameter", signature.params, texts=True, unknown=options.get("unknown_arguments", "refuse"))
    schema = arguments.schema
    described = [
        prompts_pb2.PromptArgument(name=name, title=said.get("title", ""), description=said.get("description", ""), required=name in schema.get("required", []))
        for name, said in schema.get("properties", {}).items()
    ]
    listed = prompts_pb2.Prompt(arguments=described, **signature.listed(options, PromptOptions.__optional_keys__))

    def work(given: Mapping[str, str], call: CallBase) -> Work:
        try:
            kwargs = arguments.read_strings(given)
        except ValidationError as e:
            raise Failure(Reason.INVALID_ARGUMENT, f"prompt {listed.name}: {misfit(e, 'argument', arguments.names)}") from e
        return Work(f"prompt {listed.name}", function, lambda value: _result(listed, value), fail_plainly, kwargs=signature.arguments(kwargs, call))

    names = [a.name for a in described]
    return PromptEntry(listed.name, listed, work, completers_of(signature.name, f"prompt {listed.name}", options.get("complete", {}), names))


def _result(listed: prompts_pb2.Prompt, value: Any) -> prompts_pb2.GetPromptResult:
    official = Official(f"prompt {listed.name}", _VALUE)
    awaited(official, value)
    has = members(value)
    if isinstance(value, PromptResult) or (has is not None and "messages" in has):
        whole = official.prompt(value)
    else:
        whole = PromptResult([official.message(m) for m in (value if isinstance(value, list | tuple) else [value])])  # pyright: ignore[reportUnknownVariableType]
    messages = [_message(m) for m in whole.messages]
    meta = json_text("_meta of the prompt", whole.meta) if whole.meta else ""
    return prompts_pb2.GetPromptResult(description=whole.description or listed.description, messages=messages, meta_json=meta)


def _message(m: PromptMessage) -> prompts_pb2.PromptMessage:
    return prompts_pb2.PromptMessage(role=role(m.role), content=content_to_wire(m.content))


def completers_of(function: str, what: str, complete: Mapping[str, Suggestions], names: Sequence[str]) -> dict[str, Completer]:
    """Returns the completers by argument. Raises DefinitionError for an unknown argument."""
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
    takes_call = _places(what, by)
    function = by

    def work(value: str, chosen: dict[str, str], call: CallBase) -> Work:
        rest = iter((value, chosen, call))
        return Work(what, function, lambda value: _suggested(what, value), fail_plainly, args=tuple(call if is_call else next(rest) for is_call in takes_call))

    return work


def _suggested(what: str, value: Any) -> list[str]:
    """Returns the suggestions in a function's result: an iterable of str, or a Completion of the official SDK. Raises Failure INTERNAL for
    others."""
    official = Official(what, "return a list of str")
    awaited(official, value)
    has = members(value)
    values: Any = has["values"] if has is not None and "values" in has else value
    found: list[Any] = [] if values is None else [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)
    if isinstance(values, str) or not all(isinstance(v, str) for v in found):
        raise official.fail(f"what are no suggestions, {value!r:.80}: {official.value}")
    return found


def _places(what: str, function: Callable[..., Any]) -> list[bool]:
    """Returns for each parameter of a completer whether it takes the Call."""
    params = inspect.signature(function).parameters.values()
    takes_call = [p.name == "call" or p.annotation in (Call, "Call", "AsyncCall") for p in params]
    places = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in params)
    if not places or not 1 <= len(takes_call) <= 3 or takes_call[0] or sum(takes_call) > 1:
        raise DefinitionError(
            f"{name_of(function)}, {what}: it takes what was typed, and may take the arguments chosen and the Call, as lambda value, chosen, call: […]"
        )
    return takes_call
