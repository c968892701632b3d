/** Makes a backend of MCP Edge from TypeScript functions: tools, resources and prompts for every MCP client. */
export { Call, type AnswersOf, InputRequired, type LogLevel } from "./call.js";
export type { Completer, Completers } from "./completion.js";
export {
  type Annotations,
  audio,
  type Bytes,
  type Content,
  embed,
  type Icon,
  image,
  link,
  type Resource,
  type ResourceContents,
  type Role,
  text,
} from "./content.js";
export { Failure, type FailureOptions, lacksScopes, RawJson, type Reason } from "./failure.js";
export type { ClientCapabilities, Implementation, Principal } from "./gen/mcpedge/v1/common.js";
export type { IdentityOptions } from "./identity.js";
export type { PromptArguments, PromptConfig, PromptMessage, PromptOutput } from "./prompts.js";
export { directoryType, type ResourceProvider, type Skill, type SkillFile } from "./providers.js";
export {
  Cancelled,
  Declined,
  type ElicitResult,
  form,
  formSchema,
  listRoots,
  openUrl,
  Question,
  rawQuestion,
  type Root,
  sampling,
} from "./questions.js";
export type { ReadOutput, ResourceConfig } from "./resources.js";
export { type Logger, stderrLogger } from "./run.js";
export type { SamplingContent, SamplingMessage, SamplingRequest, SamplingResult } from "./sampling.js";
export type { Infer, InferInput, Schema } from "./schema.js";
export { type ServeOptions, serve, type Serving, start, type TlsFiles } from "./serve.js";
export { register } from "./services.js";
export { Server, type ServerOptions } from "./server.js";
export { SkillFolder } from "./skillfolder.js";
export {
  type Arguments,
  errorResult,
  type RawToolConfig,
  Result,
  structured,
  type TaskSupport,
  type ToolAnnotations,
  type ToolConfig,
  type ToolOutput,
} from "./tools.js";
export { version } from "./version.js";
