package stateless

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// asker asks for a name first, keeps a state, and then greets.
func asker(_ context.Context, call *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
	for _, r := range call.Responses {
		if r.Key == "user_name" && bytes.Contains(r.Result, []byte("Ada")) {
			return mcp.Reply{Result: json.RawMessage(`{"greeted":"` + string(call.State) + `","id":"` + call.ID + `","method":"` + string(r.Method) + `"}`)}, nil
		}
	}
	return mcp.Reply{Input: &mcp.InputRequired{
		State:    []byte("secret"),
		Requests: []mcp.InputRequest{{Key: "user_name", Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"who?"}`)}},
	}}, nil
}

const askParams = `"name":"ask","arguments":{"a":1}`

// ask runs one round and returns the whole response and its state.
func ask(t *testing.T, e *Era, params string, p mcp.Principal) (text, state string) {
	t.Helper()
	b, h := request("tools/call", params)
	h.Set("Mcp-Name", "ask")
	text = body(t, post(t, e, b, h, p))
	var wire struct {
		Result struct {
			RequestState string `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(text), &wire); err != nil {
		t.Fatal(err)
	}
	return text, wire.Result.RequestState
}

func withState(params, state string) string {
	return params + `,"requestState":"` + state + `","inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}}`
}

func TestRounds(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: asker}, Options{})
	text, state := ask(t, e, askParams, mcp.Principal{})
	contains(t, text, `"resultType":"input_required"`,
		`"inputRequests":{"user_name":{"method":"elicitation/create","params":{"message":"who?"}}}`)
	if state == "" || strings.Contains(state, "secret") {
		t.Fatalf("state %q: want a sealed one", state)
	}
	if _, again := ask(t, e, askParams, mcp.Principal{}); again == state {
		t.Error("two calls have the same state")
	}
	text, _ = ask(t, e, withState(askParams, state), mcp.Principal{})
	contains(t, text, `"greeted":"secret"`, `"method":"elicitation/create"`)
}

// A client's answer with the text of the edge's own withdrawal record is an ordinary answer.
func TestAnswerThatSaysWithdrawn(t *testing.T) {
	var heard []mcp.InputResponse
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		if heard = call.Responses; len(heard) > 0 {
			return mcp.Reply{Result: json.RawMessage(`{}`)}, nil
		}
		return asker(ctx, call, sink)
	}}, Options{})
	_, state := ask(t, e, askParams, mcp.Principal{})
	const own = `{"withdrawn":true}`
	ask(t, e, askParams+`,"requestState":"`+state+`","inputResponses":{"user_name":`+own+`}`, mcp.Principal{})
	if len(heard) != 1 || heard[0].Key != "user_name" || string(heard[0].Result) != own {
		t.Errorf("the backend hears %+v", heard)
	}
}

// Answers without a state start a new call: the backend gets them and decides.
func TestVolunteeredAnswers(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: asker}, Options{})
	text, _ := ask(t, e, askParams+`,"inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}}`, mcp.Principal{})
	contains(t, text, `"greeted":""`, `"method":""`)
}

// A state opens only for the request for which it was sealed, on every replica with the key, until
// it expires.
func TestStateIsBound(t *testing.T) {
	key, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	ada, bob := mcp.Principal{Subject: "ada"}, mcp.Principal{Subject: "bob"}
	e := newEra(t, &fakeDispatch{call: asker}, Options{Keys: [][]byte{key}})
	_, state := ask(t, e, askParams, ada)
	rotated := newEra(t, &fakeDispatch{call: asker}, Options{Keys: [][]byte{other, key}})
	stranger := newEra(t, &fakeDispatch{call: asker}, Options{Keys: [][]byte{other}})
	for name, c := range map[string]struct {
		e      *Era
		params string
		p      mcp.Principal
		opens  bool
	}{
		"as it was":             {e, withState(askParams, state), ada, true},
		"on a sibling":          {rotated, withState(askParams, state), ada, true},
		"spaces in arguments":   {e, withState(`"name":"ask","arguments":{ "a": 1 }`, state), ada, true},
		"another key":           {stranger, withState(askParams, state), ada, false},
		"another principal":     {e, withState(askParams, state), bob, false},
		"anonymous":             {e, withState(askParams, state), mcp.Principal{}, false},
		"other arguments":       {e, withState(`"name":"ask","arguments":{"a":2}`, state), ada, false},
		"something appended":    {e, withState(askParams, state+"-TAMPERED"), ada, false},
		"a line break added":    {e, withState(askParams, state+`\r\n`), ada, false},
		"a character changed":   {e, withState(askParams, flip(state)), ada, false},
		"not issued here":       {e, withState(askParams, "aGVsbG8"), ada, false},
		"an empty state":        {e, withState(askParams, ""), ada, false},
		"a state that's a list": {e, askParams + `,"requestState":[]`, ada, false},
	} {
		t.Run(name, func(t *testing.T) {
			text, _ := ask(t, c.e, c.params, c.p)
			if opens := strings.Contains(text, "greeted"); opens != c.opens {
				t.Fatalf("opened %v, want %v: %s", opens, c.opens, text)
			}
			if !c.opens {
				contains(t, text, `"error":{"code":-32602,`)
			}
		})
	}
}

