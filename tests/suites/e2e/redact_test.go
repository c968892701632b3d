package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/leaks"
)

// redactAll replaces every secret of the package leaks, in the places given, or everywhere.
func redactAll(places ...string) []config.Redaction {
	var out []config.Redaction
	for _, p := range []string{"card", "email", "iban", "keys", leaks.Expression} {
		out = append(out, config.Redaction{Name: "r" + fmt.Sprint(len(out)), Pattern: p, In: places})
	}
	return out
}

// leaked are the arguments of the tools of a leaky backend.
type leaked struct {
	Secrets []string `json:"secrets"`
}

// newLeaky is a backend that repeats the secrets in its arguments in everything that it says.
func newLeaky() *capability.Server {
	s := capability.New("leaky", "1.0.0")
	capability.AddTool(s, "leak", "Leaks", func(_ context.Context, c *capability.Call, in leaked) (*capability.Result, error) {
		c.Progress(1, 2, strings.Join(in.Secrets, ", "))
		c.Log(capability.LevelWarning, "leak", map[string]any{"said": in.Secrets})
		structured := leakedJSON(in.Secrets)
		return &capability.Result{
			Content: []*capability.Content{
				capability.Text(strings.Join(in.Secrets, "\n")), capability.Text(structured), capability.Text("in JSON: " + structured),
				capability.Embed(capability.TextContents("leak://now", "text/plain", strings.Join(in.Secrets, ";"))),
			},
			Structured: json.RawMessage(structured), Meta: json.RawMessage(`{"example.com/said":` + structured + `}`),
		}, nil
	})
	capability.AddTool(s, "fail", "Fails", func(_ context.Context, _ *capability.Call, in leaked) (string, error) {
		return "", capability.Errorf(capability.InvalidArgument, "no %s", strings.Join(in.Secrets, " "))
	})
	capability.AddTool(s, "crash", "Crashes", func(_ context.Context, _ *capability.Call, in leaked) (string, error) {
		return "", &capability.Failure{Reason: capability.Internal, Message: strings.Join(in.Secrets, " "), Data: json.RawMessage(leakedJSON(in.Secrets))}
	})
	capability.AddTool(s, "ask", "Asks", func(_ context.Context, c *capability.Call, in leaked) (string, error) {
		c.AskForm("k", strings.Join(in.Secrets, " "), `{"type":"object","properties":{"x":{"type":"string","title":`+leaks.Quoted(strings.Join(in.Secrets, " "))+`}}}`)
		return "answered", nil
	})
	capability.AddPrompt(s, &capability.Prompt{Name: "leak", Arguments: []*capability.PromptArgument{{Name: "secrets", Required: true}}},
		func(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
			return arguments["secrets"], nil
		}, capability.Complete("secrets", suggestLeaks))
	capability.AddPrompt(s, &capability.Prompt{Name: "fail", Arguments: []*capability.PromptArgument{{Name: "secrets", Required: true}}},
		func(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
			return "", capability.Errorf(capability.Internal, "no %s", arguments["secrets"])
		})
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "leak://{n}", Name: "leak"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			var seed uint64
			_, err := fmt.Sscan(vars["n"], &seed)
			return leakedText(drawn(seed)), err
		}, capability.Complete("n", suggestLeaks))
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "lost://{+what}", Name: "lost"},
		func(_ context.Context, c *capability.Call, uri string, _ map[string]string) (string, error) {
			return "", capability.Errorf(capability.Internal, "%s is lost", uri)
		})
	return s
}

// suggestLeaks suggests the first secrets of a seed.
func suggestLeaks(_ context.Context, _ *capability.Call, value string, _ map[string]string) ([]string, error) {
	var seed uint64
	_, err := fmt.Sscan(value, &seed)
	return textsOf(drawn(seed))[:90], err
}

