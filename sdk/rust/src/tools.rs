//! Tools and their parts.

use crate::Call;
use crate::content::{Content, described, duration, text};
use crate::contract::{self, CallToolResult, TaskMode, TaskStart, TaskSupport, ToolAnnotations};
use crate::failure::{Error, Failure, Reason};
use crate::handler::{Handler, Work, outputs};
use crate::schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A value that becomes structured content, with the schema of its type. A `serde_json::Value` has no schema, and
/// neither has a `Box<serde_json::value::RawValue>`, whose text, including that of numbers, is sent unchanged.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

/// The possible results of a tool's handler: a text, [`Content`], a `Vec<Content>`, [`Json`], a complete
/// [`CallToolResult`], `()`, and a `Result` of these.
pub trait ToolOutput: Send {
    /// The schema of the structured content.
    fn schema() -> Option<Value> {
        None
    }
    /// An error of what has no JSON, or of the handler's own.
    fn into_result(self) -> Result<CallToolResult, Error>;
}

outputs! { ToolOutput, into_result, CallToolResult:
    (), _nothing => CallToolResult::default();
    String, value => CallToolResult::new([text(value)]);
    &'static str, value => CallToolResult::new([text(value)]);
    Content, content => CallToolResult::new([content]);
    Vec<Content>, content => CallToolResult::new(content);
    CallToolResult, result => result;
}

impl<T: Serialize + JsonSchema + Send> ToolOutput for Json<T> {
    fn schema() -> Option<Value> {
        schema::output::<T>()
    }

    fn into_result(self) -> Result<CallToolResult, Error> {
        CallToolResult::default().structured(&self.0)
    }
}

impl<T: ToolOutput, E: Into<Error> + Send> ToolOutput for Result<T, E> {
    fn schema() -> Option<Value> {
        T::schema()
    }

    fn into_result(self) -> Result<CallToolResult, Error> {
        self.map_err(Into::into)?.into_result()
    }
}

impl CallToolResult {
    /// Content alone.
    pub fn new(content: impl Into<Vec<Content>>) -> Self {
        Self { content: content.into(), ..Default::default() }
    }

    /// A failure that the model sees and can act on.
    pub fn error(message: impl Into<String>) -> Self {
        Self { content: vec![text(message)], is_error: true, ..Default::default() }
    }

    /// Adds structured content; INTERNAL when it has no JSON. Without content the edge adds its serialization as text.
    pub fn structured(mut self, value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let no_json = |e| Failure::new(Reason::Internal, format!("the result is not JSON: {e}"));
        self.structured_content_json = serde_json::to_string(value).map_err(no_json)?;
        Ok(self)
    }

    /// Its `_meta`, a JSON object.
    pub fn meta(mut self, meta: &Value) -> Self {
        self.meta_json = meta.to_string();
        self
    }
}

/// Which calls of a tool become tasks: calls that their clients need not hold a connection for. MCP: execution.taskSupport.
#[derive(Clone, Copy, Debug)]
pub struct Tasks(TaskSupport);

impl Tasks {
    /// Those of clients that can have tasks, when the handler has run for a while, or calls `Call::defer`.
    pub fn optional() -> Self {
        Self(TaskSupport { mode: TaskMode::Optional.into(), ..Default::default() })
    }

    /// All, before the handler runs; the edge refuses those of clients that cannot.
    pub fn required() -> Self {
        Self(TaskSupport { mode: TaskMode::Required.into(), ..Default::default() })
    }

    /// They begin before the handler runs.
    pub fn at_once(mut self) -> Self {
        self.0.start = TaskStart::AtOnce.into();
        self
    }

    /// They begin when the handler has run for a while, or calls `Call::defer`.
    pub fn deferred(mut self) -> Self {
        self.0.start = TaskStart::Deferred.into();
        self
    }

    /// How often clients should ask for a task, 0.1 s to an hour.
    pub fn poll(mut self, interval: Duration) -> Self {
        self.0.poll_interval = Some(duration(interval));
        self
    }
}

type Run = Arc<dyn Fn(Call, &str) -> Result<Work<CallToolResult>, Failure> + Send + Sync>;
type Cancel = Arc<dyn Fn(Call) -> Work<()> + Send + Sync>;

