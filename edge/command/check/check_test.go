package check

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// mcpedge check reports lists that clients get in pages with the edge's settings, because some
// clients read only the first page.
func TestCheckTellsOfPages(t *testing.T) {
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := Run(t.Context(), args, &out, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		return out.String()
	}
	many, few := "--backend=many="+commandtest.Tools(t, "m", 1001), "--backend=few="+commandtest.Tools(t, "f", 600)
	const want = `note    tools/list has 2 pages, as lists.page-size is 1000: the first has 1000 of 1001 entries. ` +
		`Clients that read only the first page, as some agent frameworks do, do not see the entries from "m1000" on: raise lists.page-size, or serve fewer`
	if out := run(many); strings.Count(out, want) != 1 || strings.Count(out, "pages, as") != 1 {
		t.Errorf("%q is missing, or not alone, in:\n%.2000s", want, out)
	}
	if out := run(few); strings.Contains(out, "pages, as") {
		t.Errorf("one page:\n%s", out)
	}
	t.Setenv("MCPEDGE_ADVANCED_PAGE_BYTES", "4KiB")
	if out := run(few); !strings.Contains(out, "as advanced.page-bytes is 4096") {
		t.Errorf("the bytes of a page are not counted:\n%s", out)
	}
	t.Setenv("MCPEDGE_ADVANCED_PAGE_BYTES", "1MiB")
	out := run(few, "--backend=more="+commandtest.Tools(t, "x", 600))
	if want := "all backends together: tools/list has 2 pages, as lists.page-size is 1000: the first has 1000 of 1200 entries"; strings.Count(out, "pages, as") != 1 || !strings.Contains(out, want) {
		t.Errorf("%q is missing, or not alone, in:\n%.2000s", want, out)
	}
}

