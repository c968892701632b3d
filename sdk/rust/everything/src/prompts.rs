use crate::asking::{object, text};
use crate::content::red_pixel;
use mcpedge_capability::{Action, Call, Prompt, Role, Server, embed, image, message, text_contents};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
struct Embedding {
    /// URI of the resource to embed
    #[serde(rename = "resourceUri")]
    uri: String,
}

pub fn add(server: Server) -> Server {
    let simple = || async { "This is a simple prompt for testing." };
    let two = |t: Two| async move { format!("Prompt with arguments: arg1='{}', arg2='{}'", t.arg1, t.arg2) };
    let embedding = |e: Embedding| async move {
        let contents = text_contents(e.uri, "text/plain", "Embedded resource content for testing.");
        vec![message(Role::User, embed(contents)), message(Role::User, "Please process the embedded resource above.")]
    };
    let picture =
        || async { vec![message(Role::User, image(red_pixel(), "image/png")), message(Role::User, "Please analyze the image above.")] };
    let ask = |call: Call| async move {
        let form = object(json!({"context": text("What it is about")}));
        let r = call.ask_form("user_context", "What context should the prompt use?", form).await;
        match r.action {
            Action::Accept => format!("Prompt with context: {}", r.content["context"].as_str().unwrap_or_default()),
            other => format!("Prompt without context ({})", other.as_str()),
        }
    };
    let arguments = Prompt::new("test_prompt_with_arguments", "A text with two arguments", two).title("Prompt with arguments");
    let resource = Prompt::new("test_prompt_with_embedded_resource", "An embedded resource and a text", embedding);
    let asking = Prompt::new("test_input_required_result_prompt", "A text with an answer of the user", ask);
    server
        .with(Prompt::new("test_simple_prompt", "A text", simple).title("Simple prompt"))
        .with(arguments.complete("arg1", ["paris", "park", "party"]).complete("arg2", ["london", "lisbon"]))
        .with(resource.title("Prompt with a resource"))
        .with(Prompt::new("test_prompt_with_image", "An image and a text", picture).title("Prompt with an image"))
        .with(asking.title("Asking prompt"))
}
