"""The fixtures that the official conformance suite expects of a server: one for each thing that it probes, under the name and
with the answer that it expects. The same as services/everything has."""

import asyncio
import json
import secrets
import struct
import threading
import time
import zlib
from typing import Annotated, Any, get_args

from pydantic import Field

from mcpedge.capability import (
    Call,
    Content,
    ElicitResult,
    Failure,
    InputRequired,
    Level,
    PromptMessage,
    Reason,
    Resource,
    ResourceWatcher,
    Result,
    Root,
    SamplingResult,
    Server,
    Tasks,
    Tool,
    audio,
    embed,
    error_result,
    form_schema,
    header,
    image,
    list_roots,
    message,
    sampling,
    text,
    text_contents,
)

CACHE = 300.0
STEP = 0.05
PLAIN: dict[str, Any] = {"read_only": True, "idempotent": True, "destructive": False, "open_world": False}
AT_ONCE = Tasks("optional", start="at_once")


def _png() -> bytes:
    """A picture of one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")) + chunk(b"IEND", b"")


def _wav() -> bytes:
    """A hundredth of a second of silence: 8 kHz, mono, 8 bits."""
    rate, samples = 8000, 80
    fmt = struct.pack("<HHIIHH", 1, 1, rate, rate, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", samples) + b"\x80" * samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


RED_PIXEL, SILENCE = _png(), _wav()


def _string(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _titled(*values: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in values]


CONTACT = _object(["username", "email"], username=_string("User's response"), email=_string("User's email address"))
DEFAULTS = _object(
    [],
    name=_string("User name", default="John Doe"),
    age={"type": "integer", "description": "User age", "default": 30},
    score={"type": "number", "description": "User score", "default": 95.5},
    status=_string("User status", enum=["active", "inactive", "pending"], default="active"),
    verified={"type": "boolean", "description": "Verification status", "default": True},
)
OPTIONS = ["option1", "option2", "option3"]
ENUMS = _object(
    [],
    untitledSingle=_string("Select one option", enum=OPTIONS),
    titledSingle=_string("Select one option with titles", oneOf=_titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"))),
    legacyEnum=_string("Select one option (legacy)", enum=["opt1", "opt2", "opt3"], enumNames=["Option One", "Option Two", "Option Three"]),
    untitledMulti={"type": "array", "description": "Select multiple options", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": OPTIONS}},
    titledMulti={
        "type": "array",
        "description": "Select multiple options with titles",
        "minItems": 1,
        "maxItems": 3,
        "items": {"anyOf": _titled(("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice"))},
    },
)
NAME = _object(["name"], name=_string("Your name"))
COLOR = _object(["color"], color=_string("A color"))
CONFIRM = _object(["ok"], ok={"type": "boolean", "description": "Whether to go on"})
CONTEXT = _object(["context"], context=_string("What it is about"))
ANY = {"type": "object", "properties": {"answer": _string("Whatever there is to say")}}
DIALECT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def answered(r: ElicitResult) -> str:
    """What the user did."""
    return f"action={r.action}, content={json.dumps(r.content)}"


def greeting(r: ElicitResult) -> str:
    return f"Hello, {r.content['name']}!" if r.action == "accept" else f"No name was given ({r.action})."


def roots_text(roots: list[Root]) -> str:
    return f"Found {len(roots)} root(s): {', '.join(r.uri for r in roots)}"


def new(watch_interval: float = 3, reconnection_delay: float = 3) -> Server:
    """The service, ready to be served."""
    s = Server(
        "mcpedge-everything",
        "1.0.0",
        title="Everything",
        description="The fixtures of the official conformance suite.",
        instructions="Fixtures for tests; nothing here does anything useful.",
        list_cache=(CACHE, True),
    )
    add_content(s)
    add_running(s, reconnection_delay)
    add_asking(s)
    add_rounds(s)
    add_tasks(s)
    add_changes(s)
    add_schemas(s)
    add_resources(s, watch_interval)
    add_prompts(s)
    return s


def add_content(s: Server) -> None:
    def fixture(name: str, description: str, *content: Content) -> None:
        @s.tool(name=name, description=description, **PLAIN)
        def _() -> list[Content]:
            return list(content)

    fixture("test_simple_text", "Returns a text", text("This is a simple text response for testing."))
    fixture("test_image_content", "Returns an image", image(RED_PIXEL, "image/png"))
    fixture("test_audio_content", "Returns a sound", audio(SILENCE, "audio/wav"))
    embedded = text_contents("This is an embedded resource content.", uri="test://embedded-resource", mime_type="text/plain")
    fixture("test_embedded_resource", "Returns an embedded resource", embed(embedded))
    mixed = text_contents('{"test":"data","value":123}', uri="test://mixed-content-resource", mime_type="application/json")
    fixture(
        "test_multiple_content_types",
        "Returns a text, an image and an embedded resource",
        text("Multiple content types test:"),
        image(RED_PIXEL, "image/png"),
        embed(mixed),
    )

    @s.tool(**PLAIN)
    def test_error_handling() -> Result:
        """Fails, always"""
        return error_result("This tool intentionally returns an error for testing")


def add_running(s: Server, reconnection: float) -> None:
    @s.tool(**PLAIN)
    async def test_tool_with_progress(call: Call) -> str:
        """Reports progress: 0, 50 and 100 of 100"""
        for percent in (0, 50, 100):
            if percent:
                await asyncio.sleep(STEP)
            call.progress(percent, 100, f"Completed step {percent} of 100")
        return "Progress was reported."

    @s.tool(**PLAIN)
    async def test_tool_with_logging(call: Call) -> str:
        """Logs three messages on its way"""
        for i, what in enumerate(("Tool execution started", "Tool processing data", "Tool execution completed")):
            if i:
                await asyncio.sleep(STEP)
            call.log("info", what, logger="everything")
        return "Messages were logged."

    @s.tool(**PLAIN)
    def test_logging_tool(call: Call) -> str:
        """Logs one message of each level"""
        for i, level in enumerate(get_args(Level)):
            call.log(level, {"message": f"A message of level {i + 1}"}, logger="everything")
        return "Messages of every level were logged."

    @s.tool(**PLAIN)
    async def test_reconnection() -> str:
        """Takes so long that its stream may be closed and resumed meanwhile"""
        await asyncio.sleep(reconnection)
        return "The call ran to its end, whether the client was connected or not."


def add_asking(s: Server) -> None:
    @s.tool(**PLAIN)
    def test_sampling(call: Call, prompt: Annotated[str, Field(description="The prompt to send to the model")]) -> str:
        """Asks the client's model"""
        return "LLM response: " + call.sample("sampling", prompt, max_tokens=100).text

    @s.tool(**PLAIN)
    def test_elicitation(call: Call, message: Annotated[str, Field(description="The message to show the user")]) -> str:
        """Asks the user for a name and an address"""
        return "User response: " + answered(call.ask_form("contact", message, CONTACT))

    @s.tool(**PLAIN)
    def test_elicitation_sep1034_defaults(call: Call) -> str:
        """Asks the user by a form with default values"""
        r = call.ask_form("defaults", "Please review and update the form fields with defaults", DEFAULTS)
        return "Elicitation completed: " + answered(r)

    @s.tool(**PLAIN)
    def test_elicitation_sep1330_enums(call: Call) -> str:
        """Asks the user by a form with every kind of choice"""
        r = call.ask_form("enums", "Please select options from the enum fields", ENUMS)
        return "Elicitation completed: " + answered(r)

    @s.tool(**PLAIN)
    def test_streaming_elicitation(call: Call) -> str:
        """Reports progress, then asks the user"""
        call.progress(1, 2, "Before the question")
        r = call.ask_form("user_name", "What is your name?", NAME)
        call.progress(2, 2, "After the answer")
        return "Elicitation completed: " + answered(r)

    @s.tool(**PLAIN)
    def test_missing_capability(call: Call) -> str:
        """Cannot do without the client's model"""
        return "The client's model said: " + call.sample("needed", "Say something.", max_tokens=100).text


