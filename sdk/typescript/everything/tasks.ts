import { Failure, formSchema, type Server } from "@mcpedge/capability";
import { z } from "zod";
import { answered, nameForm } from "./asking.js";
import { pause, plain } from "./plain.js";
import { greeting } from "./rounds.js";

/** A form that accepts any text. */
const anyForm = `{"type":"object","properties":{"answer":{"type":"string","description":"Whatever there is to say"}}}`;
const atOnce = { mode: "optional", start: "at-once" } as const;
const required = { mode: "required" } as const;

/** Adds the fixtures of the scenarios about tasks. */
export function addTasks(server: Server): void {
  const name = z.object({ name: z.string().describe("Whom to greet") });
  const greet = { ...plain("Greets at once, and is never a task"), inputSchema: name };
  server.registerTool("greet", greet, ({ name }) => `Hello, ${name}!`);
  const inputSchema = z.object({
    seconds: z.number().min(0).max(3600).describe("How long to compute"),
    label: z.string().default("compute").describe("What the result is called"),
  });
  const compute = { ...plain("Takes as long as its argument says, and may be a task"), inputSchema, task: atOnce };
  server.registerTool("slow_compute", compute, async ({ seconds, label }, call) => {
    const began = Date.now();
    for (let past = 0; past < seconds; past = (Date.now() - began) / 1000) {
      call.progress(past, seconds, `Computing ${label}`);
      await pause(call.signal, Math.min(1000, (seconds - past) * 1000));
    }
    return `${label} was computed in ${seconds} s.`;
  });
  server.registerTool(
    "failing_job",
    { ...plain("Fails after a second, as a task"), task: required },
    async (_, call) => {
      await pause(call.signal, 1000);
      throw new Error("the job failed, as it always does");
    },
  );
  const broken = { ...plain("Ends with an error of the protocol, as a task"), task: required };
  server.registerTool("protocol_error_job", broken, () => {
    throw new Failure("Internal", "the job broke, as it always does");
  });
  const file = z.object({ filename: z.string().describe("The file to pretend to delete") });
  const remove = { ...plain("Asks before it pretends to delete a file, as a task"), inputSchema: file, task: atOnce };
  server.registerTool("confirm_delete", remove, async ({ filename }, call) => {
    const { action } = await call.askForm("confirm", `Delete ${filename}?`, anyForm);
    return action === "accept" ? `${filename} was deleted.` : `${filename} was kept: the user chose ${action}`;
  });
  const multi = { ...plain("Asks for a name and a color at once, as a task"), task: atOnce };
  server.registerTool("multi_input", multi, async (_, call) => {
    const color = formSchema("color", "Which color do you like?", anyForm);
    const both = await call.askAll(formSchema("name", "What is your name?", anyForm), color);
    return `Answers: ${both.map(answered).join("; ")}`;
  });
  const deferred = { mode: "required", start: "deferred" } as const;
  const asks = { ...plain("Asks for a name first, and greets it as a task"), task: deferred };
  server.registerTool("test_tool_with_task", asks, async (_, call) => {
    const text = greeting(await call.askForm("user_name", "What is your name?", nameForm));
    call.defer();
    return text;
  });
}
