//! Pieces of results and messages.

use crate::contract::content_block::Content as Kind;
use crate::contract::resource_contents::Body;
use crate::contract::{
    Annotations, AudioContent, CacheHint, CacheScope, ContentBlock, CreateMessage, ImageContent, PromptMessage, Resource, ResourceContents,
    Role, SamplingContent, SamplingMessage, TextContent, sampling_content,
};
use serde_json::Value;
use std::time::Duration;

/// A piece of a result. [`text`], [`image`], [`audio`], [`link`], [`embed`] and [`raw_content`] make one.
pub type Content = ContentBlock;

fn block(content: Kind) -> Content {
    Content { content: Some(content), ..Default::default() }
}

/// Plain text.
pub fn text(value: impl Into<String>) -> Content {
    block(Kind::Text(TextContent { text: value.into() }))
}

/// A picture: its raw bytes (not base64) and MIME type.
pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Content {
    block(Kind::Image(ImageContent { data: data.into(), mime_type: mime_type.into() }))
}

/// A sound: its raw bytes (not base64) and MIME type.
pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Content {
    block(Kind::Audio(AudioContent { data: data.into(), mime_type: mime_type.into() }))
}

/// A link to a resource that the client may read; its URI and name are required.
pub fn link(resource: Resource) -> Content {
    block(Kind::ResourceLink(resource))
}

/// Embeds a resource's contents; their URI is required.
pub fn embed(contents: ResourceContents) -> Content {
    block(Kind::Resource(contents))
}

/// A complete content block as an object with `type`, sent unchanged.
pub fn raw_content(block: &Value) -> Content {
    self::block(Kind::RawJson(block.to_string()))
}

impl ContentBlock {
    /// Its audience, and its importance, 0 to 1.
    pub fn annotated(mut self, audience: &[Role], priority: impl Into<Option<f64>>) -> Self {
        let audience = audience.iter().map(|r| i32::from(*r)).collect();
        self.annotations = Some(Annotations { audience, priority: priority.into(), ..Default::default() });
        self
    }

    /// Its `_meta`, a JSON object.
    pub fn meta(mut self, meta: &Value) -> Self {
        self.meta_json = meta.to_string();
        self
    }
}

/// The text of a resource. For a read, an empty URI becomes the one that was read, and an empty MIME type that of the
/// resource or template.
pub fn text_contents(uri: impl Into<String>, mime_type: impl Into<String>, value: impl Into<String>) -> ResourceContents {
    let body = Some(Body::Text(value.into()));
    ResourceContents { uri: uri.into(), mime_type: mime_type.into(), body, ..Default::default() }
}

/// The raw bytes (not base64) of a resource; empty members are as in [`text_contents`].
pub fn blob_contents(uri: impl Into<String>, mime_type: impl Into<String>, value: impl Into<Vec<u8>>) -> ResourceContents {
    let body = Some(Body::Blob(value.into()));
    ResourceContents { uri: uri.into(), mime_type: mime_type.into(), body, ..Default::default() }
}

/// One turn of a prompt.
pub fn message(role: Role, content: impl Into<Content>) -> PromptMessage {
    PromptMessage { role: role.into(), content: Some(content.into()) }
}

/// A turn of plain text for a sampling request.
pub fn sampling_text(role: Role, value: impl Into<String>) -> SamplingMessage {
    let content = Some(sampling_content::Content::Text(TextContent { text: value.into() }));
    let content = vec![SamplingContent { content, ..Default::default() }];
    SamplingMessage { role: role.into(), content, ..Default::default() }
}

impl CreateMessage {
    /// A prompt of the user, for an answer of at most so many tokens.
    pub fn new(prompt: impl Into<String>, max_tokens: i64) -> Self {
        Self { messages: vec![sampling_text(Role::User, prompt)], max_tokens, ..Default::default() }
    }
}

/// The common options of listed objects.
macro_rules! described {
    () => {
        /// A name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.listed.title = title.into();
            self
        }

        pub fn icons(mut self, icons: Vec<crate::contract::Icon>) -> Self {
            self.listed.icons = icons;
            self
        }

        /// Its `_meta`, a JSON object.
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

macro_rules! of_text {
    ($type:ty, $text:ident => $made:expr) => {
        impl From<String> for $type {
            fn from($text: String) -> Self {
                $made
            }
        }

        impl From<&str> for $type {
            fn from($text: &str) -> Self {
                $made
            }
        }
    };
}

of_text!(ContentBlock, plain => text(plain));
// A prompt of the user, for an answer of at most 1000 tokens.
of_text!(CreateMessage, prompt => Self::new(prompt, 1000));
