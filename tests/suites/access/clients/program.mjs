// What the clients have in common: the lines that they are told and answer (programs_test.go), and an OAuthClientProvider that
// keeps everything in memory.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

async function next() {
  const { value, done } = await lines.next();
  if (done) process.exit(0);
  return JSON.parse(value);
}

// login has the user log in by a link, and returns what came back to the client's page.
export async function login(link) {
  say({ login: String(link) });
  const { callback, error } = await next();
  if (error) throw new Error(error);
  return new URLSearchParams(callback);
}

// serve does what it is told by the functions connect, list and call, for as long as the program runs.
export async function serve(actions) {
  for (;;) {
    const command = await next();
    try {
      say({ ok: true, ...(await actions[command.do](command.tool)) });
    } catch (e) {
      console.error(e);
      say({ error: `${e.name}: ${e.message}` });
    }
  }
}

export const [edge, redirect, id] = process.argv.slice(2);

// Provider is a client that registers itself unless it has an id.
export class Provider {
  link; // where the user is to log in, once the SDK has said so
  #client = id ? { client_id: id } : undefined;
  #tokens;
  #verifier;

  get redirectUrl() { return redirect; }
  get clientMetadata() {
    return {
      client_name: "a test", redirect_uris: [redirect], token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
    };
  }
  clientInformation() { return this.#client; }
  saveClientInformation(client) { this.#client = client; }
  tokens() { return this.#tokens; }
  saveTokens(tokens) { this.#tokens = tokens; }
  redirectToAuthorization(link) { this.link = link; }
  saveCodeVerifier(verifier) { this.#verifier = verifier; }
  codeVerifier() { return this.#verifier; }
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "tokens") this.#tokens = undefined;
    if ((scope === "all" || scope === "client") && !id) this.#client = undefined;
  }
  // forgetRefreshToken has the next authorization be one by the user.
  forgetRefreshToken() { this.#tokens = { ...this.#tokens, refresh_token: undefined }; }
}
