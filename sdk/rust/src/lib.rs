#![doc = include_str!("../README.md")]

mod answers;
mod call;
mod completion;
mod content;
mod events;
mod failure;
mod feed;
mod forms;
mod handler;
mod log;
mod page;
mod prompts;
mod providers;
mod questions;
mod registry;
mod resources;
mod rounds;
mod schema;
mod serve;
mod server;
mod services;
mod template;
pub mod testing;
mod tools;
mod trace;

/// The contract's own messages, and the traits of its services. Their fields are public: make one with `..Default::default()`.
#[allow(clippy::all, rustdoc::all)]
pub mod contract {
    include!("gen/mcpedge.v1.rs");

    /// The contract's descriptors: an encoded google.protobuf.FileDescriptorSet.
    pub const DESCRIPTORS: &[u8] = include_bytes!("gen/descriptors.bin");
}

pub use call::Call;
pub use content::{Content, audio, blob_contents, embed, image, link, message, raw_content, sampling_text, text, text_contents};
pub use contract::{CallToolResult, CreateMessage, LogLevel as Level, PromptMessage, ResourceContents, Role};
pub use failure::{DefinitionError, Error, Failure, InputRequired, Reason, Refusal};
pub use handler::{Arguments, Handler, NoArguments};
pub use log::Logger;
pub use prompts::{Prompt, PromptOutput};
pub use providers::{Changes, ResourceProvider, Watching};
pub use questions::{Action, ElicitResult, Question, Questions, form, form_schema, list_roots, open_url, raw_question, sampling};
pub use resources::{ReadOutput, Resource, ResourceTemplate};
pub use serve::{Listener, TlsFiles};
pub use server::{Definition, Kind, Server};
pub use services::Service;
pub use tonic::async_trait;
pub use tools::{Json, Tasks, Tool, ToolOutput};
