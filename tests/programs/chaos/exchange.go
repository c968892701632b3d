package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Codes of errors that may be a call's response.
const (
	codeUnknownOutcome   = -31520
	codeStateUnavailable = -31503
)

// exchange is one call on its way: its request, its stream through all connections, and the answers to
// what it asks.
type exchange struct {
	*client
	call   *call
	id     string // JSON-RPC id, as JSON
	lastID string
	retry  time.Duration
	over   bool // the response is here
	// answers are on their way.
	answers sync.WaitGroup
}

// run makes the call and returns how long to wait before it is sent again, if it has to be.
func (x *exchange) run(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer x.answers.Wait()
	x.ids++
	x.id = fmt.Sprintf("%d", x.ids)
	x.call.note(entry{kind: sent})
	resp, err := x.send(ctx, http.MethodPost, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":{"call":"%s"},"_meta":{"progressToken":"%s"}}}`,
		x.id, x.call.tool, x.call.tag, x.call.tag))
	if err != nil {
		x.call.note(entry{kind: ended, text: err.Error()})
		x.cut()
		return 0
	}
	if resp.StatusCode != http.StatusOK {
		return x.refused(resp)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return x.whole(resp)
	}
	x.follow(ctx, cancel, resp)
	for !x.over && x.lastID != "" && x.call.fate == unanswered {
		if !sleep(ctx, x.retry) {
			x.call.note(entry{kind: strange, text: "no response in " + patience.String()})
			return 0
		}
		x.resume(ctx, cancel)
	}
	switch {
	case x.over:
		x.call.fate = answered
	case x.lastID == "":
		x.cut()
	}
	return 0
}

// cut notes that the connection broke before there was an event id: the call is the client's to repeat.
func (x *exchange) cut() {
	x.call.fate = cut
	x.counts.add("POSTs cut before an event id")
}

// refused ends a call whose request was answered with a status.
func (x *exchange) refused(resp *http.Response) time.Duration {
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	x.call.note(entry{kind: refused, by: servedBy(resp), n: resp.StatusCode, text: fmt.Sprintf("%.200s", body)})
	pause, again := putOff(resp)
	switch {
	case !again:
		x.call.note(entry{kind: strange, text: "that status cannot be"})
	case resp.StatusCode == http.StatusServiceUnavailable:
		x.call.fate = rejected
		x.counts.add("requests answered with 503 and Retry-After")
	default:
		x.cut()
	}
	return pause
}

// whole takes a response that is one JSON body.
func (x *exchange) whole(resp *http.Response) time.Duration {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		x.cut()
		return 0
	}
	x.message(context.Background(), entry{by: servedBy(resp)}, string(body))
	if x.over {
		x.call.fate = answered
	}
	return 0
}

// follow reads a stream to its end. Once the response is there it must end soon.
func (x *exchange) follow(ctx context.Context, cancel context.CancelFunc, resp *http.Response) {
	by := servedBy(resp)
	x.call.note(entry{kind: opened, by: by})
	var late *time.Timer
	err := events(resp.Body, func(ev event) {
		if ev.id != "" {
			x.lastID = ev.id
		}
		if ev.retry > 0 {
			x.retry = ev.retry
		}
		before := x.over
		if ev.data == "" {
			x.call.note(entry{kind: got, by: by, id: ev.id})
		} else {
			x.message(ctx, entry{by: by, id: ev.id}, ev.data)
		}
		if x.over && !before {
			late = time.AfterFunc(lingering, cancel)
		}
	})
	_ = resp.Body.Close()
	text := ""
	if err != nil {
		text = err.Error()
	}
	x.call.note(entry{kind: ended, by: by, text: text})
	if late != nil && !late.Stop() {
		x.call.note(entry{kind: strange, text: "the stream stayed open after the response"})
	}
}

// resume asks for the stream again.
func (x *exchange) resume(ctx context.Context, cancel context.CancelFunc) {
	x.call.note(entry{kind: resuming, id: x.lastID})
	resp, err := x.send(ctx, http.MethodGet, "", "Last-Event-Id", x.lastID)
	if err != nil {
		x.call.note(entry{kind: ended, text: err.Error()})
		x.counts.add("resumptions cut")
		return
	}
	if resp.StatusCode == http.StatusOK {
		x.follow(ctx, cancel, resp)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	x.call.note(entry{kind: refused, by: servedBy(resp), n: resp.StatusCode, text: fmt.Sprintf("%.200s", body)})
	pause, again := putOff(resp)
	switch {
	case again && resp.StatusCode == http.StatusServiceUnavailable:
		x.counts.add("requests answered with 503 and Retry-After")
		sleep(ctx, max(0, pause-x.retry)) // the caller waits for retry
	case again:
		x.counts.add("resumptions cut")
	default:
		x.call.fate = forgotten
	}
}

// message takes one message of the call's stream, or its response.
func (x *exchange) message(ctx context.Context, e entry, raw string) {
	var m message
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		e.kind, e.text = strange, fmt.Sprintf("no JSON-RPC: %v: %.200s", err, raw)
		x.call.note(e)
		return
	}
	switch {
	case m.Method == "notifications/progress" && m.Params.Token == x.call.tag:
		e.kind, e.n = progressed, int(m.Params.Progress)
	case m.Method == "elicitation/create" && m.ID != nil:
		e.kind, e.text = asked, string(m.ID)
		x.answer(ctx, string(m.ID), m.Params.Message)
	case m.Method == "" && string(m.ID) == x.id:
		x.over = true
		e.kind, e.text = responded, verdictOf(&m, x.call.tag)
		if m.Error != nil {
			e.n = m.Error.Code
		}
	default:
		e.kind, e.text = strange, fmt.Sprintf("a message that is not this call's: %.200s", raw)
	}
	x.call.note(e)
}

// verdictOf is "" for the result that a call must have, else what it has.
func verdictOf(m *message, tag string) string {
	switch {
	case m.Error != nil:
		return m.Error.Message
	case m.Result == nil || len(m.Result.Content) != 1:
		return "a result without text"
	case m.Result.IsError || m.Result.Content[0].Text != done(tag):
		return "result: " + m.Result.Content[0].Text
	}
	return ""
}

// answer answers a request of the server after a while, through whichever replica takes it. A request
// that comes again, as after a failover, is answered again.
func (x *exchange) answer(ctx context.Context, id, question string) {
	content := `{"seat":"aisle"}`
	if strings.HasPrefix(question, "Book") {
		content = `{"confirm":true}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":%s}}`, id, content)
	thinking := time.Duration(x.random.Int64N(int64(1500 * time.Millisecond)))
	x.answers.Go(func() {
		for sleep(ctx, thinking) {
			x.call.note(entry{kind: answering, text: id})
			resp, err := x.send(ctx, http.MethodPost, body)
			if err != nil {
				x.call.note(entry{kind: untaken, text: err.Error()})
				x.counts.add("answers cut")
				thinking = 100 * time.Millisecond
				continue
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusAccepted {
				x.call.note(entry{kind: taken, by: servedBy(resp), text: id})
				return
			}
			x.call.note(entry{kind: untaken, by: servedBy(resp), n: resp.StatusCode, text: fmt.Sprintf("%.200s", text)})
			pause, again := putOff(resp)
			if !again {
				x.call.note(entry{kind: strange, text: "that status cannot be"})
				return
			}
			if resp.StatusCode == http.StatusServiceUnavailable {
				x.counts.add("requests answered with 503 and Retry-After")
			} else {
				x.counts.add("answers cut")
			}
			thinking = pause
		}
	})
}
