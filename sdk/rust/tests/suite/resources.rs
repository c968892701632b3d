use crate::until;
use mcpedge_capability::testing::Client;
use mcpedge_capability::{
    Call, Changes, Error, Failure, Prompt, Reason, Resource, ResourceContents, ResourceInfo, ResourceProvider, ResourceTemplate, Server,
    Service, Watching, async_trait, blob_contents, contract, text_contents,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_stream::StreamExt;
use tonic::codegen::BoxStream;
use tonic::{Code, Request, Status};

fn server() -> Server {
    Server::new("test", "1.0.0")
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
    number: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    q: Option<String>,
    limit: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

async fn read(s: &Server, uri: &str) -> Result<ResourceContents, Failure> {
    let outcome = Client::new(s).read_resource(uri).await.unwrap();
    outcome.result.map(|mut r| r.contents.remove(0)).ok_or_else(|| outcome.failure.unwrap())
}

fn text(contents: &ResourceContents) -> &str {
    contents.as_text().unwrap_or("no text")
}

#[tokio::test]
async fn reads_are_what_is_returned() {
    let failing = |kind: io::ErrorKind| move || async move { Err::<String, _>(io::Error::new(kind, "why")) };
    let s = server()
        .with(Resource::new("x://text", "text", || async { "a" }).mime_type("text/plain"))
        .with(Resource::new("x://utf8", "utf8", || async { b"a".to_vec() }))
        .with(Resource::new("x://png", "png", || async { b"a".to_vec() }).mime_type("image/png"))
        .with(Resource::new("x://own", "own", || async { blob_contents("y://", "a/b", [1]) }).mime_type("text/plain"))
        .with(Resource::new("x://none", "none", || async { None::<String> }))
        .with(Resource::new("x://missing", "missing", failing(io::ErrorKind::NotFound)))
        .with(Resource::new("x://denied", "denied", failing(io::ErrorKind::PermissionDenied)))
        .with(Resource::new("x://failed", "failed", failing(io::ErrorKind::Other)))
        .with(Resource::new("x://exact", "exact", |call: Call| async move {
            call.set_cache(Duration::from_millis(1500), true);
            call.uri().to_string()
        }));
    assert_eq!(read(&s, "x://text").await.unwrap(), text_contents("x://text", "text/plain", "a"));
    assert_eq!(read(&s, "x://utf8").await.unwrap(), text_contents("x://utf8", "", "a"));
    assert_eq!(read(&s, "x://png").await.unwrap(), blob_contents("x://png", "image/png", b"a"));
    assert_eq!(read(&s, "x://own").await.unwrap(), blob_contents("y://", "a/b", [1]));
    for (uri, reason) in [
        ("x://none", Reason::NotFound),
        ("x://missing", Reason::NotFound),
        ("x://denied", Reason::PermissionDenied),
        ("x://failed", Reason::Internal),
        ("x://unknown", Reason::NotFound),
    ] {
        assert_eq!(read(&s, uri).await.unwrap_err().reason, reason, "{uri}");
    }
    let outcome = Client::new(&s).read_resource("x://exact").await.unwrap().result.unwrap();
    assert_eq!(outcome.ttl, Some(Duration::from_millis(1500)));
}

#[derive(Deserialize)]
struct Vector {
    template: String,
    uris: HashMap<String, Option<BTreeMap<String, String>>>,
}

#[tokio::test]
async fn uri_templates_have_the_values_that_all_libraries_agree_on() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/suites/capability/testdata/templates.json");
    let vectors: Vec<Vector> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(!vectors.is_empty());
    for Vector { template, uris } in vectors {
        let values = |values: BTreeMap<String, String>| async move { json!(values).to_string() };
        let s = server().with(ResourceTemplate::new(&template, "t", values));
        for (uri, want) in uris {
            let got = read(&s, &uri).await.ok().map(|contents| serde_json::from_str(text(&contents)).unwrap());
            assert_eq!(got, want, "{template} of {uri}");
        }
    }
}

#[tokio::test]
async fn uri_templates_have_all_operators() {
    let s = server()
        .with(ResourceTemplate::new("x://city/{city}{/number}", "a", |p: Place| async move { format!("{} {:?}", p.city, p.number) }))
        .with(ResourceTemplate::new("x://search{?q,limit}", "b", |q: Query| async move { format!("{:?} {:?}", q.q, q.limit) }))
        .with(ResourceTemplate::new("file:///{+path}", "c", |p: Path| async move { p.path }));
    for (uri, want) in [
        ("x://city/D%C3%BCsseldorf/7", "Düsseldorf Some(7)"),
        ("x://search?q=a%20b&limit=3", "Some(\"a b\") Some(3)"),
        ("x://search?limit=3", "None Some(3)"),
        ("x://search", "None None"),
        ("file:///a/b.txt", "a/b.txt"),
    ] {
        assert_eq!(text(&read(&s, uri).await.unwrap()), want, "{uri}");
    }
    for uri in ["x://city/a/b", "x://city/a/b/c", "x://search?q=a/b", "y://"] {
        assert!(read(&s, uri).await.is_err(), "{uri}");
    }
    for (template, says) in [
        ("x://{city*}", "without a plain name"),
        ("x://{city", "the brace at \"{city\" is of no expression"),
        ("x://{city}/{city}", "comes twice"),
        ("city/{city}{number}", "make its URI absolute"),
        ("x://{city}", "the handler's argument \"number\" is none of its variables: city"),
    ] {
        let error = s.add(ResourceTemplate::new(template, "t", |p: Place| async move { p.city })).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let wrong = ResourceTemplate::new("z://{path}", "t", |p: Path| async move { p.path }).complete("other", ["x"]);
    assert!(s.add(wrong).unwrap_err().to_string().contains("there is no argument \"other\" to complete, only path"));
}

/// Greets.
#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom
    name: String,
    times: Option<u8>,
    #[serde(default)]
    loud: bool,
}

#[tokio::test]
async fn prompts_take_texts_and_complete_them() {
    use contract::prompt_service_server::PromptService;
    let greet = |g: Greeting| async move { format!("{} {:?} {}", g.name, g.times, g.loud) };
    let by = |_, typed: String, chosen: HashMap<String, String>| async move {
        if chosen.is_empty() {
            Err(Failure::new(Reason::FailedPrecondition, "whom?"))
        } else {
            Ok(vec![format!("{typed}{}", chosen["name"])])
        }
    };
    let s = server().with(Prompt::new("greet", "Greets", greet).complete("name", ["Ada", "alan", "Bob"]).complete_by("times", by));
    let client = Client::new(&s);
    let got = client.get_prompt("greet", &[("name", "7"), ("times", "3"), ("loud", "true")]).await.unwrap().result.unwrap();
    assert_eq!(got.messages, [mcpedge_capability::message(mcpedge_capability::Role::User, "7 Some(3) true")]);
    assert_eq!(got.description, "Greets");
    for wrong in [&[("times", "3")][..], &[("name", "x"), ("times", "many")]] {
        let failure = client.get_prompt("greet", wrong).await.unwrap().failure.unwrap();
        assert_eq!(failure.reason, Reason::InvalidArgument);
    }
    let service = Service(s.clone());
    let listed = service.list_prompts(Request::new(Default::default())).await.unwrap().into_inner().prompts.remove(0);
    let arguments: Vec<_> = listed.arguments.iter().map(|a| (a.name.as_str(), a.description.as_str(), a.required)).collect();
    assert_eq!(arguments, [("name", "Whom", true), ("times", "", false), ("loud", "", false)]);
    let complete = async |argument: &str, value: &str, chosen: &[(&str, &str)]| client.complete("greet", argument, value, chosen).await;
    assert_eq!(complete("name", "a", &[]).await.unwrap(), ["Ada", "alan"]);
    assert_eq!(complete("times", "1", &[("name", "x")]).await.unwrap(), ["1x"]);
    assert_eq!(complete("loud", "", &[]).await.unwrap(), Vec::<String>::new());
    assert_eq!(complete("times", "1", &[]).await.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn changes_between_pages_shift_nothing() {
    use contract::resource_service_server::ResourceService;
    let s = server();
    let add = |i: u32| s.add(Resource::new(format!("x://{i:04}"), "r", || async { "" })).unwrap();
    (0..2500).for_each(add);
    let service = Service(s.clone());
    let page = async |page_token: String, page_size| {
        let request = contract::ListResourcesRequest { page_token, page_size, principal: None };
        service.list_resources(Request::new(request)).await.map(tonic::Response::into_inner)
    };
    let first = page(String::new(), 0).await.unwrap();
    assert_eq!(first.resources.len(), 1000);
    s.remove_resource("x://0003");
    s.remove_resource("x://1000");
    let second = page(first.next_page_token.clone(), 7).await.unwrap();
    assert_eq!(second.resources[0].uri, "x://1001");
    s.remove_resource("x://0999");
    assert_eq!(page(first.next_page_token, 7).await.unwrap().resources[0].uri, "x://1002", "the last one is gone, and two before it");
    for token in ["x", "0-0000000000000000", "99999999999999999999999-0000000000000000", "-", "é"] {
        assert_eq!(page(token.into(), 0).await.unwrap_err().code(), Code::InvalidArgument, "{token}");
    }
}

#[derive(Clone, Default)]
struct Shelf {
    fails: bool,
    watches: Arc<AtomicU32>,
    changes: Arc<Mutex<Option<Changes>>>,
}

struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl ResourceProvider for Shelf {
    async fn list(&self) -> Result<Vec<ResourceInfo>, Error> {
        assert!(!self.fails, "secret");
        Ok(vec![ResourceInfo::new("shelf://a", "a")])
    }

    async fn read(&self, call: Call) -> Result<Vec<ResourceContents>, Error> {
        Ok(if call.uri() == "shelf://a" { vec![text_contents("", "", "book")] } else { Vec::new() })
    }

    async fn watch(&self, changes: Changes) -> Result<Option<Watching>, Error> {
        if self.fails {
            return Err("no eyes".into());
        }
        *self.changes.lock().unwrap() = Some(changes);
        self.watches.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Watching::new(Counted(self.watches.clone()))))
    }
}

async fn watch(s: &Server, uri: &str) -> Result<BoxStream<contract::WatchResourceResponse>, Status> {
    use contract::resource_service_server::ResourceService;
    let request = contract::WatchResourceRequest { uri: uri.to_string(), principal: None };
    Ok(Service(s.clone()).watch_resource(Request::new(request)).await?.into_inner())
}

async fn next(stream: &mut BoxStream<contract::WatchResourceResponse>) -> Result<String, Status> {
    use contract::watch_resource_response::Event;
    let next = tokio::time::timeout(crate::PATIENCE, stream.next());
    Ok(match next.await.expect("no event came").expect("the stream ended")?.event {
        Some(Event::Started(_)) => "started".to_string(),
        Some(Event::Updated(u)) => u.uri,
        None => String::new(),
    })
}

#[tokio::test]
async fn a_provider_is_watched_while_anyone_watches() {
    let shelf = Shelf::default();
    let s = server().provide("shelf://", shelf.clone());
    let (mut one, mut all) = (watch(&s, "shelf://a").await.unwrap(), watch(&s, "shelf://").await.unwrap());
    assert_eq!((next(&mut one).await.unwrap(), next(&mut all).await.unwrap()), ("started".into(), "started".into()));
    assert_eq!(shelf.watches.load(Ordering::SeqCst), 1);
    let changes = shelf.changes.lock().unwrap().clone().unwrap();
    changes.updated("shelf://b");
    changes.updated("shelf://a");
    assert_eq!(next(&mut one).await.unwrap(), "shelf://a");
    let mut both = [next(&mut all).await.unwrap(), next(&mut all).await.unwrap()];
    both.sort();
    assert_eq!(both, ["shelf://a", "shelf://b"]);
    drop(one);
    (0..2000).for_each(|i| changes.updated(&format!("shelf://{i}")));
    assert_eq!(next(&mut all).await.unwrap(), "shelf://", "what lags behind reads all again");
    s.close();
    while next(&mut all).await.is_ok_and(|uri| uri.starts_with("shelf://")) {}
    drop(all);
    until("the watch ended", || shelf.watches.load(Ordering::SeqCst) == 0).await;
    assert!(watch(&s, "other://").await.is_ok());
    assert_eq!(watch(&s, "other://x").await.err().unwrap().code(), Code::NotFound);
}

#[tokio::test]
async fn a_provider_that_fails_says_why_unless_it_panics() {
    use contract::resource_service_server::ResourceService;
    let s = server().provide("shelf://", Shelf { fails: true, ..Shelf::default() });
    let status = Service(s.clone()).list_resources(Request::new(Default::default())).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Internal, "list of shelf:// failed by a fault of the service"));
    let status = next(&mut watch(&s, "shelf://a").await.unwrap()).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "shelf:// cannot be watched: no eyes"));
}
