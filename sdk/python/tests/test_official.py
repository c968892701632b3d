"""Results of the official SDK and of FastMCP by their members: models as theirs, and dicts."""

import base64
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from mcpedge.capability import (
    Content,
    DefinitionError,
    ImageContent,
    PromptMessage,
    Reason,
    ResourceContents,
    ResourceLink,
    Result,
    Server,
    TextContent,
    audio,
    structured,
    text,
)
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import call_tool, get_prompt, read_resource

PIXEL = b"\x89PNG"
ENCODED = base64.b64encode(PIXEL).decode()


class Text(BaseModel):
    type: Literal["text"] = "text"
    text: str
    meta: dict[str, Any] | None = Field(default=None, alias="_meta")


class Picture(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    type: Literal["image"] = "image"
    data: str
    mime_type: str = Field(alias="mimeType")


class Official(BaseModel):
    """As CallToolResult of mcp."""

    content: list[Text | Picture]
    structuredContent: dict[str, Any] | None = None  # noqa: N815
    isError: bool = False  # noqa: N815
    result_type: str = "complete"


class Fast(BaseModel):
    """As ToolResult of FastMCP."""

    content: list[Text | Picture]
    structured_content: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None


class Helper:
    """As Image of FastMCP."""

    def to_image_content(self) -> Picture:
        return Picture(data=ENCODED, mime_type="image/png")


class Message(BaseModel):
    role: Literal["user", "assistant"]
    content: Text | str


class Prompted(BaseModel):
    messages: list[Message]
    description: str | None = None


@dataclass
class Read:
    """As ReadResourceContents of mcp."""

    content: str | bytes
    mime_type: str | None = None


class Contents(BaseModel):
    uri: str
    mimeType: str | None = None  # noqa: N815
    text: str


class ReadWhole(BaseModel):
    contents: list[Contents]


class Note(TypedDict):
    content: str
    title: str


class Untitled(TypedDict):
    title: str


def returning(annotation: Any, value: Any, **options: Any) -> Server:
    s = Server("test", "1")

    def t() -> Any:
        return value

    t.__annotations__["return"] = annotation
    s.tool(name="t", **options)(t)
    return s


BLOCKS = [TextContent("hi"), ImageContent(PIXEL, "image/png")]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Official, Official(content=[Text(text="hi"), Picture(data=ENCODED, mime_type="image/png")], structuredContent={"a": 1})),
        (Fast, Fast(content=[Text(text="hi"), Picture(data=ENCODED, mime_type="image/png")], structured_content={"a": 1})),
        (dict[str, Any], {"content": [{"type": "text", "text": "hi"}, Helper()], "structuredContent": {"a": 1}, "isError": False}),
        (dict, {"content": [Text(text="hi"), {"type": "image", "data": PIXEL, "mimeType": "image/png"}], "structuredContent": {"a": 1}}),
        (Any, Official(content=[Text(text="hi"), Picture(data=ENCODED, mime_type="image/png")], structuredContent={"a": 1})),
    ],
)
def test_results_of_tools_are_taken_as_they_are(annotation: Any, value: Any) -> None:
    s = returning(annotation, value)
    assert not offer_of(s).tools.all()[0].listed.output_schema_json
    out = call_tool(s, "t")
    assert (out.result.content, out.structured, out.is_error) == (BLOCKS, {"a": 1}, False)


def test_an_official_failure_is_one() -> None:
    for value in ({"content": [{"type": "text", "text": "no"}], "isError": True}, Official(content=[Text(text="no")], isError=True)):
        out = call_tool(returning(Any, value), "t")
        assert out.is_error and out.text == "no" and out.result.structured_content is None


