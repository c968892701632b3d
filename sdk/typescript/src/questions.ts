import { type Awaitable, encodeObject } from "./failure.js";
import { fitting, mustBeFlat } from "./forms.js";
import type { InputRequest, InputResponse } from "./gen/mcpedge/v1/input.js";
import { samplingResultOf } from "./received.js";
import { type SamplingRequest, type SamplingResult, wireSampling } from "./sampling.js";
import { type Infer, jsonSchema, type JsonSchema, parsed, type Schema, schemaText, valid } from "./schema.js";

/** The user gave no answer: Declined or Dismissed. */
export class Unanswered extends Error {
  override name = "Unanswered";
}

/** The user declined. */
export class Declined extends Unanswered {
  override name = "Declined";
  override message = "the user declined to answer";
}

/** The user closed the question without a choice, or the client could not show it. */
export class Dismissed extends Unanswered {
  override name = "Dismissed";
  override message = "the user dismissed the question";
}

/** The user's answer to a form or a URL. MCP: ElicitResult. */
export interface ElicitResult {
  action: "accept" | "decline" | "cancel";
  /** The completed form, if the action is "accept" for a form. */
  content?: Record<string, unknown>;
  /** The content as JSON text, as the client sent it. */
  contentJson?: string;
}

/** A directory or file the client works on. MCP: Root. */
export interface Root {
  uri: string;
  name?: string;
}

/** Unfit marks an answer that does not fit its question. */
class Unfit extends Error {}

/** fit returns a required part of an answer. Throws Unfit if it is undefined. */
function fit<T>(part: T | undefined): T {
  if (part === undefined) throw new Unfit();
  return part;
}

/** A question to the client, under a key that is unique within the call, with an answer of type T. */
export class Question<T> {
  /** The type of the answer, for the compiler only. */
  declare readonly "~answer": T;
  /** @internal */ readonly request: InputRequest;
  /** @internal Rejects with Unanswered or with Unfit. */
  readonly parse: (response: InputResponse) => Awaitable<T>;

  /** @internal */
  constructor(key: string, asked: Partial<InputRequest>, parse: (response: InputResponse) => Awaitable<T>) {
    this.request = { ...asked, key };
    this.parse = parse;
  }

  /** @internal Returns whether an answer is valid, as a declined question is. */
  async fits(response: InputResponse): Promise<boolean> {
    try {
      await this.parse(response);
    } catch (error) {
      return !(error instanceof Unfit);
    }
    return true;
  }
}

/** The types of a form's members in MCP. */
export type FormValue = string | number | boolean | string[] | undefined;

/** The schema of a form: of an object of strings, numbers, booleans, enums and arrays of enums, or of one of those. */
export type FormSchema = Schema<FormValue | { [member: string]: FormValue }, any>;

/**
 * Asks the user to complete a form. A schema that is not of an object makes a form with one member, named as the key, whose value is
 * the answer. Throws for a form that no client can show; a question that is created when a module is loaded is refused at that time.
 */
export function form<S extends FormSchema>(key: string, message: string, schema: S): Question<Infer<S>> {
  const owner = `question ${JSON.stringify(key)}`;
  const json = jsonSchema(owner, schema, "input");
  const whole = json.type === "object";
  const asked = whole ? { properties: {}, ...json } : { type: "object", properties: { [key]: json }, required: [key] };
  mustBeFlat(owner, asked);
  return new Question(key, formOf(message, JSON.stringify(asked)), async (response) => {
    const result = elicited(response);
    if (result.action === "decline") throw new Declined();
    if (result.action === "cancel") throw new Dismissed();
    return valid(schema, whole ? result.content : result.content?.[key], (issues) => new Unfit(issues));
  });
}

/** Asks the user to complete a form by a flat JSON Schema; a text is sent unchanged. The answer has the action of the user. */
export function formSchema(key: string, message: string, schema: string | object): Question<ElicitResult> {
  const owner = `question ${JSON.stringify(key)}`;
  const text = schemaText(`the form of ${owner}`, schema);
  const json = JSON.parse(text) as JsonSchema;
  const fits = fitting(owner, json);
  mustBeFlat(owner, json);
  return new Question(key, formOf(message, text), (response) => {
    const result = elicited(response);
    if (result.action === "accept" && !fits(result.content)) throw new Unfit();
    return result;
  });
}

/** Asks the user to open an https: URL. "accept" means that the user agreed to open it, not that the page was completed. */
export function openUrl(key: string, message: string, url: string): Question<ElicitResult> {
  return new Question(key, { elicitUrl: { message, url, metaJson: "" } }, elicited);
}

/** Asks the client's model. */
export function sampling(key: string, request: SamplingRequest): Question<SamplingResult> {
  return new Question(key, { createMessage: wireSampling(`question ${JSON.stringify(key)}`, request) }, (response) => {
    if (!response.createMessage?.content.length) throw new Unfit();
    return samplingResultOf(response.createMessage);
  });
}

/** Asks for the directories and files the client works on; there may be none. */
export function listRoots(key: string): Question<Root[]> {
  const read = ({ uri, name }: Root): Root => ({ uri, name });
  return new Question(key, { listRoots: {} }, ({ listRoots }) => fit(listRoots).roots.map(read));
}

/** Any other request that the client may support. The answer is the client's result. */
export function rawQuestion(key: string, request: { method: string; params?: object }): Question<unknown> {
  const rawJson = encodeObject("a raw question", request);
  return new Question(key, { rawJson }, (response) => fit(parsed(response.rawJson ?? "")));
}

function formOf(message: string, requestedSchemaJson: string): Partial<InputRequest> {
  return { elicitForm: { message, requestedSchemaJson, metaJson: "" } };
}

const actions = [undefined, "accept", "decline", "cancel"] as const; // in the order of ElicitAction

function elicited({ elicit }: InputResponse): ElicitResult {
  const action = fit(actions[elicit?.action ?? 0]);
  const contentJson = elicit?.contentJson;
  if (action !== "accept" || !contentJson) return { action };
  return { action, content: fit(parsed(contentJson)) as ElicitResult["content"], contentJson };
}
