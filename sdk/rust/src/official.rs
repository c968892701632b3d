//! Results in the JSON form of MCP, as rmcp and other libraries serialize them.

use crate::content::{Block, Content, PromptMessage};
use crate::failure::{Error, Failure, Reason};
use crate::prompts::{GetPromptResult, PromptOutput};
use crate::resources::ReadOutput;
use crate::tools::{CallToolResult, ToolOutput};
use crate::types::{Annotations, Body, Icon, ResourceContents, ResourceInfo, Role};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A result in the JSON form of MCP, such as a `CallToolResult`, `GetPromptResult` or `ReadResourceResult` of rmcp: it is returned as this
/// library's result of the same kind. Another value fails the call as INTERNAL, by name.
#[derive(Clone, Debug)]
pub struct Mcp<T>(pub T);

/// Arguments in a wrapper, as handlers of rmcp take them. It reads the same JSON as `T` itself.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent)]
pub struct Parameters<T>(pub T);

impl<T: Serialize + Send> ToolOutput for Mcp<T> {
    fn into_result(self) -> Result<CallToolResult, Error> {
        read::<ToolResult>("CallToolResult", &self.0)?.try_into().map_err(|e| wrong("CallToolResult", e))
    }
}

impl<T: Serialize + Send> PromptOutput for Mcp<T> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        let given: PromptResult = read("GetPromptResult", &self.0)?;
        let messages = given.messages.into_iter().map(|m| Ok(PromptMessage { role: role(&m.role)?, content: content(m.content)? }));
        let messages = messages.collect::<Result<_, String>>().map_err(|e| wrong("GetPromptResult", e))?;
        Ok(GetPromptResult { description: given.description.unwrap_or_default(), messages, meta: given.meta })
    }
}

impl<T: Serialize + Send> ReadOutput for Mcp<T> {
    fn into_contents(self, _: &str) -> Result<Vec<ResourceContents>, Error> {
        let given: ReadResult = read("ReadResourceResult", &self.0)?;
        given.contents.into_iter().map(contents).collect::<Result<_, String>>().map_err(|e| wrong("ReadResourceResult", e))
    }
}

fn wrong(name: &str, e: impl std::fmt::Display) -> Error {
    let message = format!("the value in Mcp is no {name} of MCP: {e}; return Json(value) for a value of your own");
    Failure::new(Reason::Internal, message).into()
}

fn read<R: for<'de> Deserialize<'de>>(name: &str, value: &impl Serialize) -> Result<R, Error> {
    let text = serde_json::to_string(value).map_err(|e| wrong(name, e))?;
    serde_json::from_str(&text).map_err(|e| wrong(name, e))
}

/// Refuses a value without a type in `Json` that is a result of MCP: its members would be published as structured content.
pub(crate) fn refuse_result(result: &CallToolResult) -> Result<(), Error> {
    let text = result.structured_content.as_ref().map_or("", |s| s.get());
    if !text.contains("\"content\"") {
        return Ok(());
    }
    let Ok(given) = serde_json::from_str::<ToolResult>(text) else { return Ok(()) };
    if given.content.as_ref().is_none_or(Vec::is_empty) || CallToolResult::try_from(given).is_err() {
        return Ok(());
    }
    let message = "the value in Json is a result of MCP, whose members would be structured content; return it as Mcp(value)";
    Err(Failure::new(Reason::Internal, message).into())
}

