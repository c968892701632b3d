use mcpedge_capability::testing::Client;
use mcpedge_capability::{
    Base64, Call, CallToolResult, Error, Failure, GetPromptResult, InputRequired, Json, Mcp, Parameters, Principal, Prompt, Reason,
    Resource, Server, Tasks, Tool, Unanswered, contract, image, raw_content, text,
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
    assert_eq!(input["additionalProperties"], false);
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
    assert_eq!(*inner, json!({"description": "a Term as above"}), "a type that is not always an object is any value");
}

#[tokio::test]
async fn bad_arguments_never_reach_a_handler() {
    let s = server().tool("t", "", |i: Item| async move { i.name });
    let client = Client::new(&s);
    let cases = [
        (json!([]), "must be a JSON object"),
        (json!({"name": "x"}), "missing field `count`"),
        (json!({"name": 7, "count": 1}), "the arguments do not fit: name: invalid type: integer `7`, expected a string"),
        (json!({"name": "x", "count": 1.5}), "invalid type: floating point"),
        (json!({"name": "x", "count": -1}), "count: invalid value: integer `-1`"),
        (json!({"name": "x", "count": 1, "parent": {"name": "y", "count": "z"}}), "parent.count: invalid type: string"),
    ];
    for (arguments, says) in cases {
        let failure = client.call_tool("t", arguments.clone()).await.unwrap().failure.unwrap();
        assert_eq!(failure.reason, Reason::InvalidArgument);
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
            CallToolResult::error("no").with_structured(&[1])
        });
    let client = Client::new(&s);
    let call = async |name| {
        client.call_tool(name, if ["raw", "map"].contains(&name) { json!({"a": 1.0}) } else { json!({}) }).await.unwrap().result.unwrap()
    };
    assert_eq!(call("none").await, CallToolResult::default());
    assert_eq!(call("text").await.content, [text("a")]);
    assert_eq!(call("list").await.content.len(), 3);
    assert_eq!(call("json").await.structured_content.unwrap().get(), r#"{"a":[1]}"#);
    assert_eq!(call("raw").await.structured_content.unwrap().get(), r#"{"a":1.0}"#);
    assert_eq!(call("map").await.structured_content.unwrap().get(), r#"{"a":1.0}"#);
    let whole = call("whole").await;
    assert!(whole.is_error);
    assert_eq!((whole.structured_content.unwrap().get(), whole.meta), ("[1]", Some(json!({"b": 2}))));
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

/// Hides the error that it contains, as `anyhow::Error` does without a context, and `#[error(transparent)]` of thiserror.
#[derive(Debug)]
struct Transparent<E>(E);

impl<E: std::fmt::Display> std::fmt::Display for Transparent<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: std::error::Error> std::error::Error for Transparent<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

#[tokio::test]
async fn errors_keep_their_kind_in_wrappers_that_hide_them() {
    let s = server()
        .mask_errors(true)
        .tool("denied", "", || async {
            let denied = Failure::new(Reason::PermissionDenied, "not yours").with_data(json!({"owner": "ada"}));
            Err::<(), _>(Transparent(Transparent(denied)))
        })
        .tool("gone", "", || async { Err::<(), _>(Transparent(Failure::new(Reason::NotFound, "no such report"))) })
        .tool("nothing", "", || async { Err::<(), _>(Transparent(Failure::new(Reason::Unavailable, "off").with_data(NoJson))) })
        .tool("declined", "", || async { Err::<(), _>(Transparent(Unanswered::Declined)) })
        .tool("again", "", |call: Call| async move {
            match call.state() {
                Some(_) => Ok("went on"),
                None => Err(Transparent(InputRequired::new().state([1]))),
            }
        });
    let client = Client::new(&s);
    let call = async |name: &str| client.call_tool(name, json!({})).await.unwrap();
    let denied = call("denied").await.failure.unwrap();
    assert_eq!(denied, Failure::new(Reason::PermissionDenied, "not yours").with_data(json!({"owner": "ada"})));
    assert_eq!(call("nothing").await.failure.unwrap().reason, Reason::Internal);
    for (name, says) in [("gone", "no such report"), ("declined", "the user declined to answer")] {
        let outcome = call(name).await;
        assert!(outcome.is_error() && outcome.text() == says, "{name}: {outcome:?}");
    }
    assert_eq!(call("again").await.text(), "went on");
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
        .tool("refusal", "", || async { Err::<(), _>(Unanswered::Declined) })
        .tool("scopes", "", || async { Err::<(), _>(Failure::lacks_scopes(["a", "b"])) })
        .tool("wrapped", "", || async { Err::<(), _>(Wrapped(Failure::new(Reason::Unavailable, "off").with_data(json!({"retry": 1})))) })
        .tool("data", "", || async { Err::<(), _>(Failure::new(Reason::Unavailable, "gone").with_data(NoJson)) })
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
    assert_eq!(failed("scopes").await.scopes(), ["a", "b"]);
    let wrapped = failed("wrapped").await;
    assert_eq!((wrapped.message.as_str(), wrapped.data()), ("off", json!({"retry": 1})));
    assert_eq!(failed("data").await.reason, Reason::Internal);
    assert_eq!(client.call_tool("status", json!({})).await.unwrap_err().code(), Code::AlreadyExists);
    for name in ["panic", "at_once"] {
        let failure = failed(name).await;
        assert_eq!(failure.reason, Reason::Internal);
        assert_eq!(failure.message, format!("tool {name} failed by a fault of the service"));
    }
    assert_eq!(failed("no\n\"such").await.message, r#"there is no tool "no\n\"such""#);
    let said = said.lock().unwrap();
    assert!(said.len() == 2 && said[0].contains("secret 1") && said[0].contains("tool panic"), "{said:?}");
}

#[derive(Deserialize, JsonSchema)]
struct Steeping {
    minutes: u8,
    milk: bool,
}

#[tokio::test]
async fn a_wrong_argument_of_a_prompt_is_named() {
    let s = server().with(Prompt::new("p", "", |s: Steeping| async move { format!("{} {}", s.minutes, s.milk) }));
    let client = Client::new(&s);
    for (minutes, milk, says) in [
        ("3", "yes", "prompt p: the arguments do not fit: milk: invalid type: string \"yes\", expected a boolean"),
        ("300", "true", "fit: minutes: invalid value"),
    ] {
        let failure = client.get_prompt("p", &[("minutes", minutes), ("milk", milk)]).await.unwrap().failure.unwrap();
        assert!(failure.reason == Reason::InvalidArgument && failure.message.contains(says), "{failure:?}");
    }
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
    let s = server().tool("a b", "", || async {}).tool("t", "", || async {}).tool("t", "", || async {}).provide("", Nothing);
    let text = s.check().unwrap_err().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|line| line.starts_with("tests/suite/tools.rs:")), "{text}");
    assert!(lines[0].contains("give it another") && lines[1].contains("already") && lines[2].contains("no prefix"), "{text}");
    let status = Client::new(&s).call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(status.message(), text);
    assert_eq!(format!("{:?}", s.routes().map(|_| ()).unwrap_err()), text);
}

#[tokio::test]
async fn a_call_knows_its_request() {
    let s = server().tool("t", "", |call: Call| async move {
        call.defer();
        call.defer();
        call.checkpoint([1, 2])?;
        assert!(call.checkpoint(vec![0; 70_000]).is_err());
        let known = json!({
            "id": call.id(), "attempt": call.attempt(), "round": call.round(), "who": &call.principal().subject, "claim": call.claim("team"),
            "other": call.claim("other"), "meta": call.meta(), "task": call.task_id(), "state": call.state(), "left": call.time_remaining(),
        });
        Ok::<_, Error>(Json(known))
    });
    let mut principal = Principal::new("ada");
    principal.claims.insert("team".to_string(), json!(["red"]));
    let client = Client::new(&s).principal(principal).task("").meta(&json!({"a": 1}));
    let outcome = client.call_tool("t", json!({})).await.unwrap();
    let want = json!({"id": "test", "attempt": 1, "round": 1, "who": "ada", "claim": ["red"], "other": null, "meta": {"a": 1}, "task": "",
        "state": [1, 2], "left": null});
    assert_eq!(outcome.structured(), want);
    assert_eq!((outcome.defers, outcome.checkpoints.len()), (1, 1));
}

struct Nothing;

#[mcpedge_capability::async_trait]
impl mcpedge_capability::ResourceProvider for Nothing {
    async fn read(&self, _: Call) -> Result<Vec<mcpedge_capability::ResourceContents>, Error> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn unknown_arguments_are_refused_by_name() {
    #[derive(Deserialize, JsonSchema)]
    struct Open {
        name: String,
        #[serde(flatten)]
        more: HashMap<String, Value>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Either {
        Name { name: String },
        Number { number: i64 },
    }
    let named = |p: Parameters<Item>| async move { p.0.name };
    let s = server()
        .tool("closed", "", named)
        .tool("none", "", || async { "none" })
        .with(Tool::new("dropped", "", named).allow_unknown_arguments())
        .tool("open", "", |o: Open| async move { format!("{} {}", o.name, o.more.len()) })
        .tool("either", "", |e: Either| async move {
            match e {
                Either::Name { name } => name,
                Either::Number { number } => number.to_string(),
            }
        })
        .tool("value", "", |v: Value| async move { v.to_string() })
        .with(Prompt::new("prompt", "", |i: Item| async move { i.name }));
    let client = Client::new(&s);
    let call = async |name: &str, arguments: Value| client.call_tool(name, arguments).await.unwrap();
    let item = json!({"name": "x", "count": 1, "colour": "red"});
    let failure = call("closed", item.clone()).await.failure.unwrap();
    assert_eq!(failure.reason, Reason::InvalidArgument);
    assert_eq!(failure.message, r#"unknown argument "colour": known are "name", "count", "tags", "parent""#);
    assert_eq!(call("none", item.clone()).await.failure.unwrap().message, r#"unknown arguments "colour", "count", "name": there are none"#);
    assert_eq!(call("dropped", item.clone()).await.text(), "x");
    assert_eq!(call("open", item.clone()).await.text(), "x 2");
    assert_eq!(call("either", json!({"number": 3})).await.text(), "3");
    assert!(call("either", json!({"number": 3, "x": 1})).await.failure.unwrap().message.contains(r#""x""#));
    assert_eq!(call("value", json!({"x": 1})).await.text(), r#"{"x":1}"#);
    let got = client.get_prompt("prompt", &[("name", "x"), ("count", "1"), ("colour", "red")]).await.unwrap();
    assert!(got.failure.unwrap().message.contains(r#"unknown argument "colour""#));
    let listed = listed(Tool::new("t", "", named).allow_unknown_arguments()).await.input_schema_json;
    assert!(!listed.contains("additionalProperties"), "{listed}");
}

#[tokio::test]
async fn bytes_are_base64_and_bounded() {
    #[derive(Deserialize, JsonSchema)]
    struct Picture {
        data: Base64<8>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Copy {
        data: Base64,
    }
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Numbers {
        data: Vec<u8>,
    }
    let copy = |p: Picture| async move { Json(Copy { data: p.data.0.into() }) };
    let s = server().tool("copy", "", copy);
    let input: Value = serde_json::from_str(&listed(Tool::new("copy", "", copy)).await.input_schema_json).unwrap();
    assert_eq!(input["properties"]["data"], json!({"type": "string", "contentEncoding": "base64", "maxLength": 12}));
    let client = Client::new(&s);
    let call = async |data: Value| client.call_tool("copy", json!({"data": data})).await.unwrap();
    assert_eq!(call(json!("AAH/")).await.structured(), json!({"data": "AAH/"}));
    for (wrong, says) in [("AAH", "no base64"), ("AAAAAAAAAAAAAAAA", "above 8 bytes"), ("AAAAAAAAAAAA", "above 8 bytes")] {
        let message = call(json!(wrong)).await.failure.unwrap().message;
        assert!(message.contains(says), "{message}");
    }
    let taking = s.add(Tool::new("t", "", |_: Numbers| async {})).unwrap_err().to_string();
    assert!(taking.contains("its arguments have a Vec<u8>") && taking.contains("use Base64 for bytes"), "{taking}");
    let giving = s.add(Tool::new("t", "", || async { Json(Numbers { data: vec![] }) })).unwrap_err().to_string();
    assert!(giving.contains("its results have a Vec<u8>"), "{giving}");
}

#[tokio::test]
async fn results_in_the_form_of_mcp_are_results() {
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Official {
        content: Vec<Value>,
        structured_content: Option<Value>,
        is_error: Option<bool>,
    }
    let content = json!([{"type": "text", "text": "no", "annotations": {"priority": 0.5}},
        {"type": "image", "data": "AAH/", "mimeType": "image/png"}, {"type": "resource", "resource": {"uri": "x://", "text": "in"}},
        {"type": "resource_link", "uri": "x://a", "name": "a"}]);
    let failed = json!({"content": content, "isError": true, "_meta": {"a": 1}});
    let (given, in_json) = (failed.clone(), failed.clone());
    let s = server()
        .tool("mcp", "", move || {
            let given = given.clone();
            async { Mcp(given) }
        })
        .tool("json", "", move || {
            let given = in_json.clone();
            async { Json(given) }
        })
        .tool("own", "", || async { Json(json!({"content": ["a"], "size": 1})) })
        .tool("wrong", "", || async { Mcp(json!({"content": [{"type": "video"}]})) })
        .tool("neither", "", || async { Mcp(json!({"size": 1})) })
        .with(Prompt::new("prompt", "", || async {
            Mcp(json!({"messages": [{"role": "assistant", "content": {"type": "text", "text": "hi"}}]}))
        }))
        .with(Resource::new("x://a", "a", || async { Mcp(json!({"contents": [{"uri": "x://a", "mimeType": "a/b", "blob": "AAH/"}]})) }));
    let client = Client::new(&s);
    let call = async |name: &str| client.call_tool(name, json!({})).await.unwrap();
    let result = call("mcp").await.result.unwrap();
    assert!(result.is_error && result.meta == Some(json!({"a": 1})) && result.structured_content.is_none());
    assert_eq!((result.content[0].as_text(), result.content[0].annotations.as_ref().unwrap().priority), (Some("no"), Some(0.5)));
    assert_eq!(result.content[1], image([0, 1, 255], "image/png"));
    assert_eq!(result.content.len(), 4);
    assert!(call("json").await.failure.unwrap().message.contains("return it as Mcp(value)"));
    assert_eq!(call("own").await.structured(), json!({"content": ["a"], "size": 1}));
    assert!(call("wrong").await.failure.unwrap().message.contains(r#"the content type "video""#));
    assert!(call("neither").await.failure.unwrap().message.contains("unknown field `size`"));
    let prompt: GetPromptResult = client.get_prompt("prompt", &[]).await.unwrap().result.unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("hi"));
    let read = client.read_resource("x://a").await.unwrap().result.unwrap();
    assert_eq!((read.contents[0].as_blob(), read.contents[0].mime_type.as_str()), (Some(&[0, 1, 255][..]), "a/b"));
    let official = || async { Json(Official { content: vec![], structured_content: None, is_error: None }) };
    let error = s.add(Tool::new("t", "", official)).unwrap_err().to_string();
    assert!(error.contains("its result is a CallToolResult in Json; return Mcp(result)"), "{error}");
}

#[tokio::test]
async fn not_found_of_a_tool_is_for_the_model_and_errors_can_be_masked() {
    let define = || {
        server()
            .logger(Arc::new(|_, _, _| {}))
            .tool("gone", "", || async { Err::<(), _>(Failure::new(Reason::NotFound, "no such report")) })
            .tool("status", "", || async { Err::<(), _>(Status::not_found("no such row")) })
            .tool("plain", "", || async { Err::<(), Error>("secret".into()) })
            .tool("state", "", || async { Err::<(), _>(Failure::new(Reason::FailedPrecondition, "closed")) })
            .tool("declined", "", || async { Err::<(), _>(Unanswered::Declined) })
            .with(Resource::new("x://gone", "gone", || async { Err::<String, _>(std::io::Error::from(std::io::ErrorKind::NotFound)) }))
            .with(Resource::new("x://plain", "plain", || async { Err::<String, Error>("secret".into()) }))
    };
    for masked in [false, true] {
        let s = define().mask_errors(masked);
        let client = Client::new(&s);
        let call = async |name: &str| client.call_tool(name, json!({})).await.unwrap();
        for (name, says) in [("gone", "no such report"), ("status", "no such row"), ("declined", "the user declined to answer")] {
            let outcome = call(name).await;
            assert!(outcome.is_error(), "{name} {masked}");
            assert_eq!(outcome.text(), says);
        }
        assert_eq!(call("state").await.failure.unwrap().message, "closed");
        let plain = call("plain").await;
        let read = client.read_resource("x://plain").await.unwrap().failure.unwrap();
        if masked {
            assert_eq!(plain.failure.unwrap().message, "tool plain failed by a fault of the service");
            assert!(!read.message.contains("secret"), "{}", read.message);
        } else {
            assert_eq!((plain.text().as_str(), read.message.as_str()), ("secret", "secret"));
        }
        let gone = client.read_resource("x://gone").await.unwrap().failure.unwrap();
        assert_eq!(gone.reason, Reason::NotFound);
        assert_eq!(client.call_tool("none", json!({})).await.unwrap().failure.unwrap().reason, Reason::NotFound);
    }
}

#[tokio::test]
async fn a_failure_that_the_model_sees_is_an_error_in_the_kit() {
    for (reason, seen) in [
        (Reason::InvalidArgument, true),
        (Reason::FailedPrecondition, true),
        (Reason::NotFound, true),
        (Reason::Unavailable, false),
        (Reason::PermissionDenied, false),
    ] {
        let s = server().tool("fail", "", move || async move { Err::<String, Error>(Failure::new(reason, "no").into()) });
        let outcome = Client::new(&s).call_tool("fail", json!({})).await.unwrap();
        assert_eq!((outcome.is_error(), outcome.text()), (seen, if seen { "no".to_string() } else { String::new() }), "{reason:?}");
    }
}
