package stateless

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

var progress = mcp.Event{Method: mcp.NotifyProgress, Params: json.RawMessage(`{"progress":1,"progressToken":"t"}`), Progress: 1}

func callRequest() (string, http.Header) {
	b, h := request("tools/call", `"name":"x"`)
	h.Set("Mcp-Name", "x")
	return b, h
}

func TestAnswerIsJSONWhenItComesFirst(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: complete}, Options{})
	b, h := callRequest()
	if r := post(t, e, b, h, mcp.Principal{}); r.opened || body(t, r) != `{"jsonrpc":"2.0","id":7,"result":{"content":[],"resultType":"complete"}}` {
		t.Fatalf("opened %v, %s", r.opened, body(t, r))
	}
}

func TestStreamFromTheFirstEventOn(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, c *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
		if err := s.Emit(ctx, progress); err != nil {
			return mcp.Reply{}, err
		}
		return complete(ctx, c, s)
	}}, Options{})
	b, h := callRequest()
	r := post(t, e, b, h, mcp.Principal{})
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":"t"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"content":[],"resultType":"complete"}}`,
	}
	if got := r.seen(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("events %v, want %v", got, want)
	}
}

// An error after the first event is the last event of the stream.
func TestErrorOnAnOpenStream(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, _ *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
		_ = s.Emit(ctx, progress)
		return mcp.Reply{}, mcp.Errorf(mcp.KindUnavailable, "backend b is down")
	}}, Options{})
	b, h := callRequest()
	got := post(t, e, b, h, mcp.Principal{}).seen()
	if len(got) != 2 {
		t.Fatalf("events %v", got)
	}
	contains(t, got[1], `"id":7`, `"message":"backend b is down"`)
}

func TestOpenStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEra(t, &fakeDispatch{call: func(ctx context.Context, c *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
			_ = s.Emit(ctx, progress)
			time.Sleep(3500 * time.Millisecond)
			return complete(ctx, c, s)
		}}, Options{KeepAlive: time.Second})
		b, h := callRequest()
		if r := post(t, e, b, h, mcp.Principal{}); r.comments != 3 || len(r.events) != 2 {
			t.Fatalf("%d comments, events %v", r.comments, r.events)
		}
	})
}

// A call without events becomes a stream after StreamAfter and is kept alive from then on, because
// proxies end silent responses.
func TestSilentCallBecomesAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]int{900 * time.Millisecond: 0, 1500 * time.Millisecond: 1, 3500 * time.Millisecond: 3} {
			e := newEra(t, &fakeDispatch{call: func(ctx context.Context, c *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
				time.Sleep(took)
				return complete(ctx, c, s)
			}}, Options{StreamAfter: time.Second, KeepAlive: time.Second})
			b, h := callRequest()
			r := post(t, e, b, h, mcp.Principal{})
			if r.opened != (want > 0) || r.comments != want || r.opened && len(r.seen()) != 1 {
				t.Errorf("after %v: opened %t, %d comments, want %d, events %v", took, r.opened, r.comments, want, r.events)
			}
		}
	})
}

// The client's disconnect is the cancellation: dispatch's context ends and nothing is written.
func TestDisconnectCancels(t *testing.T) {
	ctx, disconnect := context.WithCancel(t.Context())
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		disconnect()
		<-ctx.Done()
		return mcp.Reply{}, ctx.Err()
	}}, Options{})
	b, h := callRequest()
	r := newRecorder()
	(&era.Router{Stateless: e}).Post(ctx, &mcp.Incoming{Body: []byte(b), Header: h}, r)
	if r.response != nil || r.opened {
		t.Fatal("something was written after the disconnect")
	}
}

// The client's data in the request reaches dispatch, for each request.
func TestCallCarriesTheClient(t *testing.T) {
	var got *mcp.Call
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, c *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
		got = c
		return complete(ctx, c, s)
	}}, Options{})
	h := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"x"}}
	post(t, e, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":5,
		"io.modelcontextprotocol/clientInfo":{"name":"c","version":"2"},
		"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{"tools":{}},"roots":{"listChanged":true}},
		"io.modelcontextprotocol/logLevel":"warning"}}}`, h, mcp.Principal{Subject: "ada"})
	if got == nil {
		t.Fatal("dispatch was not called")
	}
	c := got.Client.Capabilities
	if !c.ElicitForm || c.ElicitURL || !c.Sampling || !c.SamplingTools || !c.Roots {
		t.Errorf("capabilities %+v", c)
	}
	if got.LogLevel != mcp.LogWarning || got.Params.Target != "x" || string(got.Params.Meta.ProgressToken) != "5" ||
		got.Principal.Subject != "ada" || got.Round != 1 || got.Attempt != 1 || len(got.ID) < 26 || got.Header == nil {
		t.Errorf("call %+v", got)
	}
	contains(t, string(got.Client.Info), `"name":"c"`)
}
