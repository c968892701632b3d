//! Drives an edge with rmcp, the official Rust SDK, in both eras.

// Sampling, roots and logging are served for as long as the protocol has them.
#![allow(deprecated)]

use std::error::Error;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt, ErrorData};
use serde_json::{from_value, json, Value};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Bounds every step.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the client was told, and what it answers.
#[derive(Clone)]
struct Handler {
    told: Arc<Told>,
    action: Arc<Mutex<&'static str>>,
}

#[derive(Default)]
struct Told {
    /// With the total, by which calls are told apart.
    progress: Mutex<Vec<(f64, f64)>>,
    logs: Mutex<usize>,
    tools_changed: Mutex<usize>,
}

impl Told {
    /// The progress that came of calls with a total.
    fn of(&self, total: f64) -> Vec<f64> {
        self.progress.lock().unwrap().iter().filter(|p| p.0 == total).map(|p| p.1).collect()
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        from_value(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {"form": {}}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "interop-rmcp", "version": "1.0.0"},
        }))
        .expect("the client's information")
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        let action = *self.action.lock().unwrap();
        let asked = serde_json::to_value(&request).unwrap_or_default();
        let mut answer = json!({"action": action});
        if action == "accept" {
            answer["content"] = if asked["message"].as_str().unwrap_or_default().starts_with("Book ") {
                json!({"confirm": true})
            } else {
                json!({"seat": "aisle", "room": "suite", "insurance": true})
            };
        }
        from_value(answer).map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    async fn create_message(&self, _: CreateMessageRequestParams, _: RequestContext<RoleClient>) -> Result<CreateMessageResult, ErrorData> {
        from_value(json!({
            "model": "interop-model", "role": "assistant", "stopReason": "endTurn",
            "content": {"type": "text", "text": "Take the first one."},
        }))
        .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        from_value(json!({"roots": [{"uri": "file:///project/a", "name": "A"}]}))
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.told.progress.lock().unwrap().push((params.total.unwrap_or_default(), params.progress));
    }

    async fn on_logging_message(&self, _: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        *self.told.logs.lock().unwrap() += 1;
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        *self.told.tools_changed.lock().unwrap() += 1;
    }
}

/// Where the edge is, by the command line.
#[derive(Default)]
struct Options {
    dir: String,
    url: Option<String>,
    drain: Option<String>,
    command: Vec<String>,
}

fn options() -> Options {
    let mut o = Options::default();
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--dir" => o.dir = args.next().unwrap_or_default(),
            "--url" => o.url = args.next(),
            "--drain" => o.drain = args.next(),
            "--cut" => drop(args.next()),
            "--" => o.command = args.by_ref().collect(),
            _ => usage(),
        }
    }
    if o.dir.is_empty() || o.url.is_none() && o.command.is_empty() {
        usage();
    }
    o
}

fn usage() -> ! {
    eprintln!("give --dir DIR, and one of: --url URL with --cut URL or --drain URL, -- COMMAND ARGUMENTS…");
    std::process::exit(2)
}

/// Runs a step and says so; a failure ends the program.
async fn step(name: String, body: impl Future<Output = Outcome>) {
    let failed = match tokio::time::timeout(PATIENCE, body).await {
        Ok(Ok(())) => return println!("ok {name}"),
        Ok(Err(e)) => e.to_string(),
        Err(_) => format!("nothing within {PATIENCE:?}"),
    };
    println!("FAILED {name}: {failed}");
    std::process::exit(1)
}

