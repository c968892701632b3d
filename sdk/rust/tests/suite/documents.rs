use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn program(path: &str, fence: &str) -> String {
    let text = read(path);
    let (_, rest) = text.split_once(fence).unwrap_or_else(|| panic!("{path} has no program"));
    rest.split_once("```").unwrap().0.to_string()
}

#[test]
fn the_first_program_is_short_and_the_same_everywhere() {
    let shown = program("docs/backends/rust.md", "Write `src/main.rs`:\n\n```rust\n");
    assert_eq!(shown, program("sdk/rust/README.md", "```rust,no_run\n"));
    let lines = shown.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 15, "the tool of the page has {lines} lines");
}

#[test]
fn the_version_is_the_repositorys() {
    let chart = read("deploy/chart/Chart.yaml");
    let version = chart.lines().find_map(|line| line.strip_prefix("appVersion:")).unwrap().trim();
    assert_eq!(env!("CARGO_PKG_VERSION"), version.trim_matches('"'));
}
