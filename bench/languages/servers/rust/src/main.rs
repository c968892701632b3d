//! The benchmark's tool in rmcp, without sessions and with JSON: server PORT.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use std::sync::Arc;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Large {
    bytes: usize,
}

#[derive(Clone)]
struct Bench;

#[tool_router]
impl Bench {
    #[tool(description = "Gives much")]
    fn large(&self, Parameters(large): Parameters<Large>) -> String {
        "x".repeat(large.bytes)
    }
}

#[tool_handler]
impl ServerHandler for Bench {}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).expect("usage: server PORT");
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let service = StreamableHttpService::new(|| Ok(Bench), Arc::new(LocalSessionManager::default()), config);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await
}