fn contains(what: &str, text: &str, part: &str) -> Outcome {
    if text.contains(part) {
        return Ok(());
    }
    Err(format!("{what}: expected something with {part:?}, got {text:?}").into())
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Outcome {
    if got == want {
        return Ok(());
    }
    Err(format!("{what}: expected {want:?}, got {got:?}").into())
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A client in one era.
struct Visit {
    era: &'static str,
    handler: Handler,
    client: RunningService<RoleClient, Handler>,
}

impl Visit {
    async fn connect(o: &Options, era: &'static str) -> Result<Visit, Box<dyn Error + Send + Sync>> {
        let lifecycle = match era {
            "legacy" => ClientLifecycleMode::Initialize,
            _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        };
        let handler = Handler { told: Arc::default(), action: Arc::new(Mutex::new("accept")) };
        let client = match &o.url {
            Some(url) => handler.clone().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), lifecycle).await?,
            None => {
                let mut command = tokio::process::Command::new(&o.command[0]);
                command.args(&o.command[1..]);
                handler.clone().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
            }
        };
        Ok(Visit { era, handler, client })
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let params: CallToolRequestParams = from_value(json!({"name": name, "arguments": arguments}))?;
        Ok(serde_json::to_value(self.client.call_tool(params).await?)?)
    }

    async fn text(&self, name: &str, arguments: Value) -> Result<String, Box<dyn Error + Send + Sync>> {
        Ok(text(&self.call(name, arguments).await?))
    }

    fn named(&self, name: &str) -> String {
        format!("{} {name}", self.era)
    }

    async fn tools(&self) {
        step(self.named("tools/list"), async {
            let names: Vec<String> = self.client.list_all_tools().await?.into_iter().map(|t| t.name.to_string()).collect();
            for name in ["calculator_arithmetic", "book_trip", "countdown"] {
                contains("names", &names.join(" "), name)?;
            }
            Ok(())
        })
        .await;
        step(self.named("tools/call structured"), async {
            let r = self.call("calculator_arithmetic", json!({"expression": "2*(3+4)^2"})).await?;
            equal("structured content", r["structuredContent"].clone(), json!({"result": 98, "expression": "2*(3+4)^2"}))?;
            equal("text", text(&r), "98".to_string())
        })
        .await;
        step(self.named("tools/call failing tool"), async {
            let r = self.call("calculator_arithmetic", json!({"expression": "1/0"})).await?;
            equal("isError", r["isError"].clone(), json!(true))?;
            contains("text", &text(&r), "division by zero")?;
            match self.call("no_such_tool", json!({})).await {
                Ok(r) => Err(format!("an unknown tool was called: {r}").into()),
                Err(e) => contains("error", &e.to_string(), "no_such_tool"),
            }
        })
        .await;
        step(self.named("tools/call in parallel"), async {
            let calls = (0..20).map(|n| async move { self.text("calculator_arithmetic", json!({"expression": format!("{n}*2")})).await });
            for (n, got) in futures::future::join_all(calls).await.into_iter().enumerate() {
                equal("result", got?, (n * 2).to_string())?;
            }
            Ok(())
        })
        .await;
    }

    async fn asking(&self) {
        for (action, status) in [("decline", "declined"), ("cancel", "cancelled"), ("accept", "booked")] {
            step(self.named(&format!("elicitation {status}")), async {
                *self.handler.action.lock().unwrap() = action;
                let r = self.call("book_trip", json!({"destination": "Lisbon", "nights": 2})).await?;
                equal("status", r["structuredContent"]["status"].clone(), json!(status))
            })
            .await;
        }
        step(self.named("sampling"), async {
            let text = self.text("recommend_flight", json!({"origin": "Zurich", "destination": "Barcelona"})).await?;
            contains("text", &text, "Take the first one.")
        })
        .await;
        step(self.named("roots"), async {
            contains("text", &self.text("list_workspace", json!({})).await?, "file:///project/a")
        })
        .await;
    }

    async fn others(&self, o: &Options) {
        step(self.named("resources"), async {
            let all = serde_json::to_string(&self.client.list_all_resources().await?)?;
            contains("resources", &all, "note.txt")?;
            let file = std::path::absolute(std::path::Path::new(&o.dir).join("note.txt"))?;
            let request = from_value(json!({"uri": format!("file://{}", file.display())}))?;
            let got = serde_json::to_value(self.client.read_resource(request).await?)?;
            equal("text", got["contents"][0]["text"].clone(), json!("first\n"))?;
            let templates = serde_json::to_string(&self.client.list_all_resource_templates().await?)?;
            contains("templates", &templates, "weather://forecast/{city}/{date}")
        })
        .await;
        step(self.named("prompts"), async {
            let all = serde_json::to_string(&self.client.list_all_prompts().await?)?;
            contains("prompts", &all, "plan-vacation")?;
            let request = from_value(json!({"name": "plan-vacation", "arguments": {"destination": "Lisbon", "days": "3"}}))?;
            let got = serde_json::to_string(&self.client.get_prompt(request).await?)?;
            contains("prompt", &got, "3 days in Lisbon")
        })
        .await;
        step(self.named("completion"), async {
            let got = self.client.complete_prompt_simple("code_review", "language", "Ja").await?;
            equal("values", got, vec!["Java".to_string(), "JavaScript".to_string()])
        })
        .await;
    }

    async fn running(&self) {
        let told = &self.handler.told;
        step(self.named("progress"), async {
            contains("text", &self.text("countdown", json!({"steps": 4, "interval_ms": 40})).await?, "Counted down 4 steps")?;
            until(|| told.of(4.0).len() >= 4).await;
            equal("progress", told.of(4.0), vec![1.0, 2.0, 3.0, 4.0])
        })
        .await;
        if self.era == "legacy" {
            step(self.named("logging"), async {
                self.client.set_level(from_value(json!({"level": "info"}))?).await?;
                self.call("countdown", json!({"steps": 3, "interval_ms": 20})).await?;
                until(|| *told.logs.lock().unwrap() >= 3).await;
                Ok(self.client.set_level(from_value(json!({"level": "emergency"}))?).await?)
            })
            .await;
            step(self.named("list changed"), async {
                let before = *told.tools_changed.lock().unwrap();
                self.call("test_trigger_tool_change", json!({})).await?;
                until(|| *told.tools_changed.lock().unwrap() > before).await;
                Ok(())
            })
            .await;
        }
        step(self.named("cancellation"), async {
            let call = self.call("countdown", json!({"steps": 1000, "interval_ms": 30}));
            if tokio::time::timeout(Duration::from_millis(300), call).await.is_ok() {
                return Err("the call ended".into());
            }
            contains("next", &self.text("countdown", json!({"steps": 1, "interval_ms": 1})).await?, "Counted down 1 steps")
        })
        .await;
    }

    async fn drained(&self, drain: &str) {
        let told = &self.handler.told;
        step(self.named("a replica drained in a call"), async {
            let drain = async {
                until(|| told.of(30.0).len() >= 3).await;
                post(drain).await
            };
            let (text, drained) = tokio::join!(self.text("countdown", json!({"steps": 30, "interval_ms": 100})), drain);
            drained?;
            contains("text", &text?, "Counted down 30 steps")?;
            until(|| told.of(30.0).len() >= 30).await;
            equal("progress", told.of(30.0), (1..=30).map(f64::from).collect())
        })
        .await;
        step(self.named("a call on the other replica"), async {
            equal("text", self.text("calculator_arithmetic", json!({"expression": "1+1"})).await?, "2".to_string())
        })
        .await;
    }
}