// byPrompts is what clients get for prompts, resources and completions that have secrets, by every way: as a content, and as a name or URI
// that nothing has, or whose owner fails.
func byPrompts(ask func(method, params string) *reply, seed uint64, batch []leaks.Secret) (got string) {
	text, one := leaks.Quoted(leakedText(batch)), ""
	for _, s := range batch { // Headers have names, and no lines.
		if one = s.Text; !strings.Contains(one, "\n") {
			break
		}
	}
	for _, name := range []string{"leak", "fail"} {
		got += whole(ask("prompts/get", fmt.Sprintf(`{"name":"%s","arguments":{"secrets":%s}}`, name, text)))
	}
	got += whole(ask("prompts/get", `{"name":`+leaks.Quoted(one)+`}`))
	got += whole(ask("resources/read", fmt.Sprintf(`{"uri":"leak://%d"}`, seed)))
	for _, scheme := range []string{"lost", "none"} {
		got += whole(ask("resources/read", `{"uri":`+leaks.Quoted(scheme+"://"+strings.ReplaceAll(one, " ", "-"))+`}`))
	}
	got += whole(ask("completion/complete", fmt.Sprintf(`{"ref":{"type":"ref/prompt","name":"leak"},"argument":{"name":"secrets","value":"%d"}}`, seed)))
	return got + whole(ask("completion/complete", fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":"leak://{n}"},"argument":{"name":"n","value":"%d"}}`, seed)))
}

// leakedJSON is an object with secrets: as values, as names, deep in it, with escapes, and as numbers.
func leakedJSON(texts []string) string {
	r := rand.New(rand.NewPCG(3, uint64(len(texts))))
	var list, names, numbers []string
	for _, text := range texts {
		list = append(list, leaks.Escaped(r, text))
		names = append(names, leaks.Quoted(text)+`:{"deep":["of `+strings.ReplaceAll(strings.Trim(leaks.Quoted(text), `"`), "\n", `\n`)+`"]}`)
		if (leaks.Secret{Text: text}).IsNumber() {
			numbers = append(numbers, text)
		}
	}
	return `{"list":[` + strings.Join(list, ",") + `],"names":{` + strings.Join(names, ",") + `},"numbers":[` + strings.Join(numbers, ",") + `]}`
}

func leakedText(all []leaks.Secret) string { return strings.Join(textsOf(all), "\n") }

func textsOf(all []leaks.Secret) (out []string) {
	for _, s := range all {
		out = append(out, s.Text)
	}
	return out
}

// drawn are the secrets of a seed, 100 of them.
func drawn(seed uint64) (out []leaks.Secret) {
	r := rand.New(rand.NewPCG(seed, 4))
	for range 100 {
		out = append(out, leaks.Draw(r))
	}
	return out
}

// whole is all that a reply has, with the events before the response.
func whole(r *reply) string {
	if r.stream == nil {
		return string(r.body)
	}
	var all bytes.Buffer
	for {
		m := r.stream.message()
		if all.Write(m.raw); m.Method == "" || len(m.ID) > 0 {
			return all.String()
		}
	}
}

// TestRedactSecrets: of 1,000 secrets in arguments, results, errors, resources, prompts, progress, log messages and questions none is in a
// log, a span, a record of the audit or on the page for developers, and none reaches a client. TestRedactSecretsMany has more.
func TestRedactSecrets(t *testing.T) { redactSecrets(t, 10) }

// redactSecrets sends batches of 100 secrets, an even number of batches.
func redactSecrets(t *testing.T, batches int) {
	t.Helper()
	spans := collectSpans(t)
	audited := filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newLeaky())), func(c *config.Config) {
		c.Telemetry.TraceContent, c.Admin.Dev, c.Redact = true, true, redactAll()
		c.Audit = &config.Audit{File: audited, Arguments: "whole"}
	})
	modern, old := newStateless(t, e.URL), newSession(t, e.URL, vNov)
	old.request("logging/setLevel", `{"level":"debug"}`).result()
	modern.logLevel, modern.progress = "debug", `"p"`
	var all []leaks.Secret
	for seed := range uint64(batches) {
		batch := drawn(seed)
		all = append(all, batch...)
		args, err := json.Marshal(leaked{textsOf(batch)})
		if err != nil {
			t.Fatal(err)
		}
		sent := string(args)
		var got string
		if seed%2 == 0 {
			got = whole(modern.call("leak", sent)) + whole(modern.call("fail", sent)) + whole(modern.call("crash", sent)) + whole(modern.call("ask", sent))
			got += byPrompts(func(method, params string) *reply { return modern.request(method, object(t, []byte(params))) }, seed, batch)
		} else {
			got = whole(old.callWithProgress("leak", sent, "p")) + whole(old.call("fail", sent)) + whole(old.call("crash", sent))
			asked := old.call("ask", sent).events()
			question := asked.awaitMethod("elicitation/create")
			got += string(question.raw)
			old.answer(question, `{"action":"decline"}`)
			asked.message().result(t)
			got += byPrompts(old.request, seed, batch)
		}
		none(t, "the client", got, batch)
		if n := strings.Count(got, "[REDACTED:"); n < 1000 {
			t.Fatalf("%d texts were replaced: %.2000s", n, got)
		}
	}
	const last = "gen_ai.tool.call.result"
	await.Until(t, "spans are exported", func() bool { return strings.Contains(spans.text(), last) })
	shown := shownCalls(t, e)
	records, err := os.ReadFile(audited)
	if err != nil {
		t.Fatal(err)
	}
	none(t, "the log", e.Log.String(), all)
	for method, n := range map[string]int{"tools/call": batches, "prompts/get": 2 * batches, "resources/read": batches} {
		lines := 0
		for line := range strings.Lines(e.Log.String()) {
			if strings.Contains(line, `msg=request method=`+method) && strings.Contains(line, "[REDACTED:") {
				lines++
			}
		}
		if lines < n {
			t.Errorf("%d lines of %s in the access log had secrets, want %d or more", lines, method, n)
		}
	}
	for where, text := range map[string]string{"spans": spans.text(), "the audit": string(records), "the page": shown} {
		if !strings.Contains(text, "[REDACTED:") {
			t.Errorf("nothing was replaced in %s", where)
		}
		none(t, where, text, all)
	}
	metrics := string(newCaller(t, "http://"+e.Admin+"/metrics").send(t, "GET", "").body)
	for _, place := range []string{"results", "questions", "progress", "logs", "spans", "audit", "dev"} {
		if !strings.Contains(metrics, `mcpedge_redact_place="`+place+`",mcpedge_redact_rule="r0"`) {
			t.Errorf("nothing is counted for %s", place)
		}
	}
}

