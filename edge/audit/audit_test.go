package audit

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// shelf is a sink that keeps records. It accepts room records and then fails with err.
type shelf struct {
	mu     sync.Mutex
	kept   []Record
	err    error
	slow   time.Duration
	closed bool
}

func (s *shelf) Write(ctx context.Context, records []Record) (int, error) {
	s.mu.Lock()
	slow, err := s.slow, s.err
	s.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, records...)
	return len(records), nil
}

func (s *shelf) Close(context.Context) error {
	s.closed = true
	return nil
}

func (s *shelf) set(err error, slow time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.slow = err, slow
}

func (s *shelf) targets() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.kept {
		out = append(out, string(s.kept[i].Event)+" "+s.kept[i].Target)
	}
	return out
}

// with runs a test in a bubble with a Log of one sink.
func with(t *testing.T, o Options, fn func(t *testing.T, l *Log, s *shelf)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		o.Sinks, o.Logger = map[string]Sink{"shelf": s}, slog.New(slog.DiscardHandler)
		l := New(o)
		fn(t, l, s)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Close(ctx)
		if !s.closed {
			t.Error("the sink was not closed")
		}
		if n := l.queues[0].waiting(); n != 0 || l.queues[0].bytes != 0 {
			t.Errorf("%d records of %d bytes are left", n, l.queues[0].bytes)
		}
	})
}

func decide(t *testing.T, l *Log, target string) error {
	return l.Decided(t.Context(), &Record{Target: target, Verdict: Verdict{Effect: Allow}}, CallArguments{})
}

func lost(l *Log) (n int64) {
	l.Each(func(_ string, _, l int64, _ int) { n = l })
	return n
}

func TestRecordsAreWrittenInOrder(t *testing.T) {
	with(t, Options{}, func(t *testing.T, l *Log, s *shelf) {
		for _, x := range []string{"a", "b", "c"} {
			if err := decide(t, l, x); err != nil {
				t.Error(err)
			}
			l.Ended(&Record{Target: x})
		}
		time.Sleep(gather)
		synctest.Wait()
		if got := strings.Join(s.targets(), ", "); got != "decision a, outcome a, decision b, outcome b, decision c, outcome c" {
			t.Error(got)
		}
	})
}

