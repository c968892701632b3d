package install

import (
	"cmp"
	"path/filepath"
	"runtime"
	"slices"
)

// entry describes one server for a host's configuration: the URL of an edge, or the command that
// starts one.
type entry struct {
	name string
	url  string // empty if the host starts command with args
	// tokenEnv is the environment variable from which the host reads the bearer token for url. Empty
	// means none.
	tokenEnv string
	// clientID is the OAuth client that the issuers of url have registered for the host. Empty means
	// that the host registers itself. callbackPort is the port of the client's redirect URI. 0 means
	// that the host chooses it.
	clientID     string
	callbackPort int
	command      string
	args         []string
}

// values are the members of an entry in a host's file.
type values map[string]any

// host is a program that uses MCP servers, with the form of its configuration.
type host struct {
	name, title string
	format      format
	// section is the path of the object or table that has a member for each server.
	section []string
	// user returns the path of the user's file. project is the path of the project's file in the
	// working directory. Either may be empty if the host has no such file.
	user    func(home) string
	project string
	// remote returns the entry for a URL, local the entry for a command. A nil remote means that the
	// file cannot have URLs.
	remote, local func(entry) values
	// token returns a reference to an environment variable, which the host expands in headers. nil
	// means that it expands none. variableMember is the member of the entry that names the variable
	// instead. Empty means that there is no such member.
	token          func(variable string) string
	variableMember string
	// client says how an entry names an OAuth client. nil means that it cannot, and clientHelp says
	// what the user can do instead.
	client     *clientForm
	clientHelp string
	// wantsFile is the reason for which the command does not create the file, with advice. Empty
	// means that it creates the file.
	wantsFile string
	// headersIn is the member that contains the headers. Empty means the entry itself.
	headersIn string
	// checkHelp says how a user checks that the host is connected. login says how a user logs in to an
	// edge with issuers.
	checkHelp, login string
	// tried is true if tests/suites/hosts runs the host with its entry. Otherwise the form is that
	// of the host's documentation.
	tried bool
	// remoteHelp says how a user adds a URL if remote is nil.
	remoteHelp string
}

// home has the folders of the hosts' files.
type home struct {
	dir string
	// env returns the value of an environment variable.
	env func(string) string
}

