package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// ids are the ids of an array of responses, sorted.
func ids(t *testing.T, body []byte) []string {
	t.Helper()
	var all []message
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("no array: %v: %s", err, body)
	}
	var out []string
	for _, m := range all {
		out = append(out, string(m.ID))
	}
	slices.Sort(out)
	return out
}

const progressCall = `{"jsonrpc":"2.0","id":21,"method":"tools/call","params":` +
	`{"name":"count","arguments":{"to":2},"_meta":{"progressToken":"b"}}}`

// TestBatch: in the one revision that has batches, requests are answered by one array, or on one
// stream when there are events; what needs no answer gets none.
func TestBatch(t *testing.T) {
	_, e := startFixture(t)
	s := newSession(t, e.URL, vMar)
	r := s.post(`[{"jsonrpc":"2.0","id":11,"method":"ping"},` +
		`{"jsonrpc":"2.0","id":"12","method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}}},` +
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},` +
		`{"jsonrpc":"2.0","id":13,"method":"no/such"},{"id":14}]`).want(http.StatusOK)
	if got := ids(t, r.body); !slices.Equal(got, []string{`"12"`, "11", "13", "14"}) {
		t.Errorf("answered %v: %s", got, r.body)
	}
	s.post(`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},{"jsonrpc":"2.0","id":"x","result":{}}]`).
		want(http.StatusAccepted)

	stream := s.post(`[` + progressCall + `,{"jsonrpc":"2.0","id":22,"method":"ping"}]`).want(http.StatusOK).events()
	var got []string
	progress := 0
	for {
		ev, ok := stream.next()
		if !ok {
			break
		}
		switch m := parse(t, []byte(ev.Data)); m.Method {
		case "":
			got = append(got, string(m.ID))
		case "notifications/progress":
			progress++
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"21", "22"}) || progress != 2 {
		t.Errorf("on the stream: %v and %d of 2 progress", got, progress)
	}
}

// TestBatchQuestions: two calls of one batch ask on its stream; answers may come as a batch.
func TestBatchQuestions(t *testing.T) {
	_, e := startFixture(t)
	s := newSession(t, e.URL, vMar)
	stream := s.post(`[{"jsonrpc":"2.0","id":31,"method":"tools/call","params":{"name":"ask_roots"}},` +
		`{"jsonrpc":"2.0","id":32,"method":"tools/call","params":{"name":"ask_roots"}}]`).events()
	first, second := stream.awaitMethod("roots/list"), stream.awaitMethod("roots/list")
	s.post(`[{"jsonrpc":"2.0","id":` + string(second.ID) + `,"result":` + answers["roots/list"] + `},` +
		`{"jsonrpc":"2.0","id":` + string(first.ID) + `,"result":` + answers["roots/list"] + `}]`).want(http.StatusAccepted)
	for range 2 {
		if got := text(t, stream.message().result(t)); got != "roots: file:///home" {
			t.Errorf("got %q", got)
		}
	}
	stream.end()
}
