use crate::asking::{answered, greeting, name_form, text};
use crate::plain;
use mcpedge_capability::{Action, Call, Error, Failure, Reason, Server, Tasks, form_schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::sleep;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// How long to compute
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    /// What the result is called
    #[serde(default = "compute")]
    label: String,
}

fn compute() -> String {
    "compute".to_string()
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// The file to pretend to delete
    filename: String,
}

/// A form that accepts any text.
fn any_form() -> Value {
    json!({"type": "object", "properties": {"answer": text("Whatever there is to say")}})
}

/// Adds the fixtures of the scenarios about tasks.
pub fn add(server: Server) -> Server {
    let at_once = Tasks::optional().at_once();
    let greet = |g: Greeting| async move { format!("Hello, {}!", g.name) };
    let computes = plain("slow_compute", "Takes as long as its argument says, and may be a task", slow_compute);
    let fails = || async {
        sleep(Duration::from_secs(1)).await;
        Err::<(), Error>("the job failed, as it always does".into())
    };
    let broken = || async { Err::<(), _>(Failure::new(Reason::Internal, "the job broke, as it always does")) };
    let delete = |call: Call, f: File| async move {
        match call.ask_form("confirm", format!("Delete {}?", f.filename), any_form()).await.action {
            Action::Accept => format!("{} was deleted.", f.filename),
            other => format!("{} was kept: {}", f.filename, other.as_str()),
        }
    };
    let both = |call: Call| async move {
        let name = form_schema("name", "What is your name?", any_form());
        let color = form_schema("color", "Which color do you like?", any_form());
        let (name, color) = call.ask_all((name, color)).await;
        format!("Answers: {}; {}", answered(&name), answered(&color))
    };
    let greets = |call: Call| async move {
        let greeted = greeting(&call.ask_form("user_name", "What is your name?", name_form()).await);
        call.defer();
        greeted
    };
    let failing = plain("failing_job", "Fails after a second, as a task", fails).tasks(Tasks::required());
    let breaking = plain("protocol_error_job", "Ends with an error of the protocol, as a task", broken);
    let confirming = plain("confirm_delete", "Asks before it pretends to delete a file, as a task", delete);
    let asking = plain("test_tool_with_task", "Asks for a name first, and greets it as a task", greets);
    server
        .with(plain("greet", "Greets at once, and is never a task", greet))
        .with(computes.tasks(at_once))
        .with(failing)
        .with(breaking.tasks(Tasks::required()))
        .with(confirming.tasks(at_once))
        .with(plain("multi_input", "Asks for a name and a color at once, as a task", both).tasks(at_once))
        .with(asking.tasks(Tasks::required().deferred()))
}

async fn slow_compute(call: Call, c: Compute) -> String {
    let began = Instant::now();
    loop {
        let past = began.elapsed().as_secs_f64();
        if past >= c.seconds {
            return format!("{} was computed in {} s.", c.label, c.seconds);
        }
        call.progress(past, c.seconds, format!("Computing {}", c.label));
        sleep(Duration::from_secs_f64((c.seconds - past).min(1.0))).await;
    }
}
