import { status } from "@grpc/grpc-js";
import { AssertionError } from "node:assert";
import { Failure as WireFailure, FailureReason } from "./gen/mcpedge/v1/common.js";
import { mustBeOneOf, mustKnow } from "./options.js";

const reasons = {
  InvalidArgument: [FailureReason.FAILURE_REASON_INVALID_ARGUMENT, status.INVALID_ARGUMENT],
  NotFound: [FailureReason.FAILURE_REASON_NOT_FOUND, status.NOT_FOUND],
  FailedPrecondition: [FailureReason.FAILURE_REASON_FAILED_PRECONDITION, status.FAILED_PRECONDITION],
  PermissionDenied: [FailureReason.FAILURE_REASON_PERMISSION_DENIED, status.PERMISSION_DENIED],
  ResourceExhausted: [FailureReason.FAILURE_REASON_RESOURCE_EXHAUSTED, status.RESOURCE_EXHAUSTED],
  Unavailable: [FailureReason.FAILURE_REASON_UNAVAILABLE, status.UNAVAILABLE],
  DeadlineExceeded: [FailureReason.FAILURE_REASON_DEADLINE_EXCEEDED, status.DEADLINE_EXCEEDED],
  Internal: [FailureReason.FAILURE_REASON_INTERNAL, status.INTERNAL],
} as const;

/** A value, or a promise of one. */
export type Awaitable<T> = T | Promise<T>;

/**
 * The reason of a failure. For a tool, the model sees InvalidArgument, FailedPrecondition and NotFound as a result with
 * `isError`; all others are protocol errors.
 */
export type Reason = keyof typeof reasons;

export interface FailureOptions extends ErrorOptions {
  /** Any JSON value for the error's `data`. */
  data?: unknown;
  /** With PermissionDenied, the OAuth scopes that the caller lacks: at most 32 of at most 256 bytes. */
  scopes?: string[];
}

/** Failure ends a call with a reason instead of a result. Its message is shown to the client. */
export class Failure extends Error {
  override name = "Failure";

  constructor(
    readonly reason: Reason,
    message: string,
    readonly options: FailureOptions = {},
  ) {
    super(message, options);
    mustBeOneOf("the reason of a Failure", reason, Object.keys(reasons));
    mustKnow("a Failure", options, { data: true, scopes: true, cause: true });
  }
}

/**
 * A failure for a caller that lacks these OAuth scopes: the client is asked to get an access token with them, and can
 * call again.
 */
export function lacksScopes(...scopes: string[]): Failure {
  const message = `this needs the scopes ${scopes.join(" ")}: get an access token that has them`;
  return new Failure("PermissionDenied", message, { scopes });
}

/** A gRPC status, which a handler's error may be: an error of a gRPC client has `code` and `details`. */
export type Status = Pick<StatusError, "code" | "details">;

export class StatusError extends Error {
  override name = "StatusError";
  constructor(
    readonly code: number,
    readonly details: string,
  ) {
    super(details);
  }
}

/** Converts a failure to a message of the contract. */
export function wireFailure({ reason, message, options: { data, scopes = [] } }: Failure): WireFailure {
  try {
    return { reason: reasons[reason][0], message, dataJson: data === undefined ? "" : encodeJson(data), scopes };
  } catch (error) {
    return wireFailure(new Failure("Internal", `${message} (and the failure's data is not JSON: ${messageOf(error)})`));
  }
}

/** reasonOf returns the name of a reason of the contract. */
export function reasonOf(reason: FailureReason): Reason {
  const found = Object.entries(reasons).find(([, [known]]) => known === reason);
  return found ? (found[0] as Reason) : "Internal";
}

/** A failure as a gRPC status, for unary RPCs. */
export function failureStatus(f: { reason: FailureReason; message: string }): Status {
  const found = Object.values(reasons).find(([reason]) => reason === f.reason);
  return { code: found?.[1] ?? status.INTERNAL, details: f.message };
}

export function statusOf(error: unknown): Status | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("details" in error)) return undefined;
  const { code, details } = error;
  const known = typeof code === "number" && code > 0 && code <= 16 && typeof details === "string";
  return known ? { code, details } : undefined;
}

/** The message of an error that means "not found"; undefined for other errors. */
export function notFound(thrown: unknown): string | undefined {
  if (thrown instanceof Failure) return thrown.reason === "NotFound" ? thrown.message : undefined;
  const known = statusOf(thrown);
  return known?.code === status.NOT_FOUND ? known.details : undefined;
}

/**
 * isFault reports whether a thrown value is a mistake in the program rather than an error that it reports: no Error, an
 * AssertionError, or one that the engine throws. Those of libraries have a code or a cause.
 */
export function isFault(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return true;
  if (thrown instanceof AssertionError) return true;
  const builtIn = [TypeError, ReferenceError, RangeError].some((type) => thrown.constructor === type);
  return builtIn && !("code" in thrown) && !("cause" in thrown);
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Throws, with the owner's name, unless the value is a function. */
export function mustBeFunction(owner: string, handler: unknown): void {
  if (typeof handler !== "function")
    throw new TypeError(`${owner}: its handler is no function: pass one, as () => "…"`);
}

/** A name from a request, quoted and bounded. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? name.slice(0, 200) + "…" : name);
}

export function noResource(uri: string): Failure {
  return new Failure("NotFound", `there is no resource ${quote(uri)}`);
}

/** A text of valid JSON that is sent unchanged, for values whose numbers must keep their text. */
export class RawJson {
  constructor(readonly text: string) {}
}

/**
 * JSON.stringify that fails for values that have no JSON, among them NaN, promises, bigints, maps and bytes, and keeps a RawJson
 * unchanged.
 */
export function encodeJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  const text: string | undefined = JSON.stringify(value, encodable);
  if (text === undefined) throw new Error(`a ${typeof value} is no JSON`);
  return text;
}

/** encodeJson whose error is a Failure that begins with what was to be encoded. */
export function encodedAs(what: string, value: unknown): string {
  try {
    return encodeJson(value);
  } catch (error) {
    throw new Failure("Internal", `${what}: ${messageOf(error)}`);
  }
}

/** Classes whose objects JSON.stringify converts to {} or a list of numbers, and what to use instead. */
const unencodable: [new (...args: never[]) => object, string, string][] = [
  [Promise, "promise", "await it"],
  [Map, "Map", "use Object.fromEntries(…)"],
  [Set, "Set", "use [...set]"],
  [Uint8Array, "Buffer", 'use its base64, toString("base64"), or content such as image(…)'],
];

/** encodable is a replacer for JSON.stringify that throws for values without JSON, with their member. */
function encodable(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const at = key === "" ? "" : ` at ${quote(key)}`;
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Error(`the number ${value}${at} is no JSON; use null or a text instead`);
  }
  if (typeof value === "bigint") throw new Error(`the bigint${at} is no JSON; use String(…), or Number(…)`);
  if (typeof value !== "object" || value === null) return value;
  const given = this[key]; // before toJSON, which a Buffer has
  for (const [type, name, instead] of unencodable) {
    if (given instanceof type) throw new Error(`the ${name}${at} is no JSON; ${instead}`);
  }
  return value;
}

/** Encodes an object as JSON; undefined is "". Throws for other values. */
export function encodeObject(what: string, value: object | undefined): string {
  if (value === undefined) return "";
  const text = encodeJson(value);
  if (!text.startsWith("{")) throw new TypeError(`${what} must be a JSON object, not ${text.slice(0, 80)}`);
  return text;
}
