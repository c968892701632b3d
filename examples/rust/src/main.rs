//! A tea house: a tool that asks its user and tells how it goes, a resource template and a prompt.

use async_stream::try_stream;
use opentelemetry::{global, propagation::TextMapPropagator, trace::*, Context};
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracerProvider};
use serde_json::{from_str, json, Value};
use std::{collections::HashMap, env, future, time::Duration};
use tokio::time::sleep;
use tonic::{codegen::BoxStream, transport::Server, Request, Response, Status};

tonic::include_proto!("mcpedge.v1");

type Unary<T> = Result<Response<T>, Status>;
type Streaming<T> = Result<Response<BoxStream<T>>, Status>;

const TEAS: [(&str, &str); 3] = [("assam", "malty"), ("oolong", "between green and black"), ("sencha", "grassy")];
const BASE: &str = "tea://rust/";
const ASK: &str = r#"{"type":"object","properties":{"cups":{"type":"integer","minimum":1}},"required":["cups"]}"#;
const ARGS: &str = r#"{"type":"object","properties":{"tea":{"enum":["assam","oolong","sencha"]}},"required":["tea"]}"#;

const LONG: &str = r#"{"type":"object","properties":{"minutes":{"type":"integer","minimum":1}},"required":["minutes"]}"#;

/// Says that it is dropped: the stream of a call that is cancelled is.
struct Steeping(bool);

impl Drop for Steeping {
    fn drop(&mut self) {
        if !self.0 {
            println!("steeping was cancelled");
        }
    }
}

/// Takes long. When a task is cancelled, its call is, as any other.
fn steep(arguments_json: String) -> Streaming<CallToolResponse> {
    use call_tool_response::Message;
    let minutes = from_str::<Value>(&arguments_json).unwrap_or_default()["minutes"].as_u64().unwrap_or(0);
    let send = |message| CallToolResponse { message: Some(message) };
    Ok(Response::new(Box::pin(try_stream! {
        let mut steeping = Steeping(false);
        for minute in 1..=minutes {
            let (progress, total) = (minute as f64, Some(minutes as f64));
            let message = format!("minute {minute} of {minutes}");
            yield send(Message::Progress(Progress { progress, total, message, ..Default::default() }));
            sleep(Duration::from_millis(250)).await;
        }
        steeping.0 = true;
        let steeped = json!({"minutes": minutes}).to_string();
        yield send(Message::Result(CallToolResult { structured_content_json: steeped, ..Default::default() }));
    })))
}

/// A span of this service, under the one of whoever sent the request.
fn span<T>(request: &Request<T>) -> Context {
    let header = request.metadata().get("traceparent").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let caller = TraceContextPropagator::new().extract(&HashMap::from([("traceparent".into(), header.into())]));
    caller.with_span(global::tracer("teahouse").start_with_context("call", &caller))
}

/// Where the page begins and ends that was asked for.
fn page(token: &str, size: i32, all: usize) -> Result<(usize, usize), Status> {
    let unknown = |_| Status::invalid_argument(format!("page token {token} was never given"));
    let start = if token.is_empty() { 0 } else { token.parse::<u32>().map_err(unknown)? as usize };
    Ok((start, if size > 0 { start + size as usize } else { all }))
}

/// The stream of one message, which is what most work comes to.
fn stream<T: Send + 'static>(message: T) -> Streaming<T> {
    Ok(Response::new(Box::pin(try_stream! { yield message })))
}

struct TeaHouse;

#[tonic::async_trait]
impl tool_service_server::ToolService for TeaHouse {
    async fn list_tools(&self, r: Request<ListToolsRequest>) -> Unary<ListToolsResponse> {
        let ListToolsRequest { page_token: token, page_size: size, .. } = r.into_inner();
        let brew = Tool { name: "brew".into(), input_schema_json: ARGS.into(), ..Default::default() };
        // A call that may become a task, and may be run again from its beginning when an edge is lost. That is all.
        let annotations = Some(ToolAnnotations { idempotent: Some(true), ..Default::default() });
        let task_support = Some(TaskSupport { mode: TaskMode::Optional.into(), ..Default::default() });
        let (name, input_schema_json) = ("steep".into(), LONG.into());
        let steep = Tool { name, input_schema_json, annotations, task_support, ..Default::default() };
        let (start, end) = page(&token, size, 2)?;
        let next_page_token = if end < 2 { end.to_string() } else { String::new() };
        let tools = [brew, steep].into_iter().take(end).skip(start).collect();
        Ok(Response::new(ListToolsResponse { tools, next_page_token, cache: None }))
    }

