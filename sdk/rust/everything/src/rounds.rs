use crate::asking::{answered, greeting, name_form, object, text};
use crate::plain;
use mcpedge_capability::{
    Action, Call, CreateMessage, CreateMessageResult, ElicitResult, Error, Failure, Handler, InputRequired, Question, Reason, Root, Server,
    ToolOutput, form_schema, list_roots, sampling,
};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

fn capital() -> Question<CreateMessageResult> {
    sampling("capital_question", CreateMessage::new("What is the capital of France?", 100))
}

fn ask_name() -> Question<ElicitResult> {
    form_schema("user_name", "What is your name?", name_form())
}

fn roots_text(roots: &[Root]) -> String {
    let uris: Vec<&str> = roots.iter().map(|r| r.uri.as_str()).collect();
    format!("Found {} root(s): {}", roots.len(), uris.join(", "))
}

/// Differs from round to round.
fn mark(beginning: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{beginning}{:x}", now.as_nanos())
}

fn fixture<M, H>(server: Server, name: &str, description: &str, handler: H) -> Server
where
    H: Handler<M>,
    H::Output: ToolOutput,
{
    server.with(plain(&format!("test_input_required_result_{name}"), description, handler))
}

/// Adds the fixtures of the multi-round scenarios; their keys are the suite's.
pub fn add(s: Server) -> Server {
    let name = |call: Call| async move { greeting(&call.answer(ask_name()).await) };
    let s = fixture(s, "elicitation", "Asks the user for a name", name);
    let model = |call: Call| async move { format!("Sampling result: {}", call.answer(capital()).await.text()) };
    let s = fixture(s, "sampling", "Asks the client's model for a capital", model);
    let roots = |call: Call| async move { roots_text(&call.roots("client_roots").await) };
    let s = fixture(s, "list_roots", "Asks for the client's roots", roots);
    let kept = |call| confirmed(call, "request-state:");
    let s = fixture(s, "request_state", "Asks for a confirmation, and keeps a state meanwhile", kept);
    let sealed = |call| confirmed(call, "tamper-proof:");
    let s = fixture(s, "tampered_state", "Asks for a confirmation, and keeps a state that must not be changed", sealed);
    let s = fixture(s, "multiple_inputs", "Asks user, model and roots at once", ask_everybody);
    let s = fixture(s, "multi_round", "Asks the user twice, the second time knowing the first answer", ask_twice);
    fixture(s, "capabilities", "Asks whatever the client can answer", ask_the_able)
}

/// Asks by `InputRequired`, and ends when both the answer and its own state have arrived.
async fn confirmed(call: Call, beginning: &'static str) -> Result<String, Error> {
    let confirm = object(json!({"ok": {"type": "boolean", "description": "Whether to go on"}}));
    let Some(state) = call.state() else {
        let question = form_schema("confirm", "Please confirm", confirm);
        return Err(InputRequired::new().state(mark(beginning)).ask(&question).into());
    };
    if !state.starts_with(beginning.as_bytes()) {
        return Err(Failure::new(Reason::InvalidArgument, "the state is not the one this tool gave").into());
    }
    let r = call.ask_form("confirm", "Please confirm", confirm).await;
    Ok(format!("state-ok: the state came back, {}", answered(&r)))
}

async fn ask_everybody(call: Call) -> String {
    if call.state().is_none() {
        call.set_state(mark("multiple-inputs:"));
    }
    let hello = sampling("greeting", CreateMessage::new("Generate a greeting", 50));
    let (name, hello, roots) = call.ask_all((ask_name(), hello, list_roots("client_roots"))).await;
    [greeting(&name), hello.text(), roots_text(&roots)].join("\n")
}

async fn ask_twice(call: Call) -> String {
    call.set_state(mark("round-1:"));
    let first = call.ask_form("step1", "Step 1: What is your name?", name_form()).await;
    if first.action != Action::Accept {
        return greeting(&first);
    }
    call.set_state(mark("round-2:"));
    let name = first.content["name"].as_str().unwrap_or_default();
    let message = format!("Step 2: What is your favorite color, {name}?");
    let second = call.ask_form("step2", message, object(json!({"color": text("A color")}))).await;
    match second.action {
        Action::Accept => format!("{} Your favorite color is {}.", greeting(&first), second.content["color"].as_str().unwrap_or_default()),
        other => format!("{} No color was given ({}).", greeting(&first), other.as_str()),
    }
}

async fn ask_the_able(call: Call) -> String {
    let can = call.client_capabilities();
    let model = can.sampling.then(capital);
    let name = can.form.then(ask_name);
    let roots = can.roots.then(|| list_roots("client_roots"));
    let count = usize::from(model.is_some()) + usize::from(name.is_some()) + usize::from(roots.is_some());
    let (model, name, roots) = call.ask_all((Vec::from_iter(model), Vec::from_iter(name), Vec::from_iter(roots))).await;
    let mut lines = vec![format!("The client was asked {count} question(s).")];
    lines.extend(model.iter().map(CreateMessageResult::text));
    lines.extend(name.iter().map(greeting));
    lines.extend(roots.iter().map(|r| roots_text(r)));
    lines.join("\n")
}
