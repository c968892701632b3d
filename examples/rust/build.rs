//! Makes the stubs of the contract, without a protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = "../../proto";
    let files = ["backend", "tools", "resources", "prompts"].map(|f| format!("mcpedge/v1/{f}.proto"));
    println!("cargo:rerun-if-changed={dir}");
    tonic_prost_build::configure()
        .build_client(false)
        .generate_default_stubs(true)
        .compile_fds(protox::compile(files, [dir])?)?;
    Ok(())
}
