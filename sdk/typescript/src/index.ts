/** Makes a backend of MCP Edge from TypeScript functions: tools, resources and prompts for every MCP client. */
export { Call, type AnswersOf, InputRequired, type LogLevel } from "./call.js";
export type { Completer, Completers } from "./completion.js";
export type { Content, Resource, ResourceConfig, ResourceContents } from "./content.js";
export { audio, embed, image, link, text } from "./content.js";
export { Failure, type FailureOptions, lacksScopes, RawJson, type Reason } from "./failure.js";
export type { IdentityOptions } from "./identity.js";
export type { GetPromptResult, PromptArguments, PromptConfig, PromptMessage, PromptOutput } from "./prompts.js";
export { directoryType, type ResourceProvider, type Skill, type SkillFile } from "./providers.js";
export {
  Declined,
  Dismissed,
  type ElicitResult,
  form,
  formSchema,
  type FormSchema,
  type FormValue,
  listRoots,
  openUrl,
  Question,
  rawQuestion,
  type Root,
  sampling,
  Unanswered,
} from "./questions.js";
export type { ReadOutput, ReadResourceResult, ResourceOptions, TemplateOptions, Variables } from "./resources.js";
export { type Logger, stderrLogger } from "./run.js";
export type {
  ModelPreferences,
  SamplingContent,
  SamplingMessage,
  SamplingRequest,
  SamplingResult,
  ToolChoice,
} from "./sampling.js";
export type { Infer, InferInput, Schema } from "./schema.js";
export { type ProgramOptions, type ServeOptions, serve, type Serving, start, type TlsFiles } from "./serve.js";
export { register } from "./services.js";
export { Server, type ServerOptions } from "./server.js";
export { type CallToolResult, errorResult, Result, structured } from "./results.js";
export type { Arguments, RawToolConfig, TaskSupport, ToolAnnotations, ToolConfig, ToolOutput } from "./tools.js";
export type {
  Annotations,
  Bytes,
  ClientCapabilities,
  Encoded,
  Icon,
  Implementation,
  Principal,
  Replayed,
  Role,
} from "./types.js";
export { version } from "./version.js";