PREFIX = "test_input_required_result_"
CAPITAL = "What is the capital of France?"


def add_rounds(s: Server) -> None:
    """The fixtures of the multi-round scenarios; their keys are the suite's."""

    @s.tool(name=PREFIX + "elicitation", **PLAIN)
    def _(call: Call) -> str:
        """Asks the user for a name"""
        return greeting(call.ask_form("user_name", "What is your name?", NAME))

    @s.tool(name=PREFIX + "sampling", **PLAIN)
    def _(call: Call) -> str:
        """Asks the client's model for a capital"""
        return "Sampling result: " + call.sample("capital_question", CAPITAL, max_tokens=100).text

    @s.tool(name=PREFIX + "list_roots", **PLAIN)
    def _(call: Call) -> str:
        """Asks for the client's roots"""
        return roots_text(call.roots("client_roots"))

    def confirmed(name: str, description: str, mark: bytes) -> None:
        """Adds a tool that asks by itself: it does not end before both the answer and its own state are back."""

        @s.tool(name=PREFIX + name, description=description, **PLAIN)
        def _(call: Call) -> str:
            if call.state is None:
                raise InputRequired([form_schema("confirm", "Please confirm", CONFIRM)], state=mark + secrets.token_hex().encode())
            if not call.state.startswith(mark):
                raise Failure(Reason.INVALID_ARGUMENT, "the state is not the one this tool gave")
            r = call.ask_form("confirm", "Please confirm", CONFIRM)
            return f"state-ok: the state came back, {answered(r)}"

    confirmed("request_state", "Asks for a confirmation, and keeps a state meanwhile", b"request-state:")
    confirmed("tampered_state", "Asks for a confirmation, and keeps a state that must not be changed", b"tamper-proof:")

    @s.tool(name=PREFIX + "multiple_inputs", **PLAIN)
    def _(call: Call) -> str:
        """Asks user, model and roots at once"""
        if call.state is None:
            call.set_state(b"multiple-inputs:" + secrets.token_hex().encode())
        name, hello, roots = call.ask_all(
            form_schema("user_name", "What is your name?", NAME), sampling("greeting", "Generate a greeting", max_tokens=50), list_roots("client_roots")
        )
        return "\n".join([greeting(name), hello.text, roots_text(roots)])

    @s.tool(name=PREFIX + "multi_round", **PLAIN)
    def _(call: Call) -> str:
        """Asks the user twice, the second time knowing the first answer"""
        call.set_state(b"round-1:" + secrets.token_hex().encode())
        first = call.ask_form("step1", "Step 1: What is your name?", NAME)
        if first.action != "accept":
            return greeting(first)
        call.set_state(b"round-2:" + secrets.token_hex().encode())
        question = f"Step 2: What is your favorite color, {first.content['name']}?"
        second = call.ask_form("step2", question, COLOR)
        if second.action != "accept":
            return f"{greeting(first)} No color was given ({second.action})."
        return f"{greeting(first)} Your favorite color is {second.content['color']}."

    @s.tool(name=PREFIX + "capabilities", **PLAIN)
    def _(call: Call) -> str:
        """Asks whatever the client can answer"""
        can = call.client_capabilities
        questions: list[Any] = []
        if can.sampling:
            questions.append(sampling("capital_question", CAPITAL, max_tokens=100))
        if can.form:
            questions.append(form_schema("user_name", "What is your name?", NAME))
        if can.roots:
            questions.append(list_roots("client_roots"))
        lines = [f"The client was asked {len(questions)} question(s)."]
        for a in call.ask_all(*questions):
            lines.append(greeting(a) if isinstance(a, ElicitResult) else a.text if isinstance(a, SamplingResult) else roots_text(a))
        return "\n".join(lines)


