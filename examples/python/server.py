"""A tea house: a tool that asks its user and tells how it goes, a resource template and a prompt."""

import argparse
import asyncio
import json

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from opentelemetry import trace
from opentelemetry.instrumentation.grpc import aio_server_interceptor, filters
from opentelemetry.sdk.trace import TracerProvider

from mcpedge.v1 import backend_pb2, backend_pb2_grpc, common_pb2, content_pb2, input_pb2
from mcpedge.v1 import prompts_pb2, prompts_pb2_grpc, resources_pb2, resources_pb2_grpc, tools_pb2, tools_pb2_grpc

TEAS = {"assam": "strong and malty", "oolong": "between green and black", "sencha": "fresh and grassy"}
BASE = "tea://python/"
ASK = {"type": "object", "properties": {"cups": {"type": "integer", "minimum": 1, "maximum": 5}}, "required": ["cups"]}
ARGUMENTS = {"type": "object", "properties": {"tea": {"type": "string", "enum": list(TEAS)}}, "required": ["tea"]}
BREW = input_pb2.Tool(name="brew", description="Brews as many cups as asked", input_schema_json=json.dumps(ARGUMENTS))
LONG = {"type": "object", "properties": {"minutes": {"type": "integer", "minimum": 1}}, "required": ["minutes"]}
# A call that may become a task, and may be run again from its beginning when an edge is lost. That is all there is.
STEEP = input_pb2.Tool(name="steep", description="Steeps for minutes", input_schema_json=json.dumps(LONG))
STEEP.annotations.idempotent = True
STEEP.task_support.mode = input_pb2.TASK_MODE_OPTIONAL
MOOD = prompts_pb2.PromptArgument(name="mood", description="How the guest feels", required=True)
RECOMMEND = prompts_pb2.Prompt(name="recommend", description="Recommends a tea", arguments=[MOOD])


def failure(what):
    return common_pb2.Failure(reason=common_pb2.FAILURE_REASON_NOT_FOUND, message=f"there is no {what}")


async def page(entries, request, context):
    """Cuts the page that was asked for out of a list, and says how to ask for the next one."""
    if request.page_token and not request.page_token.isdecimal():
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"page token {request.page_token!r} was never given")
    start = int(request.page_token or 0)
    end = start + (request.page_size or len(entries))
    return entries[start:end], str(end) if end < len(entries) else ""


async def steep(minutes):
    """Takes long. When a task is cancelled, its call is, as any other."""
    try:
        for minute in range(1, minutes + 1):
            step = common_pb2.Progress(progress=minute, total=minutes, message=f"minute {minute} of {minutes}")
            yield tools_pb2.CallToolResponse(progress=step)
            await asyncio.sleep(0.25)
    except asyncio.CancelledError:
        print("steeping was cancelled", flush=True)
        raise
    steeped = json.dumps({"minutes": minutes})
    yield tools_pb2.CallToolResponse(result=tools_pb2.CallToolResult(structured_content_json=steeped))


async def watch(response):
    """A change feed of what never changes: it starts, and stays open."""
    yield response(started=tools_pb2.WatchStarted())
    await asyncio.Event().wait()


class Backend(backend_pb2_grpc.BackendServiceServicer):
    async def Describe(self, request, context):
        return backend_pb2.DescribeResponse(
            implementation=common_pb2.Implementation(name="teahouse-python", version="1.0.0"),
            tools=backend_pb2.ToolFeatures(list_changed=True),
            resources=backend_pb2.ResourceFeatures(list_changed=True, completion=True),
            prompts=backend_pb2.PromptFeatures(list_changed=True),
        )


