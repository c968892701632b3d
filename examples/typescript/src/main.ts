// A tea house: a tool that asks its user and tells how it goes, a resource template and a prompt.
import "./tracing";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { trace } from "@opentelemetry/api";
import { HealthImplementation } from "grpc-health-check";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { BackendServiceHandlers } from "./gen/mcpedge/v1/BackendService";
import type { PromptServiceHandlers } from "./gen/mcpedge/v1/PromptService";
import type { ResourceServiceHandlers } from "./gen/mcpedge/v1/ResourceService";
import type { ToolServiceHandlers } from "./gen/mcpedge/v1/ToolService";

const teas = new Map([["assam", "strong and malty"], ["oolong", "between green and black"], ["sencha", "fresh and grassy"]]);
const names = [...teas.keys()];
const base = "tea://typescript/";
const args = { type: "object", properties: { tea: { type: "string", enum: names } }, required: ["tea"] };
const form = { type: "object", properties: { cups: { type: "integer", minimum: 1, maximum: 5 } }, required: ["cups"] };
const brew = { name: "brew", description: "Brews as many cups as asked", inputSchemaJson: JSON.stringify(args) };
const long = { type: "object", properties: { minutes: { type: "integer", minimum: 1 } }, required: ["minutes"] };
// A call that may become a task, and may be run again from its beginning when an edge is lost. That is all there is.
const steep = {
  name: "steep", description: "Steeps for minutes", inputSchemaJson: JSON.stringify(long),
  annotations: { idempotent: true }, taskSupport: { mode: "TASK_MODE_OPTIONAL" as const },
};
const mood = { name: "mood", description: "How the guest feels", required: true };

const missing = (what: string) => ({ reason: "FAILURE_REASON_NOT_FOUND" as const, message: `there is no ${what}` });

// A list: give cuts the page that was asked for out of all entries, and says how to ask for the next.
function list<T, R extends { pageToken: string; pageSize: number }, A>(all: T[], give: (page: T[], next: string) => A) {
  return ({ request }: { request: R }, answer: (error: Partial<grpc.StatusObject> | null, value?: A) => void) => {
    const start = Number(request.pageToken);
    if (!Number.isInteger(start) || start < 0) {
      return answer({ code: grpc.status.INVALID_ARGUMENT, details: `page token ${request.pageToken} was never given` });
    }
    const end = start + (request.pageSize || all.length);
    answer(null, give(all.slice(start, end), end < all.length ? String(end) : ""));
  };
}

// A change feed of what never changes: it starts, and stays open.
const watch = (call: { write(event: { started: object }): unknown }) => void call.write({ started: {} });

const backend: BackendServiceHandlers = {
  Describe: (_, answer) => answer(null, {
    implementation: { name: "teahouse-typescript", version: "1.0.0" },
    tools: { listChanged: true },
    resources: { listChanged: true, completion: true },
    prompts: { listChanged: true },
  }),
};

const tools: Partial<ToolServiceHandlers> = {
  ListTools: list([brew, steep], (tools, nextPageToken) => ({ tools, nextPageToken })),
  WatchTools: watch,
  async CallTool(call) {
    if (call.request.name === steep.name) {
      const { minutes } = JSON.parse(call.request.argumentsJson);
      call.on("cancelled", () => console.log("steeping was cancelled")); // when a task is cancelled, its call is
      for (let minute = 1; minute <= minutes && !call.cancelled; minute++) {
        call.write({ progress: { progress: minute, total: minutes, message: `minute ${minute} of ${minutes}` } });
        await setTimeout(250);
      }
      call.write({ result: { structuredContentJson: JSON.stringify({ minutes }) } });
      return call.end();
    }
    if (call.request.name !== brew.name) {
      call.write({ failure: missing(`tool ${call.request.name}`) });
      return call.end();
    }
    const { tea } = JSON.parse(call.request.argumentsJson);
    const answer = call.request.inputResponses.find((r) => r.key === "cups")?.elicit;
    if (!answer) { // the first round: ask, and be called again with the answer
      const elicitForm = { message: `How many cups of ${tea}?`, requestedSchemaJson: JSON.stringify(form) };
      call.write({ inputRequired: { requests: [{ key: "cups", elicitForm }] } });
      return call.end();
    }
    const cups = answer.action === "ELICIT_ACTION_ACCEPT" ? JSON.parse(answer.contentJson).cups : 0;
    for (let cup = 1; cup <= cups && !call.cancelled; cup++) {
      call.write({ progress: { progress: cup, total: cups, message: `cup ${cup} of ${cups}` } });
      await setTimeout(50);
    }
    const brewed = { tea, cups, trace: trace.getActiveSpan()?.spanContext().traceId };
    call.write({ result: { structuredContentJson: JSON.stringify(brewed) } });
    call.end();
  },
};

const known = names.map((name) => ({ uri: base + name, name, mimeType: "text/plain" }));
const template = { uriTemplate: `${base}{name}`, name: "tea", mimeType: "text/plain" };
const resources: Partial<ResourceServiceHandlers> = {
  ListResources: list(known, (resources, nextPageToken) => ({ resources, nextPageToken })),
  ListResourceTemplates: list([template], (resourceTemplates, nextPageToken) => ({ resourceTemplates, nextPageToken })),
  WatchResources: watch,
  ReadResource(call) {
    const { uri } = call.request;
    const name = names.find((name) => base + name === uri);
    const contents = [{ uri, mimeType: "text/plain", text: `${name} is ${teas.get(name ?? "")}` }];
    call.write(name ? { result: { contents } } : { failure: missing(`resource ${uri}`) });
    call.end();
  },
  CompleteResourceTemplate({ request }, answer) {
    const values = names.filter((name) => name.startsWith(request.argumentValue));
    answer(null, { values, total: values.length });
  },
};

const recommend = { name: "recommend", description: "Recommends a tea", arguments: [mood] };
const prompts: Partial<PromptServiceHandlers> = {
  ListPrompts: list([recommend], (prompts, nextPageToken) => ({ prompts, nextPageToken })),
  WatchPrompts: watch,
  GetPrompt(call) {
    const { name, arguments: given } = call.request;
    const text = `Recommend one of ${names.join(", ")} to a guest who feels ${given.mood}.`;
    const messages = [{ role: "ROLE_USER" as const, content: { text: { text } } }];
    call.write(name === recommend.name ? { result: { messages } } : { failure: missing(`prompt ${name}`) });
    call.end();
  },
};

const proto = join(__dirname, "../../../proto");
const files = ["backend", "tools", "resources", "prompts"].map((name) => `mcpedge/v1/${name}.proto`);
const loaded = loadSync(files, { includeDirs: [proto], enums: String, longs: Number, defaults: true, oneofs: true });
const server = new grpc.Server();
for (const [name, handlers] of Object.entries({ Backend: backend, Tool: tools, Resource: resources, Prompt: prompts })) {
  server.addService(loaded[`mcpedge.v1.${name}Service`] as grpc.ServiceDefinition, handlers as grpc.UntypedServiceImplementation);
}
new HealthImplementation({ "": "SERVING" }).addToServer(server);
const { listen } = parseArgs({ options: { listen: { type: "string", default: "127.0.0.1:50051" } } }).values;
server.bindAsync(listen, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