def add_tasks(s: Server) -> None:
    @s.tool(**PLAIN)
    def greet(name: Annotated[str, Field(description="Whom to greet")]) -> str:
        """Greets at once, and is never a task"""
        return f"Hello, {name}!"

    @s.tool(tasks=AT_ONCE, **PLAIN)
    async def slow_compute(
        call: Call,
        seconds: Annotated[float, Field(description="How long to compute", ge=0, le=3600)],
        label: Annotated[str, Field(description="What the result is called")] = "compute",
    ) -> str:
        """Takes as long as its argument says, and may be a task"""
        began = time.monotonic()
        while (done := time.monotonic() - began) < seconds:
            call.progress(done, seconds, "Computing " + label)
            await asyncio.sleep(min(1, seconds - done))
        return f"{label} was computed in {seconds:g} s."

    @s.tool(tasks=Tasks("required"), **PLAIN)
    async def failing_job() -> str:
        """Fails after a second, as a task"""
        await asyncio.sleep(1)
        raise RuntimeError("the job failed, as it always does")

    @s.tool(tasks=Tasks("required"), **PLAIN)
    def protocol_error_job() -> str:
        """Ends with an error of the protocol, as a task"""
        raise Failure(Reason.INTERNAL, "the job broke, as it always does")

    @s.tool(tasks=AT_ONCE, **PLAIN)
    def confirm_delete(call: Call, filename: Annotated[str, Field(description="The file to pretend to delete")]) -> str:
        """Asks before it pretends to delete a file, as a task"""
        r = call.ask_form("confirm", f"Delete {filename}?", ANY)
        return f"{filename} was deleted." if r.action == "accept" else f"{filename} was kept: {r.action}"

    @s.tool(tasks=AT_ONCE, **PLAIN)
    def multi_input(call: Call) -> str:
        """Asks for a name and a color at once, as a task"""
        name, color = call.ask_all(form_schema("name", "What is your name?", ANY), form_schema("color", "Which color do you like?", ANY))
        return f"Answers: {answered(name)}; {answered(color)}"

    @s.tool(tasks=Tasks("required", start="deferred"), **PLAIN)
    def test_tool_with_task(call: Call) -> str:
        """Asks for a name first, and greets it as a task"""
        greeted = greeting(call.ask_form("user_name", "What is your name?", NAME))
        call.defer()
        return greeted


