package matrix

import (
	"encoding/json"
	"testing"
	"time"
)

// taken: the notification is not answered, and the next request is.
func taken(t *testing.T, c *cell) {
	params := ""
	if c.row.name == "notifications/progress" && !stateless(c.version) {
		params = `{"progressToken":"none","progress":1}`
	}
	c.notify(c.row.name, params)
	c.result(t, "tools/list", nil)
}

// begun starts a call that does not end by itself.
func begun(t *testing.T, c *cell) (id string) {
	t.Helper()
	id = c.begin("tools/call", calling("gate", nil), nil)
	receive(t, c.f.started, "the call has begun")
	return id
}

func receive(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("in vain: %s", what)
	}
}

// cancelled: the call ends at the backend, and has no response.
func cancelled(t *testing.T, c *cell) {
	id := begun(t, c)
	c.notify("notifications/cancelled", c.params(object{"requestId": json.RawMessage(id), "reason": "enough"}, nil))
	receive(t, c.f.ended, "the backend's call has ended")
	c.result(t, "tools/list", nil)
	c.unanswered(t, id)
}

func (c *cell) unanswered(t *testing.T, id string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[id] == "" {
		t.Errorf("request %s was answered though it was cancelled", id)
	}
	delete(c.asked, id)
}

// notCancelled: without sessions or a shared connection an id names nothing; leaving cancels.
func notCancelled(t *testing.T, c *cell) {
	id := begun(t, c)
	c.notify("notifications/cancelled", c.params(object{"requestId": json.RawMessage(id)}, nil))
	c.result(t, "tools/list", nil)
	select {
	case <-c.f.ended:
		t.Error("the notification cancelled the call")
	default:
	}
	if !c.link.leave(id) {
		t.Fatal("the request cannot be left")
	}
	receive(t, c.f.ended, "the backend's call has ended")
	c.unanswered(t, id)
}

// cancelledLate: a cancellation that crosses the response is not answered and changes nothing.
func cancelledLate(t *testing.T, c *cell) {
	id := c.begin("tools/call", calling("test_tool_with_progress", nil), object{"progressToken": "late"})
	c.response(t, id).result(t)
	c.notify("notifications/cancelled", c.params(object{"requestId": json.RawMessage(id), "reason": "too late"}, nil))
	c.result(t, "tools/list", nil)
}

// progressedOverRounds: what rises in each round alone is told where it rises over all of them.
func progressedOverRounds(t *testing.T, c *cell) {
	members, meta := calling("count_rounds", nil), object{"progressToken": "rounds"}
	id := c.begin("tools/call", members, meta)
	told := []any{dig(c.heard(t, "notifications/progress").Params, "progress")}
	if stateless(c.version) {
		asked := c.response(t, id).result(t)
		members["requestState"] = asked["requestState"]
		members["inputResponses"] = object{"roots": json.RawMessage(answers["roots/list"])}
		id = c.begin("tools/call", members, meta)
	} else {
		c.answer(t, "roots/list", answers["roots/list"])
	}
	told = append(told, dig(c.heard(t, "notifications/progress").Params, "progress"))
	if got := text(c.response(t, id).result(t)); got != "1 roots" {
		t.Errorf("got %q", got)
	}
	same(t, "what was told", told, []any{1.0, 2.0})
}

func progressed(t *testing.T, c *cell) {
	for _, token := range []any{"token", 7.0} {
		id := c.begin("tools/call", calling("test_tool_with_progress", nil), object{"progressToken": token})
		for _, want := range []float64{0, 50, 100} {
			p := c.heard(t, "notifications/progress").Params
			if p["progressToken"] != token || p["progress"] != want || p["total"] != 100.0 || (p["message"] != nil) != (c.version >= vMar) {
				t.Errorf("progress %v: %v", want, p)
			}
		}
		c.response(t, id).result(t)
	}
}

// logged: from the level on that was asked for, and not below.
func logged(t *testing.T, c *cell) {
	meta := object{"io.modelcontextprotocol/logLevel": "error"}
	if !stateless(c.version) {
		c.result(t, "logging/setLevel", object{"level": "error"})
		meta = nil
	}
	id := c.begin("tools/call", calling("test_logging_tool", nil), meta)
	for _, level := range []string{"error", "critical", "alert", "emergency"} {
		m := c.heard(t, "notifications/message").Params
		if m["level"] != level || m["logger"] != "everything" || dig(m, "data", "message") == nil {
			t.Errorf("want a message of level %s: %v", level, m)
		}
	}
	c.response(t, id).result(t)
}

// subscription is the key of a subscription's id in `_meta`.
const subscription = "io.modelcontextprotocol/subscriptionId"

