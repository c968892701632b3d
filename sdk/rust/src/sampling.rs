//! Requests to the client's model, and its answers.

use crate::content::Content;
use crate::types::Role;
use serde_json::Value;

/// A request to the client's model. MCP: sampling/createMessage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateMessage {
    pub messages: Vec<SamplingMessage>,
    /// The maximum length of the answer, in tokens.
    pub max_tokens: i64,
    /// The system prompt; empty uses the client's own.
    pub system_prompt: String,
    pub temperature: Option<f64>,
    pub stop_sequences: Vec<String>,
    pub model_preferences: Option<ModelPreferences>,
    /// `none`, `thisServer` or `allServers`; empty means `none`.
    pub include_context: String,
    /// Tools that the model may call.
    pub tools: Vec<SamplingTool>,
    /// `auto`, `required` or `none`; empty means `auto`.
    pub tool_choice: String,
    /// Metadata for the provider of the model, a JSON object.
    pub metadata: Option<Value>,
}

impl CreateMessage {
    /// Returns a prompt of the user, for an answer of at most `max_tokens`.
    pub fn new(prompt: impl Into<String>, max_tokens: i64) -> Self {
        Self { messages: vec![sampling_text(Role::User, prompt)], max_tokens, ..Self::default() }
    }
}

impl From<&str> for CreateMessage {
    /// A prompt of the user, for an answer of at most 1000 tokens.
    fn from(prompt: &str) -> Self {
        Self::new(prompt, 1000)
    }
}

impl From<String> for CreateMessage {
    /// A prompt of the user, for an answer of at most 1000 tokens.
    fn from(prompt: String) -> Self {
        Self::new(prompt, 1000)
    }
}

/// The preferences for a model; priorities are 0 to 1. MCP: ModelPreferences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelPreferences {
    /// Names of models or parts of them, the first preferred.
    pub hints: Vec<String>,
    pub cost_priority: Option<f64>,
    pub speed_priority: Option<f64>,
    pub intelligence_priority: Option<f64>,
}

/// A tool that the client's model may call while it answers. MCP: Tool.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingTool {
    pub name: String,
    pub description: String,
    /// A JSON Schema whose type is `object`.
    pub input_schema: Value,
}

/// A message of a conversation with the client's model. MCP: SamplingMessage.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingMessage {
    pub role: Role,
    pub content: Vec<SamplingContent>,
}

/// Content of a conversation with the client's model. MCP: SamplingMessageContentBlock.
#[derive(Clone, Debug, PartialEq)]
pub enum SamplingContent {
    Text(String),
    /// The raw bytes, not base64.
    Image {
        data: Vec<u8>,
        mime_type: String,
    },
    /// The raw bytes, not base64.
    Audio {
        data: Vec<u8>,
        mime_type: String,
    },
    /// A call of a tool by the model.
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    /// The result of such a call.
    ToolResult {
        tool_use_id: String,
        content: Vec<Content>,
        structured_content: Option<Value>,
        is_error: bool,
    },
    /// A complete block in MCP's form.
    Raw(Value),
}

/// Returns a message of plain text for a sampling request.
pub fn sampling_text(role: Role, value: impl Into<String>) -> SamplingMessage {
    SamplingMessage { role, content: vec![SamplingContent::Text(value.into())] }
}

/// The answer of the client's model. MCP: CreateMessageResult.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateMessageResult {
    pub role: Role,
    pub content: Vec<SamplingContent>,
    pub model: String,
    /// `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another of the provider.
    pub stop_reason: String,
}

impl CreateMessageResult {
    /// The text of the answer, one line for each block.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|c| match c {
            SamplingContent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