/// Returns why a type cannot be in `Json`, by its schema: it is a result of MCP.
pub(crate) fn mistake(schema: &Value) -> Option<String> {
    let has = |name: &str| schema["properties"].get(name).is_some();
    let is_result = has("content") && has("isError") && has("structuredContent");
    is_result.then(|| "its result is a CallToolResult in Json; return Mcp(result), or a CallToolResult of this library".to_string())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolResult {
    content: Option<Vec<Map<String, Value>>>,
    structured_content: Option<Box<RawValue>>,
    is_error: Option<bool>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
    #[serde(rename = "resultType")]
    _result_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptResult {
    description: Option<String>,
    messages: Vec<Message>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
    #[serde(rename = "resultType")]
    _result_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: String,
    content: Map<String, Value>,
}

#[derive(Deserialize)]
struct ReadResult {
    contents: Vec<Contents>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    uri: String,
    #[serde(default)]
    mime_type: String,
    text: Option<String>,
    blob: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    uri: String,
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    mime_type: String,
    size: Option<i64>,
    #[serde(default)]
    icons: Vec<LinkIcon>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkIcon {
    src: String,
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    sizes: Vec<String>,
    #[serde(default)]
    theme: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    #[serde(default)]
    audience: Vec<String>,
    priority: Option<f64>,
    #[serde(default)]
    last_modified: String,
}

impl TryFrom<ToolResult> for CallToolResult {
    type Error = String;

    fn try_from(given: ToolResult) -> Result<Self, String> {
        if given.content.is_none() && given.structured_content.is_none() {
            return Err("it has neither content nor structuredContent".to_string());
        }
        Ok(Self {
            content: given.content.into_iter().flatten().map(content).collect::<Result<_, _>>()?,
            structured_content: given.structured_content,
            is_error: given.is_error.unwrap_or_default(),
            meta: given.meta,
        })
    }
}

fn role(name: &str) -> Result<Role, String> {
    match name {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        other => Err(format!("the role {other:.40?} is neither user nor assistant")),
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|e| format!("data that is no base64: {e}"))
}

fn contents(given: Contents) -> Result<ResourceContents, String> {
    let body = match (given.text, given.blob) {
        (Some(text), None) => Body::Text(text),
        (None, Some(blob)) => Body::Blob(bytes(&blob)?),
        _ => return Err(format!("the contents of {:.80?} need either text or blob", given.uri)),
    };
    Ok(ResourceContents { uri: given.uri, mime_type: given.mime_type, body, meta: given.meta })
}

fn content(mut block: Map<String, Value>) -> Result<Content, String> {
    let meta = block.remove("_meta").filter(|m| !m.is_null());
    let annotations = match block.remove("annotations").filter(|a| !a.is_null()) {
        Some(given) => {
            let hints: Hints = serde_json::from_value(given).map_err(|e| format!("annotations: {e}"))?;
            let audience = hints.audience.iter().map(|name| role(name)).collect::<Result<_, _>>()?;
            Some(Annotations { audience, priority: hints.priority, last_modified: hints.last_modified })
        }
        None => None,
    };
    let text = |name: &str| {
        let member = block.get(name).and_then(Value::as_str);
        member.map(str::to_string).ok_or_else(|| format!("a content block without the text {name:?}"))
    };
    let kind = text("type")?;
    let block = match kind.as_str() {
        "text" => Block::Text(text("text")?),
        "image" => Block::Image { data: bytes(&text("data")?)?, mime_type: text("mimeType")? },
        "audio" => Block::Audio { data: bytes(&text("data")?)?, mime_type: text("mimeType")? },
        "resource_link" => {
            let link: Link = serde_json::from_value(Value::Object(block)).map_err(|e| format!("resource_link: {e}"))?;
            let icon = |i: LinkIcon| Icon { src: i.src, mime_type: i.mime_type, sizes: i.sizes, theme: i.theme };
            let Link { uri, name, title, description, mime_type, size, icons } = link;
            let icons = icons.into_iter().map(icon).collect();
            Block::Link(ResourceInfo { uri, name, title, description, mime_type, size, icons, annotations: None, meta: None })
        }
        "resource" => {
            let given = block.remove("resource").unwrap_or_default();
            Block::Resource(contents(serde_json::from_value(given).map_err(|e| format!("resource: {e}"))?)?)
        }
        other => return Err(format!("the content type {other:.40?} is none of text, image, audio, resource_link and resource")),
    };
    Ok(Content { block, annotations, meta })
}
