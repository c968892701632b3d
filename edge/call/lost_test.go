package call

import "testing"

// TestLostAndCancelled: the reply of a call that is lost says that its client has cancelled it, however this machine knows.
func TestLostAndCancelled(t *testing.T) {
	mark := []Event{{Kind: Started}, busy, begun, stored, due(TimerPause)} // The store is to have that the backend is called again.
	asking := []Event{{Kind: Started}, asks, begun}
	for name, x := range map[string]struct {
		before, then []Event
		want         bool
	}{
		"cancelled here, and fenced":        {mark, []Event{kind(Cancelled), stored, failed(Fenced)}, true},
		"superseded here by a cancellation": {mark, []Event{supersededBy(ByCancel)}, true},
		"cancelled while it asks":           {asking, []Event{kind(Cancelled), failed(Fenced)}, true},
		"cancelled while it is closed":      {mark, []Event{kind(Cancelled), kind(Closed)}, true},
		"fenced":                            {mark, []Event{failed(Fenced)}, false},
		"superseded here by a loss":         {mark, []Event{supersededBy(ByLoss)}, false},
	} {
		c := newCall()
		var last []Effect
		for _, e := range append(x.before[:len(x.before):len(x.before)], x.then...) {
			last = c.Step(e, nil)
		}
		if c.state != Over || len(last) == 0 {
			t.Fatalf("%s: state %d after %q", name, c.state, inWords(last))
		}
		end := last[len(last)-1]
		if got := end.Reply != nil && end.Reply.Cancelled; end.How != HowLost || got != x.want {
			t.Errorf("%s: it ended with %d, cancelled %t, want %t", name, end.How, got, x.want)
		}
	}
}
