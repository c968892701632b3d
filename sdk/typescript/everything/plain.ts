import { setTimeout } from "node:timers/promises";

/** What fixtures are that may be called again and again. */
export function plain(description: string) {
  return {
    description,
    annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
  };
}

/** Waits, unless the call ends before. */
export async function pause(signal: AbortSignal, ms: number): Promise<void> {
  await setTimeout(ms, undefined, { signal });
}
