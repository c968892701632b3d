import { status } from "@grpc/grpc-js";
import { createHash } from "node:crypto";
import { StatusError } from "./failure.js";
import type { MessageFns } from "./gen/mcpedge/v1/content.js";

const pageCount = 1000;
const pageBytes = 3 << 20; // receivers default to 4 MiB

/** Encodes messages of the contract. */
export type Encoder<E> = Pick<MessageFns<E>, "encode">;

/**
 * Cuts one page out of a list: by count, and by bytes (one item always goes). The token says where the page before ended
 * and after which key, so that entries that are added or removed between pages shift nothing. A bad token throws a status.
 */
export function page<E>(all: E[], key: (e: E) => string, type: Encoder<E>, token: string, size = 0) {
  const start = pageStart(all, key, token);
  const limit = size > 0 ? Math.min(size, pageCount) : pageCount;
  let end = start;
  for (let bytes = 0; end < all.length && end - start < limit; end++) {
    bytes += type.encode(all[end]!).finish().length + 8; // with its tag and length
    if (bytes > pageBytes && end > start) break;
  }
  const next = end < all.length ? `${end}-${keyHash(key(all[end - 1]!))}` : "";
  return { items: all.slice(start, end), next };
}

function pageStart<E>(all: E[], key: (e: E) => string, token: string): number {
  if (token === "") return 0;
  const match = /^([1-9][0-9]{0,8})-([0-9a-f]{16})$/.exec(token);
  if (!match) {
    const details = `page token ${JSON.stringify(token.slice(0, 40))} was not given by this list; start from the first page`;
    throw new StatusError(status.INVALID_ARGUMENT, details);
  }
  const offset = Number(match[1]);
  if (offset <= all.length && keyHash(key(all[offset - 1]!)) === match[2]) return offset;
  const found = all.findIndex((e) => keyHash(key(e)) === match[2]);
  // Where the last one is gone, those after it moved up by one.
  return found >= 0 ? found + 1 : Math.min(offset - 1, all.length);
}

function keyHash(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}
