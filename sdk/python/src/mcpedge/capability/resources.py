"""Resources: readable objects, by a URI, by a template, or below a prefix."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import ValidationError
from typing_extensions import Unpack

from mcpedge.v1 import content_pb2, resources_pb2

from .arguments import Arguments
from .call import Call, CallBase
from .content import blob_contents, text_contents
from .failure import DefinitionError, Failure, Reason, not_found, quote
from .official import Official, is_contents_type, is_read_type, members
from .prompts import Suggestions, completers_of
from .registry import Entry
from .results import awaited
from .rounds import Work, fail_plainly
from .schema import Options, alternatives, check_returns, signature_of
from .types import Annotations, ReadResult, ResourceContents
from .uritemplate import Template
from .wire import cache_hint, contents_to_wire, json_text

_SAY = "a text, bytes, ResourceContents or a list of them, or None where there is nothing; JSON is a text, as json.dumps makes it"
BINARY = ("application/octet-stream", "application/pdf", "application/zip", "application/gzip", "application/wasm")


@dataclass(frozen=True)
class ResourceEntry(Entry[content_pb2.Resource | resources_pb2.ResourceTemplate]):
    template: Template | None = field(kw_only=True)
    """The URI template, None for a single resource."""


class ResourceOptions(Options, total=False):
    """The options of Server.resource. size, in bytes, applies to a single resource, complete to a template."""

    mime_type: str
    size: int
    annotations: Annotations
    complete: Mapping[str, Suggestions]


def _returned(type_: Any) -> bool:
    """Returns whether contents can be made of a value with this annotation."""
    if get_origin(type_) in (list, tuple):
        return all(a in (str, bytes) or is_contents_type(a) for t in get_args(type_) if t is not ... for a in alternatives(t))
    return type_ in (str, bytes, None, type(None)) or is_contents_type(type_) or is_read_type(type_)


def make_resource(function: Callable[..., Any], uri: str, **options: Unpack[ResourceOptions]) -> ResourceEntry:
    """Makes a resource of a function, or a resource template if the URI has braces. Raises DefinitionError with what is wrong and what to
    do."""
    signature = signature_of(function, Call)
    check_returns(signature, _returned, _SAY)
    if not urlsplit(uri).scheme:
        raise DefinitionError(f"{signature.name}: the URI {uri!r} must be absolute, as notes://today is")
    try:
        template = Template.parse(uri) if "{" in uri else None
    except ValueError as e:
        raise DefinitionError(f"{signature.name}: the URI template {uri!r}: {e}") from e
    variables = template.variables if template else ()
    for variable in variables:
        if variable not in signature.params:
            raise DefinitionError(f"{signature.name}: the variable {variable!r} of {uri!r} is no parameter; add {variable}: str")
    for param in signature.params:
        if param not in (*variables, "uri"):
            raise DefinitionError(f"{signature.name}: the parameter {param!r} is no variable of the URI; a read has no others, but for uri and a Call")
    taken = {name: param for name, param in signature.params.items() if name in variables}
    arguments = Arguments(f"{signature.name}: a parameter", taken, texts=True) if taken else None  # a model takes milliseconds
    said = signature.listed(options, ResourceOptions.__optional_keys__)
    listed = resources_pb2.ResourceTemplate(uri_template=uri, **said) if template else content_pb2.Resource(uri=uri, size=options.get("size"), **said)

    def work(uri: str, call: CallBase) -> Work:
        try:
            values = arguments.read_strings(template.match(uri) or {}) if template and arguments else {}
        except ValidationError:
            raise not_found(uri) from None
        given = {"uri": uri, **values} if "uri" in signature.params else values
        return read_work(function, uri, listed.mime_type, kwargs=signature.arguments(given, call))

    completers = completers_of(signature.name, f"template {uri}", options.get("complete", {}), variables)
    return ResourceEntry(uri, listed, work, completers, template=template)


def read_work(function: Callable[..., Any], uri: str, mime_type: str, *, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Work:
    """Returns the work of a read whose function returns a text, bytes, contents or None."""

    def plain(error: Exception) -> Any:
        if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
            raise not_found(uri)
        if isinstance(error, PermissionError):
            raise Failure(Reason.PERMISSION_DENIED, f"resource {quote(uri)} may not be read")
        return fail_plainly(error)

    return Work(f"read of {quote(uri)}", function, lambda v: _read_result(uri, mime_type, v), plain, args, kwargs or {})


def _read_result(uri: str, mime_type: str, value: Any) -> resources_pb2.ReadResourceResult:
    """Returns the result of a read. Bytes become text if they are UTF-8 and the MIME type permits it."""
    official = Official(f"the read of {quote(uri)}", f"return {_SAY}")
    awaited(official, value)
    has = members(value)
    if isinstance(value, ReadResult) or (has is not None and "contents" in has):
        whole = official.read(value)
        parts: list[Any] = list(whole.contents)
    else:
        whole = ReadResult([])
        parts = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
    if not parts:
        raise not_found(uri)
    meta = json_text("_meta of the read", whole.meta) if whole.meta else ""
    contents = [_contents(official, uri, mime_type, part) for part in parts]
    return resources_pb2.ReadResourceResult(contents=contents, meta_json=meta, cache=cache_hint(*whole.cache) if whole.cache else None)


def _contents(official: Official, uri: str, mime_type: str, part: Any) -> content_pb2.ResourceContents:
    if isinstance(part, bytes):
        part = of_bytes(part, mime_type)
    elif isinstance(part, str):
        part = text_contents(part)
    return contents_to_wire(official.contents(part), uri, mime_type)


def of_bytes(data: bytes, mime_type: str) -> ResourceContents:
    """Returns contents of bytes."""
    kind = mime_type.partition("/")[0]
    denied = mime_type in BINARY or (kind in ("image", "audio", "video", "font") and not mime_type.endswith(("+xml", "+json")))
    try:
        return blob_contents(data) if denied else text_contents(data.decode())
    except UnicodeDecodeError:
        return blob_contents(data)


class ResourceProvider:
    """Serves dynamic resources: a directory, a table. Methods may be async or plain, and are called concurrently."""

    def list(self) -> Any:
        """All resources, in a stable order. Their URIs begin with the provider's prefix."""
        return []

    def read(self, call: Call, uri: str) -> Any:
        """The contents of a URI that begins with the prefix, listed or not: a text, bytes or contents; None if it does not
        exist."""
        raise NotImplementedError


class ResourceWatcher(ResourceProvider):
    """A provider that detects changes. One that is notified of changes can call Server.resource_updated and
    Server.resources_changed instead."""

    def watch(self, updated: Callable[[str], None], list_changed: Callable[[], None]) -> Any:
        """Begins to watch, and returns a function that stops it. Until then it calls updated with every changed URI, and list_changed if
        the result of list changes, from any thread. At most one watch runs at a time, while there are watchers."""
        raise NotImplementedError


class SkillProvider(ResourceProvider):
    """A provider of skills: some of its resources are the files of skills. MCP: the extension io.modelcontextprotocol/skills."""

    def skills(self) -> Any:
        """Returns the skills, in a stable order. It may omit some."""
        return []

    def skill(self, call: Call, uri: str) -> Any:
        """The current skill whose SKILL.md has the URI, listed or not; None if there is none."""
        raise NotImplementedError


class DirectoryProvider(SkillProvider):
    """A provider of skills whose directories can be listed. Announced to clients if every provider of skills is one."""

    def directory(self, call: Call, uri: str) -> Any:
        """The direct children of a directory, in a stable order; directories have the MIME type inode/directory. None or
        FileNotFoundError means that the URI is no directory."""
        raise NotImplementedError
