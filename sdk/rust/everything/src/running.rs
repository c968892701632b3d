use crate::plain;
use mcpedge_capability::{Call, Level, Server};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

const STEP: Duration = Duration::from_millis(50);
const RECONNECTION: Duration = Duration::from_secs(3);
const LEVELS: [Level; 8] =
    [Level::Debug, Level::Info, Level::Notice, Level::Warning, Level::Error, Level::Critical, Level::Alert, Level::Emergency];

pub fn add(server: Server) -> Server {
    let progress = |call: Call| async move {
        for percent in [0_u8, 50, 100] {
            call.progress(percent.into(), 100.0, format!("Completed step {percent} of 100"));
            sleep(STEP).await;
        }
        "Progress was reported."
    };
    let logging = |call: Call| async move {
        for what in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            call.log(Level::Info, "everything", what);
            sleep(STEP).await;
        }
        "Messages were logged."
    };
    let levels = |call: Call| async move {
        for level in LEVELS {
            call.log(level, "everything", json!({"message": format!("A message of level {}", level as i32)}));
        }
        "Messages of every level were logged."
    };
    let long = || async {
        sleep(RECONNECTION).await;
        "The call ran to its end, whether the client was connected or not."
    };
    server
        .with(plain("test_tool_with_progress", "Reports progress: 0, 50 and 100 of 100", progress))
        .with(plain("test_tool_with_logging", "Logs three messages on its way", logging))
        .with(plain("test_logging_tool", "Logs one message of each level", levels))
        .with(plain("test_reconnection", "Takes so long that its stream may be closed and resumed meanwhile", long))
}