// Progress increases over all rounds of a request (Utilities, "Progress"), on whichever replicas
// they run. Each round reports only progress that exceeds the last value sent to the client.
func TestProgressRisesOverAllRounds(t *testing.T) {
	key := bytes.Repeat([]byte{1}, 32)
	counter := func(ctx context.Context, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		for i := range call.Round {
			if err := sink.Emit(ctx, mcp.Event{
				Method: mcp.NotifyProgress, Progress: float64(i), Params: json.RawMessage(strconv.Itoa(i)),
			}); err != nil {
				return mcp.Reply{}, err
			}
		}
		if call.Round == 3 {
			return mcp.Reply{Result: json.RawMessage(`{"counted":true}`)}, nil
		}
		in := &mcp.InputRequired{State: []byte("x")}
		if call.Round == 2 {
			in.Requests = []mcp.InputRequest{{Key: "user_name", Method: mcp.MethodElicit, Params: json.RawMessage(`{}`)}}
		}
		return mcp.Reply{Input: in}, nil
	}
	params := askParams
	for round := range 3 {
		e := newEra(t, &fakeDispatch{call: counter}, Options{Keys: [][]byte{key}})
		b, h := request("tools/call", params)
		h.Set("Mcp-Name", "ask")
		seen := post(t, e, b, h, mcp.Principal{}).seen()
		if want := `"params":` + strconv.Itoa(round); len(seen) != 2 || !strings.Contains(seen[0], want) {
			t.Fatalf("round %d sent %v, want one progress with %s and a result", round+1, seen, want)
		}
		var last struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(seen[1]), &last); err != nil {
			t.Fatal(err)
		}
		params = withState(askParams, last.Result.RequestState)
	}
}

func flip(s string) string {
	b := []byte(s)
	b[len(b)/2] ^= 1
	return string(b)
}

func TestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEra(t, &fakeDispatch{call: asker}, Options{CallLifetime: time.Minute})
		_, state := ask(t, e, askParams, mcp.Principal{})
		time.Sleep(time.Minute + time.Second)
		text, _ := ask(t, e, withState(askParams, state), mcp.Principal{})
		contains(t, text, `-32602`, "expired")
	})
}

func TestRoundsAreBounded(t *testing.T) {
	e := newEra(t, &fakeDispatch{call: func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
		return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{{Key: "k", Method: mcp.MethodListRoots}}}}, nil
	}}, Options{MaxRounds: 3})
	params := askParams
	for range 3 {
		_, state := ask(t, e, params, mcp.Principal{})
		if state == "" {
			t.Fatal("given up too early")
		}
		params = withState(askParams, state)
	}
	text, _ := ask(t, e, params, mcp.Principal{})
	contains(t, text, `-31429,"message":"the call asks \"k\" after round 3 of questions, the maximum of the setting calls.rounds"`)
}

// A round without questions is delayed by the backend's retry_after, and does not count as a round
// that asks.
func TestRoundWithoutQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEra(t, &fakeDispatch{call: func(_ context.Context, call *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if string(call.State) == "seen" {
				return mcp.Reply{Result: json.RawMessage(`{"greeted":true}`)}, nil
			}
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("seen"), RetryAfter: 2 * time.Second}}, nil
		}}, Options{MaxRounds: 1})
		start := time.Now()
		text, state := ask(t, e, askParams, mcp.Principal{})
		if time.Since(start) != 2*time.Second || strings.Contains(text, "inputRequests") {
			t.Fatalf("after %s: %s", time.Since(start), text)
		}
		text, _ = ask(t, e, askParams+`,"requestState":"`+state+`"`, mcp.Principal{})
		contains(t, text, `"greeted":true`)
	})
}

// After a round that asked, answers to unasked questions do not reach the backend. Before, a
// bounded number does.
func TestUnaskedAnswers(t *testing.T) {
	var got []mcp.InputResponse
	e := newEra(t, &fakeDispatch{call: func(ctx context.Context, call *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
		got = call.Responses
		return asker(ctx, call, s)
	}}, Options{})
	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, `"k%d":{"action":"cancel"},`, i)
	}
	answers := `,"inputResponses":{` + many.String() + `"user_name":{"action":"accept","content":{"name":"Ada"}}}`
	_, state := ask(t, e, askParams+answers, mcp.Principal{})
	if len(got) != 64 || got[0].Key != "k0" {
		t.Errorf("without a state %d answers reach the backend, want the first 64", len(got))
	}
	text, _ := ask(t, e, askParams+answers+`,"requestState":"`+state+`"`, mcp.Principal{})
	contains(t, text, `"greeted":"secret"`)
	if len(got) != 1 || got[0].Key != "user_name" || got[0].Method != mcp.MethodElicit {
		t.Errorf("%d answers reach the backend, want the one that was asked for", len(got))
	}
	for _, state := range []string{"", `,"requestState":"` + state + `"`} {
		text, _ = ask(t, e, askParams+`,"inputResponses":{"user_name":{"action":"accept"},"user_name":{"action":"decline"}}`+state, mcp.Principal{})
		contains(t, text, `-32602`, `user_name\" twice`)
	}
}