// config returns a path below the operating system's folder for configurations.
func (h home) config(path ...string) string {
	dir := filepath.Join(h.dir, ".config")
	switch runtime.GOOS {
	case "darwin":
		dir = filepath.Join(h.dir, "Library", "Application Support")
	case "windows":
		dir = cmp.Or(h.env("APPDATA"), filepath.Join(h.dir, "AppData", "Roaming"))
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// homePath returns a function that returns a path in the user's home. If the environment variable is set,
// its value replaces the home and the first element of path.
func homePath(variable string, path ...string) func(home) string {
	return func(h home) string {
		if variable != "" {
			if dir := h.env(variable); dir != "" {
				return filepath.Join(append([]string{dir}, path[1:]...)...)
			}
		}
		return filepath.Join(append([]string{h.dir}, path...)...)
	}
}

// braces returns the reference to an environment variable that most hosts replace.
func braces(variable string) string { return "${" + variable + "}" }

// envBraces returns the reference to an environment variable that editors replace.
func envBraces(variable string) string { return "${env:" + variable + "}" }

// hosts are the known hosts, sorted by name.
var hosts = []host{
	claudeCode, claudeDesktop, cline, codex, continueCLI, copilotCLI, cursor,
	geminiCLI, mistralVibe, opencode, qwenCode, vscode, windsurf, zed,
}

var claudeCode = host{
	name: "claude-code", title: "Claude Code", format: jsonFile, section: []string{"mcpServers"},
	user: homePath("CLAUDE_CONFIG_DIR", ".", ".claude.json"), project: ".mcp.json",
	remote: typed("http"), local: typedCommand("stdio"), token: braces,
	client:    &clientForm{members: oauthObject("clientId", "callbackPort"), redirect: "http://localhost:PORT/callback"},
	checkHelp: "claude mcp list",
	login:     "/mcp in a session, Authenticate",
	tried:     true,
}

var claudeDesktop = host{
	name: "claude-desktop", title: "Claude Desktop", format: jsonFile, section: []string{"mcpServers"},
	user:       func(h home) string { return h.config("Claude", "claude_desktop_config.json") },
	local:      commandAndArgs,
	clientHelp: "give it in the advanced settings of the connector",
	checkHelp:  "Settings, Developer; after a restart of the program",
	remoteHelp: "add the URL under Settings, Connectors, where it must be an https URL that the internet reaches; " +
		"or give --stdio, and the program starts an edge",
}

var cline = host{
	name: "cline", title: "Cline CLI", format: jsonFile, section: []string{"mcpServers"},
	user:   homePath("", ".cline", "data", "settings", "cline_mcp_settings.json"),
	remote: typed("streamableHttp"), local: commandAndArgs,
	client: &clientForm{
		members:  func(id string, _ int) values { return values{"oauthClient": values{"clientId": id}} },
		redirect: "http://127.0.0.1:1456/mcp/oauth/callback", noPortReason: "it has ports of its own, 1456 to 1458",
	},
	checkHelp: "/mcp in a session",
	login:     "/mcp in a session",
	tried:     true,
}

var codex = host{
	name: "codex", title: "Codex CLI", format: tomlFile, section: []string{"mcp_servers"},
	user: homePath("CODEX_HOME", ".codex", "config.toml"), project: ".codex/config.toml",
	remote:         func(e entry) values { return values{"url": e.url} },
	local:          commandAndArgs,
	variableMember: "bearer_token_env_var",
	client: &clientForm{
		members: oauthObject("client_id", ""), redirect: "http://127.0.0.1:PORT/callback/…",
		noPortReason: "mcp_oauth_callback_port, a key of the whole file, sets it for all servers",
	},
	checkHelp: "/mcp in a session",
	login:     "codex mcp login NAME",
	tried:     true,
}

var continueCLI = host{
	name: "continue-cli", title: "Continue CLI", format: yamlList, section: []string{"mcpServers"},
	user:   homePath("CONTINUE_GLOBAL_DIR", ".continue", "config.yaml"),
	remote: typed("streamable-http"), local: commandAndArgs,
	token:      func(variable string) string { return "${{ secrets." + variable + " }}" },
	headersIn:  "requestOptions",
	clientHelp: "it logs in with mcp-remote, which registers itself",
	checkHelp:  "/mcp in a session",
	login:      "a session starts mcp-remote, which opens the browser",
	wantsFile:  "it names the models, too: make it with them first",
	tried:      true,
}

var copilotCLI = host{
	name: "copilot-cli", title: "Copilot CLI", format: jsonFile, section: []string{"mcpServers"},
	user:      homePath("COPILOT_HOME", ".copilot", "mcp-config.json"),
	remote:    func(e entry) values { return withMember(typed("http")(e), "tools", []string{"*"}) },
	local:     func(e entry) values { return withMember(typedCommand("local")(e), "tools", []string{"*"}) },
	token:     braces,
	client:    &clientForm{members: copilotClient, redirect: "http://127.0.0.1:PORT/"},
	checkHelp: "/mcp in a session",
	login:     "a session opens the browser",
	tried:     true,
}

var cursor = host{
	name: "cursor", title: "Cursor", format: jsonFile, section: []string{"mcpServers"},
	user: homePath("", ".cursor", "mcp.json"), project: ".cursor/mcp.json",
	remote: func(e entry) values { return values{"url": e.url} }, local: commandAndArgs, token: envBraces,
	client: &clientForm{
		members:  func(id string, _ int) values { return values{"auth": values{"CLIENT_ID": id}} },
		redirect: "cursor://anysphere.cursor-mcp/oauth/callback, in newer versions http://localhost:8787/callback", noPortReason: "its redirect is its own",
	},
	checkHelp: "Settings, MCP",
	login:     "Settings, MCP, Connect",
}

var geminiCLI = host{
	name: "gemini-cli", title: "Gemini CLI", format: jsonFile, section: []string{"mcpServers"},
	user: homePath("GEMINI_CLI_HOME", ".", ".gemini", "settings.json"), project: ".gemini/settings.json",
	remote: func(e entry) values { return values{"httpUrl": e.url} }, local: commandAndArgs, token: braces,
	client:    &clientForm{members: geminiClient, redirect: "http://localhost:PORT/oauth/callback"},
	checkHelp: "gemini mcp list, in a folder that Gemini CLI trusts",
	login:     "/mcp auth NAME in a session",
	tried:     true,
}

var mistralVibe = host{
	name: "mistral-vibe", title: "Mistral Vibe", format: tomlList, section: []string{"mcp_servers"},
	user: homePath("VIBE_HOME", ".vibe", "config.toml"), project: ".vibe/config.toml",
	remote:         func(e entry) values { return values{"transport": "streamable-http", "url": e.url} },
	local:          func(e entry) values { return withMember(commandAndArgs(e), "transport", "stdio") },
	variableMember: "api_key_env",
	client: &clientForm{
		members: vibeClient, redirect: "http://127.0.0.1:PORT/callback", port: 47823, login: "/mcp login NAME in a session",
	},
	checkHelp: "/mcp in a session",
	login:     `add auth = {type = "oauth", scopes = []} to the entry, and enter /mcp login NAME in a session`,
	tried:     true,
}

var opencode = host{
	name: "opencode", title: "opencode", format: jsonFile, section: []string{"mcp"},
	user: homePath("XDG_CONFIG_HOME", ".config", "opencode", "opencode.json"), project: "opencode.json",
	remote: func(e entry) values { return values{"type": "remote", "url": e.url, "enabled": true} },
	local: func(e entry) values {
		return values{"type": "local", "command": append([]string{e.command}, e.args...), "enabled": true}
	},
	token: func(variable string) string { return "{env:" + variable + "}" },
	client: &clientForm{
		members: oauthObject("clientId", "callbackPort"), redirect: "http://127.0.0.1:PORT/mcp/oauth/callback", port: 19876,
	},
	checkHelp: "opencode mcp list",
	login:     "opencode mcp auth NAME",
	tried:     true,
}

var qwenCode = host{
	name: "qwen-code", title: "Qwen Code", format: jsonFile, section: []string{"mcpServers"},
	user: homePath("QWEN_HOME", ".qwen", "settings.json"), project: ".qwen/settings.json",
	remote: func(e entry) values { return values{"httpUrl": e.url} }, local: commandAndArgs, token: braces,
	client: &clientForm{
		members:  func(id string, _ int) values { return geminiClient(id, 0) },
		redirect: "http://localhost:7777/oauth/callback", noPortReason: "it listens on 7777",
	},
	checkHelp: "qwen mcp list",
	login:     "/mcp auth NAME in a session",
	tried:     true,
}

var vscode = host{
	name: "vscode", title: "VS Code", format: jsonFile, section: []string{"servers"},
	user: func(h home) string { return h.config("Code", "User", "mcp.json") }, project: ".vscode/mcp.json",
	remote: typed("http"), local: typedCommand("stdio"), token: envBraces,
	client: &clientForm{
		members: oauthObject("clientId", ""), redirect: "http://127.0.0.1:33418/, and https://vscode.dev/redirect",
		noPortReason: "its redirects are its own",
	},
	checkHelp: "MCP: List Servers in the command palette",
	login:     "it asks when it starts the server",
}

var windsurf = host{
	name: "windsurf", title: "Windsurf", format: jsonFile, section: []string{"mcpServers"},
	user:   homePath("", ".codeium", "windsurf", "mcp_config.json"),
	remote: func(e entry) values { return values{"serverUrl": e.url} }, local: commandAndArgs, token: envBraces,
	clientHelp: "its documentation names no member for one",
	checkHelp:  "Settings, Cascade, MCP servers",
	login:      "it asks when it connects",
}

var zed = host{
	name: "zed", title: "Zed", format: jsonFile, section: []string{"context_servers"},
	user: homePath("XDG_CONFIG_HOME", ".config", "zed", "settings.json"), project: ".zed/settings.json",
	remote: func(e entry) values { return values{"url": e.url} }, local: commandAndArgs,
	client: &clientForm{
		members: oauthObject("client_id", ""), redirect: "http://127.0.0.1:PORT/callback", noPortReason: "it chooses one at each login",
	},
	checkHelp: "agent: open settings in the command palette",
	login:     "it asks when it connects",
}

// typed returns a function for the entries of a URL that have a type.
func typed(kind string) func(entry) values {
	return func(e entry) values { return values{"type": kind, "url": e.url} }
}

// typedCommand returns a function for the entries of a command that have a type.
func typedCommand(kind string) func(entry) values {
	return func(e entry) values { return withMember(commandAndArgs(e), "type", kind) }
}

// commandAndArgs returns the entry of a command in the form of most hosts.
func commandAndArgs(e entry) values { return values{"command": e.command, "args": e.args} }

// withMember adds a member to v, and returns v.
func withMember(v values, member string, value any) values {
	v[member] = value
	return v
}

// hostNamed returns the host with a name. It returns false if there is none.
func hostNamed(name string) (host, bool) {
	i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name })
	if i < 0 {
		return host{}, false
	}
	return hosts[i], true
}

// names returns the names of all hosts.
func names() []string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.name)
	}
	return all
}
