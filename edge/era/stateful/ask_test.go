package stateful

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

func mustParse(s string) jsonrpc.Message {
	m, err := jsonrpc.Parse([]byte(s))
	if err != nil {
		panic(err)
	}
	return m
}

func elicit(key string) mcp.InputRequest {
	return mcp.InputRequest{Key: key, Method: mcp.MethodElicit, Params: []byte(fmt.Sprintf(`{"message":%q}`, key))}
}

// asking returns a tool that asks once and then returns the answer.
func asking(requests ...mcp.InputRequest) tool {
	return func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		if len(c.Responses) < len(requests) {
			return mcp.Reply{Input: &mcp.InputRequired{Requests: requests, State: []byte("memory")}}, nil
		}
		out := fmt.Sprintf("round %d state %s", c.Round, c.State)
		for _, r := range c.Responses {
			out += fmt.Sprintf(" %s=%s", r.Key, r.Result)
		}
		return text(out), nil
	}
}

// asked returns the ids of the server requests on a stream, by the text of their params.
func asked(t *testing.T, x *client) (ids []string, params []string) {
	t.Helper()
	for _, m := range x.messages() {
		msg := mustParse(m)
		if msg.Kind == jsonrpc.Request {
			if n, err := strconv.ParseInt(msg.ID.Raw(), 10, 32); err != nil || n < 1 {
				t.Errorf("the id %s of a server request is no integer from 1 to 2^31 - 1", msg.ID.Raw())
			}
			ids, params = append(ids, msg.ID.Raw()), append(params, msg.Method+" "+string(msg.Params))
		}
	}
	return ids, params
}

