import { type Metadata, status } from "@grpc/grpc-js";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from "jose";
import { messageOf, StatusError } from "./failure.js";
import { Principal } from "./gen/mcpedge/v1/common.js";

const identityMetadata = "mcp-identity";
/** How often, in ms, the keys are fetched, and the least time between two fetches. */
const keysRefresh = 5 * 60_000;
const keysAgain = 1000;
/** For how long, in ms, keys are used that cannot be fetched again. */
const keysKept = 60 * 60_000;
const keysTimeout = 5000; // ms
const keysBytes = 1 << 20;

/**
 * Has work refused, with UNAUTHENTICATED, that comes without a signed identity of the edge's: call.principal then is who it
 * says, whatever the connection is. Lists and watches need none.
 */
export interface IdentityOptions {
  /** Where the edge tells its public keys: /.well-known/jwks.json on its admin address. */
  jwksUrl: string;
  /** The backend's name in the edge's settings, which has identity: signed. */
  audience: string;
}

/** Verifies who is calling. */
export class Identities {
  #keys: { find: ReturnType<typeof createLocalJWKSet>; at: number } | undefined;
  #tried = -Infinity;
  #failed: unknown;
  #fetching: Promise<void> | undefined;

  constructor(readonly options: IdentityOptions) {
    if (!options.jwksUrl || !options.audience) {
      throw new TypeError("identity needs jwksUrl, the URL of the edge's keys, and audience, the backend's name");
    }
  }

  /** Who makes a call. Throws a status. */
  async verify(metadata: Metadata, callId: string): Promise<Principal> {
    const sent = metadata.get(identityMetadata);
    if (sent.length !== 1) {
      const problem = `the call has ${sent.length} identities (metadata ${identityMetadata})`;
      throw unauthenticated(`${problem}: have the edge sign one, with identity: signed of this backend`);
    }
    const token = String(sent[0]);
    let payload = await this.#payload(token, false);
    payload ??= await this.#payload(token, true);
    if (!payload)
      throw unauthenticated(`the identity is signed with a key that is not among those of ${this.options.jwksUrl}`);
    if (!payload.txn || payload.txn !== callId) {
      throw unauthenticated("the identity is another call's: its txn is not the call_id");
    }
    return principalOf(payload);
  }

  /** What a token says; undefined: its key is not known. */
  async #payload(token: string, fresh: boolean): Promise<JWTPayload | undefined> {
    const keys = await this.#known(fresh);
    try {
      const { payload } = await jwtVerify(token, keys, {
        audience: this.options.audience,
        typ: "mcp-identity+jwt",
        algorithms: ["EdDSA", "ES256", "ES384", "RS256"],
        requiredClaims: ["exp"],
        clockTolerance: 30,
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw unauthenticated(`the identity of the call is not accepted: ${messageOf(error)}`);
    }
  }

  /** The keys. Those that there are serve on while they are fetched anew, unless a fresh set is wanted. */
  async #known(fresh: boolean): Promise<ReturnType<typeof createLocalJWKSet>> {
    const age = () => Date.now() - (this.#keys?.at ?? -Infinity);
    if (fresh || age() >= keysRefresh) {
      const fetching = this.#fetch();
      if (fresh || age() >= 2 * keysRefresh) await fetching;
    }
    if (!this.#keys || age() >= keysKept) {
      const cause = messageOf(this.#failed);
      throw new StatusError(
        status.UNAVAILABLE,
        `the keys of the edge, by which callers are known, cannot be read: ${cause}`,
      );
    }
    return this.#keys.find;
  }

  /** Fetches the keys, unless that was tried a moment ago. Never rejects. */
  #fetch(): Promise<void> {
    if (this.#fetching || Date.now() - this.#tried < keysAgain) return this.#fetching ?? Promise.resolve();
    this.#tried = Date.now();
    this.#fetching = this.#read().then(
      (set) => void (this.#keys = { find: createLocalJWKSet(set), at: Date.now() }),
      (error: unknown) => void (this.#failed = error),
    );
    return this.#fetching.finally(() => (this.#fetching = undefined));
  }

  /** Reads the JWK Set (RFC 7517, section 5). Who redirects could give keys of its own. */
  async #read(): Promise<JSONWebKeySet> {
    const url = this.options.jwksUrl;
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(keysTimeout) });
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
    const text = await response.text();
    if (text.length > keysBytes) throw new Error(`${url} answers more than ${keysBytes} bytes`);
    const set = JSON.parse(text) as JSONWebKeySet;
    if (!Array.isArray(set.keys) || set.keys.length === 0) throw new Error(`${url} has no key that can be used`);
    return set;
  }
}

function unauthenticated(details: string): StatusError {
  return new StatusError(status.UNAUTHENTICATED, details);
}

/** The identity as the contract has it. */
function principalOf(payload: JWTPayload): Principal {
  const claims = payload as JWTPayload & {
    sub_id?: { iss?: string };
    scope?: string;
    roles?: string[];
    client_id?: string;
    act?: { sub?: string };
    claims?: Record<string, unknown>;
  };
  return Principal.fromPartial({
    subject: claims.sub,
    issuer: claims.sub_id?.iss,
    scopes: claims.scope?.split(/\s+/).filter(Boolean),
    roles: claims.roles,
    clientId: claims.client_id,
    actor: claims.act?.sub,
    claimsJson: Object.fromEntries(Object.entries(claims.claims ?? {}).map(([k, v]) => [k, JSON.stringify(v)])),
  });
}
