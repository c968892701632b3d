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

// TestEndedCallsLeaveAsTheyEnded: a call whose last step was acknowledged ends so, although its replica leaves, or loses the call, while it
// restores what the store may have lost.
func TestEndedCallsLeaveAsTheyEnded(t *testing.T) {
	lastStep := map[How][]Event{
		HowEnded:  {{Kind: Started}, begun, returns, kind(Returning), stored},
		HowParked: {{Kind: Started}, asks, begun, kind(Returning), stored},
	}
	for want, before := range lastStep {
		for name, then := range map[string][]Event{
			"closed":                       {kind(Closed)},
			"closed before another try":    {failed(Unavailable), kind(Closed)},
			"given up":                     {failed(Unavailable), due(TimerGiveUp)},
			"fenced":                       {failed(Fenced)},
			"gone":                         {failed(Gone)},
			"gone with its session":        {kind(Ended)},
			"superseded by a cancellation": {supersededBy(ByCancel)},
		} {
			c := newCall()
			var last []Effect
			for _, e := range append(before[:len(before):len(before)], then...) {
				last = c.Step(e, nil)
			}
			if c.state != Over || len(last) == 0 {
				t.Fatalf("%s: state %d after %q", name, c.state, inWords(last))
			}
			if end := last[len(last)-1]; end.How != want {
				t.Errorf("%s: it ended with %d, want %d", name, end.How, want)
			}
		}
	}
}