@pytest.mark.parametrize(
    ("annotation", "value", "content"),
    [
        (Text, Text(text="hi"), BLOCKS[:1]),
        (Helper, Helper(), BLOCKS[1:]),
        (list[Text | Picture], [Text(text="hi"), Picture(data=ENCODED, mime_type="image/png")], BLOCKS),
        (list[Helper], [Helper()], BLOCKS[1:]),
        (list, [text("hi"), Helper()], BLOCKS),
        (list[Any], [{"type": "text", "text": "hi"}], BLOCKS[:1]),
        (list[dict[str, Any]], [{"type": "text", "text": "hi"}], BLOCKS[:1]),
        (tuple[TextContent, Helper], (text("hi"), Helper()), BLOCKS),
        (list[Content], [], []),
        (TextContent | None, None, []),
        (str | None, "hi", BLOCKS[:1]),
        (str | Result, "hi", BLOCKS[:1]),
    ],
)
def test_content_is_taken_as_it_is(annotation: Any, value: Any, content: list[Content]) -> None:
    s = returning(annotation, value)
    assert not offer_of(s).tools.all()[0].listed.output_schema_json
    assert call_tool(s, "t").result == Result(content)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Note, {"content": "milk", "title": "To buy"}),
        (dict[str, Any], {"title": "To buy"}),
        (dict[str, Any], structured({"content": "milk", "title": "To buy"})),
        (dict[str, int], structured({"content": 3})),
        (dict[str, int], {"content": 3, "_meta": 1}),
        (dict[str, list[Any]], {"content": ["milk"]}),
        (dict[str, list[Any]], {"content": []}),
        (list, [1, 2]),
        (list[dict[str, Any]], [{"a": 1}]),
        (list[dict[str, Any]], []),
        (list[dict[str, int]], [{"a": 1}]),
    ],
)
def test_values_stay_values(annotation: Any, value: Any) -> None:
    out = call_tool(returning(annotation, value), "t")
    assert out.result.content == [] and out.structured == (value.structured_content if isinstance(value, Result) else value)


VALUE = "for a value, return structured({…}), or annotate what you return with a model or a TypedDict that has all of its members"


@pytest.mark.parametrize(
    ("annotation", "value", "says"),
    [
        (dict, {"content": "milk", "title": "x"}, f'an object with "content", as a result of a tool has, and "title", which it has not: {VALUE}'),
        (dict, {"content": "milk"}, 'an object with "content", which in a result of a tool is a list of content'),
        (dict, {"content": ["milk"]}, 'an object with "content", which in a result of a tool is a list of content'),
        (Any, {"content": [], "isError": "no"}, 'an object with "isError", which in a result of a tool is True or False'),
        (Any, {"content": [{"type": "image", "data": "no base64!", "mimeType": "image/png"}]}, "the data of content of the type image is neither bytes nor"),
        (Any, {"content": [], "resultType": "input_required"}, "a result of the type 'input_required': ask by call.ask"),
        (Untitled, {"title": "x", "isError": True}, 'an object with "isError", as a result of a tool has, and "title"'),
        (dict[str, int], {"a": 1, "isError": 3}, 'an object with "isError", as a result of a tool has, and "a"'),
        (dict[str, list[Any]], {"content": [{"type": "text", "text": "hi"}]}, "no structured content, which it has an output schema for"),
        (list, [text("a"), "b"], 'a list in which some are content: write text("…") for each str'),
        (list[Content], ["b"], 'a list in which some are content: write text("…") for each str'),
        (dict, {"type": "text", "size": 3}, 'content of the type text, which has no "size": write raw_content({…}) to send it as it is; for a value'),
        (Any, b"x", "bytes, which say no kind: return image(data"),
        (Note, Result([text("x")]), "no structured content, which it has an output schema for"),
        (Note, Result(structured_content={"title": 1}), "dict, which does not fit the annotation of what it returns: content: Field required"),
        (Note, {"title": "x"}, "dict, which does not fit the annotation of what it returns"),
        (Any, Result([TextContent(3)]), "content of the type text has members of wrong types"),  # type: ignore[arg-type]
    ],
)
def test_what_is_neither_fails_by_name(annotation: Any, value: Any, says: str) -> None:
    failure = call_tool(returning(annotation, value), "t").failure
    assert failure is not None and failure.reason is Reason.INTERNAL
    assert says in failure.message


