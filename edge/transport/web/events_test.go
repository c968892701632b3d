package web

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

// What is held leaves with the next event as one piece, or when it is much.
func TestHeldEventsLeaveTogether(t *testing.T) {
	w := &pieces{ResponseRecorder: httptest.NewRecorder()}
	events, err := NewGuard(nil, Options{}).Events(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if err := events.Hold(frame.Event{ID: id, Data: []byte("{}")}); err != nil || len(w.sent) > 0 {
			t.Fatalf("event %s left as %q, error %v: it is to be held", id, w.sent, err)
		}
	}
	if err := events.Send(frame.Event{ID: "3"}); err != nil {
		t.Fatal(err)
	}
	if err := events.Comment(); err != nil {
		t.Fatal(err)
	}
	want := []string{"id: 1\ndata: {}\n\nid: 2\ndata: {}\n\nid: 3\ndata: \n\n", ":\n\n"}
	if !slices.Equal(w.sent, want) {
		t.Errorf("wrote %q, want %q", w.sent, want)
	}
	for range 2 {
		if err := events.Hold(frame.Event{Data: make([]byte, maxHeld-100)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.sent); n != 3 || len(w.sent[2]) < maxHeld {
		t.Errorf("%d pieces: much is to leave at once", n)
	}
}

// pieces records each write.
type pieces struct {
	*httptest.ResponseRecorder
	sent []string
}

func (p *pieces) Write(b []byte) (int, error) {
	p.sent = append(p.sent, string(b))
	return len(b), nil
}

// A stream may be silent for longer than one write may take, over HTTP/1 and HTTP/2, and ends whole.
func TestSilentStreamOutlivesTheWriteTimeout(t *testing.T) {
	const timeout = time.Second
	guard := NewGuard(nil, Options{WriteTimeout: timeout})
	silence := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		events, err := guard.Events(w)
		if err != nil {
			t.Error(err)
			return
		}
		defer events.Close()
		for range 2 {
			<-silence
			if err := events.Send(frame.Event{Data: []byte("{}")}); err != nil {
				t.Error(err)
			}
		}
		<-silence
	}))
	both := &http.Protocols{}
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	s.Config.Protocols = both
	s.Start()
	defer s.Close()
	for name, set := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2.0": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{Protocols: &http.Protocols{}, DialContext: (&net.Dialer{}).DialContext}
			set(transport.Protocols)
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.Proto != name {
				t.Fatalf("protocol %s", resp.Proto)
			}
			go func() {
				for range 3 {
					<-time.After(timeout + timeout/10)
					silence <- struct{}{}
				}
			}()
			got, err := io.ReadAll(bufio.NewReader(resp.Body))
			if want := "data: {}\n\ndata: {}\n\n"; err != nil || string(got) != want {
				t.Errorf("read %q, error %v", got, err)
			}
		})
	}
}

// stuck is a response whose writes fail once the deadline has passed, as those to a client that does not read.
type stuck struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	writes    int
}

func (s *stuck) SetWriteDeadline(t time.Time) error {
	s.deadlines = append(s.deadlines, t)
	return nil
}

func (s *stuck) Write([]byte) (int, error) {
	s.writes++
	return 0, os.ErrDeadlineExceeded
}

// A client that did not read within the write timeout is not given another one for the end of its stream.
func TestBrokenStreamEndsWithoutAnotherTimeout(t *testing.T) {
	guard := NewGuard(nil, Options{})
	w := &stuck{ResponseRecorder: httptest.NewRecorder()}
	e, err := guard.Events(w)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Send(frame.Event{Data: []byte("1")}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a write to a client that does not read: %v", err)
	}
	set := len(w.deadlines)
	if w.deadlines[set-1].IsZero() {
		t.Error("the deadline that passed was lifted")
	}
	_ = e.Hold(frame.Event{Data: []byte("2")})
	e.Close()
	if w.writes != 1 || len(w.deadlines) != set {
		t.Errorf("after it: %d more writes, %d more deadlines", w.writes-1, len(w.deadlines)-set)
	}
}
