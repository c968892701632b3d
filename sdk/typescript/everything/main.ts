/**
 * Serves the fixtures that the official conformance suite of the Model Context Protocol expects of a server, tasks and skills
 * included: one for each thing that it probes, under the name and with the answer it expects.
 */
import { fileURLToPath } from "node:url";
import { serve, Server } from "@mcpedge/capability";
import { SkillFolder } from "@mcpedge/capability/skills";
import { addAsking } from "./asking.js";
import { addChanges } from "./changes.js";
import { addContent } from "./content.js";
import { addPrompts } from "./prompts.js";
import { addResources } from "./resources.js";
import { addRounds } from "./rounds.js";
import { addRunning } from "./running.js";
import { addSchemas } from "./schemas.js";
import { addTasks } from "./tasks.js";

const server = new Server({
  name: "mcpedge-everything",
  version: "1.0.0",
  title: "Everything",
  description: "The fixtures of the official conformance suite.",
  instructions: "Fixtures for tests; nothing here does anything useful.",
  listCache: { ttl: 5 * 60_000, shared: true },
});
addContent(server);
addRunning(server, 3000);
addAsking(server);
addRounds(server);
addTasks(server);
addChanges(server);
addSchemas(server);
addResources(server, 3000);
addPrompts(server);
const skills = fileURLToPath(new URL("../../../tests/programs/conformance/skills", import.meta.url));
server.provide("skill://", await SkillFolder.open(skills, "skill://"));
await serve(server);
