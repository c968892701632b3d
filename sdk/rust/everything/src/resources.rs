use crate::CACHE;
use crate::asking::{object, text};
use crate::content::red_pixel;
use mcpedge_capability::{
    Action, Call, Changes, Error, Failure, Reason, Resource, ResourceContents, ResourceInfo, ResourceProvider, ResourceTemplate, Server,
    Watching, async_trait, text_contents,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::sleep;

const WATCHED: &str = "test://watched-resource";
const INTERVAL: Duration = Duration::from_secs(3);

#[derive(Deserialize, JsonSchema)]
struct Data {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Asked {
    topic: String,
}

/// A resource that changes by itself while there are watchers.
struct Watched {
    began: Instant,
}

#[async_trait]
impl ResourceProvider for Watched {
    async fn list(&self) -> Result<Vec<ResourceInfo>, Error> {
        Ok(vec![ResourceInfo {
            title: "Watched resource".into(),
            description: format!("A text that changes every {} s", INTERVAL.as_secs()),
            mime_type: "text/plain".into(),
            ..ResourceInfo::new(WATCHED, "watched-resource")
        }])
    }

    async fn read(&self, call: Call) -> Result<Vec<ResourceContents>, Error> {
        let version = self.began.elapsed().as_secs() / INTERVAL.as_secs() + 1;
        let contents = text_contents("", "text/plain", format!("Watched resource content, version {version}"));
        Ok((call.uri() == WATCHED).then_some(contents).into_iter().collect())
    }

    async fn watch(&self, changes: Changes) -> Result<Option<Watching>, Error> {
        Ok(Some(Watching::spawn(async move {
            loop {
                sleep(INTERVAL).await;
                changes.updated(WATCHED);
            }
        })))
    }
}

pub fn add(server: Server) -> Server {
    let fixed = |call: Call| async move {
        call.set_cache(CACHE, true);
        "This is the content of the static text resource."
    };
    let binary = |call: Call| async move {
        call.set_cache(CACHE, true);
        red_pixel()
    };
    let data = |call: Call, d: Data| async move {
        call.set_cache(CACHE, true);
        json!({"id": d.id, "templateTest": true, "data": format!("Data for ID: {}", d.id)}).to_string()
    };
    let ask = |call: Call, a: Asked| async move {
        let form = object(json!({"context": text("What it is about")}));
        let r = call.ask_form("user_context", format!("What should \"{}\" say?", a.topic), form).await;
        match r.action {
            Action::Accept => Ok(r.content["context"].as_str().unwrap_or_default().to_string()),
            other => Err(Failure::new(Reason::FailedPrecondition, format!("the user gave no text ({})", other.as_str()))),
        }
    };
    let static_text = Resource::new("test://static-text", "static-text", fixed);
    let static_binary = Resource::new("test://static-binary", "static-binary", binary);
    let template = ResourceTemplate::new("test://template/{id}/data", "template", data);
    let asking = ResourceTemplate::new("test://ask/{topic}", "ask", ask);
    server
        .with(static_text.title("Static text").description("A text that never changes").mime_type("text/plain"))
        .with(static_binary.title("Static binary").description("A picture that never changes").mime_type("image/png"))
        .provide(WATCHED, Watched { began: Instant::now() })
        .with(template.title("Template").description("Data about an id").mime_type("application/json").complete("id", ["1", "12", "123"]))
        .with(asking.title("Asking read").description("A text from the user at each read").mime_type("text/plain"))
}
