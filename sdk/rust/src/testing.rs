//! Calls a [`Server`] in tests as the edge does, through as many rounds as it asks for, in process.
//!
//! ```
//! # use mcpedge_capability::{Call, Refusal, Server, testing::{Client, declined}};
//! # use serde_json::json;
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let server = Server::new("files", "1.0.0").tool("delete", "Deletes it", |call: Call| async move {
//!     let sure: bool = call.ask("sure", "Really?").await?;
//!     Ok::<_, Refusal>(format!("deleted: {sure}"))
//! });
//! let outcome = Client::new(&server).answer("sure", declined()).call_tool("delete", json!({})).await.unwrap();
//! assert_eq!(outcome.text(), "the user declined to answer");
//! # });
//! ```

use crate::content::sampling_text;
use crate::contract::prompt_service_server::PromptService;
use crate::contract::resource_service_server::ResourceService;
use crate::contract::tool_service_server::ToolService;
use crate::contract::*;
use crate::server::Server;
use crate::services::Service;
use serde_json::Value;
use std::collections::HashMap;
use tokio_stream::StreamExt;
use tonic::{Request, Status};

/// Ends a call whose questions never end.
const MAX_ROUNDS: u32 = 32;

/// The answer of a user who filled in a form.
pub fn accepted(content: &Value) -> InputResponse {
    elicited(ElicitAction::Accept, content.to_string())
}

/// The answer of a user who agreed to open a URL.
pub fn opened() -> InputResponse {
    elicited(ElicitAction::Accept, String::new())
}

/// The answer of a user who said no.
pub fn declined() -> InputResponse {
    elicited(ElicitAction::Decline, String::new())
}

/// The answer of a user who closed the question.
pub fn cancelled() -> InputResponse {
    elicited(ElicitAction::Cancel, String::new())
}

fn elicited(action: ElicitAction, content_json: String) -> InputResponse {
    answer(input_response::Response::Elicit(ElicitResult { action: action.into(), content_json }))
}

/// The answer of a client's model that said some text.
pub fn sampled(text: impl Into<String>) -> InputResponse {
    let said = sampling_text(Role::Assistant, text);
    let (model, stop_reason) = ("test".to_string(), "endTurn".to_string());
    let result = CreateMessageResult { role: said.role, content: said.content, model, stop_reason, ..Default::default() };
    answer(input_response::Response::CreateMessage(result))
}

/// The answer of a client with roots at these URIs.
pub fn with_roots(uris: &[&str]) -> InputResponse {
    let roots = uris.iter().map(|uri| Root { uri: uri.to_string(), ..Default::default() }).collect();
    answer(input_response::Response::ListRoots(ListRootsResult { roots }))
}

fn answer(response: input_response::Response) -> InputResponse {
    InputResponse { key: String::new(), response: Some(response) }
}

/// Runs one call to its end; it hands on only the latest answers, as the edge does.
macro_rules! rounds {
    ($client:ident, $method:ident, $request:ident, $module:ident, $out:ident, $($more:tt)*) => {{
        let (mut $out, mut request) = (Outcome::default(), $request);
        while $out.rounds < MAX_ROUNDS {
            $out.rounds += 1;
            $out.input_required = None;
            request.context = Some(RequestContext { round: $out.rounds, ..$client.context.clone() });
            let mut stream = $client.service.$method(Request::new(request.clone())).await?.into_inner();
            while let Some(message) = stream.next().await {
                match message?.message {
                    Some($module::Message::Progress(p)) => $out.progress.push(p),
                    Some($module::Message::Log(l)) => $out.logs.push(l),
                    Some($module::Message::Result(r)) => $out.result = Some(r),
                    Some($module::Message::InputRequired(r)) => $out.input_required = Some(r),
                    Some($module::Message::Failure(f)) => $out.failure = Some(f),
                    $($more)*
                    None => {}
                }
            }
            let Some(required) = $out.input_required.clone() else { return Ok($out) };
            request.input_responses = required.requests.iter().filter_map(|r| $client.answers.get(&r.key).cloned()).collect();
            let answered = required.requests.is_empty() || !request.input_responses.is_empty();
            $out.asked.extend(required.requests);
            if !answered {
                return Ok($out);
            }
            request.state = required.state;
        }
        panic!("the call still asks after {MAX_ROUNDS} rounds");
    }};
}

/// How a call ended, and what came before. One of `result`, `input_required` and `failure` is there.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    pub result: Option<R>,
    /// A question without an answer ended it.
    pub input_required: Option<InputRequired>,
    pub failure: Option<Failure>,
    pub progress: Vec<Progress>,
    pub logs: Vec<LogMessage>,
    pub asked: Vec<InputRequest>,
    pub checkpoints: Vec<Vec<u8>>,
    /// How often the call wanted to become a task.
    pub defers: u32,
    /// How often the handler ran.
    pub rounds: u32,
}

impl<R> Default for Outcome<R> {
    fn default() -> Self {
        Self {
            result: None,
            input_required: None,
            failure: None,
            progress: Vec::new(),
            logs: Vec::new(),
            asked: Vec::new(),
            checkpoints: Vec::new(),
            defers: 0,
            rounds: 0,
        }
    }
}

impl Outcome<CallToolResult> {
    /// The texts of the content, one line for each; empty without a result.
    pub fn text(&self) -> String {
        let texts = self.result.iter().flat_map(|r| &r.content).filter_map(|c| match &c.content {
            Some(content_block::Content::Text(t)) => Some(t.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The structured content; null when there is none.
    pub fn structured(&self) -> Value {
        let text = self.result.as_ref().map_or("", |r| &r.structured_content_json);
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// A client that wants progress and all logs, and can be asked everything.
pub fn default_context() -> RequestContext {
    RequestContext {
        call_id: "test".to_string(),
        attempt: 1,
        progress_wanted: true,
        log_level: LogLevel::Debug.into(),
        client_capabilities: Some(ClientCapabilities {
            elicitation: Some(ElicitationCapability { form: true, url: true, ..Default::default() }),
            sampling: Some(SamplingCapability { context: true, tools: true, ..Default::default() }),
            roots: Some(RootsCapability::default()),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Calls a [`Server`], with answers to its questions. What has no method here is called by [`Service`]. A status is the error of all calls.
pub struct Client {
    service: Service,
    context: RequestContext,
    answers: HashMap<String, InputResponse>,
}

impl Client {
    pub fn new(server: &Server) -> Self {
        Self { service: Service(server.clone()), context: default_context(), answers: HashMap::new() }
    }

    /// Answers the question of a key.
    pub fn answer(mut self, key: &str, response: InputResponse) -> Self {
        self.answers.insert(key.to_string(), InputResponse { key: key.to_string(), ..response });
        self
    }

    /// What is sent with every call, its round counted; without it [`default_context`].
    pub fn context(mut self, context: RequestContext) -> Self {
        self.context = context;
        self
    }

    /// Calls a tool through all its rounds.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<Outcome<CallToolResult>, Status> {
        let request = CallToolRequest { name: name.to_string(), arguments_json: arguments.to_string(), ..Default::default() };
        rounds!(self, call_tool, request, call_tool_response, out,
            Some(call_tool_response::Message::Defer(_)) => out.defers += 1,
            Some(call_tool_response::Message::Checkpoint(c)) => out.checkpoints.push(c.state),)
    }

    /// Reads a resource, as `call_tool` calls a tool.
    pub async fn read_resource(&self, uri: &str) -> Result<Outcome<ReadResourceResult>, Status> {
        let request = ReadResourceRequest { uri: uri.to_string(), ..Default::default() };
        rounds!(self, read_resource, request, read_resource_response, out,)
    }

    /// Gets a prompt, as `call_tool` calls a tool.
    pub async fn get_prompt(&self, name: &str, arguments: &[(&str, &str)]) -> Result<Outcome<GetPromptResult>, Status> {
        let arguments = arguments.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let request = GetPromptRequest { name: name.to_string(), arguments, ..Default::default() };
        rounds!(self, get_prompt, request, get_prompt_response, out,)
    }
}