// --offline opens no connection, and finds mistakes in the settings and their files.
func TestOffline(t *testing.T) {
	dir := t.TempDir()
	check := func(settings string, args ...string) (string, error) {
		t.Helper()
		file := filepath.Join(dir, "edge.yaml")
		if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := Run(t.Context(), append([]string{"--config", file, "--offline"}, args...), &out, &out)
		return out.String(), err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	asked := make(chan struct{}, 1)
	go func() {
		if c, err := listener.Accept(); err == nil {
			_ = c.Close()
			asked <- struct{}{}
		}
	}()
	addr := listener.Addr().String()
	good := "backends: [{name: one, target: '" + addr + "'}]\nredis: {url: 'redis://" + addr + "'}\nlisten: {public-url: https://mcp.example.com}\n" +
		"auth: {issuers: [{issuer: 'https://" + addr + "'}]}\ncatalog: {tools: [{backend: one, tool: '*', hide: true}]}\n"
	out, err := check(good)
	if err != nil || !strings.Contains(out, "info    backends, issuers, the policy server and Redis are not asked") {
		t.Errorf("%v\n%s", err, out)
	}
	select {
	case <-asked:
		t.Error("a connection was opened")
	default:
	}
	for settings, want := range map[string]string{
		good + "shutdown: {grace: 1}\n":                                          "a duration needs its unit",
		"backends: [{name: one, target: '" + addr + "', tls: {ca: none.pem}}]\n": "none.pem",
		"listen: {address: 127.0.0.1:0}\n":                                       "backend",
	} {
		if _, err := check(settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", settings, err, want)
		}
	}
	for _, args := range [][]string{{"--budget", "1"}, {"--call", "a={}"}, {"--answer", "a={}"}} {
		if _, err := check(good, args...); err == nil || !strings.Contains(err.Error(), "--offline asks no backend") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// --budget prints the tokens of the tools in their listed form, and fails if they exceed the
// budget.
func TestBudget(t *testing.T) {
	backend := commandtest.Tools(t, "m", 3)
	file := t.TempDir() + "/edge.yaml"
	settings := "backends: [{name: one, target: '" + backend + "', prefix: a_}]\n" +
		"catalog: {tools: [{backend: one, tool: m0000, hide: true}, {backend: one, tool: m0001, description: " + strings.Repeat("word ", 160) + "}]}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(budget string) (string, error) {
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", file, "--budget", budget}, &out, &out)
		return out.String(), err
	}
	out, err := check("100")
	if err == nil || !strings.Contains(err.Error(), "and the budget is 100: shorten") {
		t.Errorf("the error is %v", err)
	}
	first, second := strings.Index(out, "  a_m0001 (one)\n"), strings.Index(out, "  a_m0002 (one)\n")
	if first < 0 || second < first || strings.Contains(out, "  a_m0000 (one)") || !strings.Contains(out, "of 100 for the 2 tools that clients see") {
		t.Errorf("the costs are\n%s", out)
	}
	if out, err := check("1000"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, wrong := range []string{"0", "-1", "many", ""} {
		if _, err := check(wrong); err == nil || !strings.Contains(err.Error(), "give a number of tokens above 0") {
			t.Errorf("--budget %q: %v", wrong, err)
		}
	}
}

// --budget covers the list of each endpoint: that of the root, if it shows everything, and those of
// all sets.
func TestBudgetOfEndpoints(t *testing.T) {
	backend := commandtest.Tools(t, "m", 40)
	check := func(settings string, budget string) (string, error) {
		t.Helper()
		file := t.TempDir() + "/edge.yaml"
		if err := os.WriteFile(file, []byte("backends: [{name: one, target: '"+backend+"'}]\n"+settings), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", file, "--budget", budget}, &out, &out)
		return out.String(), err
	}
	const sets = "sets: {found: {include: {backends: [one]}, search: on, listed: {tools: [m0007]}}, few: {include: {tools: [m0001, m0002]}}}\n"
	const all = "for the 40 tools that clients see,"
	ofSets := []string{"for the 3 tools that clients see at the set found,", "  find_tools (the edge)\n", "  call_tool (the edge)\n", "  m0007 (one)\n",
		"for the 2 tools that clients see at the set few,", "  m0001 (one)\n", "  m0002 (one)\n"}
	for root, want := range map[string][]string{"all": append(ofSets, all), "found": ofSets, "few": ofSets, "off": ofSets} {
		out, err := check(sets+"root: "+strconv.Quote(root)+"\n", "260")
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("root: %s: %q is missing in\n%s", root, text, out)
			}
		}
		if strings.Contains(out, all) != (root == "all") || (err != nil) != (root == "all") {
			t.Errorf("root: %s: %v\n%s", root, err, out)
		}
	}
	for _, root := range []string{"all", "few", "off"} {
		if _, err := check(sets+"root: "+strconv.Quote(root)+"\n", "100"); err == nil || !strings.Contains(err.Error(), "the tools of the set found take about ") ||
			strings.Contains(err.Error(), "the set few") {
			t.Errorf("root: %s: the error is %v", root, err)
		}
	}
}

// TestCheckTellsWhatIsNotServed: check reports names as clients see them, names that are lost to an
// earlier backend, and names in settings that match nothing.
func TestCheckTellsWhatIsNotServed(t *testing.T) {
	one, two := commandtest.Tools(t, "m", 3), commandtest.Tools(t, "m", 2)
	file := t.TempDir() + "/edge.yaml"
	check := func(settings string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Run(t.Context(), []string{"--config", file}, &out, &out); err != nil && !strings.Contains(settings, "127.0.0.1:1'") {
			t.Fatalf("%v\n%s", err, &out)
		}
		return out.String()
	}
	const policy = "policy: {default: allow, scopes: [{tools: ['m0*', 'x_*'], need: [a]}, {prompts: [p], need: [a]}], rules: [" +
		"{name: r, when: 'tool.name == \"m0001\" || tool.name in [\"m0002\", \"gone\"] || backend == \"three\" || resource.uri == \"any://x\" || \"y\" == prompt.name', then: hide}]}\n" +
		"quotas: [{per: tool, tools: [m0001, nix], rate: 1/s}]\n" +
		"redact: [{name: cards, pattern: card, backends: [one, nosuch], tools: ['m*', nor]}]\n"
	idle := []string{
		`note    policy: scopes[0]: tools: no backend lists what "x_*" names`, `note    policy: scopes[1]: prompts: no backend lists what "p" names`,
		`note    policy: rules[0] r: tool.name: no backend has "gone"`, `note    policy: rules[0] r: backend: no backend has "three"`,
		`note    policy: rules[0] r: prompt.name: no backend has "y"`, `note    quotas: tool m0001 nix: tools: no backend lists what "nix" names`,
		`note    redact: cards: backends: no backend that lists something has a name that "nosuch" names`,
		`note    redact: cards: tools: no backend lists what "nor" names`,
	}
	for _, c := range []struct {
		settings    string
		want, lacks []string
	}{
		{
			"backends: [{name: one, target: '" + one + "'}, {name: two, target: '" + two + "'}]\n" + policy,
			append([]string{`note    backend "two": nothing that it lists is served: its names are all those of earlier backends, such as "m0000" of "one"`}, idle...),
			[]string{"m0002\" names", `no backend has "m000`, "any://x"},
		},
		{
			"backends: [{name: one, target: '" + one + "', prefix: a_}, {name: two, target: '" + two + "'}]\n",
			[]string{"    a_m0000\n", "    m0000\n"}, []string{"earlier backends", "list the same"},
		},
		{
			"backends: [{name: two, target: '" + two + "'}, {name: one, target: '" + one + "'}]\n",
			[]string{`note    backends "two" and "one" list the same tool "m0001": the first keeps it`}, []string{"nothing that it lists", `"m0002": the first`},
		},
		{
			"backends: [{name: one, target: '" + one + "'}, {name: two, target: '" + two + "'}]\ncatalog:\n  tools:\n    - {backend: one, tool: 'm000[01]', hide: true}\n" +
				"    - {backend: one, tool: 'm0*', hide: true}\n",
			[]string{"note    catalog.tools[0]: tool: the backend one lists no tool with the name m000[01]", "note    catalog hides 3 of 3 tools from clients: m0000, m0001, m0002"}, []string{"catalog.tools[1]", "earlier backends", "list the same"},
		},
		{ // Each backend is reported separately.
			"backends: [{name: one, target: '" + one + "'}, {name: two, target: '127.0.0.1:1'}]\ncatalog: {tools: [{backend: one, tool: nix, hide: true}, {backend: two, tool: nix, hide: true}]}\n",
			[]string{"note    catalog.tools[0]: tool: the backend one lists no tool with the name nix"}, []string{"catalog.tools[1]"},
		},
		{ // a name that the catalog gives although the backend lists it
			"backends: [{name: one, target: '" + one + "'}]\ncatalog: {tools: [{backend: one, tool: m0000, name: m0001}]}\n",
			[]string{`note    catalog.tools[0]: name: backend "one": two of its tools have the name or alias "m0001": the first keeps it`, "(" + file + ":2)\n"}, nil,
		},
		{ // the names of an unreachable backend are unknown
			"backends: [{name: one, target: '" + one + "'}, {name: two, target: '127.0.0.1:1'}]\n" + policy, []string{"cannot be reached"}, idle,
		},
	} {
		out := check(c.settings)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing of\n%s\nin\n%s", want, c.settings, out)
			}
		}
		for _, lacks := range c.lacks {
			if strings.Contains(out, lacks) {
				t.Errorf("%q is noted:\n%s\nin\n%s", lacks, c.settings, out)
			}
		}
	}
}

