import type { ServerWritableStream } from "@grpc/grpc-js";
import { LogLevel } from "./gen/mcpedge/v1/common.js";
import type { Event } from "./call.js";

/** How many log messages a slow reader may lag behind; those beyond are counted, and the count is sent. */
const maxPendingLogs = 1000;

/**
 * Writes the events of one round to a stream. While its reader is slow, events wait: of progress and of checkpoints only the
 * last.
 */
export class EventWriter<Response> {
  #pending: Event[] = [];
  #logs = 0;
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
    if (!this.#blocked && this.#pending.length === 0) {
      this.#blocked = !this.stream.write(this.response(event));
      return;
    }
    if ("progress" in event || "checkpoint" in event) {
      const kind = "progress" in event ? "progress" : "checkpoint";
      this.#pending = this.#pending.filter((waiting) => !(kind in waiting));
    } else if ("log" in event && this.#logs++ >= maxPendingLogs) {
      this.#dropped++;
      return;
    }
    this.#pending.push(event);
  }

  #flush(): void {
    while (!this.#blocked && this.#pending.length > 0) this.#write(this.#pending.shift()!);
    if (this.#pending.length === 0) this.#sayDropped();
  }

  #write(event: Event): void {
    if ("log" in event) this.#logs--;
    this.#blocked = !this.stream.write(this.response(event));
  }

  #sayDropped(): void {
    if (this.#dropped === 0) return;
    const dataJson = JSON.stringify(`${this.#dropped} log messages were dropped: the client reads too slowly`);
    this.#dropped = this.#logs = 0;
    this.#write({ log: { level: LogLevel.LOG_LEVEL_WARNING, logger: "", dataJson, metaJson: "" } });
  }

  /** Writes what waits, then the outcome, and ends the stream. */
  end(outcome: Response): void {
    for (const event of this.#pending.splice(0)) this.#write(event);
    this.#sayDropped();
    this.stream.write(outcome);
    this.stream.end();
  }
}
