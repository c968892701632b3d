import { Failure } from "./failure.js";
import { Duration } from "./gen/google/protobuf/duration.js";
import { InputRequest, InputRequired, InputResponse } from "./gen/mcpedge/v1/input.js";
import { CallToolRequest } from "./gen/mcpedge/v1/tools.js";
import { unlessThrown } from "./schema.js";

const maxState = 64 << 10; // bytes, of one InputRequired
const maxRequests = 16; // of one InputRequired
const maxKey = 128; // bytes of a key
/** Begins the state that this package writes; the last byte is its version. */
const stateMark = Buffer.from("\0capability\x01");
/** Begins the keys of values of `once`; no question has such a key. */
const onceMark = "\0once:";

/** Whether an answer fits its question. */
export type Check = (response: InputResponse) => Promise<boolean>;

/** The answers of the client so far, the unanswered questions of this round, and the handler's own state. */
export class Answers {
  /** Accepted answers of earlier rounds, and values of `once`. */
  #kept: InputResponse[] = [];
  /** Questions without an answer. If there are any, the handler must end, and later questions end it again. */
  readonly missing = new Map<string, InputRequest>();
  state: Uint8Array | undefined;

  /** New answers, not checked yet. Clients cannot send values of `once`. */
  readonly #latest: InputResponse[];

  constructor(latest: InputResponse[] = [], memory: Buffer = Buffer.alloc(0)) {
    this.#latest = latest.filter(({ key }) => !key.startsWith(onceMark));
    if (memory.length === 0) return;
    // The fields of this message are just those of a memory: answers and a state.
    const marked = memory.subarray(0, stateMark.length).equals(stateMark);
    const loaded = marked && unlessThrown(() => CallToolRequest.decode(memory.subarray(stateMark.length)));
    if (!loaded) {
      const message = "the state of this call was written by another version of the service; call again from the start";
      throw new Failure("InvalidArgument", message);
    }
    this.#kept = loaded.inputResponses;
    this.state = loaded.state.length > 0 ? loaded.state : undefined;
  }

  /**
   * The answer to a key: one kept from earlier rounds first, so that a client cannot change it. A new one that
   * check accepts is kept.
   */
  async find(key: string, check: Check): Promise<InputResponse | undefined> {
    for (const r of [...this.#kept, ...this.#latest]) {
      if (r.key !== key || !(await check(r))) continue;
      this.#keep(r);
      return r;
    }
    return undefined;
  }

  #keep(response: InputResponse): void {
    this.#kept = [...this.#kept.filter((r) => r.key !== response.key), response];
  }

  /** The value of `once`, as JSON. */
  remembered(key: string): string | undefined {
    return this.#kept.find((r) => r.key === onceMark + key)?.rawJson;
  }

  remember(key: string, rawJson: string): void {
    this.#keep(InputResponse.fromPartial({ key: onceMark + key, rawJson }));
  }

  /** Returns the outcome with the questions, and the state for the next round. */
  required(requests: InputRequest[], options: { retryAfter?: number; repeatable?: boolean } = {}): InputRequired {
    if (requests.length > maxRequests) {
      throw new Failure("Internal", `${requests.length} questions in one round; ask at most ${maxRequests} at once`);
    }
    requests.forEach(({ key }, i) => {
      const named = JSON.stringify(key.slice(0, 40));
      const wrong = wrongKey("a question", key);
      if (wrong) throw new Failure("Internal", wrong);
      if (requests.findIndex((other) => other.key === key) !== i) {
        throw new Failure("Internal", `two questions of one round have the key ${named}; give each its own`);
      }
    });
    const { retryAfter, repeatable = false } = options;
    const wait = retryAfter ? wireDuration(retryAfter) : undefined;
    return { requests, state: this.memory(), repeatable, retryAfter: wait };
  }

  /** Returns the state for the next round; with all, it includes answers of this round that were not requested yet. */
  memory(all = false, state = this.state): Buffer {
    const late = all ? this.#latest.filter((r) => !this.#kept.some((o) => o.key === r.key)) : [];
    const held = { inputResponses: [...this.#kept, ...late], state: Buffer.from(state ?? []) };
    const memory = Buffer.concat([stateMark, CallToolRequest.encode(CallToolRequest.fromPartial(held)).finish()]);
    if (memory.length > maxState) {
      const what = `answers and state of this call have ${memory.length} bytes`;
      const most = `above the ${maxState} that survive a round; keep large data elsewhere, under call.id`;
      throw new Failure("Internal", `${what}, ${most}`);
    }
    return memory;
  }
}

/** Returns what is wrong with a key, undefined if it is valid. */
export function wrongKey(of: string, key: string): string | undefined {
  const bytes = Buffer.byteLength(key);
  if (bytes >= 1 && bytes <= maxKey && !key.startsWith("\0")) return undefined;
  return `the key of ${of} has 1 to ${maxKey} bytes, not ${bytes}: ${JSON.stringify(key.slice(0, 40))}`;
}

/** Converts milliseconds to a duration of the contract. */
export function wireDuration(ms: number): Duration {
  const whole = Math.trunc(ms);
  return { seconds: BigInt(Math.trunc(whole / 1000)), nanos: (whole % 1000) * 1e6 };
}
