package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
)

var backendAttacks = []attack{
	{name: "backend-events", what: "a million events of a call, in both eras", run: millionEvents},
	{name: "backend-endless", what: "events without an end", run: endlessEvents},
	{name: "backend-messages", what: "results that are too large, too deep, broken, twice, none, or no UTF-8", run: strangeResults},
	{name: "backend-lists", what: "lists of a million tools, of endless pages, of 15 MiB, and that never come", run: strangeLists},
	{name: "backend-flaps", what: "a backend that comes and goes, and is called", run: flapping},
	{name: "backend-hangs", what: "an edge starts with a backend whose first listing hangs", run: hangingStart},
}

func millionEvents(ctx context.Context, s *site) error {
	limited, cancel := context.WithTimeout(ctx, s.o.duration)
	defer cancel()
	err := together(4, 4, func(i int) error {
		r := s.rogue()
		defer r.close()
		var resp *http.Response
		var err error
		id := ""
		if i%2 == 0 {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + meta(`,"progressToken":1`) + callMembers("million", "{}") + `}}`
			resp, err = r.open(limited, http.MethodPost, body, modernHeader("tools/call", "million")...)
		} else {
			if id, err = r.hello(ctx, `{"name":"events","version":"1"}`); err != nil {
				return err
			}
			resp, err = r.open(limited, http.MethodPost, r.legacyBody("tools/call", `{"name":"million","arguments":{},"_meta":{"progressToken":1}}`), sessionHeader(id)...)
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if id != "" {
			_, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
		}
		if limited.Err() != nil {
			return nil // it was long enough
		}
		return err
	})
	return err
}

func endlessEvents(ctx context.Context, s *site) error {
	limited, cancel := context.WithTimeout(ctx, s.o.duration/2)
	defer cancel()
	err := together(4, 4, func(i int) error {
		r := s.rogue()
		defer r.close()
		if i%2 == 0 {
			_, _ = r.call(limited, "endless", "{}") // nobody asked for the events
			return nil
		}
		id, err := r.hello(ctx, `{"name":"events","version":"1"}`)
		if err != nil {
			return err
		}
		_, _ = r.legacy(limited, id, "tools/call", `{"name":"endless","arguments":{},"_meta":{"progressToken":1}}`)
		_, err = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
		return err
	})
	if err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); s.backends.hostile.running.Load() > 0; pause(ctx, 50*time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d calls are with the backend 20 s after their clients left", s.backends.hostile.running.Load())
		}
	}
	return nil
}

func strangeResults(ctx context.Context, s *site) error {
	return together(7*4, 4, func(i int) error {
		tool := []string{"huge", "deep", "broken", "twice", "silent", "status", "utf8"}[i%7]
		r := s.rogue()
		defer r.close()
		limited, cancel := context.WithTimeout(ctx, 2*answersWithin)
		defer cancel()
		a, err := r.call(limited, tool, "{}")
		if err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
		if bytes.Contains(a.body, []byte("goroutine 1")) {
			return fmt.Errorf("%s: the client is told the backend's stack: %.200s", tool, a.body)
		}
		if !bytes.Contains(a.body, []byte(`"result"`)) && !bytes.Contains(a.body, []byte(`"error"`)) {
			return fmt.Errorf("%s: status %d: %.200s", tool, a.status, a.body)
		}
		return nil
	})
}

// strangeLists lets each list be read, and read again, while others are called.
func strangeLists(ctx context.Context, s *site) error {
	l := s.backends.lists
	defer l.mode.Store(short)
	for _, mode := range []int32{million, endless, large, hanging} {
		l.mode.Store(mode)
		pages := l.pages.Load()
		pause(ctx, max(2*time.Second, s.o.duration/3))
		s.note("%d pages", l.pages.Load()-pages)
		if err := s.edge.gone(); err != nil {
			return err
		}
	}
	return nil
}

func flapping(ctx context.Context, s *site) error {
	end := time.Now().Add(s.o.duration / 2)
	stop := make(chan error, 1)
	go func() {
		stop <- together(4, 4, func(int) error {
			r := s.rogue()
			defer r.close()
			for time.Now().Before(end) && ctx.Err() == nil {
				limited, cancel := context.WithTimeout(ctx, 2*answersWithin)
				a, err := r.call(limited, "flap", "{}")
				cancel()
				if err != nil {
					return err
				}
				if a.status >= 500 && a.status != http.StatusServiceUnavailable {
					return fmt.Errorf("status %d: %.200s", a.status, a.body)
				}
			}
			return nil
		})
	}()
	for time.Now().Before(end) {
		s.backends.flap.down()
		pause(ctx, 50*time.Millisecond)
		if err := s.backends.flap.up(); err != nil {
			<-stop
			return err
		}
		pause(ctx, 150*time.Millisecond)
	}
	return <-stop
}

// readyWithin is how long an edge may wait for a backend that does not list what it has.
const readyWithin = 10 * time.Second

// hangingStart starts an edge of its own, whose honest backend is soon served.
func hangingStart(ctx context.Context, s *site) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	slow := newLists()
	slow.mode.Store(hanging)
	server := slow.server()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	defer func(server *grpc.Server) {
		server.Stop()
		<-served
	}(server)
	config := filepath.Join(s.dir, "hangs.yaml")
	if err := s.backends.configure(config, backendRow{name: "hangs", addr: l.Addr().String()}); err != nil {
		return err
	}
	began := time.Now()
	e, err := startEdge(s.o, filepath.Join(s.dir, "hangs.log"), setting{"config", config})
	if err != nil {
		return err
	}
	defer e.kill()
	r := newRogue(e.url(), "127.0.0.4")
	defer r.close()
	for {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		a, err := r.call(limited, "echo", `{"text":"hello"}`)
		cancel()
		if err == nil && a.status == http.StatusOK && bytes.Contains(a.body, []byte("hello")) {
			break
		}
		if time.Since(began) > readyWithin+slack {
			return fmt.Errorf("the honest backend is not served %s after the start: %v", readyWithin+slack, err)
		}
		pause(ctx, 100*time.Millisecond)
	}
	s.note("served after %.1f s", time.Since(began).Seconds())
	if time.Since(began) > readyWithin {
		return fmt.Errorf("the honest backend was served after %s only", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
