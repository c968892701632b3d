//! Resources, by a URI and by a URI template.

use crate::Call;
use crate::completion::{Completers, completing};
use crate::content::{blob_contents, described, text_contents};
use crate::contract;
use crate::failure::{Error, Failure};
use crate::handler::{Handler, NoArguments, Work};
use crate::schema;
use crate::template::{Template, scheme};
use crate::types::{Annotations, ResourceContents};
use std::collections::HashMap;
use std::sync::Arc;

/// The possible results of a read: a text, bytes (which are sent as text if they are UTF-8, unless the MIME type is binary),
/// [`ResourceContents`] or a `Vec` of them, an [`Mcp`](crate::Mcp), an `Option` of these, whose `None` means that the resource does not exist,
/// and a `Result`.
#[diagnostic::on_unimplemented(
    message = "a read cannot return `{Self}`",
    label = "not a text, Vec<u8>, ResourceContents, Vec<ResourceContents>, Mcp<T>, or an Option or a Result of these",
    note = "return serde_json::to_string(&value) for a value as JSON",
    note = "return Mcp(result) for a result of rmcp or another library, in the JSON form of MCP"
)]
pub trait ReadOutput: Send {
    /// Converts into contents, empty if the resource does not exist; an error if the handler returned one.
    fn into_contents(self, mime_type: &str) -> Result<Vec<ResourceContents>, Error>;
}

macro_rules! output {
    ($($type:ty, $value:ident, $mime_type:ident => $contents:expr;)+) => {
        $(impl ReadOutput for $type {
            fn into_contents(self, $mime_type: &str) -> Result<Vec<ResourceContents>, Error> {
                let $value = self;
                Ok($contents)
            }
        })+
    };
}

output! {
    String, text, mime_type => vec![text_contents("", mime_type, text)];
    &'static str, text, mime_type => vec![text_contents("", mime_type, text)];
    Vec<u8>, bytes, mime_type => vec![of_bytes(bytes, mime_type)];
    ResourceContents, contents, _mime_type => vec![contents];
    Vec<ResourceContents>, contents, _mime_type => contents;
}

pub(crate) fn of_bytes(bytes: Vec<u8>, mime_type: &str) -> ResourceContents {
    let text = if is_binary(mime_type) { Err(bytes) } else { String::from_utf8(bytes).map_err(|e| e.into_bytes()) };
    text.map_or_else(|bytes| blob_contents("", mime_type, bytes), |text| text_contents("", mime_type, text))
}

impl<T: ReadOutput> ReadOutput for Option<T> {
    fn into_contents(self, mime_type: &str) -> Result<Vec<ResourceContents>, Error> {
        self.map_or_else(|| Ok(Vec::new()), |contents| contents.into_contents(mime_type))
    }
}

impl<T: ReadOutput, E: Into<Error> + Send> ReadOutput for Result<T, E> {
    fn into_contents(self, mime_type: &str) -> Result<Vec<ResourceContents>, Error> {
        self.map_err(Into::into)?.into_contents(mime_type)
    }
}

fn is_binary(mime_type: &str) -> bool {
    let kind = mime_type.split('/').next().unwrap_or_default();
    let named = ["octet-stream", "pdf", "zip", "gzip", "wasm"];
    mime_type.strip_prefix("application/").is_some_and(|t| named.contains(&t))
        || (["image", "audio", "video", "font"].contains(&kind) && !mime_type.ends_with("+xml") && !mime_type.ends_with("+json"))
}

/// Completes the contents of a read; NOT_FOUND if there are none.
pub(crate) fn complete(uri: &str, mime_type: &str, mut contents: Vec<ResourceContents>) -> Result<Vec<ResourceContents>, Error> {
    if contents.is_empty() {
        return Err(Failure::not_found("resource", uri).into());
    }
    for part in &mut contents {
        for (member, whole) in [(&mut part.uri, uri), (&mut part.mime_type, mime_type)] {
            if member.is_empty() {
                *member = whole.to_string();
            }
        }
    }
    Ok(contents)
}

type Run<A> = Arc<dyn Fn(Call, A, String) -> Work<Vec<ResourceContents>> + Send + Sync>;

fn reader<M, H>(handler: H) -> Run<H::Arguments>
where
    H: Handler<M>,
    H::Output: ReadOutput,
{
    let handler = Arc::new(handler);
    Arc::new(move |call, arguments, mime_type| {
        let handler = handler.clone();
        Box::pin(async move {
            let uri = call.uri().to_string();
            complete(&uri, &mime_type, handler.handle(call, arguments).await.into_contents(&mime_type)?)
        })
    })
}

