//! Calls a [`Server`] in tests as the edge does, through as many rounds as it asks for, in process.
//!
//! ```
//! # use mcpedge_capability::{Call, Unanswered, Server, testing::{Client, declined}};
//! # use serde_json::json;
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let server = Server::new("files", "1.0.0").tool("delete", "Deletes it", |call: Call| async move {
//!     let sure: bool = call.ask("sure", "Really?").await?;
//!     Ok::<_, Unanswered>(format!("deleted: {sure}"))
//! });
//! let outcome = Client::new(&server).answer("sure", declined()).call_tool("delete", json!({})).await.unwrap();
//! assert_eq!(outcome.text(), "the user declined to answer");
//! # });
//! ```

use crate::contract::prompt_service_server::PromptService;
use crate::contract::resource_service_server::ResourceService;
use crate::contract::tool_service_server::ToolService;
use crate::contract::{
    self, CallToolRequest, CancelCallRequest, CompletePromptRequest, CompleteResourceTemplateRequest, GetPromptRequest, InputRequest,
    InputResponse, ReadResourceRequest, RequestContext, TaskContext, call_tool_response, get_prompt_response, input_request,
    input_response, read_resource_response,
};
use crate::failure::{Failure, Reason};
use crate::prompts::GetPromptResult;
use crate::sampling::{CreateMessage, CreateMessageResult, SamplingContent};
use crate::server::Server;
use crate::services::Service;
use crate::tools::CallToolResult;
use crate::types::{ClientCapabilities, Implementation, Level, Principal, ResourceContents, Role, Root};
use serde_json::Value;
use std::collections::HashMap;
use tokio_stream::StreamExt;
use tonic::{Request, Status};

/// Ends a call whose questions never end.
const MAX_ROUNDS: u32 = 32;

/// A scripted answer to a question.
#[derive(Clone, Debug)]
pub struct Answer(input_response::Response);

/// Returns the answer of a user who completed a form, by an object with the names of its members.
pub fn accepted(content: &Value) -> Answer {
    elicited(contract::ElicitAction::Accept, content.to_string())
}

/// Returns the answer of a user who agreed to open a URL.
pub fn opened() -> Answer {
    elicited(contract::ElicitAction::Accept, String::new())
}

/// Returns the answer of a user who said no.
pub fn declined() -> Answer {
    elicited(contract::ElicitAction::Decline, String::new())
}

/// Returns the answer of a user who dismissed the question.
pub fn dismissed() -> Answer {
    elicited(contract::ElicitAction::Cancel, String::new())
}

fn elicited(action: contract::ElicitAction, content_json: String) -> Answer {
    Answer(input_response::Response::Elicit(contract::ElicitResult { action: action.into(), content_json }))
}

/// Returns the answer of the client's model, as text.
pub fn sampled(text: impl Into<String>) -> Answer {
    let (model, stop_reason) = ("test".to_string(), "endTurn".to_string());
    let result = CreateMessageResult { role: Role::Assistant, content: vec![SamplingContent::Text(text.into())], model, stop_reason };
    Answer(input_response::Response::CreateMessage(result.into_wire()))
}

/// Returns the answer of a client with roots at these URIs.
pub fn with_roots(uris: &[&str]) -> Answer {
    let roots = uris.iter().map(|uri| Root { uri: uri.to_string(), ..Root::default() }.into_wire()).collect();
    Answer(input_response::Response::ListRoots(contract::ListRootsResult { roots }))
}

/// Returns the answer to a `raw_question`: the client's result.
pub fn raw_answer(result: &Value) -> Answer {
    Answer(input_response::Response::RawJson(result.to_string()))
}

/// Runs one call through its rounds; it sends only the latest answers, as the edge does.
macro_rules! rounds {
    ($client:ident, $method:ident, $request:ident, $module:ident, $out:ident, |$result:ident| $converted:expr, $($more:tt)*) => {{
        $client.service.0.check().map_err(|e| Status::failed_precondition(e.to_string()))?;
        let (mut $out, mut request) = (Outcome::default(), $request);
        while $out.rounds < MAX_ROUNDS {
            $out.rounds += 1;
            let mut required = None;
            request.context = Some(RequestContext { round: $out.rounds, ..$client.context.clone() });
            let mut stream = $client.service.$method(Request::new(request.clone())).await?.into_inner();
            while let Some(message) = stream.next().await {
                match message?.message {
                    Some($module::Message::Progress(p)) => $out.progress.push(progress(p)),
                    Some($module::Message::Log(l)) => $out.logs.push(log(l)),
                    Some($module::Message::Result($result)) => $out.result = Some($converted),
                    Some($module::Message::InputRequired(r)) => required = Some(r),
                    Some($module::Message::Failure(f)) => $out.failure = Some(Failure::from_wire(f)),
                    $($more)*
                    None => {}
                }
            }
            $out.input_required = required.is_some();
            let Some(required) = required else { return Ok($out) };
            request.input_responses = required.requests.iter().filter_map(|r| $client.response(&r.key)).collect();
            let answered = required.requests.is_empty() || !request.input_responses.is_empty();
            $out.asked.extend(required.requests.into_iter().map(asked));
            $out.state = required.state.clone();
            if !answered {
                return Ok($out);
            }
            request.state = required.state;
        }
        Err(Status::failed_precondition(format!("the call still asks after {MAX_ROUNDS} rounds; its answers do not fit the questions")))
    }};
}

/// A call's progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: String,
}

fn progress(p: contract::Progress) -> Progress {
    Progress { progress: p.progress, total: p.total, message: p.message }
}

/// A call's log message.
#[derive(Clone, Debug, PartialEq)]
pub struct LogMessage {
    pub level: Level,
    pub logger: String,
    pub data: Value,
}

fn log(l: contract::LogMessage) -> LogMessage {
    let level = Level::from_wire(l.level()).unwrap_or(Level::Debug);
    LogMessage { level, logger: l.logger, data: serde_json::from_str(&l.data_json).unwrap_or_default() }
}

/// A question that a call asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub key: String,
    pub question: AskedQuestion,
}

