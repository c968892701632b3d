//! Tools, their options and their results.

use crate::Call;
use crate::content::{Content, IntoContent, described, duration};
use crate::contract::{self, TaskMode, TaskStart, TaskSupport, ToolAnnotations};
use crate::failure::{Ending, Error, Failure, Reason, cause, failure};
use crate::handler::{Handler, Work, outputs};
use crate::schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tonic::{Code, Status};

/// A value that becomes structured content, with the schema of its type. A `serde_json::Value` has no schema, and
/// neither has a `Box<serde_json::value::RawValue>`, whose text, including that of numbers, is sent unchanged.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

/// The possible results of a tool's handler: a text, [`Content`], a `Vec<Content>`, [`Json`], a complete
/// [`CallToolResult`], an [`Mcp`](crate::Mcp), `()`, and a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not a text, Content, Vec<Content>, Json<T>, CallToolResult, Mcp<T>, (), or a Result of these",
    note = "return Json(value) for structured content, where the type of value derives serde::Serialize and schemars::JsonSchema",
    note = "return Mcp(result) for a result of rmcp or another library, in the JSON form of MCP",
    note = "return image(bytes, \"image/png\"), audio(…) or embed(blob_contents(…)) for bytes"
)]
pub trait ToolOutput: Send {
    /// The schema of the structured content.
    fn schema() -> Option<Value> {
        None
    }
    /// Why a tool cannot return this type.
    #[doc(hidden)]
    fn mistake() -> Option<String> {
        None
    }
    /// Converts into the result of a call; an error if there is no JSON for it, or if the handler returned one.
    fn into_result(self) -> Result<CallToolResult, Error>;
}

outputs! { ToolOutput, into_result, CallToolResult:
    (), _nothing => CallToolResult::default();
    String, value => CallToolResult::success(value);
    &'static str, value => CallToolResult::success(value);
    Content, content => CallToolResult::success(content);
    Vec<Content>, content => CallToolResult::success(content);
    CallToolResult, result => result;
}

impl<T: Serialize + JsonSchema + Send> ToolOutput for Json<T> {
    fn schema() -> Option<Value> {
        schema::output::<T>()
    }

    fn mistake() -> Option<String> {
        crate::official::mistake(&Self::schema()?).or_else(|| schema::mistake::<T>("results"))
    }

    fn into_result(self) -> Result<CallToolResult, Error> {
        let result = CallToolResult::structured(&self.0)?;
        if Self::schema().is_none() {
            crate::official::refuse_result(&result)?;
        }
        Ok(result)
    }
}

impl<T: ToolOutput, E: Into<Error> + Send> ToolOutput for Result<T, E> {
    fn schema() -> Option<Value> {
        T::schema()
    }

    fn mistake() -> Option<String> {
        T::mistake()
    }

    fn into_result(self) -> Result<CallToolResult, Error> {
        self.map_err(Into::into)?.into_result()
    }
}

/// The complete result of a tool. MCP: CallToolResult.
#[derive(Clone, Debug, Default)]
pub struct CallToolResult {
    pub content: Vec<Content>,
    /// JSON, whose text is sent unchanged. Without content, the edge adds it as text.
    pub structured_content: Option<Box<RawValue>>,
    /// A failure that the model sees and can act on.
    pub is_error: bool,
    /// Its `_meta`, a JSON object.
    pub meta: Option<Value>,
}

impl PartialEq for CallToolResult {
    /// Compares structured content by its text.
    fn eq(&self, other: &Self) -> bool {
        let text = |r: &Self| r.structured_content.as_ref().map(|s| s.get().to_string());
        (&self.content, self.is_error, &self.meta) == (&other.content, other.is_error, &other.meta) && text(self) == text(other)
    }
}

impl CallToolResult {
    /// Returns a result with content: a text, one [`Content`], or several.
    pub fn success(content: impl IntoContent) -> Self {
        Self { content: content.into_content(), ..Self::default() }
    }

    /// Returns a failure that the model sees and can act on.
    pub fn error(content: impl IntoContent) -> Self {
        Self { is_error: true, ..Self::success(content) }
    }

    /// Returns a result with structured content; INTERNAL if the value has no JSON.
    pub fn structured(value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        Self::default().with_structured(value)
    }

    /// Sets structured content; INTERNAL if the value has no JSON.
    pub fn with_structured(mut self, value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let no_json = |e| Failure::new(Reason::Internal, format!("the result is not JSON: {e}"));
        self.structured_content = Some(serde_json::value::to_raw_value(value).map_err(no_json)?);
        Ok(self)
    }

    /// Sets `_meta`, a JSON object.
    pub fn meta(mut self, meta: &Value) -> Self {
        self.meta = Some(meta.clone());
        self
    }

    /// The texts of the content, one line for each.
    pub fn text(&self) -> String {
        crate::content::texts(&self.content)
    }
}

/// Which calls of a tool become tasks: calls that their clients need not hold a connection for. MCP: execution.taskSupport.
#[derive(Clone, Copy, Debug)]
pub struct Tasks(TaskSupport);

impl Tasks {
    /// Calls of clients that support tasks, when the handler has run for a while, or calls `Call::defer`.
    pub fn optional() -> Self {
        Self(TaskSupport { mode: TaskMode::Optional.into(), ..Default::default() })
    }

