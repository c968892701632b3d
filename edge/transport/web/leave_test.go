package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpedge/mcpedge/edge/frame"
)

// serving serves every request with fn, which may leave the response, in handlers that go on until the test says so.
func serving(t *testing.T, fn func(d *Guard, w http.ResponseWriter, r *http.Request)) (s *httptest.Server, goOn func()) {
	t.Helper()
	d := NewGuard(nil, Options{})
	on, goOn := context.WithCancel(t.Context())
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fn(d, w, r)
		<-on.Done()
	}))
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() { goOn(); s.Close() })
	return s, goOn
}

func TestEventsEndBeforeTheirHandler(t *testing.T) {
	s, _ := serving(t, func(d *Guard, w http.ResponseWriter, _ *http.Request) {
		events := d.Answering(w)
		_ = events.Send(frame.Event{ID: "1", Data: []byte("first")})
		_ = events.Hold(frame.Event{ID: "2", Data: []byte("held")})
		events.Leave()
	})
	conn, resp := get(t, s, "1.1")
	body, err := io.ReadAll(resp.Body)
	if want := "id: 1\ndata: first\n\nid: 2\ndata: held\n\n"; err != nil || string(body) != want {
		t.Errorf("the response is %q, %v; want %q", body, err, want)
	}
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection goes on: %d bytes, %v", n, err)
	}
}

func TestEventsThatWereNotWrittenEndBeforeTheirHandler(t *testing.T) {
	s, _ := serving(t, func(d *Guard, w http.ResponseWriter, _ *http.Request) { d.Answering(w).Leave() })
	_, resp := get(t, s, "1.1")
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 0 || resp.Header.Get("Content-Type") != TypeEvents {
		t.Errorf("the response is %q, %v, %v", body, err, resp.Header)
	}
}

func TestLeaveClosesTheConnection(t *testing.T) {
	s, _ := serving(t, func(_ *Guard, w http.ResponseWriter, _ *http.Request) { Leave(w) })
	if resp, err := http.Get(s.URL); err == nil {
		resp.Body.Close()
		t.Errorf("the client got %s", resp.Status)
	}
}

// Whoever cannot leave ends with the handler.
func TestMayLeave(t *testing.T) {
	told := make(chan bool, 1)
	s, goOn := serving(t, func(d *Guard, w http.ResponseWriter, r *http.Request) {
		told <- MayLeave(w, r)
		if r.ProtoMajor == 2 {
			events := d.Answering(w)
			_ = events.Send(frame.Event{Data: []byte("whole")})
			events.Leave()
		}
	})
	goOn()
	for version, want := range map[string]bool{"1.0": false, "1.1": true} {
		get(t, s, version)
		if got := <-told; got != want {
			t.Errorf("HTTP/%s: %t", version, got)
		}
	}
	client := &http.Client{Transport: &http.Transport{Protocols: &http.Protocols{}}}
	client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	resp, err := client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if got := <-told; got || err != nil || string(body) != "data: whole\n\n" {
		t.Errorf("HTTP/2: may leave %t, %q, %v", got, body, err)
	}
}
