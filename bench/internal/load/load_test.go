package load

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestRequestsGoOutAsPrepared(t *testing.T) {
	var mu sync.Mutex
	seen, parents := map[string]bool{}, map[string]bool{}
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/mcp" || r.Header.Get("A") != "b" || r.Header.Get("C") != "d" || r.Method != http.MethodPost {
			http.Error(w, fmt.Sprint(r.Method, r.URL, r.Header), http.StatusBadRequest)
			return
		}
		mu.Lock()
		seen[string(body)] = true
		mu.Unlock()
		w.Header().Set("Mcp-Session-Id", "s1")
		_, _ = w.Write([]byte("fine"))
	})
	r := Prepare(http.MethodPost, addr, "/mcp", http.Header{"A": {"b"}}, `{"id":`+IDPlaceholder+`,"parent":"`+ParentPlaceholder+`"}`).WithHeader("C", []byte("d"))
	err := Once(addr, func(c *Conn) error {
		for range 3 {
			a, err := c.Do(r)
			if err != nil || a.Status != 200 || string(a.Body) != "fine" || string(a.Session) != "s1" {
				return fmt.Errorf("%+v %s: %w", a, a.Body, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 3 {
		t.Errorf("three requests had the bodies %v", seen)
	}
	for body := range seen {
		if !regexp.MustCompile(`^\{"id":[0-9]{12},"parent":"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]"\}$`).MatchString(body) || body == string(r.Body()) {
			t.Errorf("a body is %s", body)
		}
		parents[body[strings.Index(body, `"00-`):]] = true
	}
	if len(parents) != 3 || parents[ParentPlaceholder] {
		t.Errorf("three requests had the parents %v", parents)
	}
}

func TestRunCountsAndFails(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("fine")) })
	r := Prepare(http.MethodPost, addr, "/", nil, "x")
	got, err := Run(addr, []Call{Wanting(r, "fine", 0)}, 3, 50*time.Millisecond)
	if err != nil || got.Calls == 0 || got.Calls != len(got.Latencies) || got.Elapsed < 50*time.Millisecond {
		t.Errorf("%+v, %v", got, err)
	}
	for _, call := range []Call{Wanting(r, "well", 0), Wanting(r, "fine", 1)} {
		if _, err := Run(addr, []Call{call, call}, 3, time.Second); err == nil {
			t.Error("an answer that is not as wanted is no error")
		}
	}
}

func TestEventsAreTimed(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = fmt.Fprintf(w, "data: {\"message\":\"%d\"}\n\n", time.Now().Add(-time.Hour).UnixNano())
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, "data: done\n\n")
	})
	got, err := Run(addr, []Call{Wanting(Prepare(http.MethodPost, addr, "/", nil, ""), "done", 2)}, 1, 20*time.Millisecond)
	if err != nil || len(got.Delays) != 2*got.Calls {
		t.Fatalf("%d delays of %d calls, %v", len(got.Delays), got.Calls, err)
	}
	for _, d := range got.Delays {
		if d < time.Hour || d > time.Hour+time.Minute {
			t.Errorf("an event that was sent an hour ago took %s", d)
		}
	}
}

func TestStreams(t *testing.T) {
	news := make(chan string)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		_ = flush.Flush()
		for {
			select {
			case n := <-news:
				_, _ = io.WriteString(w, n)
				_ = flush.Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	get := Prepare(http.MethodGet, addr, "/", nil, "")
	s, err := OpenStreams(addr, 1, func(*Conn) (Request, error) { return get, nil })
	if err != nil {
		t.Fatal(err)
	}
	arrivals := s.Watch("changed")
	news <- ": nothing\n\n"
	news <- "data: cha" // the mark comes in two parts
	news <- "nged\n\n" + "data: changed\n\n"
	for i := range 2 {
		select {
		case <-arrivals:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d marks arrived, want 2", i)
		}
	}
	s.Close()
	for range arrivals { // until it is closed
		t.Error("a mark arrived that was not sent")
	}
}

func TestStreamsThatAreNone(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusNotFound) })
	get := Prepare(http.MethodGet, addr, "/", nil, "")
	if _, err := OpenStreams(addr, 3, func(*Conn) (Request, error) { return get, nil }); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("opened with %v", err)
	}
}

// A machine that stands still for a whole run leaves a figure nevertheless.
func TestEveryConnectionCalls(t *testing.T) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	r := Prepare(http.MethodPost, addr, "/", nil, "")
	got, err := Run(addr, []Call{func(c *Conn) error { _, err := c.Do(r); return err }}, 3, 0)
	if err != nil || got.Calls != 3 || len(got.Latencies) != 3 || got.Elapsed <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