// fetched is the body of a page, over a connection that is used again.
func fetched(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(raw)
}

// none fails if a text has one of the secrets, also with escapes.
func none(t *testing.T, where, text string, all []leaks.Secret) {
	t.Helper()
	const n = 8 // no secret is shorter
	begins := map[string][]leaks.Secret{}
	for _, s := range all {
		begins[s.Part[:n]] = append(begins[s.Part[:n]], s)
	}
	text = leaks.Unescaped(text)
	for i := range max(len(text)-n+1, 0) {
		for _, s := range begins[text[i:i+n]] {
			if strings.HasPrefix(text[i:], s.Part) {
				t.Fatalf("%q is in %s: %q", s.Text, where, text[max(0, i-200):min(len(text), i+200)])
			}
		}
	}
}

// TestRedactInPlaces: a rule replaces nothing where it does not apply, and the backend gets the arguments as they were sent.
func TestRedactInPlaces(t *testing.T) {
	got := make(chan string, 2)
	s := capability.New("shop", "1.0.0")
	capability.AddTool(s, "pay", "Pays", func(_ context.Context, _ *capability.Call, in struct {
		Card string `json:"card"`
	}) (string, error) {
		got <- in.Card
		return "paid by " + in.Card, nil
	})
	capability.AddTool(s, "crash", "Crashes", func(context.Context, *capability.Call, struct{}) (string, error) {
		return "", capability.Errorf(capability.Internal, "no account 4111111111111111")
	})
	audited := filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, s)), func(c *config.Config) {
		c.Redact = []config.Redaction{{Name: "cards", Pattern: "card", In: config.Names{"audit", "logs"}}, {Name: "tried", Pattern: "card", In: config.Names{"results"}, Mode: config.ModeAudit}}
		c.Audit = &config.Audit{File: audited, Arguments: "whole"}
	})
	if text := newStateless(t, e.URL).call("pay", `{"card":"4111111111111111"}`).text(); text != "paid by 4111111111111111" {
		t.Errorf("the client got %q", text)
	}
	if card := await.Receive(t, "the backend's argument", got); card != "4111111111111111" {
		t.Errorf("the backend got %q", card)
	}
	if m := newStateless(t, e.URL).call("crash", `{}`).json(); m.Error == nil || m.Error.Message != "no account 4111111111111111" {
		t.Errorf("the client got %s", m.raw)
	}
	await.Until(t, "the error is in the log", func() bool { return strings.Contains(e.Log.String(), "no account [REDACTED:cards]") })
	if log := e.Log.String(); strings.Contains(log, "4111111111111111") {
		t.Errorf("the log has %s", log)
	}
	var records string
	await.Until(t, "the outcome is recorded", func() bool {
		raw, err := os.ReadFile(audited)
		records = string(raw)
		return err == nil && strings.Contains(records, `"outcome":"ok"`)
	})
	if strings.Contains(records, "4111111111111111") || !strings.Contains(records, `"arguments":{"card":"[REDACTED:cards]"}`) {
		t.Errorf("recorded %s", records)
	}
	if !strings.Contains(records, `"would":[{"effect":"redact","by":"redaction","rule":"tried"}]`) {
		t.Errorf("the rule in audit mode is not recorded: %s", records)
	}
}

