import { Failure, type ReadOutput, type Resource, type ResourceProvider, type Server } from "@mcpedge/capability";
import { redPixel } from "./content.js";
import { contextForm } from "./prompts.js";

/** How long clients may cache contents that never change, in ms. */
const cacheTtl = 5 * 60_000;

/** @param interval how often test://watched-resource changes, in ms */
export function addResources(server: Server, interval: number): void {
  const text = { title: "Static text", description: "A text that never changes", mimeType: "text/plain" };
  server.registerResource("static-text", "test://static-text", text, (_, call) => {
    call.setCache(cacheTtl, { shared: true });
    return "This is the content of the static text resource.";
  });
  const binary = { title: "Static binary", description: "A picture that never changes", mimeType: "image/png" };
  server.registerResource("static-binary", "test://static-binary", binary, (_, call) => {
    call.setCache(cacheTtl, { shared: true });
    return redPixel;
  });
  server.provide(watchedUri, new Watched(interval));
  const template = {
    title: "Template",
    description: "Data about an id",
    mimeType: "application/json",
    complete: { id: ["1", "12", "123"] },
  };
  server.registerResourceTemplate("template", "test://template/{id}/data", template, (_, { id }, call) => {
    call.setCache(cacheTtl, { shared: true });
    return JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  });
  const description = "A text that the user is asked for when it is read";
  const ask = { title: "Asking read", description, mimeType: "text/plain" };
  server.registerResourceTemplate("ask", "test://ask/{topic}", ask, async (_, { topic }, call) => {
    const message = `What should ${JSON.stringify(topic)} say?`;
    const { action, content } = await call.askForm("user_context", message, contextForm);
    if (action !== "accept") throw new Failure("FailedPrecondition", `the user gave no text (${action})`);
    return String(content?.context);
  });
}

const watchedUri = "test://watched-resource";

/** A resource that changes by itself, while there are watchers. */
class Watched implements ResourceProvider {
  readonly began = Date.now();

  constructor(readonly interval: number) {}

  list(): Resource[] {
    const description = `A text that changes every ${this.interval} ms`;
    return [
      { uri: watchedUri, name: "watched-resource", title: "Watched resource", description, mimeType: "text/plain" },
    ];
  }

  read(uri: string): ReadOutput {
    if (uri !== watchedUri) return undefined;
    const version = Math.floor((Date.now() - this.began) / this.interval) + 1;
    return { text: `Watched resource content, version ${version}`, mimeType: "text/plain" };
  }

  watch(updated: (uri: string) => void): () => void {
    const timer = setInterval(() => updated(watchedUri), this.interval);
    return () => clearInterval(timer);
  }
}
