import { setTimeout } from "node:timers/promises";

/** Returns the options of fixtures that may be called repeatedly. */
export function plain(description: string) {
  return {
    description,
    annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
  };
}

/** Waits for a time, or until the call ends. */
export async function pause(signal: AbortSignal, ms: number): Promise<void> {
  await setTimeout(ms, undefined, { signal });
}