// TestRedactConfirmation: the question for a confirmation has no secrets of the arguments, and its answer holds for the arguments as sent.
func TestRedactConfirmation(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm, func(c *config.Config) { c.Redact = redactAll("questions") })
	c := newStateless(t, e.URL)
	asked := c.call("wipe", `{"path":"\u0034111111111111111"}`).result()
	const want = "The tool \"wipe\" of the backend \"fixture\" is about to be called.\n\nWipe \"[REDACTED:r0]\"?\n\nArguments: {\"path\":\"[REDACTED:r0]\"}"
	if got := dig(asked, "inputRequests", "mcpedge.confirm", "params", "message"); got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	if m := c.call("wipe", `{"path":"5555555555554444"}`, retry(t, asked, confirming(sayYes))).json(); m.Error == nil {
		t.Error("the answer confirms other arguments, which are redacted alike")
	}
	if got := c.call("wipe", `{"path":"\u0034111111111111111"}`, retry(t, asked, confirming(sayYes))).text(); got != "run 1" {
		t.Errorf("the confirmed call gave %q", got)
	}
}

// TestRedactResumed: what a stream repeats is redacted, and what is shortened was redacted before.
func TestRedactResumed(t *testing.T) {
	e := startEdge(t, only(startService(t, newLeaky())), func(c *config.Config) { c.Redact = redactAll("results", "progress") })
	s := newSession(t, e.URL, vNov)
	stream := s.callWithProgress("leak", `{"secrets":["4111111111111111"]}`, "p").events()
	var first event
	for !strings.Contains(first.Data, "notifications/progress") {
		var ok bool
		if first, ok = stream.next(); !ok {
			t.Fatal("the stream has ended")
		}
	}
	if want := `"message":"[REDACTED:r0]"`; !strings.Contains(first.Data, want) {
		t.Errorf("the first event is %s, want %s", first.Data, want)
	}
	again := whole(s.get(first.ID))
	if strings.Contains(again, "4111111111111111") || !strings.Contains(again, "[REDACTED:r0]") {
		t.Errorf("resumed with %s", again)
	}
}

// TestRedactReload: another redaction is in force without a restart, and a file without the setting does not lift it.
func TestRedactReload(t *testing.T) {
	t.Parallel() // it waits for most of its time
	service := startService(t, newLeaky())
	file := filepath.Join(t.TempDir(), "edge.yaml")
	write := func(redact string) {
		text := fmt.Sprintf("backends:\n- {name: fixture, target: %q}\n%s", service.Addr, redact)
		harness.Write(t, file, text)
	}
	write("redact:\n- {name: cards, pattern: card}\n")
	cfg, err := config.Load("serve", []string{"--config", file, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, os.LookupEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	e := harness.Start(t, cfg)
	c := newStateless(t, e.URL)
	said := func() string { return text(t, c.call("leak", `{"secrets":["4111111111111111 a@b.de"]}`).result()) }
	if got := said(); got != "[REDACTED:cards] a@b.de" {
		t.Fatalf("got %q", got)
	}
	write("redact:\n- {name: mail, pattern: email}\n")
	await.Until(t, "the other redaction is in force", func() bool { return said() == "4111111111111111 [REDACTED:mail]" })
	write("")
	await.Until(t, "the file without the setting is refused", func() bool { return strings.Contains(e.Log.String(), "there is no redact any more") })
	write("redact:\n- {name: mail, pattern: emails}\n")
	await.Until(t, "an unknown pattern is refused", func() bool { return strings.Contains(e.Log.String(), "there is no named pattern") })
	if got := said(); got != "4111111111111111 [REDACTED:mail]" {
		t.Errorf("after refused settings: %q", got)
	}
	write("redact: []\n")
	await.Until(t, "nothing is replaced", func() bool { return said() == "4111111111111111 a@b.de" })
}
