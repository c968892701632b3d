import { randomUUID } from "node:crypto";
import {
  type Call,
  type ElicitResult,
  Failure,
  formSchema,
  InputRequired,
  listRoots,
  type Root,
  sampling,
  type Server,
} from "@mcpedge/capability";
import { answered, asking, nameForm, said } from "./asking.js";
import { plain } from "./plain.js";

const colorForm = `{"type":"object","properties":{"color":{"type":"string","description":"A color"}},"required":["color"]}`;
const confirmForm = `{"type":"object","properties":{"ok":{"type":"boolean","description":"Whether to go on"}},"required":["ok"]}`;

const askName = () => formSchema("user_name", "What is your name?", nameForm);
const askCapital = () => sampling("capital_question", asking("What is the capital of France?", 100));
const askRoots = () => listRoots("client_roots");

/** Adds the fixtures of the multi-round scenarios; their keys are the suite's. */
export function addRounds(server: Server): void {
  const add = (name: string, description: string, handler: (call: Call) => Promise<string>) =>
    server.registerTool(`test_input_required_result_${name}`, plain(description), (_, call) => handler(call));
  add("elicitation", "Asks the user for a name", async (call) => greeting(await call.answer(askName())));
  add("sampling", "Asks the client's model for a capital", async (call) => {
    return `Sampling result: ${said(await call.answer(askCapital()))}`;
  });
  add("list_roots", "Asks for the client's roots", async (call) => rootsText(await call.answer(askRoots())));
  add("request_state", "Asks for a confirmation, and keeps a state meanwhile", confirmed("request-state:"));
  add(
    "tampered_state",
    "Asks for a confirmation, and keeps a state that must not be changed",
    confirmed("tamper-proof:"),
  );
  add("multiple_inputs", "Asks user, model and roots at once", askEverybody);
  add("multi_round", "Asks the user twice, the second time knowing the first answer", askTwice);
  add("capabilities", "Asks whatever the client can answer", askTheAble);
}

/** Greets the user by the name in the answer. */
export function greeting({ action, content }: ElicitResult): string {
  return action === "accept" ? `Hello, ${content?.name}!` : `No name was given (${action}).`;
}

function rootsText(roots: Root[]): string {
  return `Found ${roots.length} root(s): ${roots.map((r) => r.uri).join(", ")}`;
}

/** Asks by InputRequired, and ends when both the answer and its own state have arrived. */
function confirmed(mark: string) {
  return async (call: Call) => {
    const question = formSchema("confirm", "Please confirm", confirmForm);
    if (!call.state) throw new InputRequired({ state: Buffer.from(mark + randomUUID()), questions: [question] });
    if (!Buffer.from(call.state).toString().startsWith(mark)) {
      throw new Failure("InvalidArgument", "the state is not the one this tool gave");
    }
    return `state-ok: the state came back, ${answered(await call.answer(question))}`;
  };
}

async function askEverybody(call: Call): Promise<string> {
  await call.once("mark", () => `multiple-inputs:${randomUUID()}`);
  const hello = sampling("greeting", asking("Generate a greeting", 50));
  const [name, says, roots] = await call.askAll(askName(), hello, askRoots());
  return [greeting(name), said(says), rootsText(roots)].join("\n");
}

async function askTwice(call: Call): Promise<string> {
  call.setState(Buffer.from(`round-1:${randomUUID()}`));
  const first = await call.askForm("step1", "Step 1: What is your name?", nameForm);
  if (first.action !== "accept") return greeting(first);
  call.setState(Buffer.from(`round-2:${randomUUID()}`));
  const what = `Step 2: What is your favorite color, ${first.content?.name}?`;
  const second = await call.askForm("step2", what, colorForm);
  if (second.action !== "accept") return `${greeting(first)} No color was given (${second.action}).`;
  return `${greeting(first)} Your favorite color is ${second.content?.color}.`;
}

async function askTheAble(call: Call): Promise<string> {
  const can = call.clientCapabilities;
  const asked: Promise<string>[] = [];
  if (can.sampling) asked.push(call.answer(askCapital()).then(said));
  if (can.elicitation?.form) asked.push(call.answer(askName()).then(greeting));
  if (can.roots) asked.push(call.answer(askRoots()).then(rootsText));
  return [`The client was asked ${asked.length} question(s).`, ...(await Promise.all(asked))].join("\n");
}