func answer(id, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// The call of an answer is resolved as what its client sent, with what the edge decided: its records name the shown name and the tool of
// the edge.
func TestAnsweredCallIsResolvedAsSent(t *testing.T) {
	inWorld(t, Options{Challenges: func() bool { return true }}, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking(elicit("name"))
		w.backend.onResolve = func(c *mcp.Call) {
			if c.Backend == "" {
				c.Params.Target, c.Backend = "ask", "fake"
				c.Params.Wrapped = &mcp.Wrapped{Tool: mcp.ToolCall}
				c.Params.Arguments = json.RawMessage(`{"n":1,"tenant":"t"}`)
				c.Params.SetAdded(json.RawMessage(`{"tenant":"t"}`))
			}
		}
		s := w.initialize(v1125)
		ids, _ := asked(t, w.post(w.a, s, callTool(1, "question")))
		if len(ids) != 1 {
			t.Fatalf("asked %v", ids)
		}
		resolved := 0
		w.backend.onResolve = func(c *mcp.Call) {
			if p := &c.Params; resolved == 0 && (p.Target != "ask" || p.Shown() != "question" || p.Via() != mcp.ToolCall || string(p.Added()) != `{"tenant":"t"}` ||
				string(p.Sent.Arguments) != `{"n":1}` || string(p.Arguments) != `{"n":1,"tenant":"t"}` || c.Backend != "fake") {
				t.Errorf("resolved as %+v", c.Params)
			}
			resolved++
		}
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{"n":42}`)))
		if resolved == 0 {
			t.Error("the call was not resolved")
		}
	})
}

func TestAskingAndAnsweringAnywhere(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"), elicit("age"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, params := asked(t, x)
		if len(ids) != 2 || params[0] != `elicitation/create {"message":"name"}` {
			t.Fatalf("asked %v", params)
		}
		if n := w.a.Counters().CallsParked.Load(); n != 1 {
			t.Fatalf("%d calls parked", n)
		}
		// The answers arrive at the other replica, out of order, and one of them twice.
		w.wantAccepted(w.post(w.b, s, answer(ids[1], `{"n":42}`)))
		w.wantAccepted(w.post(w.b, s, answer(ids[1], `{"n":43}`)))
		w.wantAccepted(w.post(w.a, s, answer(`"stranger"`, `{}`)))
		w.wantAccepted(w.post(w.a, s, answer(`5`, `{}`)))
		w.wantAccepted(w.post(w.a, s, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}`))
		if x.ended() {
			t.Fatal("went on before the last answer")
		}
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{"s":"Ann"}`)))
		after(2 * time.Second)
		msgs := x.messages()
		want := `{"jsonrpc":"2.0","id":1,"result":{"text":"round 2 state memory name={\"s\":\"Ann\"} age={\"n\":42}"}}`
		if !x.ended() || msgs[len(msgs)-1] != want {
			t.Errorf("messages are %v", msgs)
		}
		if d, u := w.b.Counters().AnswersDuplicate.Load(), w.a.Counters().AnswersUnknown.Load(); d != 1 || u != 3 {
			t.Errorf("%d duplicate, %d unknown answers", d, u)
		}
		calls := w.backend.seen()
		if calls[0].ID != calls[1].ID {
			t.Error("the call's id changed between rounds")
		}
	})
}

// An id of a request to the client is drawn again if the session already uses it, in the same round
// or another call.
func TestIdsOfRequestsAreDrawnAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"), elicit("age"))
		draws := []int64{7, 7, 8, 7, 9, 9, 8, 10, 9}
		draw := func() int64 {
			n := draws[0]
			draws = draws[1:]
			return n
		}
		w.a.draw, w.b.draw = draw, draw
		x := w.post(w.a, s, callTool(1, "ask"))
		y := w.post(w.b, s, callTool(2, "ask"))
		first, _ := asked(t, x)
		second, _ := asked(t, y)
		if got := fmt.Sprint(first, second, draws); got != "[7 8] [10 9] []" {
			t.Fatalf("ids %s", got)
		}
		for _, id := range append(second, first...) {
			w.wantAccepted(w.post(w.a, s, answer(id, `{}`)))
		}
		after(2 * time.Second)
		if !x.ended() || !y.ended() {
			t.Errorf("ended: %t, %t", x.ended(), y.ended())
		}
	})
}

// An answer is acknowledged before its effects are visible, alone and in a batch.
func TestAnswerIsAcceptedBeforeItsEffects(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		w.backend.tools["ask"] = asking(mcp.InputRequest{Key: "k", Method: mcp.MethodListRoots, Params: []byte(`{}`)})
		for i, batch := range []bool{false, true} {
			x := w.post(w.a, s, callTool(i+1, "ask"))
			ids, _ := asked(t, x)
			body := answer(ids[0], `{}`)
			in := w.incoming(s)
			y := w.begin(func(ctx context.Context, y *client) {
				y.onAccept = func() {
					time.Sleep(time.Second)
					if n := len(w.backend.seen()); n != 2*i+1 || x.ended() {
						t.Errorf("the backend was called %d times before the answer was accepted; ended %t", n, x.ended())
					}
				}
				if batch {
					b, _ := jsonrpc.ParseBatch([]byte("["+body+"]"), 1)
					w.a.Batch(ctx, in, b, y)
					return
				}
				w.a.Message(ctx, in, mustParse(body), y)
			})
			after(2 * time.Second)
			w.wantAccepted(y)
			if !x.ended() || len(w.backend.seen()) != 2*i+2 {
				t.Errorf("ended %t after %d calls", x.ended(), len(w.backend.seen()))
			}
		}
	})
}

// A float id is equal to its integer. A call that an earlier release asked for waits under a string
// id.
func TestIdsOfAnswers(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.wantAccepted(w.post(w.b, s, answer(ids[0]+".0", `{}`)))
		after(2 * time.Second)
		if !x.ended() {
			t.Error("the answer under a float was not taken")
		}

		call := state.Request{ID: "c", RequestID: "2", Method: mcp.MethodToolsCall, Params: []byte(`{"name":"ask"}`), Round: 1, Attempt: 1, Backend: "fake"}
		first := medium.Epoch(0).Next(1)
		const id = "J7XQ2LZB5WTRV4KMEY6HNPCADS"
		ask := state.Ask{ID: id, Key: "name", Method: mcp.MethodElicit, Message: []byte(`{}`)}
		if err := w.store("old").Commit(t.Context(), &medium.Write{
			Session: s, Stream: "stream", Call: "c", Epoch: first, N: 1, Seq: 1, Next: medium.NextWaiting,
			Begin:   []*medium.Record{{Request: call, Session: s, Stream: "stream", Phase: state.PhaseDispatched, Epoch: first}},
			Entries: []state.Entry{{Kind: state.EntryRequest, Data: ask.Message}},
			Asks:    []state.Ask{ask}, State: []byte("\x01\x00kept"),
		}); err != nil {
			t.Fatal(err)
		}
		w.wantAccepted(w.post(w.a, s, answer(strconv.Quote(id), `{}`)))
		y := w.listen(w.b, s, medium.Position{Epoch: first, Seq: 1}.EventID("stream"))
		after(2 * time.Second)
		w.wantMessages(y, `{"jsonrpc":"2.0","id":2,"result":{"text":"round 2 state kept name={}"}}`)
	})
}

func TestWaitingCallNeedsNoReplica(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		last := x.lastID()
		w.a.Close()
		after(5 * time.Second)
		if !x.ended() {
			t.Fatal("a closed replica keeps its stream")
		}
		y := w.listen(w.b, s, last)
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{}`)))
		w.wantMessages(y, `{"jsonrpc":"2.0","id":1,"result":{"text":"round 2 state memory name={}"}}`)
	})
}

