package web

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
)

// A stream may be silent for longer than one write may take, over HTTP/1 and HTTP/2, and ends whole.
func TestSilentStreamOutlivesTheWriteTimeout(t *testing.T) {
	const timeout = 50 * time.Millisecond
	door := NewDoor(nil, Options{WriteTimeout: timeout})
	silence := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		events, err := door.Events(w)
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
					<-time.After(3 * timeout)
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
