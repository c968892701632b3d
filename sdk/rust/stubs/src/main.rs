//! Writes src/gen of the library from proto/: the stubs, and the descriptors for reflection. With --check it changes nothing,
//! and fails if they are not current.

use prost::Message;
use std::{env, fs, path::Path, process::exit};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let made = env::temp_dir().join(format!("mcpedge-stubs-{}", std::process::id()));
    fs::create_dir_all(&made)?;
    let files = ["backend", "tools", "resources", "prompts"].map(|f| format!("mcpedge/v1/{f}.proto"));
    let mut contract = protox::compile(files, [root.join("proto")])?;
    tonic_prost_build::configure().build_client(false).out_dir(&made).compile_fds(contract.clone())?;
    for file in &mut contract.file {
        file.source_code_info = None;
    }
    fs::write(made.join("descriptors.bin"), contract.encode_to_vec())?;
    let checked = env::args().any(|a| a == "--check");
    let kept = root.join("sdk/rust/src/gen");
    for name in ["mcpedge.v1.rs", "descriptors.bin"] {
        let current = fs::read(made.join(name))?;
        if !checked {
            fs::write(kept.join(name), current)?;
        } else if fs::read(kept.join(name))? != current {
            eprintln!("src/gen/{name} is not what proto/ makes: run sdk/rust/stubs/run");
            exit(1);
        }
    }
    Ok(fs::remove_dir_all(made)?)
}