// Unless records are required, a failing or hanging sink delays no call. Records that exceed the
// queue are lost and counted. The others are written when the sink has recovered.
func TestSlowSink(t *testing.T) {
	with(t, Options{Queue: 4 * (overhead + 1)}, func(t *testing.T, l *Log, s *shelf) {
		s.set(nil, time.Hour)
		began := time.Now()
		for range 7 {
			if err := decide(t, l, "x"); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 0 || lost(l) != 3 {
			t.Errorf("seven records took %s, and %d were lost; want no time, and 3", took, lost(l))
		}
		s.set(nil, 0)
		time.Sleep(2 * time.Hour)
		if n := len(s.targets()); n != 4 {
			t.Errorf("%d records were written in the end, want 4", n)
		}
	})
}

// A required decision takes effect once its record is written. If that takes too long, the request
// is refused.
func TestRequired(t *testing.T) {
	with(t, Options{Required: true, Timeout: time.Second}, func(t *testing.T, l *Log, s *shelf) {
		s.set(nil, 600*time.Millisecond)
		began := time.Now()
		if err := decide(t, l, "in time"); err != nil || time.Since(began) != 600*time.Millisecond {
			t.Errorf("%v after %s, want success once the record was written", err, time.Since(began))
		}
		if got := strings.Join(s.targets(), ", "); got != "decision in time" {
			t.Errorf("a decision took effect while this was written: %s", got)
		}
		s.set(nil, 3*time.Second)
		err := decide(t, l, "late")
		if me := mcp.AsError(err); err == nil || me.Kind != mcp.KindStateUnavailable || me.RetryAfter == 0 {
			t.Errorf("a decision whose record is late: %v", err)
		}
		if l.Refused() != 1 || lost(l) != 0 {
			t.Errorf("%d refused, %d lost; want 1 and 0", l.Refused(), lost(l))
		}
	})
}

// While a required sink fails, every request is refused at once, and no record is lost. The
// outcomes of calls in flight are written when the sink has recovered.
func TestRequiredSinkFails(t *testing.T) {
	with(t, Options{Required: true, Timeout: time.Second, Queue: 2 * overhead}, func(t *testing.T, l *Log, s *shelf) {
		s.set(errors.New("no space left on device"), 0)
		if err := decide(t, l, "first"); err == nil {
			t.Error("a decision took effect that is not recorded")
		}
		began := time.Now()
		if err := decide(t, l, "second"); err == nil || time.Since(began) != 0 {
			t.Errorf("%v after %s, want a refusal at once", err, time.Since(began))
		}
		for range 5 {
			l.Ended(&Record{Target: "in flight"})
		}
		s.set(nil, 0)
		time.Sleep(mostRetry)
		if err := decide(t, l, "third"); err != nil {
			t.Error(err)
		}
		if n := len(s.targets()); n != 7 || lost(l) != 0 {
			t.Errorf("%d were written, %d lost; want 7 and 0: %q", n, lost(l), s.targets())
		}
	})
}

// A request that waits for its record when the Log is closed is refused, and the lost record is
// counted.
func TestClose(t *testing.T) {
	with(t, Options{Required: true, Timeout: time.Hour}, func(t *testing.T, l *Log, s *shelf) {
		s.set(errors.New("gone"), 0)
		answered := make(chan error, 1)
		go func() {
			answered <- l.Decided(context.Background(), &Record{}, CallArguments{})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := l.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 records were not written") {
			t.Errorf("Close: %v", err)
		}
		if err := <-answered; err == nil {
			t.Error("a decision took effect that is not recorded")
		}
		if err := decide(t, l, "afterwards"); err == nil {
			t.Error("a decision took effect after the end")
		}
		s.closed = true
	})
}

func TestArguments(t *testing.T) {
	const raw = "{ \"a\" : 1,\n \"b\": \"x y\" }"
	for _, x := range []struct {
		o            Options
		want, digest string
	}{
		{Options{}, "", ""},
		{Options{Arguments: ArgumentsWhole}, `{"a":1,"b":"x y"}`, ""},
		// printf '{"a":1,"b":"x y"}' | openssl dgst -sha256 -hmac key
		{Options{Arguments: ArgumentsDigest, Key: []byte("key")}, "", "75ac69e46f40f6cc0905526196d6d9600decaa92a644d8557ea269e86e467715"},
	} {
		with(t, x.o, func(t *testing.T, l *Log, s *shelf) {
			given := []byte(raw)
			if err := l.Decided(t.Context(), &Record{}, CallArguments{Effective: given, Sent: given}); err != nil {
				t.Fatal(err)
			}
			clear(given) // the Log must not retain the caller's slice
			time.Sleep(gather)
			synctest.Wait()
			if r := s.kept[0]; string(r.Arguments) != x.want || r.ArgumentsDigest != x.digest || string(r.SentArguments) != x.want || r.SentArgumentsDigest != x.digest {
				t.Errorf("%s, %s; want %s, %s", r.Arguments, r.ArgumentsDigest, x.want, x.digest)
			}
		})
	}
}

// Every field of a record is in its line, which is valid JSON.
func TestLine(t *testing.T) {
	r := Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Event: EventOutcome, Settings: "0a1b",
		Who:      Who{Issuer: "https://id", Subject: "a\"\nb", SubjectIsClient: true, Client: "c", TokenID: "7f", Session: "5e"},
		Listener: "mcp", Call: "k", Task: "7a", Round: 2, Method: "tools/call", Target: "ship", Backend: "crm",
		Approval: "0123456789abcdef",
		Awaited:  &Awaited{Names: []string{"p", "q\""}, Requester: Who{Issuer: "i", Subject: "s\n", SubjectIsClient: true, Client: "d"}},
		Verdict:  Verdict{Effect: StepUp, By: ByPolicy, Rule: "r", Missing: []string{"x", "y"}},
		Would:    []mcp.Trial{{Effect: "deny", By: "policy", Rule: "a"}, {Effect: "confirm", By: "confirmation", Rule: "\""}},
		Outcome:  "limit", Code: -31429, Duration: 1500 * time.Microsecond,
		Trace:     trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 1}}),
		Arguments: json.RawMessage(`{"a":1}`), ArgumentsDigest: "d1",
	}
	const want = `{"time":"2026-01-02T03:04:05.000006Z","event":"outcome","replica":"r1","settings":"0a1b","issuer":"https://id","subject":"a\"\nb",` +
		`"subject_is_client":true,"client_id":"c","jti_sha256":"7f","session":"5e","listener":"mcp","call":"k","task":"7a","round":2,"method":"tools/call","target":"ship",` +
		`"backend":"crm","approval":"0123456789abcdef","awaited":{"names":["p","q\""],"requester":{"issuer":"i","subject":"s\n","subject_is_client":true,"client_id":"d"}},"decision":"step_up","by":"policy","rule":"r","missing_scopes":["x","y"],"would":[{"effect":"deny","by":"policy","rule":"a"},{"effect":"confirm","by":"confirmation","rule":"\""}],"outcome":"limit","code":-31429,` +
		`"duration":0.001500,"trace_id":"00000000000000000000000000000001","arguments_hmac_sha256":"d1","arguments":{"a":1}}` + "\n"
	got := string(r.appendLine(nil, "r1"))
	if got != want || !json.Valid([]byte(got)) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func BenchmarkDecided(b *testing.B) {
	l := New(Options{Sinks: map[string]Sink{"none": nowhere{}}})
	r := Record{
		Who: Who{Issuer: "https://id.example.com", Subject: "ada", Client: "c", Session: "5e"}, Call: "k", Round: 1,
		Method: "tools/call", Target: "ship", Backend: "crm", Verdict: Verdict{Effect: Allow},
	}
	b.ReportAllocs()
	for b.Loop() {
		d, o := r, r
		if err := l.Decided(b.Context(), &d, CallArguments{}); err != nil {
			b.Fatal(err)
		}
		l.Ended(&o)
	}
	_ = l.Close(context.Background())
	if n := lost(l); n > 0 {
		b.Logf("%d of %d records were lost", n, 2*b.N)
	}
}

// nowhere is a sink that encodes records and discards them.
type nowhere struct{}

func (nowhere) Write(_ context.Context, records []Record) (int, error) {
	var line []byte
	for i := range records {
		line = records[i].appendLine(line[:0], "r1")
	}
	return len(records), nil
}

func (nowhere) Close(context.Context) error { return nil }

// Lines have no control characters, which could move a terminal's cursor or reverse its text. The
// values of the record are unchanged.
func TestRecordsHaveNoControls(t *testing.T) {
	r := Record{Target: "tool\x1b[31m\u202e\u009b2J\x7f", Arguments: []byte("{\"a\":\"\u202e\"}"), Who: Who{Client: "\u2066"}}
	line := string(r.appendLine([]byte("before "), "r1"))
	if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), mcp.IsControl); i >= 0 {
		t.Errorf("%q", line)
	}
	var back struct {
		Target    string
		Arguments struct{ A string }
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "before ")), &back); err != nil || back.Target != r.Target || back.Arguments.A != "\u202e" {
		t.Errorf("%+v, %v", back, err)
	}
}
