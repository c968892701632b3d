use crate::plain;
use mcpedge_capability::{DefinitionError, Prompt, Server, Tool};

/// Adds the tools that change the lists. Each call changes them once: what the tool adds, the next call removes.
pub fn add(server: Server) -> Server {
    let (tools, prompts) = (server.clone(), server.clone());
    let change_tool = move || {
        let changed = toggle_tool(&tools);
        async { changed }
    };
    let change_prompt = move || {
        let changed = toggle_prompt(&prompts);
        async { changed }
    };
    let tool = Tool::new("test_trigger_tool_change", "Adds a tool, or removes it again", change_tool);
    let prompt = Tool::new("test_trigger_prompt_change", "Adds a prompt, or removes it again", change_prompt);
    server.with(tool.destructive(false).open_world(false)).with(prompt.destructive(false).open_world(false))
}

fn toggle_tool(server: &Server) -> Result<&'static str, DefinitionError> {
    if server.remove_tool("test_dynamic_tool") {
        return Ok("Removed test_dynamic_tool.");
    }
    let here = || async { "This tool is here for now." };
    server.add(plain("test_dynamic_tool", "Comes and goes by test_trigger_tool_change", here))?;
    Ok("Added test_dynamic_tool.")
}

fn toggle_prompt(server: &Server) -> Result<&'static str, DefinitionError> {
    if server.remove_prompt("test_dynamic_prompt") {
        return Ok("Removed test_dynamic_prompt.");
    }
    let here = || async { "This prompt is here for now." };
    server.add(Prompt::new("test_dynamic_prompt", "Comes and goes by test_trigger_prompt_change", here))?;
    Ok("Added test_dynamic_prompt.")
}
