package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

var raceAttacks = []attack{
	{name: "race-delete", what: "sessions that end while their calls run", run: raceDelete},
	{name: "race-answers", what: "one question answered by twenty at once, and by strangers", run: raceAnswers},
	{name: "race-ids", what: "many requests of one id at once", run: raceIDs},
}

func raceDelete(ctx context.Context, s *site) error {
	end := time.Now().Add(s.o.duration / 2)
	return together(6, 6, func(int) error {
		r := s.rogue()
		defer r.close()
		for time.Now().Before(end) {
			id, err := r.hello(ctx, `{"name":"races","version":"1"}`)
			if err != nil {
				if strings.Contains(err.Error(), "status 429") {
					pause(ctx, time.Second) // the creation of sessions is bounded
					continue
				}
				return err
			}
			var calls sync.WaitGroup
			left, cancel := context.WithCancel(ctx)
			for range 4 {
				calls.Go(func() {
					_, _ = r.legacy(left, id, "tools/call", `{"name":"hang","arguments":{},"_meta":{"progressToken":1}}`)
				})
			}
			calls.Go(func() { _, _ = r.send(left, http.MethodGet, "", sessionHeader(id)...) })
			pause(ctx, 5*time.Millisecond)
			a, err := r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
			pause(ctx, 5*time.Millisecond)
			cancel()
			calls.Wait()
			if err != nil || a.status != http.StatusNoContent && a.status != http.StatusNotFound {
				return fmt.Errorf("DELETE while calls run: %v %+v", err, a)
			}
		}
		return nil
	})
}

// raceAnswers: the backend hears one answer, whoever was first; a stranger's is none.
func raceAnswers(ctx context.Context, s *site) error {
	r, stranger := s.rogue(), s.rogue()
	defer r.close()
	defer stranger.close()
	id, err := r.hello(ctx, `{"name":"races","version":"1"}`)
	if err != nil {
		return err
	}
	other, err := stranger.hello(ctx, `{"name":"stranger","version":"1"}`)
	if err != nil {
		return err
	}
	for range 20 {
		resp, err := r.open(ctx, http.MethodPost, r.legacyBody("tools/call", `{"name":"greet","arguments":{"text":"Hello"}}`), sessionHeader(id)...)
		if err != nil {
			return err
		}
		err = raceOne(ctx, r, stranger, id, other, resp)
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
	}
	for _, session := range []string{id, other} {
		_, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(session)...)
	}
	return nil
}

func raceOne(ctx context.Context, r, stranger *rogue, id, other string, resp *http.Response) error {
	events := frame.NewReader(resp.Body, 1<<20)
	responses, names := 0, ""
	for {
		ev, err := events.Next()
		if err != nil {
			if responses != 1 || strings.Contains(names, "stranger") {
				return fmt.Errorf("%d responses to one call: %.300s", responses, names)
			}
			return nil
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if len(ev.Data) == 0 || json.Unmarshal(ev.Data, &m) != nil {
			continue
		}
		if m.Method == "" {
			responses++
			names += string(ev.Data)
			continue
		}
		answer := func(name string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, m.ID, name)
		}
		if err := together(21, 21, func(i int) error {
			by, session, name := r, id, fmt.Sprintf("friend %d", i)
			if i == 20 {
				by, session, name = stranger, other, "stranger"
			}
			a, err := by.send(ctx, http.MethodPost, answer(name), sessionHeader(session)...)
			if err == nil && a.status != http.StatusAccepted {
				err = fmt.Errorf("an answer: status %d: %.200s", a.status, a.body)
			}
			return err
		}); err != nil {
			return err
		}
	}
}

func raceIDs(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	id, err := r.hello(ctx, `{"name":"races","version":"1"}`)
	if err != nil {
		return err
	}
	var wrong atomic.Int64
	err = together(400, 20, func(i int) error {
		text := fmt.Sprintf("race %d", i)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q}}}`, text)
		a, err := r.send(ctx, http.MethodPost, body, sessionHeader(id)...)
		if err != nil {
			return err
		}
		if a.status == http.StatusOK && !strings.Contains(string(a.body), text+`"`) && !strings.Contains(string(a.body), `"error"`) {
			wrong.Add(1)
		}
		return nil
	})
	if err == nil && wrong.Load() > 0 {
		err = fmt.Errorf("%d answers are those of others", wrong.Load())
	}
	_, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
	return err
}