// Tools that are hidden, or that the catalog marks as dangerous, are not called. Pinned arguments
// are sent for the caller of --claims. Names, patterns and pins without effect are noted.
func TestCatalogIsTried(t *testing.T) {
	s := capability.New("one", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	var mu sync.Mutex
	var called []string
	add := func(name, description string, options ...capability.ToolOption) {
		capability.AddTool(s, name, description, func(_ context.Context, _ *capability.Call, in struct {
			Tenant string `json:"tenant"`
		}) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, name+" "+in.Tenant)
			return "done", nil
		}, append(options, capability.ReadOnly())...)
	}
	add("gone", "Is hidden")
	add("wipe", "Is said to be read-only")
	add("find", "Finds, like one_gone")
	add("fixed", "Is pinned", capability.Meta(`{"ui":{"resourceUri":"ui://one/page"}}`))
	capability.AddResource(s, &capability.Resource{Uri: "ui://one/page", Name: "page"}, func(context.Context, *capability.Call, string) (string, error) {
		return `<script>call("one_find")</script>`, nil
	})
	skill := "---\nname: tidy\ndescription: Tidies up\n---\nCall wipe for each.\n"
	skills, err := capability.NewSkills(fstest.MapFS{"tidy/SKILL.md": {Data: []byte(skill)}, "tidy/more.md": {Data: []byte("Then one_gone.")}}, "skill://one/", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Provide("skill://one/", skills)
	dir := t.TempDir()
	file := filepath.Join(dir, "edge.yaml")
	settings := "backends: [{name: one, target: '" + commandtest.Serve(t, s) + "', prefix: one_}]\n" +
		"quotas: [{per: tool, tools: [search], rate: 1/s}]\n" +
		"catalog:\n  tools:\n    - {backend: one, tool: gone, hide: true}\n    - {backend: one, tool: wipe, name: wiper, annotations: {destructive: true}}\n" +
		"    - {backend: one, tool: find, name: search, arguments: {tenant: {from: principal.claims.tenant}}}\n    - {backend: one, tool: fixed, arguments: {tenant: {value: t1}}}\n" +
		"  resources:\n    - {backend: one, resource: 'nix://**', hide: true}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		var out strings.Builder
		if err := Run(t.Context(), append([]string{"--config", file}, args...), &out, &out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		return out.String()
	}
	out := run("--claims", `{"sub":"x","tenant":"acme"}`, "--call", "search={}")
	for _, want := range []string{
		`CallTool "gone": not called, since the catalog hides it`, "--call 'wiper={…}'", "since the catalog marks it as not read-only or as destructive",
		"catalog.tools[0]: old names in the description of the tool find of the backend one: one_gone, which is hidden (" + file + ":5)",
		"catalog.tools[2]: old names in the page ui://one/page of the backend one: one_find, which is search now (" + file + ":7)",
		"catalog.tools[0]: old names in the file skill://one/tidy/more.md of a skill of the backend one: one_gone, which is hidden (" + file + ":5)",
		"catalog.resources[0]: resource: the backend one lists no resource with the name nix://**",
		"catalog.tools[2]: arguments.tenant: from: there is no auth", `catalog.tools[2] gives this name, and rules and quotas use the backend's: one_find`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	slices.Sort(called)
	if got := slices.Compact(called); !slices.Equal(got, []string{"find acme", "fixed t1"}) {
		t.Errorf("called were %q", got)
	}
	if out := run("--claims", `{"sub":"x","tenant":"acme"}`, "--call", `search={"tenant":"evil"}`); !strings.Contains(out, "not called: the catalog pins the argument tenant") {
		t.Errorf("a pinned argument is given:\n%s", out)
	}
}

// An entry of the catalog that the tool's schema does not permit is an error with file, line and
// entry.
func TestImpossiblePinsNameTheirEntry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	settings := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "'}]\ncatalog:\n  tools:\n    - {backend: one, tool: \"*\", title: T}\n" +
		"    - {backend: one, tool: m0000, arguments: {nix: {value: 1}}}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := Run(t.Context(), []string{"--config", file}, &out, &out)
	if err == nil || !strings.Contains(err.Error(), "edge.yaml:5: catalog.tools[1]: arguments: the tool m0000 is hidden") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestTakePairs(t *testing.T) {
	calls, rest, err := takePairs("call", "NAME=JSON", []string{"--backend", "a=x:1", "--call", `t={"a":"b=c"}`, "-call=u={}", "--log-level=warn", "--call=v={}"})
	if err != nil || !slices.Equal(rest, []string{"--backend", "a=x:1", "--log-level=warn"}) ||
		!slices.Equal(calls, []pair{{"t", `{"a":"b=c"}`}, {"u", "{}"}, {"v", "{}"}}) {
		t.Errorf("calls %v, rest %q, %v", calls, rest, err)
	}
	for _, bad := range [][]string{{"--call"}, {"--call", "tool"}, {"--call=={}"}} {
		if _, _, err := takePairs("call", "NAME=JSON", bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// Every requested call is made, each key gets one answer, and the deadline is configurable.
func TestCheckSettingsOfTrials(t *testing.T) {
	_, trial, err := settingsOf([]string{"--call", `t={"n":1}`, "--call=u={}", "--call", `t={"n":2}`, "--timeout", "2m", "--answer=k={}"}, io.Discard)
	if err != nil || !slices.Equal(trial.Calls["t"], []string{`{"n":1}`, `{"n":2}`}) || len(trial.Calls["u"]) != 1 || trial.Timeout != 2*time.Minute {
		t.Errorf("%+v, %v", trial, err)
	}
	for want, args := range map[string][]string{
		`--answer k is given twice, as "{}" and "1"`: {"--answer=k={}", "--answer", "k=1"},
		`--timeout: "soon" is not a duration`:        {"--timeout=soon"},
		`--timeout "0s": give a duration above 0`:    {"--timeout=0s"},
		`--timeout lacks a duration`:                 {"--timeout"},
	} {
		if _, _, err := settingsOf(args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// mcpedge check --help also lists the flags that are not settings.
func TestCheckHelp(t *testing.T) {
	var usage strings.Builder
	if _, _, err := settingsOf([]string{"--help"}, &usage); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"\n  -call NAME=JSON\n", "\n  -answer KEY=JSON\n", "\n  -timeout DURATION\n", "\n  -backend NAME=TARGET\n"} {
		if !strings.Contains(usage.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, &usage)
		}
	}
	usage.Reset()
	if _, _, err := settingsOf([]string{"--nope"}, &usage); err == nil || usage.Len() > 0 {
		t.Errorf("a mistake: %v, printed:\n%s", err, &usage)
	}
}

// mcpedge check reports the content of TLS files, their faults, and why a handshake with a backend
// fails.
func TestCheckTellsOfTLS(t *testing.T) {
	ca, other, dir := authority.New(t, "ca"), authority.New(t, "other"), t.TempDir()
	file := func(name string, data []byte) string { return authority.File(t, filepath.Join(dir, name), data) }
	p, late := ca.Server(t, authority.For("mcp.example.com")), ca.Server(t, authority.Expired)
	cert, key := file("tls.crt", p.Cert), file("tls.key", p.Key)
	lateCert, lateKey := file("late.crt", late.Cert), file("late.key", late.Key)
	trusted, strange := file("ca.crt", ca.PEM), file("other.crt", other.PEM)
	secret := commandtest.Serve(t, capability.New("b", "1", capability.WithTools(), capability.WithLogger(slog.New(slog.DiscardHandler)),
		capability.WithServerOptions(grpc.Creds(credentials.NewServerTLSFromCert(new(ca.Server(t).TLS(t)))))))
	for name, c := range map[string]struct {
		yaml string
		want []string
		fail string
	}{
		"sound": {
			fmt.Sprintf("listen: {tls: {cert: %s, key: %s, client-ca: %s}}\nbackends: [{name: b, target: %q, tls: {ca: %s}}]", cert, key, trusted, secret, trusted),
			[]string{
				"listen.tls\n  ok      listen.tls.cert " + cert + " is for mcp.example.com, issued by CN=ca, valid until ",
				"  ok      listen.tls.client-ca " + trusted + " has CN=ca, valid until ",
				"backends.b.tls\n  ok      backends.b.tls.ca " + trusted + " has CN=ca",
			}, "",
		},
		"not fitting": {
			fmt.Sprintf("listen: {tls: {cert: %s, key: %s}}\nbackends: [{name: b, target: %q, tls: {ca: %s}}]", cert, lateKey, secret, trusted),
			[]string{"  wrong   listen.tls.key: " + lateKey + " does not belong to the first certificate in " + cert, "nothing breaks the contract"}, "tls.key",
		},
		"expired": {
			fmt.Sprintf("admin: {tls: {cert: %s, key: %s}}\nbackends: [{name: b, target: %q, tls: {ca: %s}}]", lateCert, lateKey, secret, trusted),
			[]string{"  wrong   admin.tls.cert: " + lateCert + " has expired on ", "nothing breaks the contract"}, "has expired on",
		},
		"another CA": {
			fmt.Sprintf("backends: [{name: b, target: %q, tls: {ca: %s}}]", secret, strange),
			[]string{"unknown authority", "no CA in " + strange + " issued the backend's certificate: add the one that did to backends.b.tls.ca"}, "unknown authority",
		},
		"no file": {
			fmt.Sprintf("backends: [{name: b, target: %q, tls: {ca: %s}}]", secret, filepath.Join(dir, "none")),
			[]string{"  wrong   backends.b.tls.ca: " + filepath.Join(dir, "none") + " cannot be read: no such file or directory"}, "cannot be read",
		},
		"no TLS": {
			fmt.Sprintf("backends: [{name: b, target: %q}]", secret),
			[]string{"cannot be reached: "}, "if the backend speaks TLS, give it tls: {} in the configuration file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := Run(t.Context(), []string{"--config", file("edge.yaml", []byte(c.yaml))}, &out, &out)
			if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%v, want %q", err, c.fail)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, &out)
				}
			}
		})
	}
}

// mcpedge check reports for each issuer whether its keys were read.
func TestCheckReadsKeys(t *testing.T) {
	good, bad := issuer.Serve(t), issuer.Serve(t)
	bad.SetUnavailable(true)
	settings := t.TempDir() + "/edge.yaml"
	write := func(issuers string) {
		if err := os.WriteFile(settings, []byte("auth: {issuers: ["+issuers+"]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--config", settings, "--backend=one=" + commandtest.Tools(t, "m", 1)}
	var out strings.Builder
	write("{issuer: '" + good.URL + "'}")
	if err := Run(t.Context(), args, &out, &out); err != nil || !strings.HasPrefix(out.String(), "ok      issuer "+good.URL+": 1 keys were read\n") ||
		!strings.Contains(out.String(), "\nnote    issuer "+good.URL+": no client can register itself there: ") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	write("{issuer: '" + bad.URL + "'}, {issuer: '" + good.URL + "'}")
	if err := Run(t.Context(), args, &out, &out); err == nil || !strings.Contains(err.Error(), "1 issuers cannot be used") ||
		!strings.HasPrefix(out.String(), "error   issuer "+bad.URL+": ") || !strings.Contains(out.String(), "500") ||
		!strings.Contains(out.String(), "\nok      issuer "+good.URL) {
		t.Errorf("%v\n%s", err, &out)
	}
}

// mcpedge check names expired API keys. Their scopes do not count as scopes that callers have.
func TestCheckNamesExpiredKeys(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"keys.yaml": "- {name: old, sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, scopes: [a], expires: 2020-01-01T00:00:00Z}\n" +
			"- {name: new, sha256: ca7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, scopes: [b], expires: 2999-01-01T00:00:00Z}\n" +
			"- {name: rotated, sha256: da7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expires: 2021-01-01T00:00:00Z}\n" +
			"- {name: rotated, sha256: ea7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad}\n" +
			"- {name: lost, sha256: 1a7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expires: 2022-01-01T00:00:00Z}\n" +
			"- {name: lost, sha256: 2a7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, expires: 2023-01-01T00:00:00Z}\n",
		"edge.yaml": "auth: {api-keys: " + dir + "/keys.yaml}\npolicy: {scopes: [{tools: [x], need: [a]}, {tools: [y], need: [b]}]}\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := Run(t.Context(), []string{"--config", dir + "/edge.yaml", "--backend=one=" + commandtest.Tools(t, "m", 1)}, &out, &out)
	for want, times := range map[string]int{
		"ok      auth.api-keys: 6 keys were read\n": 1,
		"info    auth.api-keys: the key \"old\" expired at 2020-01-01T00:00:00Z: its requests are answered with 401\n":                                            1,
		"info    auth.api-keys: one of the 2 keys named \"rotated\" expired at 2021-01-01T00:00:00Z: its requests are answered with 401; 1 of them can be used\n": 1,
		"info    auth.api-keys: one of the 2 keys named \"lost\" expired at 2022-01-01T00:00:00Z: its requests are answered with 401; none of them can be used\n": 1,
		"info    auth.api-keys: one of the 2 keys named \"lost\" expired at 2023-01-01T00:00:00Z: its requests are answered with 401; none of them can be used\n": 1,
		`the key "new"`:                0,
		`no API key has the scope "a"`: 1,
		`no API key has the scope "b"`: 0,
	} {
		if err != nil || strings.Count(out.String(), want) != times {
			t.Errorf("%v, want %d times %q in\n%s", err, times, want, &out)
		}
	}
}

// mcpedge check validates a file without backends, and reports that mcpedge would refuse to serve
// it.
func TestCheckWithoutBackends(t *testing.T) {
	good, bad := issuer.Serve(t), issuer.Serve(t)
	bad.SetUnavailable(true)
	settings := t.TempDir() + "/edge.yaml"
	const none = "there is no backend: name some under backends, or serve the bundled demo with demo: true"
	for name, c := range map[string]struct {
		yaml string
		args []string
		want string
		fail string
	}{
		"an issuer":             {"auth: {issuers: [{issuer: '" + good.URL + "'}]}\n", nil, "ok      issuer " + good.URL + ": 1 keys were read\n", none},
		"one that fails":        {"auth: {issuers: [{issuer: '" + bad.URL + "'}]}\n", nil, "", "1 issuers cannot be used\nconfig " + settings + ": " + none},
		"a call":                {"auth: {issuers: [{issuer: '" + good.URL + "'}]}\n", []string{"--call", "t={}"}, "", "no backend lists the tool"},
		"the demo":              {"demo: true\n", nil, `backend "prompts" at 127.0.0.1:`, ""},
		"nothing to be checked": {"", nil, "", "no backend: name one with --backend NAME=TARGET"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.yaml != "" {
				if err := os.WriteFile(settings, []byte(c.yaml), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append([]string{"--config", settings}, args...)
			}
			var out strings.Builder
			err := Run(t.Context(), args, &out, &out)
			if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%v, want %q", err, c.fail)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("got\n%s\nwant\n%s", &out, c.want)
			}
		})
	}
}

// mcpedge check refuses a Redis that an edge would refuse, or would wait for without end. It only
// notes an unavailable one.
func TestCheckLooksAtRedis(t *testing.T) {
	good, evicting, locked := redisserver.ForTest(t), redisserver.ForTest(t, "--maxmemory-policy", "allkeys-lru"), redisserver.ForTest(t)
	full, other := redisserver.ForTest(t, "--maxmemory", "1"), redisserver.ForTest(t)
	rights := redis.NewClient(&redis.Options{Addr: other.Addr})
	defer rights.Close()
	for user, rules := range map[string]string{
		"keys": "~other:* &* +@all", "sessions": "~mcpedge:{* ~mcpedge:r:* &* +@all", "channels": "~* resetchannels +@all", "silent": "~* &* +@all -config",
	} {
		words := []any{"ACL", "SETUSER", user, "on", ">p"}
		for _, word := range strings.Fields(rules) {
			words = append(words, word)
		}
		if err := rights.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	_, port, _ := strings.Cut(good.Addr, ":")
	replica := redisserver.ForTest(t, "--replicaof", "127.0.0.1", port)
	second := redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer second.Close()
	await.Until(t, "the replica follows its master", func() bool {
		return strings.Contains(second.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	as := func(user string) string { return "redis://" + user + ":p@" + other.Addr }
	shown := "redis://***@" + other.Addr
	client := redis.NewClient(&redis.Options{Addr: locked.Addr})
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	secure := serveTLS(t)
	tools := "--backend=one=" + commandtest.Tools(t, "m", 1)
	// found fails the test unless a check of the Redis at url ends as wanted. It repeats the check: on a machine under load Redis may not answer
	// within the few seconds of one.
	found := func(url string, wanted func(out string, err error) bool) {
		t.Helper()
		for begun := time.Now(); ; {
			var out strings.Builder
			err := Run(t.Context(), []string{"--redis=" + url, tools}, &out, &out)
			if wanted(out.String(), err) {
				return
			}
			if time.Since(begun) > await.Patience {
				t.Fatalf("%s: %v\n%s", url, err, &out)
			}
		}
	}
	for url, want := range map[string]struct{ out, fail string }{
		good.URL():                            {"ok      redis " + good.URL() + " can be used", ""},
		full.URL():                            {"error   redis " + full.URL() + ": state: unavailable: Redis is out of memory", "OOM"},
		replica.URL():                         {"error   redis " + replica.URL() + ": state: unavailable: this Redis is a read-only replica", "READONLY"},
		as("keys"):                            {"error   redis " + shown + ": state: unavailable: Redis does not allow this user a command, key or channel", "NOPERM"},
		as("sessions"):                        {"error   redis " + shown + ": tasks: state: unavailable: Redis does not allow this user a command, key or channel", "NOPERM"},
		as("channels"):                        {"error   redis " + shown + ": state: unavailable: Redis does not allow this user a command, key or channel", "channel"},
		as("silent"):                          {"note    redis: " + shown + " does not report its maxmemory-policy: make sure that it is noeviction", ""},
		evicting.URL():                        {"error   redis " + evicting.URL() + ": the Redis setting maxmemory-policy", "maxmemory-policy"},
		"redis://127.0.0.1:1":                 {"note    redis: redis://127.0.0.1:1 cannot be used from here", ""},
		locked.URL():                          {"error   redis " + locked.URL(), "Redis wants a password"},
		"redis://:wrong@" + locked.Addr:       {"error   redis redis://***@" + locked.Addr, "Redis does not accept the user name or password"},
		"redis+cluster://:no@" + locked.Addr:  {"error   redis redis+cluster://***@" + locked.Addr, "WRONGPASS"},
		"rediss://:right@" + locked.Addr:      {"error   redis rediss://***@" + locked.Addr, "speaks Redis without it: begin the URL with redis://"},
		"rediss+cluster://right@" + good.Addr: {"error   redis rediss+cluster://***@" + good.Addr, "speaks Redis without it: begin the URL with redis+cluster://"},
		"redis://" + secure:                   {"error   redis redis://" + secure, "speaks TLS: begin the URL with rediss://"},
		"rediss://" + secure:                  {"error   redis rediss://" + secure, "failed to verify certificate"},
	} {
		found(url, func(out string, err error) bool {
			return (err == nil) == (want.fail == "") && (err == nil || strings.Contains(err.Error(), want.fail)) && strings.Contains(out, want.out)
		})
	}
	const plain = "info    redis: it holds what callers, backends and users wrote as plain text: set redis.seal-keys"
	for _, keys := range []string{"", base64.StdEncoding.EncodeToString(make([]byte, 32))} {
		t.Setenv("MCPEDGE_REDIS_SEAL_KEYS", keys)
		found(good.URL(), func(out string, err error) bool { return err == nil && strings.Contains(out, plain) == (keys == "") })
	}
	const few = "note    redis.acknowledge: 2 replicas of Redis are demanded, and it has 1: "
	for _, needed := range []string{"1", "2"} {
		t.Setenv("MCPEDGE_REDIS_ACKNOWLEDGE", needed)
		found(good.URL(), func(out string, err error) bool { return err == nil && strings.Contains(out, few) == (needed == "2") })
	}
}

// serveTLS accepts connections with an untrusted certificate until the test ends, and returns the
// address.
func serveTLS(t *testing.T) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{authority.New(t, "unknown").Server(t).TLS(t)}}) // #nosec G402 -- a test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// Scopes that no API key has are noted if keys are the only credentials, because every caller would
// be refused.
func TestCheckTellsOfScopesThatNobodyHas(t *testing.T) {
	dir, keys := t.TempDir(), "[{name: ci, sha256: '"+strings.Repeat("0", 64)+"', scopes: [mcp:read]}]\n"
	issuers := issuer.Serve(t)
	common := "auth: {api-keys: keys.yamlISSUER}\nadmin: {auth: {scope: mcp:operate}}\npolicy: {default: allow, scopes: [{need: [mcp:read]}, {tools: ['*'], need: [mcp:write]}]}\n" +
		"backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "'}]\n"
	notes := []string{
		`note    policy: scopes[1]: need: no API key has the scope "mcp:write", and there is no issuer: the rule refuses every caller`,
		`note    admin.auth: scope: no API key has the scope "mcp:operate", and there is no issuer: no caller can use the admin address`,
	}
	for name, c := range map[string]struct {
		issuer string
		want   int
	}{"keys alone": {"", 1}, "an issuer, too": {", issuers: [{issuer: '" + issuers.URL + "'}]", 0}} {
		for file, text := range map[string]string{"keys.yaml": keys, "edge.yaml": strings.ReplaceAll(common, "ISSUER", c.issuer)} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		if err := Run(t.Context(), []string{"--config", filepath.Join(dir, "edge.yaml")}, &out, &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, note := range notes {
			if n := strings.Count(out.String(), note); n != c.want {
				t.Errorf("%s: %d times: %s\nin\n%s", name, n, note, &out)
			}
		}
		if strings.Contains(out.String(), `the scope "mcp:read"`) {
			t.Errorf("%s: a scope that a key has is noted:\n%s", name, &out)
		}
	}
}

// With --strict a note is an error: for example, a rule that matches no tool restricts nothing.
func TestCheckStrictly(t *testing.T) {
	for _, set := range os.Environ() { // variables that are not settings would be notes
		if name, value, _ := strings.Cut(set, "="); strings.HasPrefix(name, "MCPEDGE_") {
			t.Setenv(name, value) // restores the value after the test
			_ = os.Unsetenv(name)
		}
	}
	file := filepath.Join(t.TempDir(), "edge.yaml")
	settings := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "', prefix: m_}]\n" +
		"policy: {default: allow, rules: [{name: restricted, when: 'tool.name == \"NAME\"', then: deny}]}\n"
	for name, want := range map[string]string{"m_m0000": "", "m_m000": "check: there are 1 notes about the settings, and --strict takes none"} {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(settings, "NAME", name)), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Run(t.Context(), []string{"--config", file}, &out, &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out.Reset()
		if err := Run(t.Context(), []string{"--strict", "--config", file}, &out, &out); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s, strictly: %v\n%s", name, err, &out)
		}
	}
}

// Notes about the settings are the last lines, with the place of the key in the file, unless the
// environment or a flag has set it.
func TestCheckTellsNotesLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	settings := "listen: {hosts: ['mcp.example.com:8080']}\nbackends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "'}]\n" +
		"policy:\n  default: allow\n  rules:\n    - {name: fine, when: 'tool.name == \"m0000\"', then: allow}\n    - {name: idle, when: 'tool.name == \"gone\"', then: deny}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		hosts string
		host  string
	}{
		"file":     {"", " (" + file + ":1)"},
		"variable": {"mcp.example.com:80", ""},
	} {
		var out strings.Builder
		if t.Setenv("MCPEDGE_LISTEN_HOSTS", c.hosts); c.hosts == "" {
			_ = os.Unsetenv("MCPEDGE_LISTEN_HOSTS")
		}
		if err := Run(t.Context(), []string{"--config", file}, &out, &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, last, _ := strings.Cut(out.String(), "nothing breaks the contract\n")
		if strings.Count(out.String(), "\nnote ") != strings.Count("\n"+last, "\nnote ") {
			t.Errorf("%s: a note stands before the end:\n%s", name, &out)
		}
		for line := range strings.Lines(last) {
			switch host := strings.HasPrefix(line, "note    listen.hosts"); {
			case host && (c.host == "") != !strings.Contains(line, " ("+file), host && !strings.HasSuffix(line, c.host+"\n"),
				strings.Contains(line, "rules[1] idle") && !strings.HasSuffix(line, " ("+file+":7)\n"):
				t.Errorf("%s: %s", name, line)
			}
		}
		if !strings.Contains(last, "note    listen.hosts") || !strings.Contains(last, "rules[1] idle") {
			t.Errorf("%s: a note is missing in\n%s", name, &out)
		}
	}
}

// --call accepts the tool's name and aliases as clients see them.
func TestCheckCallsByTheNameOfClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	backends := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "', prefix: x_}]\n"
	renamed := "catalog: {tools: [{backend: one, tool: m0000, name: shown, aliases: [old]}]}\n"
	for _, c := range [][2]string{{"m0000", ""}, {"x_m0000", ""}, {"m0000", renamed}, {"shown", renamed}, {"old", renamed}} {
		if err := os.WriteFile(file, []byte(backends+c[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Run(t.Context(), []string{"--config", file, "--call", c[0] + "={}"}, &out, &out); err != nil || strings.Contains(out.String(), "not called") {
			t.Errorf("%s: %v\n%s", c[0], err, &out)
		}
	}
}

// Every warning about settings that a starting edge logs is a note of check, even if no backend is
// reachable.
func TestCheckTellsWhatServeWarnsOf(t *testing.T) {
	dir := t.TempDir()
	id := issuer.Serve(t)
	backends := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 1) + "', prefix: m_}]\n"
	for name, c := range map[string]struct {
		yaml  string
		notes []string
	}{
		"roles": {
			"auth: {issuers: [{issuer: '" + id.URL + "'}]}\npolicy: {default: allow, rules: [{name: r, when: '\"a\" in principal.roles', then: deny}]}\n",
			[]string{"note    auth.issuers[0] " + id.URL + ": claims.roles is not set", "info    admin.address: 127.0.0.1:9090 obeys every process of this machine"},
		},
		"no caller": {
			"policy: {default: deny, scopes: [{need: [mcp:read]}], rules: [{name: r, when: '\"mcp:read\" in principal.scopes', then: allow}]}\n",
			[]string{`note    policy: scopes[0]: need: there is no auth, so no caller has the scope "mcp:read"`, "note    policy: rules[0] r: there is no auth"},
		},
	} {
		for i, settings := range []string{c.yaml + backends, c.yaml} {
			file := filepath.Join(dir, "edge.yaml")
			if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := Run(t.Context(), []string{"--config", file}, &out, &out); (err != nil) != (i == 1) {
				t.Errorf("%s, %d: %v", name, i, err)
			}
			cfg, err := config.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range app.Warnings(cfg) {
				c.notes = append(c.notes, "note    "+w.Setting)
			}
			for _, note := range c.notes {
				if n := strings.Count(out.String(), note); n != 1 {
					t.Errorf("%s, %d: %d times: %s\nin\n%s", name, i, n, note, &out)
				}
			}
		}
	}
}

// A backend needs uris if it serves resources. It needs a prefix if it serves tools or prompts, or
// if it is unreachable. Each prefix must belong to one backend.
func TestCheckTellsOfNamesThatAreUnclaimed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	tools, more := commandtest.Tools(t, "m", 1), commandtest.Tools(t, "n", 1)
	resources := capability.New("r", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddResource(resources, &capability.Resource{Uri: "r://1", Name: "one"}, func(context.Context, *capability.Call, string) (string, error) { return "", nil })
	served := commandtest.Serve(t, resources)
	for name, c := range map[string]struct {
		backends string
		notes    []string
	}{
		"tools alone": {"{name: a, target: '" + tools + "', prefix: a_}, {name: b, target: '" + more + "', prefix: b_}", nil},
		"resources": {
			"{name: a, target: '" + tools + "', prefix: a_}, {name: r, target: '" + served + "'}",
			[]string{"note    backends[1] r: it has no uris: "},
		},
		"not reached": {
			"{name: a, target: '" + tools + "', prefix: a_}, {name: b, target: '127.0.0.1:1', prefix: b_}",
			[]string{"note    backends[1] b: it has no uris: "},
		},
		"one prefix": {
			"{name: a, target: '" + tools + "', prefix: ops_}, {name: b, target: '" + more + "', prefix: ops_}",
			[]string{`note    backends[1] b: its prefix "ops_" is that of backends[0] a, too: `},
		},
	} {
		if err := os.WriteFile(file, []byte("backends: ["+c.backends+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Run(t.Context(), []string{"--config", file}, &out, &out); (err != nil) != (name == "not reached") {
			t.Errorf("%s: %v", name, err)
		}
		if n := strings.Count(out.String(), "\nnote    backends["); n != len(c.notes) {
			t.Errorf("%s: %d notes in\n%s", name, n, &out)
		}
		for _, note := range c.notes {
			if !strings.Contains(out.String(), "\n"+note) {
				t.Errorf("%s: %q is missing in\n%s", name, note, &out)
			}
		}
	}
}
