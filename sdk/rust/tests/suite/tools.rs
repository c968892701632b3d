use mcpedge_capability::testing::{Client, default_context};
use mcpedge_capability::{
    Call, CallToolResult, Error, Failure, Json, Reason, Refusal, Server, Tasks, Tool, contract, image, raw_content, text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tonic::{Code, Status};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Item {
    /// What it is called
    name: String,
    #[schemars(range(min = 1))]
    count: u32,
    #[serde(default)]
    tags: Vec<String>,
    parent: Option<Box<Item>>,
}

#[derive(Serialize, JsonSchema)]
struct Point {
    x: i64,
    y: f32,
}

fn server() -> Server {
    Server::new("test", "1.0.0")
}

async fn listed(tool: Tool) -> contract::Tool {
    use contract::tool_service_server::ToolService;
    let service = mcpedge_capability::Service(server().with(tool));
    let request = tonic::Request::new(contract::ListToolsRequest::default());
    service.list_tools(request).await.unwrap().into_inner().tools.remove(0)
}

#[tokio::test]
async fn schemas_are_of_the_types() {
    let handler = |_: Call, _: Item| async { Json(Point { x: 1, y: 0.5 }) };
    let tool = Tool::new("add", "Adds", handler).title("Add up").read_only().tasks(Tasks::optional().poll(Duration::from_millis(500)));
    let tool = listed(tool).await;
    let input: Value = serde_json::from_str(&tool.input_schema_json).unwrap();
    assert_eq!(input["required"], json!(["name", "count"]));
    assert_eq!(input["properties"]["name"], json!({"type": "string", "description": "What it is called"}));
    assert_eq!(input["properties"]["count"], json!({"type": "integer", "minimum": 1}));
    assert_eq!(input["properties"]["tags"], json!({"type": "array", "items": {"type": "string"}, "default": []}));
    assert!(input.get("title").is_none() && input.get("$schema").is_none(), "{input}");
    let output: Value = serde_json::from_str(&tool.output_schema_json).unwrap();
    let properties = json!({"x": {"type": "integer"}, "y": {"type": "number"}});
    assert_eq!(output, json!({"type": "object", "properties": properties, "required": ["x", "y"]}));
    let hints = tool.annotations.unwrap();
    assert_eq!((hints.read_only, hints.destructive), (Some(true), None));
    let tasks = tool.task_support.unwrap();
    assert_eq!((tasks.mode(), tasks.poll_interval.unwrap().nanos), (contract::TaskMode::Optional, 500_000_000));
}

#[tokio::test]
async fn schemas_have_no_formats_of_numbers_and_no_names_of_types_at_any_depth() {
    #[derive(Deserialize, JsonSchema)]
    struct Node {
        _sizes: HashMap<String, Vec<Option<u8>>>,
        _at: (f32, i64),
        _next: Option<Box<Node>>,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Tree {
        _root: Node,
    }
    let schema = listed(Tool::new("t", "", |_: Tree| async {})).await.input_schema_json;
    assert!(
        !schema.contains("$defs")
            && schema.contains("a Node as above")
            && schema.contains("prefixItems")
            && schema.contains("additionalProperties"),
        "{schema}"
    );
    assert!(!schema.contains("format") && !schema.contains("title"), "{schema}");
}

#[tokio::test]
async fn schemas_of_arguments_have_no_references_and_no_forms_at_the_root() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code)]
    enum Term {
        Number(f64),
        Sum { _of: Vec<Term> },
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Shape {
        Circle { _radius: f64 },
        Square { _side: f64 },
    }
    #[derive(Deserialize, JsonSchema)]
    struct Drawn {
        _name: String,
        _term: Term,
        #[serde(flatten)]
        _shape: Shape,
    }
    let schema: Value = serde_json::from_str(&listed(Tool::new("t", "", |_: Drawn| async {})).await.input_schema_json).unwrap();
    assert_eq!(schema["required"], json!(["_name", "_term"]), "{schema}");
    assert!(schema["oneOf"].is_null() && schema["properties"]["_side"]["type"] == "number", "{schema}");
    assert_eq!(schema["properties"]["kind"]["anyOf"].as_array().unwrap().len(), 2, "{schema}");
    let inner = &schema["properties"]["_term"]["anyOf"][1]["properties"]["_of"]["items"];
    assert_eq!(*inner, json!({"description": "a Term as above"}), "what is not always an object is anything");
}

