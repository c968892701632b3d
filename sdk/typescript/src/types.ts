/** The author of a message. MCP: Role. */
export type Role = "user" | "assistant";

/** Raw bytes. A Buffer is a Uint8Array. */
export type Bytes = Uint8Array;

/** Raw bytes, or their base64 as in the official SDK. */
export type Encoded = Bytes | string;

/** An image that a client may show; src is an https: or data: URI. MCP: Icon. */
export interface Icon {
  src: string;
  mimeType?: string;
  /** Such as "48x48", or "any". */
  sizes?: string[];
  /** The background that it is made for, "light" or "dark". */
  theme?: string;
}

/** How a client should use an object. MCP: Annotations. */
export interface Annotations {
  audience?: Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** The ISO 8601 time of the last change. */
  lastModified?: string;
}

/** A program by its name and version. MCP: Implementation. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
}

/** The caller of a call. An empty subject means anonymous; texts are empty if the token has no such claim. */
export interface Principal {
  subject: string;
  issuer: string;
  scopes: string[];
  roles: string[];
  clientId: string;
  /** The party that acts for the subject (RFC 8693); empty if that is the subject itself. */
  actor: string;
  /** The subject is a program that calls for itself. */
  subjectIsClient: boolean;
  /** The claims of the token that the edge's setting `claims` of this backend names. */
  claims: Record<string, unknown>;
}

/** The type of a value after encoding as JSON and decoding: a Date is its text, and objects have no methods. */
export type Replayed<T> = 0 extends 1 & T
  ? T
  : T extends { toJSON(...args: any): infer R }
    ? Replayed<R>
    : T extends (...args: any) => unknown
      ? undefined
      : T extends object
        ? { [K in keyof T]: Replayed<T[K]> }
        : T;

/** The questions that a client supports; an absent member is not supported. MCP: ClientCapabilities. */
export interface ClientCapabilities {
  elicitation?: { form: boolean; url: boolean };
  sampling?: { context: boolean; tools: boolean };
  roots?: { listChanged: boolean };
  /** Settings of protocol extensions by their ids. */
  extensions: Record<string, unknown>;
}
