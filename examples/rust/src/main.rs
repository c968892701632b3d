//! A tea house: a tool that asks its user and reports progress, a long one, a resource template and a prompt.

use mcpedge_capability::{
    Call, Error, Failure, Json, Prompt, Reason, Resource, ResourceTemplate, Server, Tasks, Tool, Unanswered,
};
use opentelemetry::{Context, global, trace::TraceContextExt};
use opentelemetry_sdk::trace::SdkTracerProvider;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::sleep;

const TEAS: [(&str, &str); 3] = [("assam", "malty"), ("oolong", "between green and black"), ("sencha", "grassy")];
const BASE: &str = "tea://rust/";

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tea {
    Assam,
    Oolong,
    Sencha,
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    tea: Tea,
}

#[derive(Deserialize, JsonSchema)]
struct Cups {
    #[schemars(range(min = 1, max = 5))]
    cups: u8,
}

#[derive(Serialize, JsonSchema)]
struct Brewed {
    tea: Tea,
    cups: u8,
    trace: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Steeping {
    #[schemars(range(min = 1))]
    minutes: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Guest {
    /// How the guest feels
    mood: String,
}

async fn brew(call: Call, order: Order) -> Json<Brewed> {
    // The first round ends here; the function runs again with the answer of the user.
    let name = TEAS[order.tea as usize].0;
    let cups = match call.ask::<Cups>("cups", format!("How many cups of {name}?")).await {
        Ok(answer) => answer.cups,
        Err(Unanswered::Declined | Unanswered::Dismissed) => 0,
    };
    for cup in 1..=cups {
        call.progress(cup.into(), f64::from(cups), format!("cup {cup} of {cups}"));
        sleep(Duration::from_millis(50)).await;
    }
    let trace = Context::current().span().span_context().trace_id().to_string();
    Json(Brewed { tea: order.tea, cups, trace })
}

/// Prints a line if the handler is dropped before its end, as when a task is cancelled.
struct Guard(bool);

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.0 {
            println!("steeping was cancelled");
        }
    }
}

async fn steep(call: Call, steeping: Steeping) -> Json<Steeping> {
    let mut guard = Guard(false);
    for minute in 1..=steeping.minutes {
        let message = format!("minute {minute} of {}", steeping.minutes);
        call.progress(minute.into(), f64::from(steeping.minutes), message);
        sleep(Duration::from_millis(250)).await;
    }
    guard.0 = true;
    Json(steeping)
}

fn about(name: &str) -> Result<String, Failure> {
    let tea = TEAS.iter().find(|tea| tea.0 == name);
    let taste = tea.ok_or_else(|| Failure::new(Reason::NotFound, format!("there is no tea {name:?}")))?.1;
    Ok(format!("{name} is {taste}"))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    global::set_tracer_provider(SdkTracerProvider::default()); // add a span processor to export the traces
    let steep = Tool::new("steep", "Steeps for minutes", steep).idempotent().tasks(Tasks::optional());
    let tea = ResourceTemplate::new(format!("{BASE}{{name}}"), "tea", |tea: Named| async move { about(&tea.name) });
    let recommend = Prompt::new("recommend", "Recommends a tea", |guest: Guest| async move {
        let teas = TEAS.map(|tea| tea.0).join(", ");
        format!("Recommend one of {teas} to a guest who feels {}.", guest.mood)
    });
    let mut server = Server::new("teahouse-rust", "1.0.0")
        .tool("brew", "Brews as many cups as asked", brew)
        .with(steep)
        .with(tea.mime_type("text/plain").complete("name", TEAS.map(|tea| tea.0)))
        .with(recommend);
    for (name, _) in TEAS {
        let listed = Resource::new(format!("{BASE}{name}"), name, move || async move { about(name) });
        server = server.with(listed.mime_type("text/plain"));
    }
    server.serve().await
}