// listen opens a subscription and awaits its acknowledgement.
func (c *cell) listen(t *testing.T, filter object) (id string, acknowledged message) {
	t.Helper()
	id = c.begin("subscriptions/listen", object{"notifications": filter}, nil)
	acknowledged = c.heard(t, "notifications/subscriptions/acknowledged")
	c.tagged(t, acknowledged.Params, id)
	return id, acknowledged
}

// tagged: the id has the type of the request's, a number.
func (c *cell) tagged(t *testing.T, o object, id string) {
	t.Helper()
	if raw, _ := json.Marshal(dig(o, "_meta", subscription)); string(raw) != id {
		t.Errorf("the subscription's id is %s, want %s: %v", raw, id, o)
	}
}

// unlisten cancels a subscription, as the transport has it.
func (c *cell) unlisten(t *testing.T, id string) {
	t.Helper()
	if !c.link.leave(id) {
		c.notify("notifications/cancelled", c.params(object{"requestId": json.RawMessage(id)}, nil))
	}
	c.unanswered(t, id)
}

func listened(t *testing.T, c *cell) {
	id, ack := c.listen(t, object{"toolsListChanged": true, "promptsListChanged": false,
		"resourceSubscriptions": []string{"matrix://rich", "matrix://nowhere/at/all"}})
	same(t, "what is honoured", ack.Params["notifications"], object{"toolsListChanged": true, "resourceSubscriptions": []any{"matrix://rich"}})
	c.unlisten(t, id)
	c.request(t, "subscriptions/listen", object{"notifications": "all"}).wantError(t, -32602)
}

func acknowledged(t *testing.T, c *cell) {
	id, ack := c.listen(t, object{})
	same(t, "what is honoured", ack.Params["notifications"], object{})
	c.unlisten(t, id)
}

// changes: a change of a list is told to the session, or to who listens for it.
func changes(tool, flag string) func(*testing.T, *cell) {
	return func(t *testing.T, c *cell) {
		id := ""
		if stateless(c.version) {
			id, _ = c.listen(t, object{flag: true})
		}
		c.settle(t)
		c.call(t, tool, object{"name": c.unique(tool)})
		m := c.heard(t, c.row.name)
		if stateless(c.version) {
			c.tagged(t, m.Params, id)
			c.unlisten(t, id)
		}
	}
}

func updated(t *testing.T, c *cell) {
	id := ""
	if stateless(c.version) {
		id, _ = c.listen(t, object{"resourceSubscriptions": []string{"matrix://rich"}})
	} else {
		c.result(t, "resources/subscribe", object{"uri": "matrix://rich"})
	}
	c.call(t, "touch", nil)
	m := c.heard(t, "notifications/resources/updated")
	if m.Params["uri"] != "matrix://rich" {
		t.Errorf("updated %s", m.raw)
	}
	if stateless(c.version) {
		c.tagged(t, m.Params, id)
		c.unlisten(t, id)
		return
	}
	c.result(t, "resources/unsubscribe", object{"uri": "matrix://rich"})
}

func elicitationCompleted(t *testing.T, c *cell) {
	id := c.begin("tools/call", calling("ask_url", nil), nil)
	asked := c.answer(t, "elicitation/create", `{"action":"accept"}`)
	done := c.heard(t, "notifications/elicitation/complete")
	if done.Params["elicitationId"] != asked.Params["elicitationId"] {
		t.Errorf("completed %s, asked %s", done.raw, asked.raw)
	}
	c.response(t, id).result(t)
}

// neverHeard: after all that was done before, the notification was not among what the edge sent.
func neverHeard(t *testing.T, c *cell) {
	if c.hasHeard(c.row.name) {
		t.Errorf("%s was sent", c.row.name)
	}
}

// listenEnded: on a connection that others share, the end of a subscription is told twice.
func listenEnded(t *testing.T, c *cell) {
	id, _ := c.listen(t, object{"toolsListChanged": true})
	c.link.stop()
	m := c.heard(t, "notifications/cancelled")
	if raw, _ := json.Marshal(m.Params["requestId"]); string(raw) != id {
		t.Errorf("cancelled %s, want request %s", m.raw, id)
	}
	c.tagged(t, c.response(t, id).result(t), id)
}

// endedWithout: a subscription over HTTP ends with its result alone, a session with nothing.
func endedWithout(t *testing.T, c *cell) {
	if stateless(c.version) {
		id, _ := c.listen(t, object{"toolsListChanged": true})
		c.link.stop()
		c.tagged(t, c.response(t, id).result(t), id)
	}
	c.link.close()
	neverHeard(t, c)
}
