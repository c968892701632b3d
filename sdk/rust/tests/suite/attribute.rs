use mcpedge_capability::testing::Client;
use mcpedge_capability::{Call, Error, Json, Parameters, Server, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[derive(Deserialize, JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two numbers.
///
/// Both are integers.
#[tool(read_only, title = "Sum")]
async fn add(Parameters(terms): Parameters<Terms>) -> Result<Json<Sum>, Error> {
    Ok(Json(Sum { sum: terms.a.checked_add(terms.b).ok_or("the sum is too large")? }))
}

#[tool(name = "who", description = "Says who calls")]
fn caller(call: Call) -> String {
    call.principal().subject.clone()
}

struct Counter {
    count: AtomicI64,
}

impl Counter {
    /// Adds to the count.
    #[tool(destructive = false, idempotent = false)]
    async fn count(&self, _call: Call, terms: Terms) -> String {
        (self.count.fetch_add(terms.a, Ordering::SeqCst) + terms.a).to_string()
    }
}

#[tokio::test]
async fn functions_and_methods_become_tools() {
    let counter = Arc::new(Counter { count: AtomicI64::new(1) });
    let s = Server::new("test", "1.0.0").with(add_tool()).with(caller_tool()).with(counter.count_tool());
    let client = Client::new(&s);
    let terms = json!({"a": 1, "b": 2});
    assert_eq!(client.call_tool("add", terms.clone()).await.unwrap().structured(), json!({"sum": 3}));
    assert!(client.call_tool("add", json!({"a": i64::MAX, "b": 1})).await.unwrap().is_error());
    assert_eq!(client.call_tool("who", json!({})).await.unwrap().text(), "");
    assert_eq!(client.call_tool("count", terms.clone()).await.unwrap().text(), "2");
    assert_eq!(counter.count(Call::clone(&call(&s).await), Terms { a: 1, b: 0 }).await, "3", "the function itself is unchanged");
    use mcpedge_capability::contract::{ListToolsRequest, tool_service_server::ToolService};
    let listed = mcpedge_capability::Service(s).list_tools(tonic::Request::new(ListToolsRequest::default())).await.unwrap().into_inner();
    let add = &listed.tools[0];
    assert_eq!((add.description.as_str(), add.title.as_str()), ("Adds two numbers.\n\nBoth are integers.", "Sum"));
    assert_eq!(add.annotations.as_ref().unwrap().read_only, Some(true));
    let hints = listed.tools[2].annotations.as_ref().unwrap();
    assert_eq!((hints.destructive, hints.idempotent), (Some(false), None));
}

/// The call of a tool, kept.
async fn call(s: &Server) -> Call {
    let (sent, received) = std::sync::mpsc::channel();
    let keep = mcpedge_capability::Tool::new("keep", "", move |call: Call| {
        let sent = sent.send(call);
        async move { sent.map_err(|e| e.to_string()) }
    });
    s.add(keep).unwrap();
    Client::new(s).call_tool("keep", json!({})).await.unwrap();
    s.remove_tool("keep");
    received.recv().unwrap()
}
