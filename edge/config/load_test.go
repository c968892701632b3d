package config

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func env(pairs map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := pairs[k]; return v, ok }
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	cfg, err := Load("serve", nil, env(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen.Address != "127.0.0.1:8080" || len(cfg.Backends) != 0 || cfg.Listen.Body != 4<<20-64<<10 {
		t.Errorf("%+v", cfg)
	}
}

// The later wins: defaults, file, environment, flags. A list is replaced, not joined.
func TestPrecedence(t *testing.T) {
	path := file(t, `
listen: {address: 127.0.0.1:1, body: 64KiB}
admin: {address: 127.0.0.1:2}
backends:
  - {name: a, target: "dns:///a:1", prefix: a_, timeout: 5s, max-message: 1MiB}
calls: {rounds: 3, stream-after: 250ms}
`)
	cfg, err := Load("serve", []string{"--config", path, "--listen", "127.0.0.1:4"},
		env(map[string]string{"MCPEDGE_LISTEN_ADDRESS": "127.0.0.1:3", "MCPEDGE_ADMIN_ADDRESS": "127.0.0.1:5", "MCPEDGE_CALLS_ROUNDS": "5"}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen.Address != "127.0.0.1:4" || cfg.Admin.Address != "127.0.0.1:5" || cfg.Calls.Rounds != 5 {
		t.Errorf("listen %s, admin %s, rounds %d", cfg.Listen.Address, cfg.Admin.Address, cfg.Calls.Rounds)
	}
	if cfg.Listen.Body != 64<<10 || cfg.Calls.StreamAfter != 250*time.Millisecond {
		t.Errorf("body %v, stream-after %v", cfg.Listen.Body, cfg.Calls.StreamAfter)
	}
	if b := cfg.Backends[0]; b.Prefix != "a_" || b.Timeout != 5*time.Second || b.MaxMessage != 1<<20 {
		t.Errorf("backend %+v", b)
	}
	cfg, err = Load("serve", []string{"--backend", "x=h:1", "--backend", "y=h:2"},
		env(map[string]string{"MCPEDGE_CONFIG": path, "MCPEDGE_BACKENDS": "z=h:3"}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Backends) != 2 || !reflect.DeepEqual(cfg.Backends[1], Backend{Name: "y", Target: "h:2"}) || cfg.Calls.Rounds != 3 {
		t.Errorf("backends %+v, rounds %d", cfg.Backends, cfg.Calls.Rounds)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		yaml string
		want []string
	}{
		"unknown key":       {yaml: "listen:\n  address: 127.0.0.1:1\n  bodi: 3\n", want: []string{"bodi", "3"}},
		"key's place":       {yaml: "body: 4MiB\n", want: []string{"body belongs under listen"}},
		"key's top":         {yaml: "listen:\n  demo: true\n", want: []string{"demo belongs at the top"}},
		"backend's key":     {yaml: "prefix: a_\n", want: []string{"prefix belongs under redis, or under a backend"}},
		"key's spelling":    {yaml: "listen:\n  boddy: 4MiB\n", want: []string{"boddy", "body, under listen, may be meant"}},
		"key's letters":     {yaml: "log:\n  Level: warn\n", want: []string{"level, under log, may be meant"}},
		"key unheard of":    {yaml: "wormhole: 1\n", want: []string{"wormhole", "the keys of the file are listen, "}},
		"no unit":           {yaml: "shutdown: {grace: 30}\n", want: []string{"grace: ", "rather than 30", "needs its unit", "30s"}},
		"no unit, flag":     {env: map[string]string{"MCPEDGE_SHUTDOWN_GRACE": "30"}, want: []string{"MCPEDGE_SHUTDOWN_GRACE", "needs its unit", "30s"}},
		"flag's spelling":   {args: []string{"--listn=3s"}, want: []string{"--listn", "--listen may be meant"}},
		"target's scheme":   {args: []string{"--backend", "a=http://127.0.0.1:38051"}, want: []string{"http://127.0.0.1:38051", "write 127.0.0.1:38051"}},
		"target with TLS":   {args: []string{"--backend", "a=https://h:443/x"}, want: []string{"write h:443", "tls: {}", "without a path"}},
		"prefix":            {yaml: "backends: [{name: a, target: h:1, prefix: a b/}]\n", want: []string{"backends[0] a", `"a b/"`, "letters"}},
		"bad duration":      {yaml: "shutdown: {grace: soon}\n", want: []string{`"soon"`}},
		"bad size":          {yaml: "listen: {body: big}\n", want: []string{`"big"`, "KiB"}},
		"negative":          {yaml: "calls: {rounds: -1}\n", want: []string{"calls.rounds", "-1"}},
		"task replicas":     {yaml: "redis: {acknowledge: 1}\n", want: []string{"redis.acknowledge", "1", "redis"}},
		"claims twice":      {yaml: "backends: [{name: a, target: h:1, claims: [x, x]}]\n", want: []string{"backends[0] a", `"x"`, "once"}},
		"claims of reflect": {yaml: "backends: [{name: a, target: h:1, kind: reflect, claims: [x]}]\n", want: []string{"backends[0] a", "send them in metadata"}},
		"no extension":      {yaml: "backends: [{name: a, target: h:1, extensions: [ui]}]\n", want: []string{"backends[0] a", `"ui"`, "com.example/name"}},
		"own extension":     {yaml: "backends: [{name: a, target: h:1, extensions: [io.modelcontextprotocol/ui]}]\n", want: []string{"the protocol's own"}},
		"extension twice":   {yaml: "backends: [{name: a, target: h:1, extensions: [a.b/c, a.b/c]}]\n", want: []string{`"a.b/c"`, "once"}},
		"a percentage": {
			yaml: "backends: [{name: a, target: h:1, outlier-detection: {failures: 101}}]\n",
			want: []string{
				"backends[0] a", "outlier-detection.failures: 101: give",
			},
		},
		"unknown kind":      {yaml: "backends: [{name: a, target: h:1, kind: rest}]\n", want: []string{"backends[0] a", `"rest"`, "use contract or reflect"}},
		"reflect only":      {yaml: "backends: [{name: a, target: h:1, include: [a.B/C]}]\n", want: []string{"backends[0] a", "kind: reflect"}},
		"bad pattern":       {yaml: "backends: [{name: a, target: h:1, kind: reflect, exclude: [a/b/c]}]\n", want: []string{`"a/b/c"`}},
		"missing file":      {args: []string{"--config", "/does/not/exist"}, want: []string{"/does/not/exist"}},
		"unknown flag":      {args: []string{"--nope"}, want: []string{"nope"}},
		"stray argument":    {args: []string{"x"}, want: []string{`"x"`}},
		"bad env":           {env: map[string]string{"MCPEDGE_LISTEN_BODY": "x"}, want: []string{"MCPEDGE_LISTEN_BODY", `"x"`}},
		"bad backend":       {args: []string{"--backend", "tools"}, want: []string{"NAME=TARGET"}},
		"backend twice":     {args: []string{"--backend", "a=x:1", "--backend", "a=y:1"}, want: []string{`"a" is used twice`}},
		"backend's name":    {args: []string{"--backend", "a b=x:1"}, want: []string{`"a b"`}},
		"open to the world": {args: []string{"--listen", "0.0.0.0:80"}, want: []string{"allow-anonymous"}},
		"admin for all":     {args: []string{"--admin", "0.0.0.0:9090"}, want: []string{"admin.allow-remote"}},
		"admin's address":   {args: []string{"--admin", "9090"}, want: []string{`"9090"`, "host:port"}},
		"dev for the world": {args: []string{"--dev", "--admin", "0.0.0.0:9090"}, want: []string{"0.0.0.0:9090", "127.0.0.1"}},
		"no address":        {args: []string{"--listen", "x"}, want: []string{"host:port"}},
		"state key":         {env: map[string]string{"MCPEDGE_REDIS_SEAL_KEYS": "c2hvcnQ="}, want: []string{"32 bytes"}},
		"redis":             {args: []string{"--redis", "localhost:6379"}, want: []string{"redis://"}},
		"redis's kind":      {args: []string{"--redis", "redis+ring://h:1"}, want: []string{"redis+cluster://"}},
		"redis's host":      {args: []string{"--redis", "redis://"}, want: []string{"HOST:PORT"}},
		"redis's master":    {args: []string{"--redis", "redis+sentinel://h:1"}, want: []string{"master_name"}},
		"redis's prefix":    {env: map[string]string{"MCPEDGE_REDIS_PREFIX": "a{b"}, want: []string{`"a{b"`}},
		"lease":             {env: map[string]string{"MCPEDGE_REDIS_LEASE": "100ms"}, want: []string{"100ms", "500ms"}},
		"memory":            {env: map[string]string{"MCPEDGE_SERVER_MEMORY": "1"}, want: []string{"server.memory: 1 ", "64MiB"}},
		"memory for bodies": {env: map[string]string{"MCPEDGE_SERVER_MEMORY": "128MiB", "MCPEDGE_LISTEN_BODY": "20MiB"}, want: []string{"128MiB", "20MiB", "160MiB"}},
		"schemas":           {env: map[string]string{"MCPEDGE_LISTS_SCHEMAS": "strict"}, want: []string{`lists.schemas: "strict"`, "use auto, portable or full"}},
		"schemas, by file":  {yaml: "lists: {schemas: Full}\n", want: []string{`lists.schemas: "Full"`, "use auto, portable or full"}},
		"schemas, by env":   {env: map[string]string{"MCPEDGE_LISTS_SCHEMAS": "loose"}, want: []string{`"loose"`, "use auto, portable or full"}},
		"no schemas":        {yaml: "lists: {schemas: \"\"}\n", want: []string{`lists.schemas: ""`, "use auto, portable or full"}},
		"log level":         {args: []string{"--log-level", "loud"}, want: []string{`"loud"`}},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.yaml != "" {
				args = append(args, "--config", file(t, c.yaml))
			}
			_, err := Load("serve", args, env(c.env), io.Discard)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

// A command without listeners has no flags for them, and ignores their settings from other sources.
func TestCommandWithoutListeners(t *testing.T) {
	path := file(t, "listen: {address: 0.0.0.0:80}\n")
	if _, err := Load("stdio", []string{"--config", path}, env(map[string]string{"MCPEDGE_ADMIN_ADDRESS": "x"}), io.Discard); err != nil {
		t.Error(err)
	}
	for _, flag := range []string{"--listen=127.0.0.1:1", "--admin=127.0.0.1:1", "--tls-cert=x", "--allow-remote-admin", "--public-url=http://x", "--dev"} {
		if _, err := Load("stdio", []string{flag}, env(nil), io.Discard); err == nil {
			t.Errorf("%s was accepted", flag)
		}
	}
}

// `mcpedge ready` finds the admin address in every source that the edge uses, and ignores invalid
// other settings.
func TestReadyKnowsTheAdminAddress(t *testing.T) {
	path := file(t, "listen: {address: 0.0.0.0:80}\nadmin: {address: 127.0.0.1:1}\n")
	for want, c := range map[string]struct {
		args []string
		env  map[string]string
	}{
		"127.0.0.1:9090": {env: map[string]string{"MCPEDGE_LISTEN_ADDRESS": "0.0.0.0:80", "MCPEDGE_LISTEN_BODY": "x"}},
		"127.0.0.1:1":    {args: []string{"--config", path}},
		"127.0.0.1:2":    {env: map[string]string{"MCPEDGE_CONFIG": path, "MCPEDGE_ADMIN_ADDRESS": "127.0.0.1:2"}},
		"127.0.0.1:3":    {args: []string{"--admin", "127.0.0.1:3"}, env: map[string]string{"MCPEDGE_ADMIN_ADDRESS": "127.0.0.1:2"}},
	} {
		cfg, err := Load(Ready, c.args, env(c.env), io.Discard)
		if err != nil || cfg.Admin.Address != want {
			t.Errorf("admin %q, error %v; want %s", cfg.Admin.Address, err, want)
		}
	}
	if _, err := Load(Ready, []string{"--listen", "127.0.0.1:1"}, env(nil), io.Discard); err == nil {
		t.Error("--listen was accepted")
	}
}

// A mistake is said by the error alone; the usage is for those who ask for it.
func TestMistakesPrintNoUsage(t *testing.T) {
	for _, args := range [][]string{{"--grace", "30"}, {"--nope"}, {"--backend", "much"}, {"--dev=maybe"}} {
		var out strings.Builder
		if _, err := Load("serve", args, env(nil), &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: error %v, printed:\n%s", args, err, out.String())
		}
	}
	if _, err := Load("stdio", []string{"--listen", "127.0.0.1:1"}, env(nil), io.Discard); err == nil || !strings.Contains(err.Error(), "mcpedge serve") {
		t.Errorf("a flag of another command: %v", err)
	}
}

// A scheme without a resolver is refused when the settings are read, not at the first call.
func TestTargetsOfUnknownSchemes(t *testing.T) {
	for _, target := range []string{"xds:///svc", "kubernetes:///team/tea", "consul://h/svc"} {
		b := Backend{Name: "a", Target: target}
		if errs := b.validateTarget(0); len(errs) != 1 || !strings.Contains(errs[0].Error(), "use dns, passthrough, unix") {
			t.Errorf("%s: %v", target, errs)
		}
	}
}

func TestTargetsThatGRPCTakes(t *testing.T) {
	for _, target := range []string{"127.0.0.1:1", "dns:///h:1", "dns://8.8.8.8/h:1", "unix:///run/x", "passthrough:///h:1", "localhost:1", "DNS:///h:1"} {
		b := Backend{Name: "a", Target: target, Prefix: "a.b-c_"}
		if errs := b.validateTarget(0); len(errs) > 0 {
			t.Errorf("%s: %v", target, errs)
		}
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	if _, err := Load("serve", []string{"--help"}, env(nil), &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"-listen", "-backend NAME=TARGET", "[listen.address]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %s:\n%s", want, out.String())
		}
	}
}

func TestOpenListenAndHosts(t *testing.T) {
	cfg, err := Load("serve", []string{"--listen", "0.0.0.0:80", "--allow-anonymous"}, env(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.AllowedHosts() != nil {
		t.Error("a public listener restricts hosts that are not configured")
	}
	if local := Default(); len(local.AllowedHosts()) != 3 || len(local.AllowedAdminHosts()) != 3 {
		t.Errorf("hosts %v, of the admin address %v", local.AllowedHosts(), local.AllowedAdminHosts())
	}
	cfg, err = Load("serve", []string{"--admin", ":9090", "--allow-remote-admin"}, env(map[string]string{"MCPEDGE_LISTEN_HOSTS": "mcp.example"}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.AllowedAdminHosts() != nil {
		t.Error("the endpoint's hosts restrict the admin address")
	}
	for hosts, flags := range map[string][]string{
		"localhost 127.0.0.1 ::1 mcp.example.com": {"--public-url", "https://mcp.example.com"},
		"localhost 127.0.0.1 ::1 2001:db8::1":     {"--public-url", "https://[2001:db8::1]:8443"},
		"a mcp.example.com":                       {"--public-url", "https://mcp.example.com:8443/", "a"},
		"":                                        {"--listen", ":8080", "--allow-anonymous", "--public-url", "https://mcp.example.com"},
	} {
		vars := map[string]string{}
		if n := len(flags) - 1; flags[n] == "a" {
			flags, vars["MCPEDGE_LISTEN_HOSTS"] = flags[:n], "a"
		}
		cfg, err := Load("serve", flags, env(vars), io.Discard)
		if got := strings.Join(cfg.AllowedHosts(), " "); err != nil || got != hosts {
			t.Errorf("%q: hosts %q, %v, want %q", flags, got, err, hosts)
		}
		if slices.Contains(cfg.AllowedAdminHosts(), "mcp.example.com") {
			t.Errorf("%q: the public URL's host is one of the admin address", flags)
		}
	}
	cfg, err = Load("serve", nil, env(map[string]string{"MCPEDGE_ADMIN_HOSTS": "a,b"}), io.Discard)
	if err != nil || len(cfg.AllowedAdminHosts()) != 2 {
		t.Errorf("hosts %v, %v", cfg.AllowedAdminHosts(), err)
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{"0": 0, "17": 17, "64KiB": 64 << 10, "4 MiB": 4 << 20, "1GiB": 1 << 30} {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
		if again, err := ParseBytes(got.String()); err != nil || again != got {
			t.Errorf("%s prints as %s", text, got)
		}
	}
	for _, text := range []string{"", "-1", "x", "1.5MiB", "9999999999GiB"} {
		if _, err := ParseBytes(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// A settings file without its flag is reported with the flag.
func TestFileWithoutFlag(t *testing.T) {
	nothing := func(string) (string, bool) { return "", false }
	for arg, want := range map[string]string{"edge.yaml": "did you mean --config edge.yaml?", "a.yml": "did you mean --config a.yml?", "edge": "see mcpedge help"} {
		if _, err := Load("check", []string{arg}, nothing, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
