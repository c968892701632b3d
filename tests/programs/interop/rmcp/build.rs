//! Tells the program which version of rmcp Cargo.lock names.

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    let (_, rest) = lock.split_once("name = \"rmcp\"\nversion = \"").expect("rmcp in Cargo.lock");
    let (version, _) = rest.split_once('"').expect("the version of rmcp");
    println!("cargo::rustc-env=RMCP_VERSION={version}");
}
