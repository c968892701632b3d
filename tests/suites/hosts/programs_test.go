//go:build hosts

package hosts

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// program is a host and how it runs without a terminal.
type program struct {
	// name is that of mcpedge install; npm or pypi, the package.
	name, title, npm, pypi string
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
	// before makes what has to be there before mcpedge install runs, nil if nothing has to.
	// keyed adds a key to its files, nil if mcpedge install does with --token-env.
	before func(t *testing.T, home string)
	keyed  func(t *testing.T, home, key string)
	// finds makes a tool visible that the host does not offer by itself.
	finds func(tool string) step
	// wraps returns the call with which its model calls a tool, for a host whose model calls none directly.
	wraps func(step) step
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
		name: "cline", title: "Cline CLI", npm: "cline",
		command: func(prompt, _ string) []string {
			// It refuses a prompt of one word.
			return []string{"cline", "--provider", "openai-compatible", "--model", mock, prompt + " Use the tools."}
		},
		env: func(string) []string { return []string{"CLINE_NO_AUTO_UPDATE=1"} },
		settings: func(t *testing.T, home, model string) {
			write(t, filepath.Join(home, ".cline", "data", "settings", "providers.json"), encoded(object{
				"version": 1, "lastUsedProvider": "openai-compatible", "providers": object{"openai-compatible": object{
					"settings":  object{"provider": "openai-compatible", "apiKey": "none", "model": mock, "baseUrl": model + "/v1"},
					"updatedAt": "2026-11-01T00:00:00.000Z", "tokenSource": "manual",
				}},
			}))
		},
		keyed: func(t *testing.T, home, key string) {
			file := filepath.Join(home, ".cline", "data", "settings", "cline_mcp_settings.json")
			all := readObject(t, file)
			entry := all["mcpServers"].(map[string]any)["mcpedge"].(map[string]any)
			entry["headers"] = object{"Authorization": "Bearer " + key}
			write(t, file, encoded(all))
		},
		lacks: map[string]string{
			"ask": "it does not declare elicitation", "resources": "it never lists any", "prompts": "it never lists any",
			"progress": "its calls do not ask for it",
		},
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
		name: "continue-cli", title: "Continue CLI", npm: "@continuedev/cli",
		command: func(prompt, _ string) []string { return []string{"cn", "--print", "--auto", prompt} },
		env:     func(string) []string { return []string{"CONTINUE_CLI_ENABLE_TELEMETRY=0"} },
		before: func(t *testing.T, home string) {
			write(t, filepath.Join(home, ".continue", "config.yaml"), "name: test\nversion: 0.0.1\nschema: v1\nmodels: []\n")
		},
		settings: func(t *testing.T, home, model string) {
			file := filepath.Join(home, ".continue", "config.yaml")
			models := regexp.MustCompile(`(?m)^models:.*$`)
			write(t, file, models.ReplaceAllString(readText(t, file),
				`models: [{name: mock, provider: openai, model: mock, apiKey: none, apiBase: "`+model+`/v1", roles: [chat], capabilities: [tool_use]}]`))
		},
		lacks: map[string]string{
			"ask": "it does not declare elicitation", "resources": "it never lists any", "progress": "its calls do not ask for it",
		},
		impossible: map[string]string{"prompts": "it lists them, and commands need its terminal"},
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
		name: "mistral-vibe", title: "Mistral Vibe", pypi: "mistral-vibe",
		command: func(prompt, _ string) []string {
			return []string{"vibe", "--trust", "--auto-approve", "--prompt", prompt}
		},
		settings: func(t *testing.T, home, model string) {
			file := filepath.Join(home, ".vibe", "config.toml")
			entry := readText(t, file)
			if i := strings.Index(entry, "[[mcp_servers]]"); i > 0 {
				entry = entry[i:]
			}
			write(t, file, "active_model = \"mock\"\nenable_telemetry = false\nenable_update_checks = false\n\n"+
				"[[providers]]\nname = \"mock\"\napi_base = \""+model+"/v1\"\n\n[[models]]\nname = \"mock\"\nprovider = \"mock\"\nalias = \"mock\"\n\n"+entry)
		},
		// Its model writes programs that call tools.
		wraps: func(s step) step {
			code := "async function main() { return await tools.mcp_mcpedge." + s.tool + "(" + encoded(s.args) + "); }"
			return step{"run_typescript", object{"code": code}}
		},
		lacks: map[string]string{
			"ask": "it does not declare elicitation", "resources": "it never lists any", "prompts": "it never lists any",
			"progress": "its calls do not ask for it",
		},
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
	all := readObject(t, file)
	for name, value := range members {
		all[name] = value
	}
	write(t, file, encoded(all))
}

func readObject(t *testing.T, file string) (all object) {
	t.Helper()
	if err := json.Unmarshal([]byte(readText(t, file)), &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// write writes a file, and makes its folder.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
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
		if p.wraps != nil {
			s = p.wraps(s)
		}
		all = append(all, s)
	}
	return all
}

// version returns the version that package.json or requirements.txt pins.
func (p program) version(t *testing.T) string {
	t.Helper()
	if p.pypi != "" {
		text, err := os.ReadFile(requirements)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(p.pypi) + `==(\S+)`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s does not pin %s", requirements, p.pypi)
		}
		return string(found[1])
	}
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