def add_changes(s: Server) -> None:
    """The tools that change the lists. Each call changes them once: what the tool adds, the next call removes."""
    lock = threading.Lock()

    @s.tool(destructive=False, open_world=False)
    def test_trigger_tool_change() -> str:
        """Adds a tool, or removes it again"""
        with lock:
            if s.remove_tool("test_dynamic_tool"):
                return "Removed test_dynamic_tool."

            @s.tool(**PLAIN)
            def test_dynamic_tool() -> str:
                """Comes and goes by test_trigger_tool_change"""
                return "This tool is here for now."

            return "Added test_dynamic_tool."

    @s.tool(destructive=False, open_world=False)
    def test_trigger_prompt_change() -> str:
        """Adds a prompt, or removes it again"""
        with lock:
            if s.remove_prompt("test_dynamic_prompt"):
                return "Removed test_dynamic_prompt."

            @s.prompt
            def test_dynamic_prompt() -> str:
                """Comes and goes by test_trigger_prompt_change"""
                return "This prompt is here for now."

            return "Added test_dynamic_prompt."


def add_schemas(s: Server) -> None:
    tool = Tool(name="json_schema_2020_12_tool", description="Has an input schema with keywords of JSON Schema 2020-12", input_schema=DIALECT)

    @s.raw_tool(tool, **PLAIN)
    def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
        return "Called with " + json.dumps(arguments)

    @s.tool(**PLAIN)
    def test_x_mcp_header(region: Annotated[str, Field(description="Goes into the header Mcp-Param-Region too"), header("Region")]) -> str:
        """Has an argument that travels in a header as well"""
        return "region=" + region


