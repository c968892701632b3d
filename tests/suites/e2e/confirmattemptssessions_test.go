package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// sessionOthers confirms a call in a session, and answers the question about another one with that.
func (a *tricks) sessionOthers() {
	s := a.session("ann", "")
	for _, other := range otherCalls() {
		a.try("2025-11-25: an earlier answer to "+other[0]+" "+other[1], func() int {
			before := a.confirmed(s)
			q, stream := a.question(s, other[0], other[1])
			s.answer(before, sayYes)
			a.declines(s, q, stream)
			return 1
		})
	}
	for what, answer := range map[string]func(q message){
		"another caller":      func(q message) { a.forged(s, "bob", s.id, q.ID, sayYes) },
		"an anonymous caller": func(q message) { a.forged(s, "nobody", s.id, q.ID, sayYes) },
		"another issuer's":    func(q message) { a.forged(s, "twin", s.id, q.ID, sayYes) },
		"another session": func(q message) {
			a.session("ann", "").post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, sayYes))
		},
		"another caller's session": func(q message) {
			a.session("bob", "").post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, sayYes))
		},
		"the session at another set": func(q message) {
			a.at(s, "/few").post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, sayYes))
		},
		"no session":         func(q message) { a.forged(s, "ann", "", q.ID, sayYes) },
		"an unknown session": func(q message) { a.forged(s, "ann", s.id+"x", q.ID, sayYes) },
		"2026-07-28": func(q message) {
			a.as("ann", "").send(a.t, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, sayYes), "MCP-Protocol-Version", v2026)
		},
		"the id as a text": func(q message) {
			a.forged(s, "ann", s.id, json.RawMessage(fmt.Sprintf("%q", strings.Trim(string(q.ID), `"`)+" ")), sayYes)
		},
		"the id that follows": func(q message) {
			a.forged(s, "ann", s.id, json.RawMessage(`"`+strings.Trim(string(q.ID), `"`)+`1"`), sayYes)
		},
		"no id":              func(message) { a.forged(s, "ann", s.id, json.RawMessage("null"), sayYes) },
		"the id of the call": func(message) { a.forged(s, "ann", s.id, json.RawMessage(fmt.Sprint(s.next.Load())), sayYes) },
		"a batch":            func(q message) { s.post(fmt.Sprintf(`[{"jsonrpc":"2.0","id":%s,"result":%s}]`, q.ID, sayYes)) },
		"a notification": func(q message) {
			s.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"id":%s,"action":"accept"}}`, q.ID))
		},
		"a request": func(q message) {
			s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`, q.ID, sayYes)).final()
		},
		"the state of another call": func(message) { a.inSession("pay", paid, a.asked(a.as("ann", ""), "pay", paid, sayYes)) },
		"a call with the answer": func(message) {
			a.inSession("pay", paid, map[string]any{"requestState": "", "inputResponses": json.RawMessage(confirming(sayYes))})
		},
		"a call with the answer's id": func(q message) { a.sameID(s, q) },
	} {
		a.try("2025-11-25: the question is answered by "+what, func() int {
			q, stream := a.question(s, "pay", paid)
			answer(*q)
			a.declines(s, q, stream)
			return 0
		})
	}
}

// at is a session as it comes to another set.
func (a *tricks) at(s *session, path string) *session {
	other := *s
	other.caller = newCaller(a.t, a.e.URL+path)
	other.as(a.tokens["ann"])
	return &other
}

// forged answers a question of a session as somebody, by any session and id.
func (a *tricks) forged(s *session, who, session string, id json.RawMessage, result string) {
	c := newCaller(a.t, a.e.URL)
	c.as(a.tokens[who])
	h := []string{"MCP-Protocol-Version", s.version}
	if session != "" {
		h = append(h, "Mcp-Session-Id", session)
	}
	c.send(a.t, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result), h...)
}

// sameID sends another call by the id of a question, and declines what it asks.
func (a *tricks) sameID(s *session, q message) {
	a.t.Helper()
	r := s.post(envelope(string(q.ID), "tools/call", toolParams("burn", paid, "")))
	if r.stream != nil {
		asked := r.stream.awaitMethod("elicitation/create")
		a.declines(s, &asked, r.stream)
	}
}

// sessionAnswers answers with what does not accept, in the wrong order, for the wrong call or task.
func (a *tricks) sessionAnswers() {
	s := a.session("ann", "")
	for _, answer := range notYes {
		a.try("2025-11-25: answers "+answer, func() int {
			q, stream := a.question(s, "pay", paid)
			s.answer(*q, answer)
			stream.message().wantError(a.t, -31403)
			s.answer(*q, sayYes)
			return 0
		})
	}
	a.try("2025-11-25: answers by an error", func() int {
		q, stream := a.question(s, "pay", paid)
		s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":0,"message":"accept","data":%s}}`, q.ID, sayYes))
		stream.message().wantError(a.t, -31403)
		return 0
	})
	a.try("2025-11-25: answers one of two calls", func() int {
		first, one := a.question(s, "pay", paid)
		second, two := a.question(s, "burn", paid)
		s.answer(*first, sayYes)
		one.message().result(a.t)
		s.answer(*first, sayYes)
		a.declines(s, second, two)
		return 1
	})
	a.try("2025-11-25: answers after a cancellation", func() int {
		q, stream := a.question(s, "pay", paid)
		s.notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, s.next.Load()))
		stream.end()
		s.answer(*q, sayYes)
		return 0
	})
	a.try("2025-11-25: answers after the end of its session", func() int {
		gone := a.session("ann", "")
		q, stream := a.question(gone, "pay", paid)
		gone.delete().want(http.StatusNoContent)
		stream.close()
		gone.send(a.t, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, sayYes), gone.headers()...).want(http.StatusNotFound)
		return 0
	})
	for _, version := range []string{v2024, vMar} {
		a.try(version+": a session that cannot be asked", func() int {
			old := &session{caller: newCaller(a.t, a.e.URL), t: a.t, version: version, next: new(atomic.Int64)}
			old.as(a.tokens["ann"])
			old.open(everything)
			old.call("pay", paid).final().wantError(a.t, -31403)
			return 0
		})
	}
	a.try(vMar+": a batch", func() int {
		old := &session{caller: newCaller(a.t, a.e.URL), t: a.t, version: vMar, next: new(atomic.Int64)}
		old.as(a.tokens["ann"])
		old.open(everything)
		old.post(`[` + envelope("71", "tools/call", toolParams("pay", paid, "")) + `,{"jsonrpc":"2.0","id":"1","result":` + sayYes + `}]`)
		return 0
	})
	for _, other := range []string{paid, `{"amount":6,"to":"ann"}`} {
		a.try("2025-11-25: a task is accepted by the answer of a call, with "+other, func() int {
			before := a.confirmed(s)
			id, _ := dig(s.request("tools/call", `{"name":"job","arguments":`+other+`,"task":{}}`).result(), "task", "taskId").(string)
			await.Until(a.t, "the task asks", func() bool {
				return s.request("tasks/get", `{"taskId":"`+id+`"}`).result()["status"] == "input_required"
			})
			s.answer(before, sayYes)
			a.session("bob", "").answer(before, sayYes)
			stream := s.request("tasks/result", `{"taskId":"`+id+`"}`).events()
			q := stream.awaitMethod("elicitation/create")
			s.answer(before, sayYes)
			a.declines(s, &q, stream)
			return 1
		})
	}
}