/// Reads a resource: by the call, the variables of its URI, and the MIME type of contents without one.
pub(crate) type Read = Arc<dyn Fn(Call, &HashMap<String, String>, String) -> Result<Work<Vec<ResourceContents>>, Failure> + Send + Sync>;

/// A resource at one URI: its entry in lists, and the handler that reads it.
#[derive(Clone)]
pub struct Resource {
    pub(crate) listed: contract::Resource,
    pub(crate) read: Read,
}

/// The resources of a URI template (RFC 6570, such as `notes://{day}`): its entry in lists, and the handler that reads them, whose arguments
/// are a struct of the variables. `Call::uri` is the whole URI.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(crate) listed: contract::ResourceTemplate,
    template: Result<Arc<Template>, String>,
    pub(crate) read: Read,
    pub(crate) completers: Completers,
    unfit: Vec<String>,
}

/// The options that both have.
macro_rules! readable {
    () => {
        described!();

        /// Sets the description, for people and models.
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.listed.description = description.into();
            self
        }

        /// Sets the MIME type of the contents; empty means unknown.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.listed.mime_type = mime_type.into();
            self
        }

        /// Sets the annotations.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.listed.annotations = Some(annotations.into_wire());
            self
        }
    };
}

impl Resource {
    /// Returns a resource of a handler that takes the [`Call`], or nothing.
    pub fn new<M, H>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M, Arguments = NoArguments>,
        H::Output: ReadOutput,
    {
        let run = reader(handler);
        let read: Read = Arc::new(move |call, _, mime| Ok(run(call, NoArguments {}, mime)));
        let listed = contract::Resource { uri: uri.into(), name: name.into(), ..Default::default() };
        Self { listed, read }
    }

    readable!();

    /// Sets the size in bytes.
    pub fn size(mut self, bytes: i64) -> Self {
        self.listed.size = Some(bytes);
        self
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let uri = &self.listed.uri;
        check_uri("resource", uri, &self.listed.name)?;
        if uri.contains('{') {
            return Err(format!("resource {uri:?}: its URI has a brace; use ResourceTemplate::new for a URI with variables"));
        }
        Ok(())
    }
}

impl ResourceTemplate {
    /// Returns a template of a handler, whose arguments are variables of the template.
    pub fn new<M, H>(uri_template: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: ReadOutput,
    {
        let uri_template = uri_template.into();
        let template = Template::parse(&uri_template).map(Arc::new);
        let schema = schema::input::<H::Arguments>();
        let variables = template.as_ref().map(|t| t.variables.clone()).unwrap_or_default();
        let members = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
        let unfit = members.filter(|m| !variables.contains(m)).collect();
        let run = reader(handler);
        let read: Read = Arc::new(move |call, values, mime| {
            let arguments = schema::of_texts(&schema, values).map_err(|_| Failure::not_found("resource", call.uri()))?;
            Ok(run(call, arguments, mime))
        });
        let listed = contract::ResourceTemplate { uri_template, name: name.into(), ..Default::default() };
        Self { listed, template, read, completers: Completers::default(), unfit }
    }

    readable!();

    completing!();

    /// Returns the variables of a URI; `None` if it does not match.
    pub(crate) fn matches(&self, uri: &str) -> Option<HashMap<String, String>> {
        self.template.as_ref().ok()?.matches(uri)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let uri = &self.listed.uri_template;
        check_uri("resource template", uri, &self.listed.name)?;
        let template = self.template.as_ref().map_err(|e| format!("resource template {uri:?}: {e}"))?;
        if let Some(member) = self.unfit.first() {
            let known = if template.variables.is_empty() { "it has none".to_string() } else { template.variables.join(", ") };
            return Err(format!("resource template {uri:?}: the handler's argument {member:?} is none of its variables: {known}"));
        }
        self.completers.check(&format!("resource template {uri:?}"), &template.variables)
    }
}

fn check_uri(what: &str, uri: &str, name: &str) -> Result<(), String> {
    if scheme(uri).is_empty() {
        return Err(format!("{what} {uri:?}: make its URI absolute, as notes://today is"));
    }
    if name.is_empty() {
        return Err(format!("{what} {uri:?}: it has no name; give it one"));
    }
    Ok(())
}
