package stateless

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// alone sends one message of a revision with sessions, without one.
func alone(t *testing.T, e *Era, ctx context.Context, version, text string) *recorder {
	t.Helper()
	msg, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, h := newRecorder(), fixedHeader{}
	if version != "" {
		h[era.HeaderVersion] = version
	}
	e.Sessionless().Message(ctx, &mcp.Incoming{Body: []byte(text), Header: h, PerRequest: true}, msg, r)
	return r
}

type fixedHeader map[string]string

func (h fixedHeader) Get(name string) string      { return h[name] }
func (h fixedHeader) Values(name string) []string { return []string{h[name]} }

const legacyCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","requestState":"s","inputResponses":{"k":{}}}}`

// A call that the backend asks to repeat runs again, with the backend's state, until it has a result. It is the same call.
func TestSessionlessRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []mcp.Call
		e := newEra(t, &fakeDispatch{call: func(_ context.Context, call *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if seen = append(seen, *call); len(seen) < 3 {
				return mcp.Reply{Input: &mcp.InputRequired{State: []byte{byte(len(seen))}, RetryAfter: time.Second}}, nil
			}
			return mcp.Reply{Result: json.RawMessage(`{"done":true}`)}, nil
		}}, Options{StreamAfter: time.Hour})
		began := time.Now()
		r := alone(t, e, t.Context(), "2025-11-25", legacyCall)
		if got := string(r.response.Body); got != `{"jsonrpc":"2.0","id":7,"result":{"done":true}}` || r.response.Modern {
			t.Errorf("%s, modern %t", got, r.response.Modern)
		}
		if took := time.Since(began); took != 2*time.Second || len(seen) != 3 {
			t.Fatalf("%d rounds in %s", len(seen), took)
		}
		for i, call := range seen {
			state := ""
			if i > 0 {
				state = string(byte(i))
			}
			if call.ID != seen[0].ID || call.Round != 1 || call.Begun != (i > 0) || string(call.State) != state || call.Responses != nil || call.Target == nil || call.Header != nil {
				t.Errorf("round %d: %+v", i, call)
			}
			if !call.Client.Capabilities.Unknown || call.Client.Info != nil || call.LogLevel != 0 {
				t.Errorf("round %d: the client is %+v", i, call.Client)
			}
		}
	})
}

// A call that never ends is ended at the lifetime of calls, and one that asks is refused, whatever dispatch lets pass.
func TestSessionlessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := &mcp.InputRequired{RetryAfter: 3 * time.Second}
		e := newEra(t, &fakeDispatch{call: func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) { return mcp.Reply{Input: reply}, nil }},
			Options{StreamAfter: time.Hour, CallLifetime: 10 * time.Second})
		if r := alone(t, e, t.Context(), "", legacyCall); r.response.Kind != mcp.KindTimeout {
			t.Errorf("%s", r.response.Body)
		}
		reply = &mcp.InputRequired{Requests: []mcp.InputRequest{{Key: "k", Method: mcp.MethodElicit}}}
		if r := alone(t, e, t.Context(), "", legacyCall); r.response.Kind != mcp.KindMissingCapability {
			t.Errorf("%s", r.response.Body)
		}
	})
}

// Progress is in the stream of the response, and nothing is written after the client has left.
func TestSessionlessStream(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		return mcp.Reply{Result: json.RawMessage(`{}`)}, sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Params: json.RawMessage(`{"progress":1}`), Progress: 1})
	}}, Options{})
	r := alone(t, e, t.Context(), "2025-11-25", legacyCall)
	if got := r.seen(); len(got) != 2 || got[0] != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}` || got[1] != `{"jsonrpc":"2.0","id":7,"result":{}}` {
		t.Errorf("%q", got)
	}
	left, leave := context.WithCancel(t.Context())
	e = newEra(t, &fakeDispatch{call: func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		leave()
		<-ctx.Done()
		return mcp.Reply{}, ctx.Err()
	}}, Options{})
	if r := alone(t, e, left, "2025-11-25", legacyCall); r.response != nil || r.opened || r.accepted {
		t.Errorf("%+v", r.response)
	}
}

// Without memory requests are refused as overload, except ping.
func TestSessionlessMemory(t *testing.T) {
	e := newEra(t, &fakeDispatch{}, Options{})
	full := budget.New(1000)
	other := full.Named("other").Begin()
	other.Offer(budget.Requests, 2000)
	defer other.Release()
	for text, want := range map[string]mcp.Kind{legacyCall: mcp.KindOverloaded, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1}}`: mcp.KindNone} {
		held := full.Named("a").Begin()
		held.Offer(budget.Requests, 500)
		msg, _ := jsonrpc.Parse([]byte(text))
		r := newRecorder()
		e.Sessionless().Message(t.Context(), &mcp.Incoming{Header: fixedHeader{}, PerRequest: true, Memory: &held}, msg, r)
		if r.response == nil || r.response.Kind != want {
			t.Errorf("%s: %+v", text, r.response)
		}
		held.Release()
	}
}

// The rules are those of the version, and the oldest revision that needs none is assumed.
func TestSessionlessRules(t *testing.T) {
	for version, want := range map[string]string{"": revision.Assumed().Version, "2024-11-05": "2024-11-05", "2025-11-25": "2025-11-25"} {
		d := &ruled{fakeDispatch: &fakeDispatch{call: func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Result: json.RawMessage(`{}`)}, nil
		}}}
		e, err := New(d, d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		alone(t, e, t.Context(), version, legacyCall)
		if d.version != want {
			t.Errorf("%q is served as %s", version, d.version)
		}
	}
}

// ruled records the revision of a call.
type ruled struct {
	*fakeDispatch
	version string
}

func (r *ruled) Resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call) (*mcp.Target, error) {
	r.version = rules.Version
	return r.fakeDispatch.Resolve(ctx, rules, call)
}
