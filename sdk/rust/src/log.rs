//! The service's own log.

use serde_json::{Map, Value};
use std::io::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Takes a message's level (`INFO` or `ERROR`), its text, and what else is said, a JSON object.
pub type Logger = Arc<dyn Fn(&str, &str, Value) + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Log(pub Logger);

impl Default for Log {
    /// Writes lines of JSON to standard error.
    fn default() -> Self {
        Self(Arc::new(|level, message, more| {
            let mut line = Map::new();
            line.insert("time".into(), Value::from(now()));
            line.insert("level".into(), Value::from(level));
            line.insert("msg".into(), Value::from(message));
            if let Value::Object(mut more) = more {
                line.append(&mut more);
            }
            // A log that cannot be written has nobody to be told of it.
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

/// The time by RFC 3339, in UTC.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = ((since.as_secs() / 86_400) as i64, since.as_secs() % 86_400);
    // Of a calendar whose years begin in March: http://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let era_days = days + 719_468;
    let (era, day_of_era) = (era_days.div_euclid(146_097), era_days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}
