package redis

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Every record says whether its principal is a client.
func TestRecordsDistinguishClientsFromUsers(t *testing.T) {
	claims := map[string]json.RawMessage{"region": json.RawMessage(`"eu"`), "tenant": json.RawMessage(`9007199254740993`)}
	for name, who := range map[string]mcp.Principal{
		"anonymous":                       {},
		"a user":                          {Subject: "alice", Issuer: "https://id", Client: "desk"},
		"a user of a client of that name": {Subject: "alice", Issuer: "https://id", Client: "alice"},
		"a client":                        {Subject: "alice", Issuer: "https://id", Client: "alice", SubjectIsClient: true},
		"a client by another name":        {Subject: "alice", Issuer: "https://id", Client: "desk", SubjectIsClient: true},
		"one with claims":                 {Subject: "alice", Issuer: "https://id", Client: "desk", SubjectIsClient: true, Claims: claims},
	} {
		for _, tasks := range [][]string{nil, {"t1"}} {
			var s state.Session
			err := unpack(pack(&state.Session{ID: "s", Principal: who, Tasks: tasks}, (*codec).session), &s, (*codec).session)
			if err != nil || !cmp.Equal(s.Principal, who) || !cmp.Equal(s.Tasks, tasks) {
				t.Errorf("%s, of a session: %+v, %v, %v", name, s.Principal, s.Tasks, err)
			}
		}
		for _, backend := range []string{"", "b"} {
			var c state.Request
			err := unpack(pack(&state.Request{Principal: who, Backend: backend}, (*codec).request), &c, (*codec).request)
			if err != nil || !cmp.Equal(c.Principal, who) || c.Backend != backend {
				t.Errorf("%s, of a call of %q: %+v, %q, %v", name, backend, c.Principal, c.Backend, err)
			}
		}
		for _, withdrawn := range []bool{false, true} {
			var a state.Answer
			err := unpack(pack(&state.Answer{By: who, Withdrawn: withdrawn, Result: json.RawMessage(`{}`)}, (*codec).answer), &a, (*codec).answer)
			if err != nil || !cmp.Equal(a.By, who) || a.Withdrawn != withdrawn {
				t.Errorf("%s, of an answer: %+v, %v", name, a, err)
			}
		}
	}
}

// A time that no number of nanoseconds can have is kept as the last one that there is, not as one
// that is past.
func TestTimesBeyondNanoseconds(t *testing.T) {
	for _, c := range []struct{ put, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Unix(1_900_000_000, 1), time.Unix(1_900_000_000, 1)},
		{time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1<<63-1)},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1<<63-1)},
	} {
		var got time.Time
		if err := unpack(pack(&c.put, (*codec).time), &got, (*codec).time); err != nil || !got.Equal(c.want) {
			t.Errorf("%v comes back as %v, %v", c.put, got, err)
		}
	}
}
