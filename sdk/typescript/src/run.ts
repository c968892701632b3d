import { status } from "@grpc/grpc-js";
import { type Call, InputRequired } from "./call.js";
import {
  type Awaitable,
  encodeJson,
  Failure,
  isFault,
  messageOf,
  type Status,
  statusOf,
  wireFailure,
} from "./failure.js";
import type { Failure as WireFailure } from "./gen/mcpedge/v1/common.js";
import type { InputRequired as WireInputRequired } from "./gen/mcpedge/v1/input.js";

/** How a round ended: with exactly one of these. */
export interface Outcome<R> {
  result?: R;
  inputRequired?: WireInputRequired;
  failure?: WireFailure;
  status?: Status;
}

/** Turns an error that says nothing of its kind into a result or a failure. */
export type Plain<R> = (error: Error, call: Call) => R | Failure;

/** The service's own log. */
export interface Logger {
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** One line of JSON for each message, to stderr. */
export const stderrLogger: Logger = { info: line("INFO"), warn: line("WARN"), error: line("ERROR") };

function line(level: string): (message: string, fields?: object) => void {
  return (msg, fields) => {
    process.stderr.write(encodeJson({ time: new Date().toISOString(), level, msg, ...fields }) + "\n");
  };
}

/**
 * Runs a handler for one round. A fault of the program is INTERNAL, with what it was in the log only.
 */
export async function run<R>(
  log: Logger,
  what: string,
  call: Call,
  handler: (call: Call) => Awaitable<R>,
  plain: Plain<R> = (error) => new Failure("Internal", error.message),
): Promise<Outcome<R>> {
  let ended: { value: R } | { thrown: unknown };
  try {
    ended = { value: await handler(call) };
  } catch (thrown) {
    ended = { thrown };
  }
  call.finish();
  try {
    const inputRequired = call.unanswered();
    if (inputRequired) return { inputRequired };
    if ("value" in ended) return { result: ended.value };
    if (ended.thrown instanceof InputRequired) return { inputRequired: call.required(ended.thrown) };
    return failed(log, what, call, ended.thrown, plain);
  } catch (thrown) {
    return { failure: wireFailure(thrown instanceof Failure ? thrown : fault(log, what, call, thrown)) };
  }
}

function failed<R>(log: Logger, what: string, call: Call, thrown: unknown, plain: Plain<R>): Outcome<R> {
  if (thrown instanceof Failure) return { failure: wireFailure(thrown) };
  if (call.signal.aborted) {
    const { reason } = call.signal;
    return { status: statusOf(reason) ?? { code: status.CANCELLED, details: messageOf(reason) } };
  }
  const known = statusOf(thrown);
  if (known) return { status: known };
  if (isFault(thrown)) return { failure: wireFailure(fault(log, what, call, thrown)) };
  const outcome = plain(thrown as Error, call);
  return outcome instanceof Failure ? { failure: wireFailure(outcome) } : { result: outcome };
}

function fault(log: Logger, what: string, call: Call, thrown: unknown): Failure {
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  log.error("a handler failed by a fault", { handler: what, call_id: call.id, error: messageOf(thrown), stack });
  return new Failure("Internal", `${what} failed by a fault of the service`);
}