impl Asked {
    /// The schema of a form; null for other questions.
    pub fn schema(&self) -> Value {
        match &self.question {
            AskedQuestion::Form { schema, .. } => schema.clone(),
            _ => Value::Null,
        }
    }

    /// The message of a form or of a URL; empty for other questions.
    pub fn message(&self) -> &str {
        match &self.question {
            AskedQuestion::Form { message, .. } | AskedQuestion::Url { message, .. } => message,
            _ => "",
        }
    }
}

/// The kinds of questions.
#[derive(Clone, Debug, PartialEq)]
pub enum AskedQuestion {
    Form {
        message: String,
        schema: Value,
    },
    Url {
        message: String,
        url: String,
    },
    Sampling(Box<CreateMessage>),
    Roots,
    /// That of `raw_question`.
    Raw(Value),
}

fn asked(r: InputRequest) -> Asked {
    use input_request::Request as R;
    let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
    let question = match r.request {
        Some(R::ElicitForm(f)) => AskedQuestion::Form { message: f.message, schema: json(&f.requested_schema_json) },
        Some(R::ElicitUrl(u)) => AskedQuestion::Url { message: u.message, url: u.url },
        Some(R::CreateMessage(m)) => AskedQuestion::Sampling(Box::new(CreateMessage::from_wire(m))),
        Some(R::ListRoots(_)) => AskedQuestion::Roots,
        Some(R::RawJson(text)) => AskedQuestion::Raw(json(&text)),
        None => AskedQuestion::Raw(Value::Null),
    };
    Asked { key: r.key, question }
}

/// The outcome of a call, with its messages. It has a `result`, a `failure`, or `input_required`.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    pub result: Option<R>,
    /// A question without an answer ended the call.
    pub input_required: bool,
    /// A protocol error.
    pub failure: Option<Failure>,
    pub progress: Vec<Progress>,
    pub logs: Vec<LogMessage>,
    pub asked: Vec<Asked>,
    pub checkpoints: Vec<Vec<u8>>,
    /// How often the call asked to become a task.
    pub defers: u32,
    /// How often the handler ran.
    pub rounds: u32,
    /// The state of the last round that asked, for `Client::cancel`.
    pub state: Vec<u8>,
}

impl<R> Default for Outcome<R> {
    fn default() -> Self {
        Self {
            result: None,
            input_required: false,
            failure: None,
            progress: Vec::new(),
            logs: Vec::new(),
            asked: Vec::new(),
            checkpoints: Vec::new(),
            defers: 0,
            rounds: 0,
            state: Vec::new(),
        }
    }
}

impl Outcome<CallToolResult> {
    /// The texts of the content, one line for each, or the message of a failure that the model sees; empty without either.
    pub fn text(&self) -> String {
        match (&self.result, self.failed_for_model()) {
            (Some(result), _) => result.text(),
            (None, failure) => failure.map(|f| f.message.clone()).unwrap_or_default(),
        }
    }

    /// The structured content; null if there is none.
    pub fn structured(&self) -> Value {
        let structured = self.result.as_ref().and_then(|r| r.structured_content.as_ref());
        structured.and_then(|s| serde_json::from_str(s.get()).ok()).unwrap_or_default()
    }

    /// Whether the tool failed in a way that the model sees: by a result with `is_error`, or by a failure with the reason
    /// `InvalidArgument` or `FailedPrecondition`, of which the edge makes one.
    pub fn is_error(&self) -> bool {
        self.result.as_ref().is_some_and(|r| r.is_error) || self.failed_for_model().is_some()
    }

    fn failed_for_model(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|f| matches!(f.reason, Reason::InvalidArgument | Reason::FailedPrecondition))
    }
}

/// The contents of a read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadResult {
    pub contents: Vec<ResourceContents>,
    /// How long clients may cache the contents.
    pub ttl: Option<std::time::Duration>,
}

/// Calls a [`Server`], with answers to its questions. By default it wants progress and all logs, and supports all questions. All calls return
/// a status if the server has an invalid definition.
pub struct Client {
    service: Service,
    context: RequestContext,
    answers: HashMap<String, Answer>,
}