/// A tool: how it is listed, and the handler. [`Server::add`](crate::Server::add) and [`Server::with`](crate::Server::with) take it.
#[derive(Clone)]
pub struct Tool {
    pub(crate) listed: contract::Tool,
    pub(crate) run: Run,
    pub(crate) cancel: Option<Cancel>,
}

impl Tool {
    /// A tool of a handler. Its arguments and its [`Json`] make the schemas; the description is for the model.
    pub fn new<M, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: ToolOutput,
    {
        let input = schema::arguments::<H::Arguments>();
        let listed = contract::Tool {
            name: name.into(),
            description: description.into(),
            input_schema_json: input.to_string(),
            output_schema_json: H::Output::schema().map(|s| s.to_string()).unwrap_or_default(),
            ..Default::default()
        };
        let handler = Arc::new(handler);
        let run: Run = Arc::new(move |call, text| {
            let text = if text.is_empty() { "{}" } else { text };
            let arguments = read(text).map_err(|e| Failure::new(Reason::InvalidArgument, format!("the arguments do not fit: {e}")))?;
            let handler = handler.clone();
            Ok(Box::pin(async move { handler.handle(call, arguments).await.into_result() }))
        });
        Self { listed, run, cancel: None }
    }

    described!();

    /// It changes nothing. The edge relies on it: such a call may be run again after a replica was lost.
    pub fn read_only(mut self) -> Self {
        self.hints().read_only = Some(true);
        self
    }

    /// The same call again changes nothing more. The edge relies on it, as on `read_only`.
    pub fn idempotent(mut self) -> Self {
        self.hints().idempotent = Some(true);
        self
    }

    /// Whether it may destroy; clients assume so by default.
    pub fn destructive(mut self, may: bool) -> Self {
        self.hints().destructive = Some(may);
        self
    }

    /// Whether it reaches beyond a closed world; clients assume so by default.
    pub fn open_world(mut self, is: bool) -> Self {
        self.hints().open_world = Some(is);
        self
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.listed.annotations.get_or_insert_default()
    }

    /// Whether its calls may become tasks; without it they never do.
    pub fn tasks(mut self, tasks: Tasks) -> Self {
        self.listed.task_support = Some(tasks.0);
        self
    }

    /// An input schema of its own, as it is.
    pub fn input_schema(mut self, schema: &Value) -> Self {
        self.listed.input_schema_json = schema.to_string();
        self
    }

    /// An output schema of its own, as it is: for a [`CallToolResult`].
    pub fn output_schema(mut self, schema: &Value) -> Self {
        self.listed.output_schema_json = schema.to_string();
        self
    }

    /// Has a function of the call run when a task of the tool was cancelled between two rounds, with the call's state and id as they were, so
    /// that a job behind it can be ended. A round that runs is cancelled itself instead. It may not come.
    pub fn on_cancel<F, Fut, E>(mut self, function: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Error>,
    {
        self.cancel = Some(Arc::new(move |call| {
            let ended = function(call);
            Box::pin(async move { ended.await.map_err(Into::into) })
        }));
        self
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let (name, listed) = (&self.listed.name, &self.listed);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return Err(format!("tool {name:?}: a tool's name must be 1 to 64 of A-Z a-z 0-9 _ . -; give it another"));
        }
        let schemas =
            [("input schema", &listed.input_schema_json), ("output schema", &listed.output_schema_json), ("_meta", &listed.meta_json)];
        for (what, text) in schemas {
            if !text.is_empty() && !serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object()) {
                return Err(format!("tool {name:?}: its {what} is {text:.80}; make it a JSON object"));
            }
        }
        let input: Value = serde_json::from_str(&listed.input_schema_json).unwrap_or_default();
        if !listed.input_schema_json.is_empty() && input["type"] != "object" {
            return Err(format!(
                "tool {name:?}: its arguments have the schema {input:.80}; take a struct, a map or a serde_json::Value, whose JSON is an object"
            ));
        }
        Ok(())
    }
}

/// Reads arguments: a JSON object of the type's.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    if text.trim_start().starts_with('{') {
        return schema::parse(text);
    }
    serde_json::from_str::<IgnoredAny>(text)?;
    Err(serde_json::Error::custom("they must be a JSON object"))
}

/// An error without a kind is for the model to see.
pub(crate) fn plain_error(error: Error) -> Result<CallToolResult, Failure> {
    Ok(CallToolResult::error(error.to_string()))
}
