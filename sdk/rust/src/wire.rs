//! Converts the library's types from and to the contract's messages.

use crate::content::{Block, Content, PromptMessage};
use crate::contract::{self, content_block, resource_contents, sampling_content};
use crate::failure::{Failure, Reason};
use crate::prompts::GetPromptResult;
use crate::sampling::{CreateMessage, CreateMessageResult, SamplingContent, SamplingMessage};
use crate::tools::CallToolResult;
use crate::types::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The text of optional JSON; empty if there is none.
fn json(value: Option<Value>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// Optional JSON of a text; `None` if it is empty.
fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn object(texts: impl IntoIterator<Item = (String, String)>) -> Map<String, Value> {
    texts.into_iter().filter_map(|(name, text)| Some((name, value(&text)?))).collect()
}

impl Role {
    pub(crate) fn into_wire(self) -> contract::Role {
        match self {
            Self::User => contract::Role::User,
            Self::Assistant => contract::Role::Assistant,
        }
    }

    pub(crate) fn from_wire(role: contract::Role) -> Self {
        if role == contract::Role::User { Self::User } else { Self::Assistant }
    }
}

impl Level {
    pub(crate) fn from_wire(level: contract::LogLevel) -> Option<Self> {
        use contract::LogLevel as L;
        Some(match level {
            L::Unspecified => return None,
            L::Debug => Self::Debug,
            L::Info => Self::Info,
            L::Notice => Self::Notice,
            L::Warning => Self::Warning,
            L::Error => Self::Error,
            L::Critical => Self::Critical,
            L::Alert => Self::Alert,
            L::Emergency => Self::Emergency,
        })
    }
}

impl Reason {
    pub(crate) fn into_wire(self) -> contract::FailureReason {
        use contract::FailureReason as R;
        match self {
            Self::InvalidArgument => R::InvalidArgument,
            Self::NotFound => R::NotFound,
            Self::FailedPrecondition => R::FailedPrecondition,
            Self::PermissionDenied => R::PermissionDenied,
            Self::ResourceExhausted => R::ResourceExhausted,
            Self::Unavailable => R::Unavailable,
            Self::DeadlineExceeded => R::DeadlineExceeded,
            Self::Internal => R::Internal,
        }
    }

    pub(crate) fn from_wire(reason: contract::FailureReason) -> Self {
        use contract::FailureReason as R;
        match reason {
            R::InvalidArgument => Self::InvalidArgument,
            R::NotFound => Self::NotFound,
            R::FailedPrecondition => Self::FailedPrecondition,
            R::PermissionDenied => Self::PermissionDenied,
            R::ResourceExhausted => Self::ResourceExhausted,
            R::Unavailable => Self::Unavailable,
            R::DeadlineExceeded => Self::DeadlineExceeded,
            R::Internal | R::Unspecified => Self::Internal,
        }
    }
}

impl Failure {
    pub(crate) fn into_wire(self) -> contract::Failure {
        let (data_json, scopes) = (self.data_json().to_string(), self.scopes().to_vec());
        contract::Failure { reason: self.reason.into_wire().into(), message: self.message, data_json, scopes }
    }

    pub(crate) fn from_wire(f: contract::Failure) -> Self {
        Self::with(Reason::from_wire(f.reason()), f.message, f.data_json, f.scopes)
    }
}

impl Icon {
    pub(crate) fn into_wire(self) -> contract::Icon {
        contract::Icon { src: self.src, mime_type: self.mime_type, sizes: self.sizes, theme: self.theme }
    }

    fn from_wire(i: contract::Icon) -> Self {
        Self { src: i.src, mime_type: i.mime_type, sizes: i.sizes, theme: i.theme }
    }
}

impl Annotations {
    pub(crate) fn into_wire(self) -> contract::Annotations {
        let audience = self.audience.into_iter().map(|r| r.into_wire().into()).collect();
        contract::Annotations { audience, priority: self.priority, last_modified: self.last_modified }
    }

    fn from_wire(a: contract::Annotations) -> Self {
        Self { audience: a.audience().map(Role::from_wire).collect(), priority: a.priority, last_modified: a.last_modified }
    }
}

impl Implementation {
    pub(crate) fn into_wire(self) -> contract::Implementation {
        let icons = self.icons.into_iter().map(Icon::into_wire).collect();
        let Self { name, version, title, description, website_url, .. } = self;
        contract::Implementation { name, version, title, description, website_url, icons }
    }

    pub(crate) fn from_wire(i: contract::Implementation) -> Self {
        let icons = i.icons.into_iter().map(Icon::from_wire).collect();
        let contract::Implementation { name, version, title, description, website_url, .. } = i;
        Self { name, version, title, description, website_url, icons }
    }
}

impl Principal {
    pub(crate) fn into_wire(self) -> contract::Principal {
        let claims_json = self.claims.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        let Self { subject, issuer, scopes, roles, client_id, actor, subject_is_client, .. } = self;
        contract::Principal { subject, issuer, scopes, roles, client_id, actor, subject_is_client, claims_json }
    }

    pub(crate) fn from_wire(p: contract::Principal) -> Self {
        let contract::Principal { subject, issuer, scopes, roles, client_id, actor, subject_is_client, claims_json } = p;
        Self { subject, issuer, scopes, roles, client_id, actor, subject_is_client, claims: object(claims_json) }
    }
}

impl ClientCapabilities {
    pub(crate) fn into_wire(self) -> contract::ClientCapabilities {
        let elicitation = contract::ElicitationCapability { form: self.form, url: self.url, ..Default::default() };
        let (context, tools) = (self.sampling_context, self.sampling_tools);
        contract::ClientCapabilities {
            elicitation: (self.form || self.url).then_some(elicitation),
            sampling: self.sampling.then(|| contract::SamplingCapability { context, tools, ..Default::default() }),
            roots: self.roots.then(contract::RootsCapability::default),
            extensions_json: self.extensions.into_iter().map(|(name, value)| (name, value.to_string())).collect(),
            ..Default::default()
        }
    }

    pub(crate) fn from_wire(c: contract::ClientCapabilities) -> Self {
        Self {
            form: c.elicitation.as_ref().is_some_and(|e| e.form),
            url: c.elicitation.as_ref().is_some_and(|e| e.url),
            sampling: c.sampling.is_some(),
            sampling_context: c.sampling.as_ref().is_some_and(|s| s.context),
            sampling_tools: c.sampling.as_ref().is_some_and(|s| s.tools),
            roots: c.roots.is_some(),
            extensions: object(c.extensions_json),
        }
    }
}

impl Root {
    pub(crate) fn into_wire(self) -> contract::Root {
        contract::Root { uri: self.uri, name: self.name, meta_json: json(self.meta) }
    }

    pub(crate) fn from_wire(r: contract::Root) -> Self {
        Self { meta: value(&r.meta_json), uri: r.uri, name: r.name }
    }
}

impl ResourceInfo {
    pub(crate) fn into_wire(self) -> contract::Resource {
        let annotations = self.annotations.map(Annotations::into_wire);
        let icons = self.icons.into_iter().map(Icon::into_wire).collect();
        let Self { uri, name, title, description, mime_type, size, .. } = self;
        contract::Resource { uri, name, title, description, mime_type, size, annotations, icons, meta_json: json(self.meta) }
    }

    pub(crate) fn from_wire(r: contract::Resource) -> Self {
        let annotations = r.annotations.map(Annotations::from_wire);
        let icons = r.icons.into_iter().map(Icon::from_wire).collect();
        let contract::Resource { uri, name, title, description, mime_type, size, meta_json, .. } = r;
        Self { uri, name, title, description, mime_type, size, annotations, icons, meta: value(&meta_json) }
    }
}

impl ResourceContents {
    pub(crate) fn into_wire(self) -> contract::ResourceContents {
        let body = match self.body {
            Body::Text(text) => resource_contents::Body::Text(text),
            Body::Blob(data) => resource_contents::Body::Blob(data),
        };
        contract::ResourceContents { uri: self.uri, mime_type: self.mime_type, body: Some(body), meta_json: json(self.meta) }
    }

    pub(crate) fn from_wire(c: contract::ResourceContents) -> Self {
        let body = match c.body {
            Some(resource_contents::Body::Text(text)) => Body::Text(text),
            Some(resource_contents::Body::Blob(data)) => Body::Blob(data),
            None => Body::Blob(Vec::new()),
        };
        Self { uri: c.uri, mime_type: c.mime_type, body, meta: value(&c.meta_json) }
    }
}

impl Content {
    pub(crate) fn into_wire(self) -> contract::ContentBlock {
        use content_block::Content as Kind;
        let kind = match self.block {
            Block::Text(text) => Kind::Text(contract::TextContent { text }),
            Block::Image { data, mime_type } => Kind::Image(contract::ImageContent { data, mime_type }),
            Block::Audio { data, mime_type } => Kind::Audio(contract::AudioContent { data, mime_type }),
            Block::Link(resource) => Kind::ResourceLink(resource.into_wire()),
            Block::Resource(contents) => Kind::Resource(contents.into_wire()),
            Block::Raw(block) => Kind::RawJson(block.to_string()),
        };
        let annotations = self.annotations.map(Annotations::into_wire);
        contract::ContentBlock { content: Some(kind), annotations, meta_json: json(self.meta) }
    }

    pub(crate) fn from_wire(c: contract::ContentBlock) -> Self {
        use content_block::Content as Kind;
        let block = match c.content {
            Some(Kind::Text(t)) => Block::Text(t.text),
            Some(Kind::Image(i)) => Block::Image { data: i.data, mime_type: i.mime_type },
            Some(Kind::Audio(a)) => Block::Audio { data: a.data, mime_type: a.mime_type },
            Some(Kind::ResourceLink(r)) => Block::Link(ResourceInfo::from_wire(r)),
            Some(Kind::Resource(r)) => Block::Resource(ResourceContents::from_wire(r)),
            Some(Kind::RawJson(text)) => Block::Raw(value(&text).unwrap_or_default()),
            None => Block::Raw(Value::Null),
        };
        Self { block, annotations: c.annotations.map(Annotations::from_wire), meta: value(&c.meta_json) }
    }
}

impl CallToolResult {
    pub(crate) fn into_wire(self) -> contract::CallToolResult {
        contract::CallToolResult {
            content: self.content.into_iter().map(Content::into_wire).collect(),
            structured_content_json: self.structured_content.map(|s| Box::<str>::from(s).into()).unwrap_or_default(),
            is_error: self.is_error,
            meta_json: json(self.meta),
        }
    }

    pub(crate) fn from_wire(r: contract::CallToolResult) -> Self {
        Self {
            content: r.content.into_iter().map(Content::from_wire).collect(),
            structured_content: RawValue::from_string(r.structured_content_json).ok(),
            is_error: r.is_error,
            meta: value(&r.meta_json),
        }
    }
}

impl GetPromptResult {
    pub(crate) fn into_wire(self) -> contract::GetPromptResult {
        let message = |m: PromptMessage| contract::PromptMessage { role: m.role.into_wire().into(), content: Some(m.content.into_wire()) };
        let messages = self.messages.into_iter().map(message).collect();
        contract::GetPromptResult { description: self.description, messages, meta_json: json(self.meta) }
    }

    pub(crate) fn from_wire(r: contract::GetPromptResult) -> Self {
        let message = |m: contract::PromptMessage| PromptMessage {
            role: Role::from_wire(m.role()),
            content: Content::from_wire(m.content.unwrap_or_default()),
        };
        Self { description: r.description, messages: r.messages.into_iter().map(message).collect(), meta: value(&r.meta_json) }
    }
}

impl SamplingContent {
    fn into_wire(self) -> contract::SamplingContent {
        use sampling_content::Content as Kind;
        let kind = match self {
            Self::Text(text) => Kind::Text(contract::TextContent { text }),
            Self::Image { data, mime_type } => Kind::Image(contract::ImageContent { data, mime_type }),
            Self::Audio { data, mime_type } => Kind::Audio(contract::AudioContent { data, mime_type }),
            Self::ToolUse { id, name, input } => Kind::ToolUse(contract::ToolUse { id, name, input_json: input.to_string() }),
            Self::ToolResult { tool_use_id, content, structured_content, is_error } => Kind::ToolResult(contract::ToolResult {
                tool_use_id,
                content: content.into_iter().map(Content::into_wire).collect(),
                structured_content_json: json(structured_content),
                is_error,
            }),
            Self::Raw(block) => Kind::RawJson(block.to_string()),
        };
        contract::SamplingContent { content: Some(kind), ..Default::default() }
    }

    fn from_wire(c: contract::SamplingContent) -> Self {
        use sampling_content::Content as Kind;
        match c.content {
            Some(Kind::Text(t)) => Self::Text(t.text),
            Some(Kind::Image(i)) => Self::Image { data: i.data, mime_type: i.mime_type },
            Some(Kind::Audio(a)) => Self::Audio { data: a.data, mime_type: a.mime_type },
            Some(Kind::ToolUse(t)) => Self::ToolUse { id: t.id, name: t.name, input: value(&t.input_json).unwrap_or_default() },
            Some(Kind::ToolResult(t)) => Self::ToolResult {
                tool_use_id: t.tool_use_id,
                content: t.content.into_iter().map(Content::from_wire).collect(),
                structured_content: value(&t.structured_content_json),
                is_error: t.is_error,
            },
            Some(Kind::RawJson(text)) => Self::Raw(value(&text).unwrap_or_default()),
            None => Self::Raw(Value::Null),
        }
    }
}

impl SamplingMessage {
    fn into_wire(self) -> contract::SamplingMessage {
        let content = self.content.into_iter().map(SamplingContent::into_wire).collect();
        contract::SamplingMessage { role: self.role.into_wire().into(), content, ..Default::default() }
    }

    fn from_wire(m: contract::SamplingMessage) -> Self {
        Self { role: Role::from_wire(m.role()), content: m.content.into_iter().map(SamplingContent::from_wire).collect() }
    }
}

impl CreateMessage {
    pub(crate) fn into_wire(self) -> contract::CreateMessage {
        let preferences = |p: crate::ModelPreferences| contract::ModelPreferences {
            hints: p.hints,
            cost_priority: p.cost_priority,
            speed_priority: p.speed_priority,
            intelligence_priority: p.intelligence_priority,
        };
        let tool = |t: crate::SamplingTool| contract::Tool {
            name: t.name,
            description: t.description,
            input_schema_json: t.input_schema.to_string(),
            ..Default::default()
        };
        contract::CreateMessage {
            messages: self.messages.into_iter().map(SamplingMessage::into_wire).collect(),
            max_tokens: self.max_tokens,
            system_prompt: self.system_prompt,
            temperature: self.temperature,
            stop_sequences: self.stop_sequences,
            model_preferences: self.model_preferences.map(preferences),
            include_context: self.include_context,
            tools: self.tools.into_iter().map(tool).collect(),
            tool_choice_mode: self.tool_choice,
            metadata_json: json(self.metadata),
            ..Default::default()
        }
    }

    pub(crate) fn from_wire(m: contract::CreateMessage) -> Self {
        let preferences = |p: contract::ModelPreferences| crate::ModelPreferences {
            hints: p.hints,
            cost_priority: p.cost_priority,
            speed_priority: p.speed_priority,
            intelligence_priority: p.intelligence_priority,
        };
        let tool = |t: contract::Tool| crate::SamplingTool {
            name: t.name,
            description: t.description,
            input_schema: value(&t.input_schema_json).unwrap_or_default(),
        };
        Self {
            messages: m.messages.into_iter().map(SamplingMessage::from_wire).collect(),
            max_tokens: m.max_tokens,
            system_prompt: m.system_prompt,
            temperature: m.temperature,
            stop_sequences: m.stop_sequences,
            model_preferences: m.model_preferences.map(preferences),
            include_context: m.include_context,
            tools: m.tools.into_iter().map(tool).collect(),
            tool_choice: m.tool_choice_mode,
            metadata: value(&m.metadata_json),
        }
    }
}

impl CreateMessageResult {
    pub(crate) fn into_wire(self) -> contract::CreateMessageResult {
        let content = self.content.into_iter().map(SamplingContent::into_wire).collect();
        let (model, stop_reason) = (self.model, self.stop_reason);
        contract::CreateMessageResult { role: self.role.into_wire().into(), content, model, stop_reason, ..Default::default() }
    }

    pub(crate) fn from_wire(r: contract::CreateMessageResult) -> Self {
        let role = Role::from_wire(r.role());
        let content = r.content.into_iter().map(SamplingContent::from_wire).collect();
        Self { role, content, model: r.model, stop_reason: r.stop_reason }
    }
}
