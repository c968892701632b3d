//go:build hosts

package hosts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program is a host and how it runs without a terminal.
type program struct {
	// name is that of mcpedge install; npm, the package.
	name, title, npm string
	// command runs it with a prompt, and env adds to its environment, with the URL of its model.
	command func(prompt, model string) []string
	env     func(model string) []string
	// settings changes its files after mcpedge install, for the model or where it wants an account.
	settings func(t *testing.T, home, model string)
	// health is its own check, and connected what that prints if the edge is connected.
	health    []string
	connected string
	// reads reads the resource. Its tool is empty if it has none.
	reads step
	// prompts is what a user enters for the prompt, empty if there is no way to enter one.
	prompts string
	// finds makes a tool visible that the host does not offer by itself.
	finds func(tool string) step
	// lacks has the reason for each feature that the host does without or in part, and impossible that for each which cannot be tried here.
	lacks, impossible map[string]string
}

const mock = "mock"

var programs = []program{
	{
		name: "claude-code", title: "Claude Code", npm: "@anthropic-ai/claude-code",
		command: func(prompt, _ string) []string {
			return []string{"claude", "-p", prompt, "--dangerously-skip-permissions"}
		},
		env: func(model string) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
				"IS_SANDBOX=1", // it refuses to skip permissions as root otherwise
			}
		},
		health: []string{"claude", "mcp", "list"}, connected: "✔ Connected",
		reads:   step{"ReadMcpResourceTool", object{"server": "mcpedge", "uri": note}},
		prompts: "/mcp__mcpedge__" + prompt,
	},
	{
		name: "codex", title: "Codex CLI", npm: "@openai/codex",
		command: func(prompt, model string) []string {
			return []string{
				"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", mock, "-c", "model_provider=mock",
				"-c", `model_providers.mock={name="mock",base_url="` + model + `/v1",wire_api="responses"}`, prompt,
			}
		},
		reads: step{"read_mcp_resource", object{"server": "mcpedge", "uri": note}},
		lacks: map[string]string{"prompts": "it never lists any"},
	},
	{
		name: "copilot-cli", title: "Copilot CLI", npm: "@github/copilot",
		command: func(prompt, _ string) []string { return []string{"copilot", "-p", prompt, "--allow-all-tools"} },
		env: func(model string) []string {
			return []string{"COPILOT_PROVIDER_BASE_URL=" + model + "/v1", "COPILOT_MODEL=mock", "COPILOT_OFFLINE=true"}
		},
		lacks: map[string]string{
			"resources": "it never lists any", "prompts": "it never lists any",
			"kill": "in 2026-07-28 no stream is resumed",
		},
	},
	{
		name: "gemini-cli", title: "Gemini CLI", npm: "@google/gemini-cli",
		command: func(prompt, _ string) []string { return []string{"gemini", "-y", "-m", mock, "-p", prompt} },
		env: func(model string) []string {
			return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + model, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
		settings: func(t *testing.T, home, _ string) {
			extend(t, filepath.Join(home, ".gemini", "settings.json"), object{"security": object{"auth": object{"selectedType": "gemini-api-key"}}})
		},
		health: []string{"gemini", "mcp", "list"}, connected: "Connected",
		reads:   step{"read_mcp_resource", object{"uri": note}},
		prompts: "/" + prompt,
		lacks:   map[string]string{"ask": "it does not declare elicitation"},
	},
	{
		name: "opencode", title: "opencode", npm: "opencode-ai",
		command: func(prompt, _ string) []string { return []string{"opencode", "run", prompt} },
		env: func(string) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
		settings: func(t *testing.T, home, model string) {
			extend(t, filepath.Join(home, ".config", "opencode", "opencode.json"), object{
				"model": "mock/mock", "small_model": "mock/mock",
				"provider": object{mock: object{
					"npm": "@ai-sdk/openai-compatible", "name": mock, "options": object{"baseURL": model + "/v1", "apiKey": "none"},
					"models": object{mock: object{"name": mock, "tool_call": true, "limit": object{"context": 200000, "output": 8000}}},
				}},
			})
		},
		health: []string{"opencode", "mcp", "list"}, connected: "mcpedge connected",
		reads:      step{"read_mcp_resource", object{"server": "mcpedge", "uri": note}},
		lacks:      map[string]string{"ask": "it does not declare elicitation"},
		impossible: map[string]string{"prompts": "commands need its terminal"},
	},
	{
		name: "qwen-code", title: "Qwen Code", npm: "@qwen-code/qwen-code",
		command: func(prompt, _ string) []string { return []string{"qwen", "-y", "--auth-type", "openai", "-p", prompt} },
		env: func(model string) []string {
			return []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + model + "/v1", "OPENAI_MODEL=mock"}
		},
		health: []string{"qwen", "mcp", "list"}, connected: "Connected",
		lacks:      map[string]string{"ask": "it does not declare elicitation", "resources": "it never lists any"},
		impossible: map[string]string{"prompts": "it lists them, and commands need its terminal"},
		finds: func(tool string) step {
			return step{"tool_search", object{"query": "select:mcp__mcpedge__" + tool}}
		},
	},
}

// extend adds members to a JSON file.
func extend(t *testing.T, file string, members object) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all object
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for name, value := range members {
		all[name] = value
	}
	if err := os.WriteFile(file, []byte(encoded(all)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// script completes a script with what makes its tools visible.
func (p program) script(steps ...step) []step {
	var all []step
	for _, s := range steps {
		if p.finds != nil {
			all = append(all, p.finds(s.tool))
		}
		all = append(all, s)
	}
	return all
}

// version returns the version that package.json pins.
func (p program) version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(manifest.Dependencies[p.npm])
}
