//! Makes the stubs, and the descriptors that reflection answers with, as tonic-prost-build and protoc make them.

use prost::Message;
use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../proto");
    let garden = protox::compile(["garden/v1/garden.proto"], ["../proto"])?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("garden.bin"), garden.encode_to_vec())?;
    let control = protox::compile(["control/v1/control.proto"], ["../proto"])?;
    for files in [garden, control] {
        tonic_prost_build::configure().build_client(false).compile_fds(files)?;
    }
    Ok(())
}