#[tokio::test]
async fn bad_arguments_never_reach_a_handler() {
    let s = server().tool("t", "", |i: Item| async move { i.name });
    let client = Client::new(&s);
    let cases = [
        (json!([]), "must be a JSON object"),
        (json!({"name": "x"}), "missing field `count`"),
        (json!({"name": 7, "count": 1}), "expected a string"),
        (json!({"name": "x", "count": 1.5}), "invalid type: floating point"),
        (json!({"name": "x", "count": -1}), "invalid value: integer `-1`"),
    ];
    for (arguments, says) in cases {
        let failure = client.call_tool("t", arguments.clone()).await.unwrap().failure.unwrap();
        assert_eq!(failure.reason(), contract::FailureReason::InvalidArgument);
        assert!(failure.message.contains(says), "{arguments}: {}", failure.message);
    }
    assert_eq!(client.call_tool("t", json!({"name": "x", "count": 3.0})).await.unwrap().text(), "x");
}

#[tokio::test]
async fn results_are_what_is_returned() {
    let s = server()
        .tool("none", "", || async {})
        .tool("text", "", || async { "a" })
        .tool("list", "", || async { vec![text("a"), image([1], "image/png"), raw_content(&json!({"type": "x"}))] })
        .tool("json", "", || async { Json(json!({"a": [1]})) })
        .tool("raw", "", |raw: Box<RawValue>| async move { Json(raw) })
        .tool("map", "", |map: HashMap<String, f64>| async move { Json(map) })
        .tool("whole", "", |call: Call| async move {
            call.set_meta(&json!({"b": 2}));
            CallToolResult::error("no").structured(&[1])
        });
    let client = Client::new(&s);
    let call = async |name| client.call_tool(name, json!({"a": 1.0})).await.unwrap().result.unwrap();
    assert_eq!(call("none").await, CallToolResult::default());
    assert_eq!(call("text").await.content, [text("a")]);
    assert_eq!(call("list").await.content.len(), 3);
    assert_eq!(call("json").await.structured_content_json, r#"{"a":[1]}"#);
    assert_eq!(call("raw").await.structured_content_json, r#"{"a":1.0}"#);
    assert_eq!(call("map").await.structured_content_json, r#"{"a":1.0}"#);
    let whole = call("whole").await;
    assert!(whole.is_error);
    assert_eq!((whole.structured_content_json.as_str(), whole.meta_json.as_str()), ("[1]", r#"{"b":2}"#));
    assert!(listed(Tool::new("json", "", || async { Json(json!(1)) })).await.output_schema_json.is_empty());
}

#[tokio::test]
async fn numbers_keep_their_text() {
    let s = server().tool("echo", "", |raw: Box<RawValue>| async move { Json(raw) });
    let text = r#"{"a":9007199254740993,"d":18446744073709551616,"f":-0.0,"g":1.10,"h":1E+2,"a":1}"#;
    let raw: Value = serde_json::from_str(text).unwrap();
    assert_ne!(raw.to_string(), text, "the test is one of numbers that would change");
    use contract::tool_service_server::ToolService;
    use tokio_stream::StreamExt;
    let request = contract::CallToolRequest { name: "echo".into(), arguments_json: text.into(), ..Default::default() };
    let service = mcpedge_capability::Service(s.clone());
    let mut stream = service.call_tool(tonic::Request::new(request)).await.unwrap().into_inner();
    let Some(contract::call_tool_response::Message::Result(r)) = stream.next().await.unwrap().unwrap().message else { panic!() };
    assert_eq!(r.structured_content_json, text);
}

#[derive(Debug)]
struct Wrapped(Failure);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

struct NoJson;

impl Serialize for NoJson {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it has none"))
    }
}

#[tokio::test]
async fn errors_and_panics_are_sorted() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let log = said.clone();
    let s = server()
        .logger(Arc::new(move |level, message, more| log.lock().unwrap().push(format!("{level} {message} {more}"))))
        .tool("plain", "", || async { Err::<(), Error>("out of paper".into()) })
        .tool("refusal", "", || async { Err::<(), _>(Refusal::Declined) })
        .tool("scopes", "", || async { Err::<(), _>(Failure::lacks_scopes(["a", "b"])) })
        .tool("wrapped", "", || async { Err::<(), _>(Wrapped(Failure::new(Reason::Unavailable, "off").data(json!({"retry": 1})))) })
        .tool("data", "", || async { Err::<(), _>(Failure::new(Reason::NotFound, "gone").data(NoJson)) })
        .tool("status", "", || async { Err::<(), _>(Status::already_exists("there")) })
        .tool("panic", "", || async {
            if true {
                panic!("secret {}", 1)
            }
        })
        .tool("at_once", "", || -> std::future::Ready<()> { panic!("secret") });
    let client = Client::new(&s);
    for (name, says) in [("plain", "out of paper"), ("refusal", "the user declined to answer")] {
        let outcome = client.call_tool(name, json!({})).await.unwrap();
        assert!(outcome.result.as_ref().unwrap().is_error);
        assert_eq!(outcome.text(), says);
    }
    let failed = async |name| client.call_tool(name, json!({})).await.unwrap().failure.unwrap();
    assert_eq!(failed("scopes").await.scopes, ["a", "b"]);
    let wrapped = failed("wrapped").await;
    assert_eq!((wrapped.message.as_str(), wrapped.data_json.as_str()), ("off", r#"{"retry":1}"#));
    assert_eq!(failed("data").await.reason(), contract::FailureReason::Internal);
    assert_eq!(client.call_tool("status", json!({})).await.unwrap_err().code(), Code::AlreadyExists);
    for name in ["panic", "at_once"] {
        let failure = failed(name).await;
        assert_eq!(failure.reason(), contract::FailureReason::Internal);
        assert_eq!(failure.message, format!("tool {name} failed by a fault of the service"));
    }
    assert_eq!(failed("no\n\"such").await.message, r#"there is no tool "no\n\"such""#);
    let said = said.lock().unwrap();
    assert!(said.len() == 2 && said[0].contains("secret 1") && said[0].contains("tool panic"), "{said:?}");
}

#[tokio::test]
async fn mistakes_are_found_when_defined() {
    let s = server().tool("taken", "", || async {});
    let nothing = || async {};
    let cases = [
        (Tool::new("a b", "", nothing), r#"tool "a b": a tool's name must be 1 to 64 of A-Z a-z 0-9 _ . -; give it another"#),
        (Tool::new("", "", nothing), "must be 1 to 64"),
        (Tool::new("taken", "", nothing), r#"there is a tool "taken" already; give this one another name"#),
        (Tool::new("t", "", |_: String| async {}), r#"tool "t": its arguments have the schema {"type":"string"}; take a struct"#),
        (Tool::new("t", "", nothing).output_schema(&json!([])), r#"tool "t": its output schema is []; make it a JSON object"#),
        (Tool::new("t", "", nothing).meta(&json!(1)), r#"tool "t": its _meta is 1"#),
    ];
    for (tool, says) in cases {
        let error = s.add(tool).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let panicked = std::panic::catch_unwind(|| server().tool("a b", "", || async {})).map(|_| ()).unwrap_err();
    assert!(panicked.downcast_ref::<String>().unwrap().contains("give it another"));
}

#[tokio::test]
async fn what_is_known_of_a_call() {
    let s = server().tool("t", "", |call: Call| async move {
        call.defer();
        call.defer();
        call.checkpoint([1, 2])?;
        assert!(call.checkpoint(vec![0; 70_000]).is_err());
        let known = json!({
            "id": call.id(), "attempt": call.attempt(), "round": call.round(), "who": call.principal().subject, "claim": call.claim("team"),
            "other": call.claim("other"), "meta": call.meta(), "task": call.task_id(), "state": call.state(), "left": call.time_remaining(),
        });
        Ok::<_, Error>(Json(known))
    });
    let claims_json = HashMap::from([("team".to_string(), r#"["red"]"#.to_string())]);
    let principal = contract::Principal { subject: "ada".into(), claims_json, ..Default::default() };
    let (task, meta_json) = (Some(contract::TaskContext::default()), r#"{"a":1}"#.to_string());
    let context = contract::RequestContext { principal: Some(principal), task, meta_json, checkpoints: true, ..default_context() };
    let outcome = Client::new(&s).context(context).call_tool("t", json!({})).await.unwrap();
    let want = json!({"id": "test", "attempt": 1, "round": 1, "who": "ada", "claim": ["red"], "other": null, "meta": {"a": 1}, "task": "",
        "state": [1, 2], "left": null});
    assert_eq!(outcome.structured(), want);
    assert_eq!((outcome.defers, outcome.checkpoints.len()), (1, 1));
}
