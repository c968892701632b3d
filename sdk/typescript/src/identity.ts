import { type Metadata, status } from "@grpc/grpc-js";
import { createRemoteJWKSet, customFetch, jwtVerify } from "jose";
import { messageOf, StatusError } from "./failure.js";
import { Principal } from "./gen/mcpedge/v1/common.js";

const identityMetadata = "mcp-identity";
/** The interval at which keys are fetched, and the minimum time between two fetches, in ms. */
const keysRefresh = 5 * 60_000;
const keysAgain = 1000;
/** How long keys are used if they cannot be fetched again, in ms. */
const keysKept = 60 * 60_000;
const keysTimeout = 5000; // ms

/**
 * Refuses work without an identity signed by the edge with UNAUTHENTICATED: call.principal is then the signed identity,
 * whatever the connection is. Lists and watches need none.
 */
export interface IdentityOptions {
  /** The URL of the edge's public keys: /.well-known/jwks.json on its admin address. */
  jwksUrl: string;
  /** The backend's name in the edge's settings, which have identity: signed. */
  audience: string;
}

/** Verifies the caller. */
export class Identities {
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;
  #tried = -Infinity;
  #failed: unknown;

  constructor(readonly options: IdentityOptions) {
    if (!options.jwksUrl || !options.audience) {
      throw new TypeError("identity needs jwksUrl, the URL of the edge's keys, and audience, the backend's name");
    }
    this.#keys = createRemoteJWKSet(new URL(options.jwksUrl), {
      timeoutDuration: keysTimeout,
      cooldownDuration: keysAgain,
      cacheMaxAge: keysKept,
      [customFetch]: (url, init) => this.#fetch(url, init),
    });
  }

  /** verify returns the caller of a call. Throws a status. */
  async verify(metadata: Metadata, callId: string): Promise<Principal> {
    const sent = metadata.get(identityMetadata);
    if (sent.length !== 1) {
      const problem = `the call has ${sent.length} identities (metadata ${identityMetadata})`;
      throw unauthenticated(`${problem}: have the edge sign one, with identity: signed of this backend`);
    }
    await this.#refresh();
    const claims = await this.#claims(String(sent[0]));
    if (!claims.txn || claims.txn !== callId) {
      throw unauthenticated("the identity is another call's: its txn is not the call_id");
    }
    return Principal.fromPartial({
      subject: claims.sub,
      issuer: claims.sub_id?.iss,
      scopes: String(claims.scope ?? "").match(/\S+/g) ?? [],
      roles: claims.roles,
      clientId: claims.client_id,
      actor: claims.act?.sub,
      subjectIsClient: claims.subject_is_client,
      claimsJson: Object.fromEntries(Object.entries(claims.claims ?? {}).map(([k, v]) => [k, JSON.stringify(v)])),
    });
  }

  async #claims(token: string): Promise<Record<string, any>> {
    try {
      const { payload } = await jwtVerify<Record<string, any>>(token, this.#keys, {
        audience: this.options.audience,
        typ: "mcp-identity+jwt",
        algorithms: ["EdDSA", "ES256", "ES384", "RS256"],
        requiredClaims: ["exp"],
        clockTolerance: 30,
      });
      return payload;
    } catch (error) {
      if (this.#keys.fresh) throw unauthenticated(`the identity of the call is not accepted: ${messageOf(error)}`);
      const why = `the keys of the edge, by which callers are known, cannot be read: ${messageOf(error)}`;
      throw new StatusError(status.UNAVAILABLE, why);
    }
  }

  /** Fetches the keys again when that is due. The present keys stay in use meanwhile, unless the last attempt is long ago. */
  async #refresh(): Promise<void> {
    const since = Date.now() - this.#tried;
    if (since < keysRefresh) return;
    const fetching = this.#keys.reload().catch((error: unknown) => void (this.#failed = error));
    if (since >= 2 * keysRefresh) await fetching;
  }

  /** Fetches the JWK Set (RFC 7517, section 5), unless that was tried a moment ago. Redirects are not followed. */
  async #fetch(url: string, init: RequestInit): Promise<Response> {
    if (Date.now() - this.#tried < keysAgain) throw this.#failed ?? new Error("they were fetched a moment ago");
    this.#tried = Date.now();
    return fetch(url, init);
  }
}

function unauthenticated(details: string): StatusError {
  return new StatusError(status.UNAUTHENTICATED, details);
}
