use crate::until;
use mcpedge_capability::testing::Client;
use mcpedge_capability::{Call, Error, Level, Reason, Server, Service, Tool, contract};
use opentelemetry::trace::TraceContextExt;
use serde_json::json;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_stream::StreamExt;
use tonic::{Code, Request};

fn server() -> Server {
    Server::new("test", "1.0.0")
}

fn request(name: &str) -> Request<contract::CallToolRequest> {
    Request::new(contract::CallToolRequest { name: name.to_string(), ..Default::default() })
}

#[tokio::test]
async fn progress_rises_and_logs_have_levels() {
    let s = server().tool("t", "", |call: Call| async move {
        for p in [1.0, 1.0, 0.0, 2.0] {
            call.progress(p, 2.0, "so far");
        }
        call.log(Level::Info, "", "no");
        call.log(Level::Error, "x", json!({"a": 1}));
        format!("{:?} {}", call.log_level(), call.wants_log(Level::Warning))
    });
    let outcome = Client::new(&s).log_level(Some(Level::Warning)).call_tool("t", json!({})).await.unwrap();
    assert_eq!(outcome.text(), "Some(Warning) true");
    assert_eq!(outcome.progress.iter().map(|p| p.progress).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(outcome.logs.iter().map(|l| (l.logger.as_str(), l.data.clone())).collect::<Vec<_>>(), [("x", json!({"a": 1}))]);
}

#[tokio::test]
async fn what_a_slow_reader_has_not_taken_is_coalesced() {
    // On one thread: the reader has no turn before the handler ends.
    let s = server().tool("t", "", |call: Call| async move {
        (1..=2000).for_each(|i| call.log(Level::Error, "", i));
        (1..=20_000).for_each(|i| call.progress(i.into(), None, ""));
    });
    let outcome = Client::new(&s).call_tool("t", json!({})).await.unwrap();
    assert_eq!(outcome.progress.iter().map(|p| p.progress).collect::<Vec<_>>(), [20_000.0]);
    assert_eq!(outcome.logs.len(), 1025);
    assert_eq!(outcome.logs.last().unwrap().data, "976 log messages were dropped: the client reads too slowly");
}

#[derive(Clone, Default)]
struct Ends(Arc<AtomicU32>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_handler_is_dropped_when_its_caller_leaves_and_at_its_deadline() {
    let (ends, notified) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (dropped, elsewhere) = (ends.clone(), notified.clone());
    let s = server().tool("waits", "", move |call: Call| {
        let (ends, notified) = (Ends(dropped.clone()), elsewhere.clone());
        tokio::spawn(async move {
            call.cancelled().await;
            assert!(call.is_cancelled());
            notified.fetch_add(1, Ordering::SeqCst);
        });
        async move {
            let _ends = ends;
            pending::<()>().await
        }
    });
    let service = Service(s.clone());
    use contract::tool_service_server::ToolService;
    let stream = service.call_tool(request("waits")).await.unwrap().into_inner();
    tokio::task::yield_now().await;
    assert_eq!(ends.load(Ordering::SeqCst), 0);
    drop(stream);
    until("it is dropped", || ends.load(Ordering::SeqCst) == 1 && notified.load(Ordering::SeqCst) == 1).await;
    let mut timed = request("waits");
    timed.metadata_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let mut stream = service.call_tool(timed).await.unwrap().into_inner();
    assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
    until("it is dropped", || ends.load(Ordering::SeqCst) == 2 && notified.load(Ordering::SeqCst) == 2).await;
    for endless in ["18446744073709551615H", "", "é", "S", "xS"] {
        let mut timed = request("no_such_tool");
        timed.metadata_mut().insert("grpc-timeout", tonic::metadata::MetadataValue::try_from(endless.as_bytes()).unwrap());
        assert!(service.call_tool(timed).await.is_ok(), "{endless}");
    }
    let outcome = Client::new(&server().tool("t", "", |call: Call| async move { call.is_cancelled().to_string() }));
    assert_eq!(outcome.call_tool("t", json!({})).await.unwrap().text(), "false");
}

#[tokio::test]
async fn a_cancelled_task_is_notified() {
    let notified = Arc::new(AtomicU32::new(0));
    let by = notified.clone();
    let tool = Tool::new("t", "", |call: Call| async move { call.open_url("k", "", "https://example.com").await });
    let s = server().with(tool.on_cancel(move |call: Call| {
        by.store(u32::from(call.state().map_or(0, |s| s[0])), Ordering::SeqCst);
        async { Ok::<_, Error>(()) }
    }));
    let ask = server().tool("t", "", |call: Call| async move {
        call.set_state([7]);
        call.open_url("k", "", "https://example.com").await
    });
    let state = Client::new(&ask).call_tool("t", json!({})).await.unwrap().state;
    let client = Client::new(&s);
    client.cancel("t", &state).await.unwrap();
    assert_eq!(notified.load(Ordering::SeqCst), 7);
    assert_eq!(client.cancel("t", b"x").await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn the_trace_of_the_edge_is_continued() {
    let s = server().tool("t", "", || async {
        tokio::task::yield_now().await;
        opentelemetry::Context::current().span().span_context().trace_id().to_string()
    });
    let mut traced = request("t");
    traced.metadata_mut().insert("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap());
    use contract::tool_service_server::ToolService;
    let message = Service(s.clone()).call_tool(traced).await.unwrap().into_inner().next().await.unwrap().unwrap();
    let Some(contract::call_tool_response::Message::Result(result)) = message.message else { panic!() };
    let Some(contract::content_block::Content::Text(text)) = &result.content[0].content else { panic!() };
    assert_eq!(text.text, "0af7651916cd43dd8448eb211c80319c");
}

#[tokio::test]
async fn a_panic_elsewhere_is_for_the_log_alone() {
    let logged = Arc::new(std::sync::Mutex::new(String::new()));
    let into = logged.clone();
    let s = server()
        .logger(Arc::new(move |level, text, more| *into.lock().unwrap() = format!("{level} {text} {more}")))
        .tool("blocking", "", || async { Ok::<_, Error>(tokio::task::spawn_blocking(|| -> String { panic!("secret") }).await?) })
        .tool("wrapped", "", || async {
            let ended = tokio::spawn(async {
                if true {
                    panic!("secret")
                }
            })
            .await;
            ended.map_err(std::io::Error::other)
        });
    for name in ["blocking", "wrapped"] {
        let failure = Client::new(&s).call_tool(name, json!({})).await.unwrap().failure.expect("a failure");
        assert_eq!((failure.reason, failure.message), (Reason::Internal, format!("tool {name} failed by a fault of the service")));
        let logged = std::mem::take(&mut *logged.lock().unwrap());
        assert!(logged.starts_with("ERROR a handler panicked") && logged.contains("secret"), "{logged}");
    }
}
