import {
  ElicitAction,
  type InputRequest,
  InputResponse,
  SamplingContent as WirePiece,
} from "./gen/mcpedge/v1/input.js";
import { encodeJson } from "./failure.js";
import { wireRole } from "./content.js";
import type { JsonSchema } from "./schema.js";
import { pieceOf, roleOf } from "./received.js";
import { type SamplingMessage, wirePieces } from "./sampling.js";
import type { Root } from "./questions.js";

/**
 * The client's answer to a question: the result that a client of the official SDK returns for it, or the result of a raw
 * question. The content of an accepted form may be a single value if the form has one member.
 */
export type Answer =
  | { action: "accept" | "decline" | "cancel"; content?: object | string | number | boolean }
  | { content: SamplingMessage["content"]; role?: SamplingMessage["role"]; model?: string; stopReason?: string }
  | { roots: Root[] }
  | { result: unknown };

/** accepted answers as a user who completed a form, or agreed to open a URL (then without content). */
export function accepted(content?: object | string | number | boolean): Answer {
  return content === undefined ? { action: "accept" } : { action: "accept", content };
}

/** declined answers as a user who declined. */
export function declined(): Answer {
  return { action: "decline" };
}

/** dismissed answers as a user who closed the question. */
export function dismissed(): Answer {
  return { action: "cancel" };
}

/** sampled answers as a client's model that returns some text. */
export function sampled(text: string): Answer {
  return { role: "assistant", content: text, model: "test", stopReason: "endTurn" };
}

/** roots answers as a client with these roots. */
export function roots(...roots: Root[]): Answer {
  return { roots };
}

/** A question that the client got. */
export interface Asked {
  key: string;
  type: "form" | "url" | "sampling" | "roots" | "raw";
  /** The message of a form or a URL. */
  message?: string;
  /** The JSON Schema of a form. */
  schema?: JsonSchema;
  url?: string;
  /** The conversation for the client's model. */
  messages?: SamplingMessage[];
  /** A raw question: its method and params. */
  raw?: unknown;
}

/** askedOf converts a question. */
export function askedOf(q: InputRequest): Asked {
  const { key, elicitForm, elicitUrl, createMessage, listRoots } = q;
  if (elicitForm) {
    return { key, type: "form", message: elicitForm.message, schema: JSON.parse(elicitForm.requestedSchemaJson) };
  }
  if (elicitUrl) return { key, type: "url", message: elicitUrl.message, url: elicitUrl.url };
  if (createMessage) {
    const messages = createMessage.messages.map((m) => ({ role: roleOf(m.role), content: m.content.map(pieceOf) }));
    return { key, type: "sampling", messages };
  }
  if (listRoots) return { key, type: "roots" };
  return { key, type: "raw", raw: JSON.parse(q.rawJson ?? "null") };
}

const actions = {
  accept: ElicitAction.ELICIT_ACTION_ACCEPT,
  decline: ElicitAction.ELICIT_ACTION_DECLINE,
  cancel: ElicitAction.ELICIT_ACTION_CANCEL,
};

/** The member of an answer to each type of question, and how to write one. */
const fitting: Record<Asked["type"], { member: string; write: string }> = {
  form: { member: "action", write: "accepted({ … }), declined() or dismissed()" },
  url: { member: "action", write: "accepted(), declined() or dismissed()" },
  sampling: { member: "content", write: 'sampled("…")' },
  roots: { member: "roots", write: 'roots({ uri: "file:///…" })' },
  raw: { member: "result", write: "{ result: … }" },
};

/** wireAnswer converts an answer to a question. Throws if it is an answer to a question of another type. */
export function wireAnswer(asked: Asked, answer: Answer): InputResponse {
  const { key, type } = asked;
  const { member, write } = fitting[type];
  if (typeof answer !== "object" || !(member in answer) || (type === "sampling" && "action" in answer)) {
    throw new TypeError(`the answer to question ${JSON.stringify(key)}, which is of the type ${type}: write ${write}`);
  }
  if ("action" in answer) {
    if (!Object.hasOwn(actions, answer.action)) {
      throw new TypeError(`the answer to question ${JSON.stringify(key)} has no such action: write ${write}`);
    }
    return InputResponse.fromPartial({
      key,
      elicit: { action: actions[answer.action], contentJson: formJson(asked, answer.content) },
    });
  }
  if ("roots" in answer) return InputResponse.fromPartial({ key, listRoots: { roots: answer.roots } });
  if ("result" in answer) return InputResponse.fromPartial({ key, rawJson: encodeJson(answer.result) });
  const { role = "assistant", content, model = "test", stopReason = "endTurn" } = answer;
  const pieces: WirePiece[] = wirePieces(content);
  return InputResponse.fromPartial({
    key,
    createMessage: { role: wireRole(role), content: pieces, model, stopReason },
  });
}

/** Returns the JSON of a completed form; a single value is that of its only member. */
function formJson({ key, schema }: Asked, content: unknown): string {
  if (content === undefined) return "";
  if (typeof content === "object" && !Array.isArray(content)) return encodeJson(content);
  const [member, more] = Object.keys(schema?.properties ?? {});
  if (member === undefined || more !== undefined) {
    throw new TypeError(
      `the answer to question ${JSON.stringify(key)}: its form has several members: write accepted({ … })`,
    );
  }
  return encodeJson({ [member]: content });
}
