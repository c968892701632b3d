//! The service's own log.

use serde_json::{Map, Value};
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// Writes a message: its level (`INFO`, `WARN` or `ERROR`), its text, and its attributes, a JSON object.
pub type Logger = Arc<dyn Fn(&str, &str, Value) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Log(pub Logger);

impl Default for Log {
    /// Writes lines of JSON to standard error.
    fn default() -> Self {
        Self(Arc::new(|level, message, more| {
            let mut line = Map::new();
            line.insert("time".into(), Value::from(prost_types::Timestamp::from(SystemTime::now()).to_string()));
            line.insert("level".into(), Value::from(level));
            line.insert("msg".into(), Value::from(message));
            if let Value::Object(mut more) = more {
                line.append(&mut more);
            }
            // A failure to write the log cannot be reported.
            let _ = writeln!(std::io::stderr().lock(), "{}", Value::Object(line));
        }))
    }
}

impl Log {
    pub fn info(&self, message: &str, more: Value) {
        self.0("INFO", message, more);
    }

    pub fn error(&self, message: &str, more: Value) {
        self.0("ERROR", message, more);
    }
}
