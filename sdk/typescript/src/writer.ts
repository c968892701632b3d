import type { ServerWritableStream } from "@grpc/grpc-js";
import { LogLevel } from "./gen/mcpedge/v1/common.js";
import type { Event } from "./call.js";

/** The maximum number of pending log messages of a slow reader. Further ones are dropped, and their number is sent. */
const maxPendingLogs = 1000;

/**
 * Writes the events of one round to a stream. While its reader is slow, events wait: of progress and of checkpoints only the
 * last.
 */
export class EventWriter<Response> {
  #pending: Event[] = [];
  #dropped = 0;
  #blocked = false;

  constructor(
    readonly stream: Pick<ServerWritableStream<unknown, Response>, "write" | "on" | "end">,
    readonly response: (event: Event) => Response,
  ) {
    stream.on("drain", () => {
      this.#blocked = false;
      this.#flush();
    });
  }

  emit(event: Event): void {
    const superseded = ["progress", "checkpoint"].find((kind) => kind in event);
    if (superseded) this.#pending = this.#pending.filter((waiting) => !(superseded in waiting));
    if ("log" in event && this.#pending.filter((waiting) => "log" in waiting).length >= maxPendingLogs) this.#dropped++;
    else this.#pending.push(event);
    this.#flush();
  }

  /** Writes pending events while the reader is ready; with all, also if it is not. */
  #flush(all = false): void {
    while (this.#pending.length > 0 && (all || !this.#blocked)) this.#write(this.#pending.shift()!);
    if (this.#pending.length > 0 || this.#dropped === 0) return;
    const dataJson = JSON.stringify(`${this.#dropped} log messages were dropped: the client reads too slowly`);
    this.#dropped = 0;
    this.#write({ log: { level: LogLevel.LOG_LEVEL_WARNING, logger: "", dataJson, metaJson: "" } });
  }

  #write(event: Event): void {
    this.#blocked = !this.stream.write(this.response(event));
  }

  /** Writes pending events, then the outcome, and ends the stream. */
  end(outcome: Response): void {
    this.#flush(true);
    this.stream.write(outcome);
    this.stream.end();
  }
}
