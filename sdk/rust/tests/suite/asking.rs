use mcpedge_capability::testing::{Client, Outcome, accepted, declined, dismissed, opened, raw_answer, sampled, with_roots};
use mcpedge_capability::{
    Action, Call, CallToolResult, Error, InputRequired, Prompt, Reason, ResourceTemplate, Server, Unanswered, form, form_schema,
    list_roots, open_url, raw_question, sampling,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn server() -> Server {
    Server::new("test", "1.0.0")
}

async fn call(client: &Client, name: &str) -> Outcome<CallToolResult> {
    client.call_tool(name, json!({})).await.unwrap()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

/// An order
#[derive(Deserialize, JsonSchema)]
struct Order {
    /// How many
    #[schemars(range(min = 1, max = 5))]
    cups: u8,
    size: Option<Size>,
    note: Option<String>,
    extras: Vec<Size>,
}

#[tokio::test]
async fn forms_are_flat() {
    let s = server()
        .tool("order", "", |call: Call| async move {
            let order: Order = call.ask("order", "What?").await?;
            let size = order.size.map_or("any", |s| if matches!(s, Size::Large) { "large" } else { "small" });
            Ok::<_, Unanswered>(format!("{} {size} {} {}", order.cups, order.note.is_none(), order.extras.len()))
        })
        .tool("sure", "", |call: Call| async move { Ok::<_, Unanswered>(call.ask::<bool>("sure", "Sure?").await?.to_string()) });
    let client = Client::new(&s)
        .answer("order", accepted(&json!({"cups": 2.0, "size": "large", "extras": ["small"]})))
        .answer("sure", accepted(&json!({"sure": true})));
    let outcome = call(&client, "order").await;
    assert_eq!((outcome.text().as_str(), outcome.rounds), ("2 large true 1", 2));
    let enumerated = json!({"type": "string", "enum": ["small", "large"]});
    let properties = json!({
        "cups": {"type": "integer", "minimum": 1, "maximum": 5, "description": "How many"}, "size": enumerated,
        "note": {"type": "string"}, "extras": {"type": "array", "items": enumerated},
    });
    let want = json!({"type": "object", "properties": properties, "description": "An order", "required": ["cups", "extras"]});
    assert_eq!(outcome.asked[0].schema(), want);
    let outcome = call(&client, "sure").await;
    assert_eq!(outcome.text(), "true");
    assert_eq!(outcome.asked[0].schema()["properties"], json!({"sure": {"type": "boolean"}}));
}

#[derive(Deserialize, JsonSchema)]
struct Deep {
    #[allow(dead_code)]
    order: Order,
}

#[tokio::test]
async fn what_makes_no_form_is_a_fault() {
    let s = server().tool("deep", "", |call: Call| async move { call.ask::<Deep>("deep", "?").await.map(|_| ()) });
    let failure = call(&Client::new(&s), "deep").await.failure.unwrap();
    assert_eq!(failure.reason, Reason::Internal);
    assert!(failure.message.contains("its member \"order\" is no string, number"), "{}", failure.message);
}

#[tokio::test]
async fn what_does_not_fit_is_asked_again_and_refusals_are_errors() {
    let s = server().tool("t", "", |call: Call| async move {
        match call.ask::<Order>("order", "What?").await {
            Ok(_) => "ok",
            Err(Unanswered::Declined) => "declined",
            Err(Unanswered::Dismissed) => "cancelled",
        }
    });
    for (answer, text) in [(declined(), "declined"), (dismissed(), "cancelled")] {
        assert_eq!(call(&Client::new(&s).answer("order", answer), "t").await.text(), text);
    }
    for wrong in
        [json!({"cups": 6, "extras": []}), json!({"cups": 1}), json!({"cups": "1", "extras": []}), json!({"cups": 1, "extras": ["x"]})]
    {
        let client = Client::new(&s).answer("order", accepted(&wrong));
        let ended = client.call_tool("t", json!({})).await;
        assert!(ended.unwrap_err().message().contains("still asks"), "{wrong} was taken");
    }
}

#[tokio::test]
async fn all_kinds_at_once() {
    let s = server().tool("t", "", |call: Call| async move {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}, "required": ["a"]});
        let questions = (
            form::<bool>("sure", "Sure?"),
            form_schema("raw", "Raw?", schema),
            open_url("url", "Open", "https://example.com"),
            sampling("model", "Say"),
            list_roots("roots"),
            raw_question("other", &json!({"method": "x/y", "params": {}})),
        );
        let (sure, raw, url, said, roots, other) = call.ask_all(questions).await;
        let read = (sure?, raw.action, raw.content["a"].as_str() == Some("xy"), url, said.text(), roots.len(), other);
        assert_eq!(read, (true, Action::Accept, true, Err(Unanswered::Declined), "roses".to_string(), 2, json!({"z": 1})));
        Ok::<_, Unanswered>("done")
    });
    let client = Client::new(&s)
        .answer("sure", accepted(&json!({"sure": true})))
        .answer("raw", accepted(&json!({"a": "xy"})))
        .answer("url", declined())
        .answer("model", sampled("roses"))
        .answer("roots", with_roots(&["file:///a", "file:///b"]))
        .answer("other", raw_answer(&json!({"z": 1})));
    let outcome = call(&client, "t").await;
    assert_eq!((outcome.text().as_str(), outcome.rounds, outcome.asked.len()), ("done", 2, 6));
}

