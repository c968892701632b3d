//! Tests in addition to the shared suite, tests/suites/capability in the repository.

mod asking;
mod attribute;
mod documents;
#[cfg(feature = "identity")]
mod identity;
mod resources;
mod running;
mod serving;
#[cfg(feature = "skills")]
mod skills;
mod tools;

use std::time::Duration;

/// The longest wait for anything that a test awaits. It usually comes much sooner.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a condition, for PATIENCE at most.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, holds).await.unwrap_or_else(|_| panic!("{what}: it never was so"));
}
