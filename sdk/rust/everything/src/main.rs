//! The fixtures that the official conformance suite expects of a server: one for each thing that it probes, under the name and with the
//! answer that it expects.

mod asking;
mod changes;
mod content;
mod prompts;
mod resources;
mod rounds;
mod running;
mod schemas;
mod tasks;

use mcpedge_capability::{Error, Handler, Server, Tool, ToolOutput};
use std::time::Duration;

/// How long clients may cache contents that do not change.
pub const CACHE: Duration = Duration::from_secs(300);

/// Returns a tool that changes nothing and accesses no external system.
pub fn plain<M, H>(name: &str, description: &str, handler: H) -> Tool
where
    H: Handler<M>,
    H::Output: ToolOutput,
{
    Tool::new(name, description, handler).read_only().idempotent().destructive(false).open_world(false)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::new("mcpedge-everything", "1.0.0")
        .title("Everything")
        .description("The fixtures of the official conformance suite.")
        .instructions("Fixtures for tests; nothing here does anything useful.")
        .list_cache(CACHE, true);
    let server = tasks::add(rounds::add(asking::add(running::add(content::add(server)))));
    prompts::add(resources::add(schemas::add(changes::add(server)))).serve().await
}