#[tokio::test]
async fn questions_of_joined_futures_and_of_tasks_are_asked_together() {
    let s = server()
        .tool("joined", "", |call: Call| async move {
            let (a, b) = tokio::join!(call.ask::<bool>("a", "A?"), call.ask::<bool>("b", "B?"));
            Ok::<_, Unanswered>(format!("{} {}", a?, b?))
        })
        .tool("spawned", "", |call: Call| async move {
            let own = call.clone();
            let asked = tokio::spawn(async move { own.open_url("a", "A?", "https://example.com").await });
            Ok::<_, Error>(format!("{:?}", asked.await?))
        });
    let client = Client::new(&s).answer("a", accepted(&json!({"a": true}))).answer("b", accepted(&json!({"b": false})));
    let outcome = call(&client, "joined").await;
    assert_eq!((outcome.text().as_str(), outcome.rounds), ("true false", 2));
    assert_eq!(call(&Client::new(&s).answer("a", opened()), "spawned").await.text(), "Ok(())");
}

#[tokio::test]
async fn once_and_state_survive_rounds() {
    let made = Arc::new(AtomicU32::new(0));
    let counted = made.clone();
    let s = server().tool("t", "", move |call: Call| {
        let made = counted.clone();
        async move {
            let number = call.once("n", async { made.fetch_add(1, Ordering::SeqCst) }).await;
            let failed = call.try_once("e", async { Err::<u8, _>("no") }).await;
            call.ask::<bool>("a", "A?").await?;
            let before = call.state();
            call.set_state([call.round() as u8]);
            call.ask::<bool>("b", "B?").await?;
            Ok::<_, Unanswered>(format!("{number} {failed:?} {before:?}"))
        }
    });
    let client = Client::new(&s).answer("a", accepted(&json!({"a": true}))).answer("b", accepted(&json!({"b": true})));
    let outcome = call(&client, "t").await;
    assert_eq!((outcome.text().as_str(), outcome.rounds), ("0 Err(\"no\") Some([2])", 3));
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_key_has_one_question_and_one_step() {
    let s = server()
        .tool("loop", "", |call: Call| async move {
            let mut deleted = Vec::new();
            for file in ["a", "b"] {
                if call.ask::<bool>("sure", format!("Delete {file}?")).await? {
                    deleted.push(file);
                }
            }
            Ok::<_, Unanswered>(deleted.join(","))
        })
        .tool("again", "", |call: Call| async move {
            let (first, second) = (call.ask::<bool>("sure", "?").await?, call.ask::<bool>("sure", "?").await?);
            Ok::<_, Unanswered>(format!("{first} {second}"))
        })
        .tool("until", "", |call: Call| async move {
            while call.ask::<bool>("sure", "No?").await? {}
            Ok::<_, Unanswered>("no")
        })
        .tool("steps", "", |call: Call| async move {
            let mut made = Vec::new();
            for item in ["a", "b"] {
                made.push(call.once("reserve", async { item.to_string() }).await);
            }
            made.join(",")
        })
        .tool("joined", "", |call: Call| async move {
            let own = |n: u8| call.once("n", async move { n });
            let (a, b) = tokio::join!(own(1), own(2));
            format!("{a} {b}")
        })
        .tool("retried", "", |call: Call| async move {
            let _ = call.try_once("n", async { Err::<u8, _>("no") }).await;
            call.try_once("n", async { Ok::<_, Error>(2) }).await.map(|n| n.to_string())
        })
        .tool("key", "", |call: Call| async move { call.once("", async {}).await });
    let client = Client::new(&s).answer("sure", accepted(&json!({"sure": true})));
    for (name, says) in [
        ("loop", "two different questions have the key \"sure\"; give each its own, as format!(\"sure-{id}\")"),
        ("until", "asked the question \"sure\" 1000 times"),
        ("steps", "once(\"reserve\") came twice in one round"),
        ("joined", "once(\"n\") came twice in one round"),
        ("key", "the key of once has 1 to 128 bytes, not 0"),
    ] {
        let outcome = call(&client, name).await;
        let failure = outcome.failure.unwrap_or_else(|| panic!("{name} has {:?}", outcome.result));
        assert!(failure.reason == Reason::Internal && failure.message.contains(says), "{name}: {failure:?}");
    }
    assert_eq!(call(&client, "again").await.text(), "true true");
    assert_eq!(call(&client, "retried").await.text(), "2");
}

#[tokio::test]
async fn rounds_are_bounded() {
    let s = server()
        .tool("twice", "", |call: Call| async move {
            call.ask_all(vec![form::<bool>("a", "A?"), form::<bool>("a", "A?")]).await;
        })
        .tool("many", "", |call: Call| async move {
            call.ask_all((0..17).map(|i| form::<bool>(&format!("k{i}"), "?")).collect::<Vec<_>>()).await;
        })
        .tool("key", "", |call: Call| async move { call.ask::<bool>(&"k".repeat(129), "?").await.map(|_| ()) })
        .tool("state", "", |call: Call| async move {
            call.set_state(vec![0; 65 << 10]);
            call.ask::<bool>("k", "?").await.map(|_| ())
        });
    let client = Client::new(&s);
    for (name, says) in
        [("many", "17 questions in one round"), ("key", "1 to 128 bytes, not 129"), ("state", "above the 65536 that survive")]
    {
        let message = call(&client, name).await.failure.unwrap().message;
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(call(&client, "twice").await.asked.len(), 1, "one key is one question");
    let s = server().tool("own", "", |call: Call| async move {
        if call.state().is_some() {
            return Ok("went on".to_string());
        }
        Err(InputRequired::new().state([]).retry_after(std::time::Duration::from_millis(1500)))
    });
    assert_eq!(call(&Client::new(&s), "own").await.text(), "went on");
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

#[tokio::test]
async fn reads_and_prompts_ask_too() {
    let read = |call: Call, t: Topic| async move { Ok::<_, Unanswered>(format!("{} {}", t.topic, call.ask::<String>("say", "?").await?)) };
    let s = server().with(ResourceTemplate::new("x://{topic}", "x", read)).with(Prompt::new("p", "", read));
    let client = Client::new(&s).answer("say", accepted(&json!({"say": "hi"})));
    let read = client.read_resource("x://tea").await.unwrap();
    assert_eq!(read.rounds, 2);
    assert_eq!(read.result.unwrap().contents[0].as_text(), Some("tea hi"));
    assert_eq!(client.get_prompt("p", &[("topic", "tea")]).await.unwrap().rounds, 2);
}