    async fn call_tool(&self, r: Request<CallToolRequest>) -> Streaming<CallToolResponse> {
        use call_tool_response::Message;
        let trace = span(&r).span().span_context().trace_id().to_string();
        let CallToolRequest { name, arguments_json, input_responses: answers, .. } = r.into_inner();
        if name == "steep" {
            return steep(arguments_json);
        }
        let tea = (name == "brew").then(|| from_str::<Value>(&arguments_json).unwrap_or_default()["tea"].clone());
        let tea = tea.ok_or_else(|| Status::not_found(format!("there is no tool {name}")))?;
        let send = |message| CallToolResponse { message: Some(message) };
        let Some(input_response::Response::Elicit(answer)) = answers.into_iter().find_map(|r| r.response) else {
            // The first round: ask, and be called again with the answer.
            let message = format!("How many cups of {}?", tea.as_str().unwrap_or_default());
            let form = ElicitForm { message, requested_schema_json: ASK.into(), ..Default::default() };
            let ask = InputRequest { key: "cups".into(), request: Some(input_request::Request::ElicitForm(form)) };
            return stream(send(Message::InputRequired(InputRequired { requests: vec![ask], ..Default::default() })));
        };
        // There is no content unless the user accepted.
        let cups = from_str::<Value>(&answer.content_json).unwrap_or_default()["cups"].as_u64().unwrap_or(0);
        Ok(Response::new(Box::pin(try_stream! {
            for cup in 1..=cups {
                let (progress, total, message) = (cup as f64, Some(cups as f64), format!("cup {cup} of {cups}"));
                yield send(Message::Progress(Progress { progress, total, message, ..Default::default() }));
            }
            let brewed = json!({"tea": tea, "cups": cups, "trace": trace}).to_string();
            yield send(Message::Result(CallToolResult { structured_content_json: brewed, ..Default::default() }));
        })))
    }

    async fn watch_tools(&self, _: Request<WatchToolsRequest>) -> Streaming<WatchToolsResponse> {
        // The tools never change: the feed starts, and stays open.
        let started = WatchToolsResponse { event: Some(watch_tools_response::Event::Started(WatchStarted {})) };
        Ok(Response::new(Box::pin(try_stream! { yield started; future::pending::<()>().await })))
    }
}

#[tonic::async_trait]
impl resource_service_server::ResourceService for TeaHouse {
    async fn list_resources(&self, r: Request<ListResourcesRequest>) -> Unary<ListResourcesResponse> {
        let ListResourcesRequest { page_token: token, page_size: size, .. } = r.into_inner();
        let (start, end) = page(&token, size, TEAS.len())?;
        let entry =
            |t: &(&str, &str)| Resource { uri: format!("{BASE}{}", t.0), name: t.0.into(), ..Default::default() };
        let resources = TEAS.iter().take(end).skip(start).map(entry).collect();
        let next_page_token = if end < TEAS.len() { end.to_string() } else { String::new() };
        Ok(Response::new(ListResourcesResponse { resources, next_page_token, cache: None }))
    }

    async fn list_resource_templates(
        &self, _: Request<ListResourceTemplatesRequest>,
    ) -> Unary<ListResourceTemplatesResponse> {
        let all =
            ResourceTemplate { uri_template: format!("{BASE}{{name}}"), name: "tea".into(), ..Default::default() };
        Ok(Response::new(ListResourceTemplatesResponse { resource_templates: vec![all], ..Default::default() }))
    }

    async fn read_resource(&self, r: Request<ReadResourceRequest>) -> Streaming<ReadResourceResponse> {
        let uri = r.into_inner().uri;
        let tea = TEAS.iter().find(|(name, _)| uri.strip_prefix(BASE) == Some(name));
        let (name, taste) = tea.ok_or_else(|| Status::not_found(format!("there is no resource {uri}")))?;
        let body = Some(resource_contents::Body::Text(format!("{name} is {taste}")));
        let contents = vec![ResourceContents { uri, body, ..Default::default() }];
        let result = ReadResourceResult { contents, ..Default::default() };
        stream(ReadResourceResponse { message: Some(read_resource_response::Message::Result(result)) })
    }

    async fn complete_resource_template(
        &self, r: Request<CompleteResourceTemplateRequest>,
    ) -> Unary<CompleteResourceTemplateResponse> {
        let values =
            TEAS.iter().map(|t| t.0.to_string()).filter(|t| t.starts_with(&r.get_ref().argument_value)).collect();
        Ok(Response::new(CompleteResourceTemplateResponse { values, ..Default::default() }))
    }
}

#[tonic::async_trait]
impl prompt_service_server::PromptService for TeaHouse {
    async fn list_prompts(&self, _: Request<ListPromptsRequest>) -> Unary<ListPromptsResponse> {
        let mood = PromptArgument { name: "mood".into(), required: true, ..Default::default() };
        let recommend = Prompt { name: "recommend".into(), arguments: vec![mood], ..Default::default() };
        Ok(Response::new(ListPromptsResponse { prompts: vec![recommend], ..Default::default() }))
    }

    async fn get_prompt(&self, r: Request<GetPromptRequest>) -> Streaming<GetPromptResponse> {
        let GetPromptRequest { name, arguments, .. } = r.into_inner();
        let mood = arguments.get("mood").filter(|_| name == "recommend");
        let mood = mood.ok_or_else(|| Status::not_found(format!("there is no prompt {name} without a mood")))?;
        let text = format!("Recommend one of {} to a guest who feels {mood}.", TEAS.map(|(name, _)| name).join(", "));
        let text = Some(content_block::Content::Text(TextContent { text }));
        let content = Some(ContentBlock { content: text, ..Default::default() });
        let messages = vec![PromptMessage { role: Role::User.into(), content }];
        let result = GetPromptResult { messages, ..Default::default() };
        stream(GetPromptResponse { message: Some(get_prompt_response::Message::Result(result)) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    global::set_tracer_provider(SdkTracerProvider::default()); // give it a span processor to export what is traced
    let server = Server::builder().add_service(tool_service_server::ToolServiceServer::new(TeaHouse));
    let server = server.add_service(resource_service_server::ResourceServiceServer::new(TeaHouse));
    let server = server.add_service(prompt_service_server::PromptServiceServer::new(TeaHouse));
    Ok(server.serve(env::args().nth(2).as_deref().unwrap_or("127.0.0.1:50051").parse()?).await?)
}
