use crate::plain;
use mcpedge_capability::{Action, Call, CreateMessage, ElicitResult, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Prompting {
    /// The prompt to send to the model
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Messaging {
    /// The message to show the user
    message: String,
}

pub fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Returns a form whose members are all required.
pub fn object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|p| p.keys()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

pub fn name_form() -> Value {
    object(json!({"name": text("Your name")}))
}

/// Returns the user's reaction as text.
pub fn answered(r: &ElicitResult) -> String {
    format!("action={}, content={}", r.action.as_str(), json!(r.content))
}

pub fn greeting(r: &ElicitResult) -> String {
    match r.action {
        Action::Accept => format!("Hello, {}!", r.content["name"].as_str().unwrap_or_default()),
        other => format!("No name was given ({}).", other.as_str()),
    }
}

pub fn add(server: Server) -> Server {
    let sampling = |call: Call, p: Prompting| async move {
        format!("LLM response: {}", call.sample("sampling", CreateMessage::new(p.prompt, 100)).await.text())
    };
    let elicitation = |call: Call, m: Messaging| async move {
        let contact = object(json!({"username": text("User's response"), "email": text("User's email address")}));
        format!("User response: {}", answered(&call.ask_form("contact", m.message, contact).await))
    };
    let with_defaults = |call: Call| async move {
        let message = "Please review and update the form fields with defaults";
        format!("Elicitation completed: {}", answered(&call.ask_form("defaults", message, defaults()).await))
    };
    let with_enums = |call: Call| async move {
        let message = "Please select options from the enum fields";
        format!("Elicitation completed: {}", answered(&call.ask_form("enums", message, enums()).await))
    };
    let streaming = |call: Call| async move {
        call.progress(1.0, 2.0, "Before the question");
        let r = call.ask_form("user_name", "What is your name?", name_form()).await;
        call.progress(2.0, 2.0, "After the answer");
        format!("Elicitation completed: {}", answered(&r))
    };
    let needy = |call: Call| async move {
        format!("The client's model said: {}", call.sample("needed", CreateMessage::new("Say something.", 100)).await.text())
    };
    server
        .with(plain("test_sampling", "Asks the client's model", sampling))
        .with(plain("test_elicitation", "Asks the user for a name and an address", elicitation))
        .with(plain("test_elicitation_sep1034_defaults", "Asks the user by a form with default values", with_defaults))
        .with(plain("test_elicitation_sep1330_enums", "Asks the user by a form with every kind of choice", with_enums))
        .with(plain("test_streaming_elicitation", "Reports progress, then asks the user", streaming))
        .with(plain("test_missing_capability", "Cannot do without the client's model", needy))
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": true},
    }})
}

fn enums() -> Value {
    let titled = |titles: [&str; 3]| -> Vec<Value> {
        titles.iter().enumerate().map(|(i, title)| json!({"const": format!("value{}", i + 1), "title": title})).collect()
    };
    let options = ["option1", "option2", "option3"];
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "description": "Select one option", "enum": options},
        "titledSingle": {
            "type": "string", "description": "Select one option with titles",
            "oneOf": titled(["First Option", "Second Option", "Third Option"]),
        },
        "legacyEnum": {
            "type": "string", "description": "Select one option (legacy)",
            "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array", "description": "Select multiple options", "minItems": 1, "maxItems": 3,
            "items": {"type": "string", "enum": options},
        },
        "titledMulti": {
            "type": "array", "description": "Select multiple options with titles", "minItems": 1, "maxItems": 3,
            "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])},
        },
    }})
}