def test_prompts() -> None:
    s = Server("test", "1")

    def add(name: str, annotation: Any, value: Any) -> None:
        def t() -> Any:
            """Says."""
            return value

        t.__annotations__["return"] = annotation
        s.prompt(name=name)(t)

    add("result", Prompted, Prompted(messages=[Message(role="user", content="hi"), Message(role="assistant", content=Text(text="ho"))], description="x"))
    add("dict", dict[str, Any], {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}, {"role": "assistant", "content": "ho"}]})
    add("list", list[Message], [Message(role="user", content="hi"), Message(role="assistant", content="ho")])
    add("dicts", list, ["hi", {"role": "assistant", "content": "ho"}])
    for name in ("result", "dict", "list", "dicts"):
        got = get_prompt(s, name).result
        assert got.messages == [PromptMessage("user", text("hi")), PromptMessage("assistant", text("ho"))], name
        assert got.description == ("x" if name == "result" else "Says.")
    add("stray", dict, {"messages": [], "title": "x"})
    add("other", dict, {"text": "hi"})
    add("role", Any, [{"role": "system", "content": "hi"}])
    for name, says in {"stray": '"title", which it has not', "other": "what is no message", "role": "a role is"}.items():
        failure = get_prompt(s, name).failure
        assert failure is not None and failure.reason is Reason.INTERNAL and says in failure.message
    with pytest.raises(DefinitionError, match="return a text, messages, or a PromptResult"):
        add("number", int, 1)


def test_reads() -> None:
    s = Server("test", "1")

    def add(uri: str, annotation: Any, value: Any) -> None:
        def t() -> Any:
            return value

        t.__annotations__["return"] = annotation
        s.resource(uri, name=uri, mime_type="text/plain")(t)

    add("x://whole", ReadWhole, ReadWhole(contents=[Contents(uri="x://other", text="hi")]))
    add("x://dict", Any, {"contents": [{"uri": "x://other", "text": "hi"}]})
    add("x://list", list[Contents], [Contents(uri="x://other", text="hi")])
    for uri in ("x://whole", "x://dict", "x://list"):
        assert read_resource(s, uri).result.contents == [ResourceContents("x://other", "text/plain", "hi")]
    add("x://helper", list[Read], [Read(PIXEL, "image/png"), Read("hi")])
    add("x://cached", Any, {"contents": [{"blob": ENCODED}], "ttlMs": 1500, "cacheScope": "public"})
    assert read_resource(s, "x://helper").result.contents == [
        ResourceContents("x://helper", "image/png", blob=PIXEL),
        ResourceContents("x://helper", "text/plain", "hi"),
    ]
    cached = read_resource(s, "x://cached").result
    assert cached.contents[0].blob == PIXEL and cached.cache == (1.5, True)
    add("x://stray", Any, {"contents": [], "text": "x"})
    add("x://json", Any, {"a": 1})
    for uri, says in {"x://stray": '"text", which it has not', "x://json": "JSON is a text, as json.dumps makes it"}.items():
        failure = read_resource(s, uri).failure
        assert failure is not None and failure.reason is Reason.INTERNAL and says in failure.message
    for annotation in (dict, dict[str, str], list, int, list[int]):
        with pytest.raises(DefinitionError, match="JSON is a text, as json"):
            add("x://no", annotation, None)


def test_own_types_are_distinguished_by_match() -> None:
    link = ResourceLink(uri="x://y", name="y", mime_type="text/plain")
    found: list[str] = []
    for block in call_tool(returning(list[Content], [text("a"), link, audio(b"b", "audio/wav")]), "t").result.content:
        match block:
            case TextContent(text=said):
                found.append(said)
            case ResourceLink(uri=uri):
                found.append(uri)
            case _:
                found.append(block.type)
    assert found == ["a", "x://y", "audio"] and isinstance(text("a"), Content)
