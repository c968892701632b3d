"""Remaining code of another library is an error that says what to write."""

from typing import Any

import pytest

from mcpedge.capability import AsyncCall, Call, DefinitionError, Resource, ResourceContents, Server
from mcpedge.capability.server import offer_of
from mcpedge.capability.testing import call_tool, get_prompt


def server(**options: Any) -> Server:
    return Server("test", "1", **options)


def schema(s: Server) -> dict[str, Any]:
    import json

    return dict(json.loads(offer_of(s).tools.all()[-1].listed.input_schema_json))


def test_names_of_other_libraries_say_what_to_write(caplog: pytest.LogCaptureFixture) -> None:
    s = server()

    class Context:
        pass

    class Tools:
        def method(self, a: int) -> str:
            return str(a)

        def __call__(self) -> str:
            return "called"

    def context(ctx: Context) -> str:
        return ""

    def text() -> str:
        return ""

    says: list[tuple[Any, dict[str, Any], str]] = [
        (context, {}, "annotate it as Call, or as AsyncCall"),
        (Tools.method, {}, r"make it known by server.tool\(object.method\)"),
        (Tools, {}, "it is a class; pass a function"),
        (text, {"annotations": {"readOnlyHint": True}}, "there is no option 'annotations': write read_only"),
        (text, {"output_schema": {}}, "annotate what the function returns"),
        (text, {"tags": {"a"}}, "there is no option 'tags': known are description"),
    ]
    for function, options, why in says:
        with pytest.raises(DefinitionError, match=why):
            s.tool(**options)(function)
    with pytest.raises(DefinitionError, match="a description for the model is instructions="):
        Server("test", "Adds numbers")
    s.tool("named")(text)
    s.tool(Tools().method)
    s.prompt("named")(text)
    assert call_tool(s, "named").text == "" and call_tool(s, "method", {"a": 1}).text == "1" and get_prompt(s, "named").failure is None

    @s.tool
    async def logs(call: AsyncCall) -> str:
        await call.info("x")
        return ""

    assert call_tool(s, "logs").failure is not None
    assert "a Call has no 'info': write call.log(\"info\", …)" in caplog.text


def test_objects_that_are_no_results_of_tools_are_refused() -> None:
    s = server()

    def listed() -> list[Resource]:
        return []

    def contents() -> ResourceContents | None:
        return None

    @s.tool
    def by_value() -> Any:
        return Resource("x://y", "y")

    for function in (listed, contents):
        with pytest.raises(DefinitionError, match=r"which is no result of a tool: return link\(resource\), embed\(contents\)"):
            s.tool(function)
    failure = call_tool(s, "by_value").failure
    assert failure is not None and "tool by_value returned Resource, which is no result of a tool: return link(resource)" in failure.message


def test_a_call_may_be_optional() -> None:
    s = server()

    @s.tool
    def t(call: Call | None = None) -> str:
        return call.id if call else ""

    assert call_tool(s, "t").text == "test" and not schema(s)["properties"]


@pytest.mark.parametrize("value", [None, 5, {"a": 1}, [1]])
def test_a_text_that_is_none_fails(value: Any) -> None:
    s = server()

    @s.tool
    def t() -> str:
        return value  # type: ignore[no-any-return]

    failure = call_tool(s, "t").failure
    assert failure is not None and "which does not fit the annotation of what it returns: return a str or content, or annotate it" in failure.message
