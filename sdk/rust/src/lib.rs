#![doc = include_str!("../README.md")]

mod answers;
mod base64;
mod call;
mod completion;
mod content;
mod events;
mod failure;
mod feed;
mod forms;
mod handler;
#[cfg(feature = "identity")]
pub mod identity;
mod log;
mod official;
mod page;
mod prompts;
mod providers;
mod questions;
mod registry;
mod resources;
mod rounds;
mod sampling;
mod schema;
mod serve;
mod server;
mod services;
#[cfg(feature = "skills")]
mod skillfolder;
pub mod skills;
mod template;
pub mod testing;
mod tools;
mod trace;
mod types;
mod wire;

/// The contract's messages and services, for the library and its tests.
#[doc(hidden)]
#[allow(clippy::all, rustdoc::all)]
pub mod contract {
    include!("gen/mcpedge.v1.rs");

    /// The contract's descriptors: an encoded google.protobuf.FileDescriptorSet.
    pub const DESCRIPTORS: &[u8] = include_bytes!("gen/descriptors.bin");
}

pub use base64::Base64;
pub use call::Call;
pub use content::{
    Block, Content, IntoContent, PromptMessage, audio, blob_contents, embed, image, link, message, raw_content, text, text_contents,
};
pub use failure::{DefinitionError, Error, Failure, InputRequired, Reason, Unanswered};
pub use handler::{Arguments, Handler, NoArguments};
pub use log::Logger;
/// Generates a tool of a function: `#[tool] async fn greet(…)` also defines `fn greet_tool() -> Tool`, for `Server::with`.
///
/// The function is async, or a plain one that does not block, and takes a [`Call`], a struct of arguments, both in this order, or nothing. Its
/// comment is the description. In an `impl` block it may take `&self`; `greet_tool` is then a method of an `Arc` of the type.
///
/// ```
/// # use mcpedge_capability::{Server, tool};
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// #[derive(Deserialize, JsonSchema)]
/// struct Greeting {
///     name: String,
/// }
///
/// /// Greets someone.
/// #[tool(read_only)]
/// async fn greet(g: Greeting) -> String {
///     format!("Hello, {}", g.name)
/// }
///
/// let server = Server::new("hello", "1.0.0").with(greet_tool());
/// # server.check().unwrap();
/// ```
///
/// Its options are `name`, `title` and `description`, which are texts, the flags `read_only`, `idempotent` and `allow_unknown_arguments`, and
/// `destructive = false` and `open_world = false`. The other options are methods of [`Tool`]: `greet_tool().tasks(Tasks::optional())`.
pub use mcpedge_capability_macros::tool;
pub use official::{Mcp, Parameters};
pub use prompts::{GetPromptResult, Prompt, PromptOutput};
pub use providers::{Changes, ResourceProvider, Watching};
pub use questions::{Action, ElicitResult, Question, Questions, form, form_schema, list_roots, open_url, raw_question, sampling};
pub use resources::{ReadOutput, Resource, ResourceTemplate};
pub use sampling::{CreateMessage, CreateMessageResult, ModelPreferences, SamplingContent, SamplingMessage, SamplingTool, sampling_text};
pub use serve::{Listener, TlsFiles};
pub use server::{Definition, Kind, Server};
#[doc(hidden)]
pub use services::Service;
pub use tonic::async_trait;
pub use tools::{CallToolResult, Json, Tasks, Tool, ToolOutput};
pub use types::{
    Annotations, Body, Bytes, ClientCapabilities, Icon, Implementation, Level, Principal, ResourceContents, ResourceInfo, Role, Root,
};