// An answer with the text of the edge's own withdrawal record is an ordinary answer: the call
// continues with it, and its question does not count as withdrawn.
func TestAnswerThatSaysWithdrawn(t *testing.T) {
	const own = `{"withdrawn":true}`
	for _, version := range []string{v1125, "2025-06-18", "2025-03-26"} {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			s := w.initialize(version)
			w.backend.tools["ask"] = asking(mcp.InputRequest{Key: "k", Method: mcp.MethodCreateMessage, Params: []byte(`{}`)})
			x := w.post(w.a, s, callTool(1, "ask"))
			ids, _ := asked(t, x)
			w.wantAccepted(w.post(w.b, s, answer(ids[0], own)))
			if msgs := x.messages(); !x.ended() || msgs[len(msgs)-1] != `{"jsonrpc":"2.0","id":1,"result":{"text":"round 2 state memory k={\"withdrawn\":true}"}}` {
				t.Errorf("%s: messages are %v", version, msgs)
			}
		})
	}
}

func TestClientErrorAnswers(t *testing.T) {
	var log bytes.Buffer
	inWorld(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.backend.tools["sample"] = asking(mcp.InputRequest{Key: "k", Method: mcp.MethodCreateMessage, Params: []byte(`{}`)})
		refusal := func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-1,"message":"User said no"}}`
		}
		for i, tc := range []struct{ method, tool, want string }{
			{"tools/call", "ask", `"result":{"text":"round 2 state memory name={\"action\":\"cancel\"}"}`},
			{"tools/call", "sample", `"result":{"content":[{"type":"text","text":"the client refused sampling/createMessage: User said no"}],"isError":true}`},
			{"prompts/get", "sample", `"error":{"code":-31499,"message":"the client refused sampling/createMessage: User said no"}`},
		} {
			x := w.post(w.a, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":%q}}`, i, tc.method, tc.tool))
			ids, _ := asked(t, x)
			w.wantAccepted(w.post(w.a, s, refusal(ids[0])))
			msgs := x.messages()
			if got := msgs[len(msgs)-1]; !x.ended() || !strings.Contains(got, tc.want) {
				t.Errorf("%s %s: %s", tc.method, tc.tool, got)
			}
		}
		if said := log.String(); strings.Count(said, "the client answered a question") != 1 || !strings.Contains(said, "key=name code=-1") {
			t.Errorf("the log has\n%s", said)
		}
	})
}

