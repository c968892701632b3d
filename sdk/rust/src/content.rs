//! Content of results and messages.

use crate::contract::{CacheHint, CacheScope};
use crate::types::{Annotations, Body, Bytes, ResourceContents, ResourceInfo, Role};
use serde_json::Value;
use std::time::Duration;

/// A content block of a result or message. [`text`], [`image`], [`audio`], [`link`], [`embed`] and [`raw_content`] create one. MCP:
/// ContentBlock.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    pub block: Block,
    pub annotations: Option<Annotations>,
    /// Its `_meta`, a JSON object.
    pub meta: Option<Value>,
}

/// The kinds of content.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
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
    /// A link to a resource that the client may read.
    Link(ResourceInfo),
    /// The contents of a resource.
    Resource(ResourceContents),
    /// A complete block in MCP's form.
    Raw(Value),
}

impl From<Block> for Content {
    fn from(block: Block) -> Self {
        Self { block, annotations: None, meta: None }
    }
}

impl From<String> for Content {
    fn from(value: String) -> Self {
        text(value)
    }
}

impl From<&str> for Content {
    fn from(value: &str) -> Self {
        text(value)
    }
}

/// Returns plain text.
pub fn text(value: impl Into<String>) -> Content {
    Block::Text(value.into()).into()
}

/// Returns an image, by its raw bytes (not base64) and MIME type.
pub fn image(data: impl Into<Bytes>, mime_type: impl Into<String>) -> Content {
    Block::Image { data: data.into().0, mime_type: mime_type.into() }.into()
}

/// Returns audio, by its raw bytes (not base64) and MIME type.
pub fn audio(data: impl Into<Bytes>, mime_type: impl Into<String>) -> Content {
    Block::Audio { data: data.into().0, mime_type: mime_type.into() }.into()
}

/// Returns a link to a resource that the client may read; its URI and name are required.
pub fn link(resource: ResourceInfo) -> Content {
    Block::Link(resource).into()
}

/// Embeds a resource's contents; their URI is required.
pub fn embed(contents: ResourceContents) -> Content {
    Block::Resource(contents).into()
}

/// Returns a complete content block, an object with `type`, which is sent unchanged.
pub fn raw_content(block: &Value) -> Content {
    Block::Raw(block.clone()).into()
}

impl Content {
    /// Sets the audience, and the importance, 0 to 1.
    pub fn annotated(mut self, audience: &[Role], priority: impl Into<Option<f64>>) -> Self {
        self.annotations = Some(Annotations { audience: audience.to_vec(), priority: priority.into(), ..Annotations::default() });
        self
    }

    /// Sets `_meta`, a JSON object.
    pub fn meta(mut self, meta: &Value) -> Self {
        self.meta = Some(meta.clone());
        self
    }

    /// The text; `None` if it is another kind of content.
    pub fn as_text(&self) -> Option<&str> {
        match &self.block {
            Block::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The content of a result: a text, one [`Content`], or several.
pub trait IntoContent {
    fn into_content(self) -> Vec<Content>;
}

macro_rules! into_content {
    ($($type:ty, $value:ident => $content:expr;)+) => {
        $(impl IntoContent for $type {
            fn into_content(self) -> Vec<Content> {
                let $value = self;
                $content
            }
        })+
    };
}

into_content! {
    &str, value => vec![text(value)];
    String, value => vec![text(value)];
    Content, content => vec![content];
    Vec<Content>, content => content;
}

impl<const N: usize> IntoContent for [Content; N] {
    fn into_content(self) -> Vec<Content> {
        self.into()
    }
}

/// The texts of content blocks, one line for each.
pub(crate) fn texts(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}

/// Returns the text of a resource. For a read, an empty URI becomes the one that was read, and an empty MIME type that of the resource or
/// template.
pub fn text_contents(uri: impl Into<String>, mime_type: impl Into<String>, value: impl Into<String>) -> ResourceContents {
    ResourceContents { uri: uri.into(), mime_type: mime_type.into(), body: Body::Text(value.into()), meta: None }
}

/// Returns the raw bytes (not base64) of a resource; empty members are as in [`text_contents`].
pub fn blob_contents(uri: impl Into<String>, mime_type: impl Into<String>, value: impl Into<Bytes>) -> ResourceContents {
    ResourceContents { uri: uri.into(), mime_type: mime_type.into(), body: Body::Blob(value.into().0), meta: None }
}

/// A message of a prompt. MCP: PromptMessage.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    pub role: Role,
    pub content: Content,
}

/// Returns a message of a prompt.
pub fn message(role: Role, content: impl Into<Content>) -> PromptMessage {
    PromptMessage { role, content: content.into() }
}

/// The common options of listed objects.
macro_rules! described {
    () => {
        /// Sets the name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.listed.title = title.into();
            self
        }

        /// Sets the icons.
        pub fn icons(mut self, icons: Vec<crate::Icon>) -> Self {
            self.listed.icons = icons.into_iter().map(crate::Icon::into_wire).collect();
            self
        }

        /// Sets `_meta`, a JSON object.
        pub fn meta(mut self, meta: &serde_json::Value) -> Self {
            self.listed.meta_json = meta.to_string();
            self
        }
    };
}
pub(crate) use described;

/// How long clients may cache a result.
pub(crate) fn cache_hint(ttl: Duration, shared: bool) -> CacheHint {
    let scope = if shared { CacheScope::Public } else { CacheScope::Private };
    CacheHint { ttl: Some(duration(ttl)), scope: scope.into() }
}

pub(crate) fn duration(d: Duration) -> prost_types::Duration {
    prost_types::Duration { seconds: d.as_secs() as i64, nanos: (d.subsec_millis() * 1_000_000) as i32 }
}