fn text(result: &Value) -> String {
    let empty = Vec::new();
    let content = result["content"].as_array().unwrap_or(&empty);
    content.iter().filter_map(|c| c["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Posts nothing to a control address, http://HOST:PORT.
async fn post(url: &str) -> Outcome {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut connection = tokio::net::TcpStream::connect(address).await?;
    let request = format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    contains("answer", &answer, "200 OK")
}

#[tokio::main]
async fn main() {
    let o = options();
    println!("uses rmcp {}", env!("RMCP_VERSION"));
    for era in ["legacy", "modern"] {
        let mut connected = None;
        step(format!("{era} initialize"), async {
            let v = Visit::connect(&o, era).await?;
            let info = serde_json::to_value(v.client.peer_info())?;
            contains("server", &info.to_string(), "mcpedge")?;
            println!("speaks {}", if era == "legacy" { "2025-11-25" } else { "2026-07-28" });
            connected = Some(v);
            Ok(())
        })
        .await;
        let Some(v) = connected else { return };
        v.tools().await;
        v.asking().await;
        v.others(&o).await;
        v.running().await;
        if let (Some(drain), "legacy") = (&o.drain, era) {
            v.drained(drain).await;
        }
        let client = v.client;
        step(format!("{era} close"), async {
            client.cancel().await?;
            Ok(())
        })
        .await;
    }
}