// Progress increases over all rounds of a request (Utilities, "Progress"), on whichever replicas
// they run. If a backend restarts its count in each round, its progress is reported once it exceeds
// the last value.
func TestProgressRisesOverAllRounds(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["count"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			steps := len(c.State) + 1
			for i := range steps {
				if err := sink.Emit(ctx, progress(float64(i+1))); err != nil {
					return mcp.Reply{}, err
				}
			}
			again := mcp.Reply{Input: &mcp.InputRequired{State: append(c.State, 'x'), RetryAfter: time.Second}}
			switch steps {
			case 2, 3: // In the first and the last round the backend needs no answer.
				again.Input.Requests = []mcp.InputRequest{elicit("go on")}
			case 5:
				return text("counted"), nil
			}
			return again, nil
		}
		x := w.post(w.a, s, callTool(1, "count"))
		for _, at := range []*Era{w.b, w.a} {
			after(2 * time.Second)
			ids, _ := asked(t, x)
			w.wantAccepted(w.post(at, s, answer(ids[len(ids)-1], `{}`)))
		}
		after(4 * time.Second)
		var sent []string
		for _, m := range x.messages() {
			if msg := mustParse(m); msg.Method == string(mcp.NotifyProgress) {
				sent = append(sent, string(msg.Params))
			}
		}
		want := `{"progress":1} {"progress":2} {"progress":3} {"progress":4} {"progress":5}`
		if got := strings.Join(sent, " "); got != want || !x.ended() {
			t.Errorf("got %s, want %s; ended %t", got, want, x.ended())
		}
	})
}

func TestURLElicitation(t *testing.T) {
	urlAsk := func(key string) mcp.InputRequest {
		return mcp.InputRequest{Key: key, Method: mcp.MethodElicit, Params: []byte(`{"mode":"url"}`), URLMode: true}
	}
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["sign"] = func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			switch c.Round {
			case 1:
				return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{urlAsk("one"), urlAsk("two")}}}, nil
			case 2:
				return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{urlAsk("two"), elicit("x")}}}, nil
			}
			return text("signed"), nil
		}
		x := w.post(w.a, s, callTool(1, "sign"))
		ids, params := asked(t, x)
		var eid [2]string
		for i, p := range params {
			var v struct{ Mode, ElicitationID string }
			if err := json.Unmarshal([]byte(strings.TrimPrefix(p, "elicitation/create ")), &v); err != nil || v.Mode != "url" || v.ElicitationID == "" {
				t.Fatalf("params %s: %v", p, err)
			}
			eid[i] = v.ElicitationID
		}
		for _, id := range ids {
			w.post(w.b, s, answer(id, `{"action":"accept"}`))
		}
		after(2 * time.Second)
		ids, params = asked(t, x)
		if len(ids) != 4 || !strings.Contains(params[2], eid[1]) {
			t.Fatalf("the second asking is %v, want the id %s kept", params, eid[1])
		}
		for _, id := range ids[2:] {
			w.post(w.a, s, answer(id, `{"action":"accept"}`))
		}
		after(2 * time.Second)
		complete := func(id string) string {
			return `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + id + `"}}`
		}
		msgs := x.messages()
		if len(msgs) != 7 || msgs[2] != complete(eid[0]) || msgs[5] != complete(eid[1]) || !strings.Contains(msgs[6], "signed") {
			t.Errorf("messages are\n%s", strings.Join(msgs, "\n"))
		}
	})
}