class Tools(tools_pb2_grpc.ToolServiceServicer):
    async def ListTools(self, request, context):
        tools, token = await page([BREW, STEEP], request, context)
        return tools_pb2.ListToolsResponse(tools=tools, next_page_token=token)

    async def CallTool(self, request, context):
        if request.name == STEEP.name:
            async for event in steep(json.loads(request.arguments_json)["minutes"]):
                yield event
            return
        if request.name != BREW.name:
            yield tools_pb2.CallToolResponse(failure=failure(f"tool {request.name!r}"))
            return
        tea = json.loads(request.arguments_json)["tea"]
        answer = next((r.elicit for r in request.input_responses if r.key == "cups"), None)
        if answer is None:  # the first round: ask, and be called again with the answer
            form = input_pb2.ElicitForm(message=f"How many cups of {tea}?", requested_schema_json=json.dumps(ASK))
            ask = input_pb2.InputRequest(key="cups", elicit_form=form)
            yield tools_pb2.CallToolResponse(input_required=input_pb2.InputRequired(requests=[ask]))
            return
        cups = json.loads(answer.content_json)["cups"] if answer.action == input_pb2.ELICIT_ACTION_ACCEPT else 0
        for cup in range(1, cups + 1):
            step = common_pb2.Progress(progress=cup, total=cups, message=f"cup {cup} of {cups}")
            yield tools_pb2.CallToolResponse(progress=step)
            await asyncio.sleep(0.05)
        trace_id = trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)
        brewed = json.dumps({"tea": tea, "cups": cups, "trace": trace_id})
        yield tools_pb2.CallToolResponse(result=tools_pb2.CallToolResult(structured_content_json=brewed))

    def WatchTools(self, request, context):
        return watch(tools_pb2.WatchToolsResponse)


class Resources(resources_pb2_grpc.ResourceServiceServicer):
    async def ListResources(self, request, context):
        known = [content_pb2.Resource(uri=BASE + name, name=name, mime_type="text/plain") for name in TEAS]
        resources, token = await page(known, request, context)
        return resources_pb2.ListResourcesResponse(resources=resources, next_page_token=token)

    async def ListResourceTemplates(self, request, context):
        known = resources_pb2.ResourceTemplate(uri_template=BASE + "{name}", name="tea", mime_type="text/plain")
        templates, token = await page([known], request, context)
        return resources_pb2.ListResourceTemplatesResponse(resource_templates=templates, next_page_token=token)

    async def ReadResource(self, request, context):
        name = request.uri.removeprefix(BASE)
        if name not in TEAS:
            yield resources_pb2.ReadResourceResponse(failure=failure(f"resource {request.uri!r}"))
            return
        text = content_pb2.ResourceContents(uri=request.uri, mime_type="text/plain", text=f"{name} is {TEAS[name]}")
        yield resources_pb2.ReadResourceResponse(result=resources_pb2.ReadResourceResult(contents=[text]))

    async def CompleteResourceTemplate(self, request, context):
        values = [name for name in TEAS if name.startswith(request.argument_value)]
        return resources_pb2.CompleteResourceTemplateResponse(values=values, total=len(values))

    def WatchResources(self, request, context):
        return watch(resources_pb2.WatchResourcesResponse)


class Prompts(prompts_pb2_grpc.PromptServiceServicer):
    async def ListPrompts(self, request, context):
        prompts, token = await page([RECOMMEND], request, context)
        return prompts_pb2.ListPromptsResponse(prompts=prompts, next_page_token=token)

    async def GetPrompt(self, request, context):
        if request.name != RECOMMEND.name:
            yield prompts_pb2.GetPromptResponse(failure=failure(f"prompt {request.name!r}"))
            return
        text = f"Recommend one of {', '.join(TEAS)} to a guest who feels {request.arguments['mood']}."
        block = content_pb2.ContentBlock(text=content_pb2.TextContent(text=text))
        message = prompts_pb2.PromptMessage(role=common_pb2.ROLE_USER, content=block)
        yield prompts_pb2.GetPromptResponse(result=prompts_pb2.GetPromptResult(messages=[message]))

    def WatchPrompts(self, request, context):
        return watch(prompts_pb2.WatchPromptsResponse)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", default="127.0.0.1:50051")
    trace.set_tracer_provider(TracerProvider())  # add a span processor to export what is traced
    tracing = aio_server_interceptor(filter_=filters.negate(filters.health_check()))
    server = grpc.aio.server(interceptors=[tracing])
    serving = health.aio.HealthServicer()
    backend_pb2_grpc.add_BackendServiceServicer_to_server(Backend(), server)
    tools_pb2_grpc.add_ToolServiceServicer_to_server(Tools(), server)
    resources_pb2_grpc.add_ResourceServiceServicer_to_server(Resources(), server)
    prompts_pb2_grpc.add_PromptServiceServicer_to_server(Prompts(), server)
    health_pb2_grpc.add_HealthServicer_to_server(serving, server)
    await serving.set("", health_pb2.HealthCheckResponse.SERVING)
    server.add_insecure_port(parser.parse_args().listen)
    await server.start()
    await server.wait_for_termination()


asyncio.run(main())