    /// All calls, before the handler runs; the edge refuses those of clients without tasks.
    pub fn required() -> Self {
        Self(TaskSupport { mode: TaskMode::Required.into(), ..Default::default() })
    }

    /// The task begins before the handler runs.
    pub fn at_once(mut self) -> Self {
        self.0.start = TaskStart::AtOnce.into();
        self
    }

    /// The task begins when the handler has run for a while, or calls `Call::defer`.
    pub fn deferred(mut self) -> Self {
        self.0.start = TaskStart::Deferred.into();
        self
    }

    /// Sets how often clients should poll a task, 0.1 s to an hour.
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
    run: Run,
    pub(crate) cancel: Option<Cancel>,
    /// The names of the arguments, if others are refused.
    arguments: Option<Vec<String>>,
    /// Why the types cannot be served.
    mistake: Option<String>,
}

impl Tool {
    /// Returns a tool of a handler. The schemas are generated from its arguments and its [`Json`]; the description is for the model.
    /// Arguments without a member in the type are refused by name.
    pub fn new<M, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: ToolOutput,
    {
        let input = schema::arguments::<H::Arguments>();
        let arguments = schema::closed(&input);
        let mistake = schema::mistake::<H::Arguments>("arguments").or_else(H::Output::mistake);
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
            Ok(Box::pin(async move { handler.handle(call, arguments).await.into_result().or_else(visible) }))
        });
        Self { listed, run, cancel: None, arguments, mistake }
    }

    /// Begins a call with arguments as JSON; INVALID_ARGUMENT if they do not fit.
    pub(crate) fn run(&self, call: Call, text: &str) -> Result<Work<CallToolResult>, Failure> {
        if let Some(known) = &self.arguments {
            // A value that is no object is refused when it is read.
            let given: BTreeMap<String, IgnoredAny> = serde_json::from_str(text).unwrap_or_default();
            schema::refuse_unknown(given.keys(), known).map_err(|e| Failure::new(Reason::InvalidArgument, e))?;
        }
        (self.run)(call, text)
    }

    described!();

    /// Drops arguments without a member in the type, in place of refusing them.
    pub fn allow_unknown_arguments(mut self) -> Self {
        if let (Some(_), Ok(Value::Object(mut input))) = (self.arguments.take(), serde_json::from_str(&self.listed.input_schema_json)) {
            input.remove("additionalProperties");
            self.listed.input_schema_json = Value::Object(input).to_string();
        }
        self
    }

    /// The tool changes nothing. The edge relies on it: such a call may be run again after a replica was lost.
    pub fn read_only(mut self) -> Self {
        self.hints().read_only = Some(true);
        self
    }

    /// The same call again changes nothing more. The edge relies on it as on `read_only`.
    pub fn idempotent(mut self) -> Self {
        self.hints().idempotent = Some(true);
        self
    }

    /// Whether the tool may destroy data; clients assume so by default.
    pub fn destructive(mut self, may: bool) -> Self {
        self.hints().destructive = Some(may);
        self
    }

    /// Whether the tool interacts with the world outside of the service; clients assume so by default.
    pub fn open_world(mut self, is: bool) -> Self {
        self.hints().open_world = Some(is);
        self
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.listed.annotations.get_or_insert_default()
    }

    /// Sets which calls become tasks; by default none do.
    pub fn tasks(mut self, tasks: Tasks) -> Self {
        self.listed.task_support = Some(tasks.0);
        self
    }

    /// Replaces the schema of the arguments. Unknown arguments are refused if it has `additionalProperties: false`.
    pub fn input_schema(mut self, schema: &Value) -> Self {
        self.arguments = schema::closed(schema);
        self.listed.input_schema_json = schema.to_string();
        self
    }

    /// Replaces the schema of structured content, for a [`CallToolResult`].
    pub fn output_schema(mut self, schema: &Value) -> Self {
        self.listed.output_schema_json = schema.to_string();
        self
    }

    /// Sets a function that runs when a task of the tool was cancelled between two rounds, with the call's state and id, so that it can end a
    /// job elsewhere. In a running round the handler is dropped instead. The function may never run.
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
        if let Some(mistake) = &self.mistake {
            return Err(format!("tool {name:?}: {mistake}"));
        }
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
                "tool {name:?}: its arguments have the schema {input:.80}; take a struct that derives serde::Deserialize and schemars::JsonSchema, a map or a serde_json::Value"
            ));
        }
        Ok(())
    }
}

/// Reads arguments, a JSON object. An error names the member.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.trim_start().starts_with('{') {
        return schema::parse(text).map_err(|e| schema::at_member::<T>(text).unwrap_or_else(|| e.to_string()));
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(|e| e.to_string())?;
    Err("they must be a JSON object".to_string())
}

/// Converts an error without a reason: the model sees it.
pub(crate) fn plain_error(error: Error) -> Result<CallToolResult, Failure> {
    Ok(CallToolResult::error(error.to_string()))
}

/// Converts NOT_FOUND of a handler into a result: the tool exists, but not what it looked for.
fn visible(error: Error) -> Result<CallToolResult, Error> {
    if cause::<Ending>(&error).is_none() {
        match (failure(&error), cause::<Status>(&error)) {
            (Some(failure), _) if failure.reason == Reason::NotFound => return Ok(CallToolResult::error(failure.message.as_str())),
            (None, Some(status)) if status.code() == Code::NotFound => return Ok(CallToolResult::error(status.message())),
            _ => {}
        }
    }
    Err(error)
}
