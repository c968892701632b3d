//! Values that handlers get and return, as Rust has them; `wire.rs` converts them from and to the contract.

use serde_json::{Map, Value};

/// The author of a message. MCP: Role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

/// The severity of a log message, in rising order. MCP: LoggingLevel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug = 1,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// An icon of a server, a tool, a resource or a prompt. Empty members are not sent. MCP: Icon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Icon {
    /// An https: or data: URL.
    pub src: String,
    pub mime_type: String,
    /// Such as `48x48`, or `any`.
    pub sizes: Vec<String>,
    /// `light`, `dark`, or empty.
    pub theme: String,
}

/// Hints about content or a resource. MCP: Annotations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Empty: both.
    pub audience: Vec<Role>,
    /// The importance, 0 to 1.
    pub priority: Option<f64>,
    /// A time of ISO 8601; empty if it is unknown.
    pub last_modified: String,
}

/// The name and version of a program. MCP: Implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Implementation {
    pub name: String,
    pub version: String,
    pub title: String,
    pub description: String,
    pub website_url: String,
    pub icons: Vec<Icon>,
}

/// The authenticated caller. An empty subject means anonymous.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Principal {
    pub subject: String,
    /// The issuer of the subject.
    pub issuer: String,
    /// OAuth scopes.
    pub scopes: Vec<String>,
    pub roles: Vec<String>,
    /// The OAuth client that calls for the subject.
    pub client_id: String,
    /// The party that acts for the subject.
    pub actor: String,
    /// Whether the subject is the OAuth client itself.
    pub subject_is_client: bool,
    /// The claims that the edge's setting `claims` of this backend names.
    pub claims: Map<String, Value>,
}

impl Principal {
    /// A principal with a subject alone.
    pub fn new(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..Self::default() }
    }
}

/// The questions that the client supports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientCapabilities {
    /// Forms: `Call::ask`.
    pub form: bool,
    /// URLs: `Call::open_url`.
    pub url: bool,
    /// `Call::sample`.
    pub sampling: bool,
    /// Sampling with the context of servers.
    pub sampling_context: bool,
    /// Sampling with tools.
    pub sampling_tools: bool,
    /// `Call::roots`.
    pub roots: bool,
    /// The settings of extensions, by their ids.
    pub extensions: Map<String, Value>,
}

/// A directory or file that the client works on. MCP: Root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Root {
    pub uri: String,
    pub name: String,
    /// Its `_meta`, a JSON object.
    pub meta: Option<Value>,
}

/// A resource as a list or a link describes it. Empty members are not sent. MCP: Resource, ResourceLink.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceInfo {
    pub uri: String,
    pub name: String,
    pub title: String,
    pub description: String,
    pub mime_type: String,
    /// The size in bytes.
    pub size: Option<i64>,
    pub annotations: Option<Annotations>,
    pub icons: Vec<Icon>,
    /// Its `_meta`, a JSON object.
    pub meta: Option<Value>,
}

impl ResourceInfo {
    /// A resource's URI and name, which are required.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

/// The contents of a resource, or of one of its parts. [`text_contents`](crate::text_contents) and
/// [`blob_contents`](crate::blob_contents) create them. MCP: TextResourceContents, BlobResourceContents.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    pub uri: String,
    pub mime_type: String,
    pub body: Body,
    /// Its `_meta`, a JSON object.
    pub meta: Option<Value>,
}

impl ResourceContents {
    /// The text; `None` if the contents are bytes.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            Body::Blob(_) => None,
        }
    }

    /// The bytes; `None` if the contents are text.
    pub fn as_blob(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Text(_) => None,
            Body::Blob(data) => Some(data),
        }
    }
}

/// What a resource contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Text(String),
    /// The raw bytes, not base64.
    Blob(Vec<u8>),
}

/// Raw bytes for `image`, `audio` and `blob_contents`. A text does not convert: decode base64 first, or call `into_bytes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl From<Vec<u8>> for Bytes {
    fn from(data: Vec<u8>) -> Self {
        Self(data)
    }
}

impl From<&[u8]> for Bytes {
    fn from(data: &[u8]) -> Self {
        Self(data.to_vec())
    }
}

impl<const N: usize> From<[u8; N]> for Bytes {
    fn from(data: [u8; N]) -> Self {
        Self(data.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Bytes {
    fn from(data: &[u8; N]) -> Self {
        Self(data.to_vec())
    }
}