// Another URL under the key of the previous one is another elicitation, with its own id. The client
// is notified of the end of the previous one.
func TestAnotherURLUnderTheSameKey(t *testing.T) {
	urls := []string{"https://a.example/", "https://b.example/", "https://b.example/"}
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["sign"] = func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if c.Round > len(urls) {
				return text("signed"), nil
			}
			params := fmt.Appendf(nil, `{"mode":"url","url":%q}`, urls[c.Round-1])
			return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{{Key: "go", Method: mcp.MethodElicit, Params: params, URLMode: true}}}}, nil
		}
		x := w.post(w.a, s, callTool(1, "sign"))
		var eid []string
		for i := range urls {
			ids, params := asked(t, x)
			if len(ids) != i+1 {
				t.Fatalf("asked %v", params)
			}
			var v struct{ ElicitationID, URL string }
			if err := json.Unmarshal([]byte(strings.TrimPrefix(params[i], "elicitation/create ")), &v); err != nil || v.URL != urls[i] || v.ElicitationID == "" {
				t.Fatalf("params %s: %v", params[i], err)
			}
			eid = append(eid, v.ElicitationID)
			w.post(w.b, s, answer(ids[i], `{"action":"accept"}`))
			after(2 * time.Second)
		}
		if eid[0] == eid[1] || eid[1] != eid[2] {
			t.Errorf("the ids are %q, want the same for the last two alone", eid)
		}
		var sent []string
		for _, m := range x.messages() {
			if msg := mustParse(m); msg.Method == string(mcp.NotifyElicitComplete) {
				sent = append(sent, string(msg.Params))
			}
		}
		if want := []string{`{"elicitationId":"` + eid[0] + `"}`, `{"elicitationId":"` + eid[2] + `"}`}; !slices.Equal(sent, want) {
			t.Errorf("got the end of %q, want %q", sent, want)
		}
	})
}

func TestRoundsAreBounded(t *testing.T) {
	inWorld(t, Options{MaxRounds: 2}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["nag"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{elicit("again")}}}, nil
		}
		x := w.post(w.a, s, callTool(1, "nag"))
		for range 2 {
			ids, _ := asked(t, x)
			w.post(w.a, s, answer(ids[len(ids)-1], `{}`))
		}
		msgs := x.messages()
		if got := msgs[len(msgs)-1]; !x.ended() || !strings.Contains(got, "-31429") {
			t.Errorf("ended with %s", got)
		}
	})
}

func TestStateOnlyRounds(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["wait"] = func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if n := len(c.State); n < 20 {
				return mcp.Reply{Input: &mcp.InputRequired{State: append(c.State, 'x'), RetryAfter: 300 * time.Millisecond}}, nil
			}
			return text(fmt.Sprint("round ", c.Round)), nil
		}
		x := w.post(w.a, s, callTool(1, "wait"))
		after(7 * time.Second)
		w.wantMessages(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"round 1"}}`)
		seen := w.backend.seen()
		if len(seen) != 21 {
			t.Errorf("%d calls", len(seen))
		}
		for i := range seen {
			if seen[i].Begun != (i > 0) {
				t.Errorf("call %d of a backend that was busy: begun before is %t", i, seen[i].Begun)
			}
		}
	})
	inWorld(t, Options{CallLifetime: 3 * time.Second, StreamAfter: time.Hour}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["wait"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("x")}}, nil
		}
		x := w.post(w.a, s, callTool(1, "wait"))
		after(4 * time.Second)
		w.wantKind(x, mcp.KindTimeout)
		if n := len(w.backend.seen()); n != 30 {
			t.Errorf("%d calls in 3 s, want one each 100 ms", n)
		}
	})
}

func TestLifetimeOfAWaitingCall(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		after(10*time.Minute + 3*time.Second)
		msgs := x.messages()
		if got := msgs[len(msgs)-1]; !x.ended() || !strings.Contains(got, "-31504") {
			t.Errorf("ended with %s", got)
		}
		w.wantAccepted(w.post(w.a, s, answer(ids[0], `{}`)))
	})
}
