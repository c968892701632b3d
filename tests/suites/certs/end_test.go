package certs

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// An edge that is told to end lets calls finish, ends streams in order, and waits for nobody who says nothing, in both
// versions of HTTP.
func TestEnd(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			for longer := time.Duration(1); !ends(t, protocol, 300*time.Millisecond*longer, 4*time.Second*longer); longer *= 4 {
				if t.Failed() || longer > 50 {
					t.Fatal("it never ended in time")
				}
				t.Log("the delay or the grace of the edge was over before the test had used it: once more, with longer ones")
			}
		})
	}
}

// ends uses an edge while it ends. It returns false if something failed that the edge does no longer owe, as its time was over.
func ends(t *testing.T, protocol string, delay, grace time.Duration) (inTime bool) {
	ca := authority.New(t, "ca")
	s, e, _ := start(t, ca, func(c *config.Config) {
		c.Calls.StreamAfter = 50 * time.Millisecond
		c.Shutdown.Delay = delay
		c.Shutdown.Grace = grace // of which who says nothing has a quarter
	})
	roots := authority.Pool(ca)
	idle := newClient(t, protocol, roots, nil)
	if err := idle.echo(e.URL, "x"); err != nil {
		t.Fatal(err)
	}
	streaming := newClient(t, protocol, roots, nil)
	stream := streaming.stream(t, e.URL)
	defer stream.Close()
	silent, err := net.Dial("tcp", e.Host) // no handshake
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	shaken, err := tls.Dial("tcp", e.Host, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"h2"}}) // no preface
	if err != nil {
		t.Fatal(err)
	}
	defer shaken.Close()
	ended := make(chan error, 1)
	calling := newClient(t, protocol, roots, nil)
	go func() {
		_, err := calling.call(e.URL, "gate", "{}", "passed")
		ended <- err
	}()
	await.Receive(t, "the call to begin", s.started)
	stopped := time.Now()
	inTime = true
	// owed reports a failure of what the edge owes for so long after it was stopped.
	owed := func(during time.Duration, format string, arguments ...any) {
		t.Helper()
		if time.Since(stopped) >= during {
			inTime = false
			return
		}
		t.Errorf(format, arguments...)
	}
	e.Stop()
	await.Until(t, "the edge drains", func() bool {
		status, _, err := idle.get("https://" + e.Admin + "/readyz")
		inTime = time.Since(stopped) < delay
		return err == nil && status == 503 || !inTime
	})
	// Until the delay is over it serves, and has connections close behind their answers.
	if resp, err := idle.begin(e.URL, "echo", `{"text":"x"}`); err != nil {
		owed(delay, "while the edge drains: %v", err)
	} else {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if protocol == "HTTP/1.1" && !resp.Close {
			owed(delay, "the connection is kept")
		}
	}
	close(s.open)
	if err := await.Receive(t, "the call to end", ended); err != nil {
		owed(delay+grace, "the call: %v", err)
	}
	rest, err := io.ReadAll(stream)
	if err != nil || !strings.Contains(string(rest), "retry:") {
		owed(delay+grace, "the standalone stream ends with %q, %v", rest, err)
	}
	e.AwaitEnd(t)
	return inTime
}

// A stream whose client leaves is over, and one that idles stays: over HTTP/1.1 its connection was taken from net/http.
func TestStreamsComeAndGo(t *testing.T) {
	ca := authority.New(t, "ca")
	_, e, _ := start(t, ca, func(c *config.Config) { c.Listen.KeepAlive = 50 * time.Millisecond })
	for _, protocol := range protocols {
		c := newClient(t, protocol, authority.Pool(ca), nil)
		stream := c.stream(t, e.URL)
		beat := make([]byte, 30)
		if _, err := io.ReadFull(stream, beat); err != nil { // ten signs of life
			t.Fatal(err)
		}
		open := func(want string) func() bool {
			return func() bool { return metric(t, c, e, "mcpedge_standalone_open") == want }
		}
		await.Until(t, "the stream to be counted", open("1"))
		_ = stream.Close()
		await.Until(t, "the stream to be over", open("0"))
	}
}