impl Client {
    /// Returns a client of the server.
    pub fn new(server: &Server) -> Self {
        let all = ClientCapabilities {
            form: true,
            url: true,
            sampling: true,
            sampling_context: true,
            sampling_tools: true,
            roots: true,
            ..ClientCapabilities::default()
        };
        let context = RequestContext {
            call_id: "test".to_string(),
            attempt: 1,
            progress_wanted: true,
            log_level: Level::Debug as i32,
            client_capabilities: Some(all.into_wire()),
            ..RequestContext::default()
        };
        #[allow(unused_mut)] // without the feature `identity`
        let mut server = server.clone();
        #[cfg(feature = "identity")]
        {
            server.about.identity = None;
        }
        Self { service: Service(server), context, answers: HashMap::new() }
    }

    /// Sets the answer to the question of a key.
    pub fn answer(mut self, key: &str, answer: Answer) -> Self {
        self.answers.insert(key.to_string(), answer);
        self
    }

    /// Sets the caller, also of a server that has `Server::identity`: no signature is needed here. Without it the caller is anonymous.
    pub fn principal(mut self, principal: Principal) -> Self {
        self.context.principal = Some(principal.into_wire());
        self
    }

    /// Sets the program that calls.
    pub fn info(mut self, info: Implementation) -> Self {
        self.context.client_info = Some(info.into_wire());
        self
    }

    /// Sets the questions that the client supports.
    pub fn capabilities(mut self, capabilities: ClientCapabilities) -> Self {
        self.context.client_capabilities = Some(capabilities.into_wire());
        self
    }

    /// Sets the lowest level of logs; `None` for no logs.
    pub fn log_level(mut self, level: Option<Level>) -> Self {
        self.context.log_level = level.map_or(0, |l| l as i32);
        self
    }

    /// Sets `_meta` of the requests, a JSON object.
    pub fn meta(mut self, meta: &Value) -> Self {
        self.context.meta_json = meta.to_string();
        self
    }

    /// Has calls be possible tasks, with checkpoints. An empty id means that the task has not begun.
    pub fn task(mut self, id: &str) -> Self {
        self.context.task = Some(TaskContext { id: id.to_string() });
        self.context.checkpoints = true;
        self
    }

    fn response(&self, key: &str) -> Option<InputResponse> {
        Some(InputResponse { key: key.to_string(), response: Some(self.answers.get(key)?.0.clone()) })
    }

    /// Calls a tool through all its rounds.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<Outcome<CallToolResult>, Status> {
        let request = CallToolRequest { name: name.to_string(), arguments_json: arguments.to_string(), ..Default::default() };
        rounds!(self, call_tool, request, call_tool_response, out, |r| CallToolResult::from_wire(r),
            Some(call_tool_response::Message::Defer(_)) => out.defers += 1,
            Some(call_tool_response::Message::Checkpoint(c)) => out.checkpoints.push(c.state),)
    }

    /// Reads a resource through all its rounds.
    pub async fn read_resource(&self, uri: &str) -> Result<Outcome<ReadResult>, Status> {
        let request = ReadResourceRequest { uri: uri.to_string(), ..Default::default() };
        rounds!(self, read_resource, request, read_resource_response, out, |r| ReadResult {
            contents: r.contents.into_iter().map(ResourceContents::from_wire).collect(),
            ttl: r.cache.and_then(|c| c.ttl?.try_into().ok()),
        },)
    }

    /// Gets a prompt through all its rounds.
    pub async fn get_prompt(&self, name: &str, arguments: &[(&str, &str)]) -> Result<Outcome<GetPromptResult>, Status> {
        let request = GetPromptRequest { name: name.to_string(), arguments: texts(arguments), ..Default::default() };
        rounds!(self, get_prompt, request, get_prompt_response, out, |r| GetPromptResult::from_wire(r),)
    }

    /// Returns the suggestions for an argument of a prompt, or for a variable of a URI template.
    pub async fn complete(&self, of: &str, argument: &str, typed: &str, chosen: &[(&str, &str)]) -> Result<Vec<String>, Status> {
        let (argument_name, argument_value, context_arguments) = (argument.to_string(), typed.to_string(), texts(chosen));
        if of.contains("://") {
            let uri_template = of.to_string();
            let request = CompleteResourceTemplateRequest { uri_template, argument_name, argument_value, context_arguments, context: None };
            return Ok(self.service.complete_resource_template(Request::new(request)).await?.into_inner().values);
        }
        let request = CompletePromptRequest { name: of.to_string(), argument_name, argument_value, context_arguments, context: None };
        Ok(self.service.complete_prompt(Request::new(request)).await?.into_inner().values)
    }

    /// Cancels a task of a tool between two rounds, with the state of an outcome.
    pub async fn cancel(&self, name: &str, state: &[u8]) -> Result<(), Status> {
        let request = CancelCallRequest { name: name.to_string(), state: state.to_vec(), context: Some(self.context.clone()) };
        self.service.cancel_call(Request::new(request)).await.map(|_| ())
    }
}

fn texts(all: &[(&str, &str)]) -> HashMap<String, String> {
    all.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}