WATCHED = "test://watched-resource"


class Watched(ResourceWatcher):
    """A resource that changes by itself; it ticks only while someone watches."""

    def __init__(self, interval: float) -> None:
        self.began = time.monotonic()
        self.interval = interval

    def list(self) -> Any:
        return [
            Resource(
                uri=WATCHED,
                name="watched-resource",
                title="Watched resource",
                description=f"A text that changes every {self.interval:g} s",
                mime_type="text/plain",
            )
        ]

    def read(self, call: Call, uri: str) -> Any:
        if uri != WATCHED:
            return None
        version = int((time.monotonic() - self.began) / self.interval) + 1
        return text_contents(f"Watched resource content, version {version}", mime_type="text/plain")

    async def watch(self, updated: Any, list_changed: Any) -> Any:
        async def tick() -> None:
            while True:
                await asyncio.sleep(self.interval)
                updated(WATCHED)

        return asyncio.ensure_future(tick()).cancel


def add_resources(s: Server, interval: float) -> None:
    @s.resource("test://static-text", name="static-text", title="Static text", mime_type="text/plain")
    def _(call: Call) -> str:
        """A text that never changes"""
        call.set_cache(CACHE, shared=True)
        return "This is the content of the static text resource."

    @s.resource("test://static-binary", name="static-binary", title="Static binary", mime_type="image/png")
    def _(call: Call) -> bytes:
        """A picture that never changes"""
        call.set_cache(CACHE, shared=True)
        return RED_PIXEL

    s.provide(WATCHED, Watched(interval))

    @s.resource("test://template/{id}/data", name="template", title="Template", mime_type="application/json", complete={"id": ["1", "12", "123"]})
    def _(call: Call, id: str) -> str:
        """Data about an id"""
        call.set_cache(CACHE, shared=True)
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @s.resource("test://ask/{topic}", name="ask", title="Asking read", mime_type="text/plain")
    def _(call: Call, topic: str) -> str:
        """A text that the user is asked for when it is read"""
        r = call.ask_form("user_context", f'What should "{topic}" say?', CONTEXT)
        if r.action != "accept":
            raise Failure(Reason.FAILED_PRECONDITION, f"the user gave no text ({r.action})")
        return str(r.content["context"])


def add_prompts(s: Server) -> None:
    @s.prompt(title="Simple prompt")
    def test_simple_prompt() -> str:
        """A text"""
        return "This is a simple prompt for testing."

    @s.prompt(title="Prompt with arguments", complete={"arg1": ["paris", "park", "party"], "arg2": ["london", "lisbon"]})
    def test_prompt_with_arguments(
        arg1: Annotated[str, Field(description="First test argument")], arg2: Annotated[str, Field(description="Second test argument")]
    ) -> str:
        """A text with two arguments"""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @s.prompt(title="Prompt with a resource")
    def test_prompt_with_embedded_resource(
        resourceUri: Annotated[str, Field(description="URI of the resource to embed")],  # noqa: N803 (the suite's name)
    ) -> list[PromptMessage]:
        """An embedded resource and a text"""
        contents = text_contents("Embedded resource content for testing.", uri=resourceUri, mime_type="text/plain")
        return [message("user", embed(contents)), message("user", "Please process the embedded resource above.")]

    @s.prompt(title="Prompt with an image")
    def test_prompt_with_image() -> list[PromptMessage]:
        """An image and a text"""
        picture = image(RED_PIXEL, "image/png")
        return [message("user", picture), message("user", "Please analyze the image above.")]

    @s.prompt(title="Asking prompt")
    def test_input_required_result_prompt(call: Call) -> str:
        """A text that the user is asked about first"""
        r = call.ask_form("user_context", "What context should the prompt use?", CONTEXT)
        return f"Prompt with context: {r.content['context']}" if r.action == "accept" else f"Prompt without context ({r.action})"
