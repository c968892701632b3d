package harness

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestBalanceBreaksNoStream: a stream that begins when the request is read arrives completely.
func TestBalanceBreaksNoStream(t *testing.T) {
	const clients, requests = 8, 3000
	var begun [clients]chan struct{}
	streams := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, ":\n\n")
		_ = http.NewResponseController(w).Flush()
		client, _ := strconv.Atoi(string(body))
		select {
		case <-begun[client]:
			_, _ = io.WriteString(w, "data: end\n\n")
		case <-r.Context().Done():
		}
	}))
	defer streams.Close()
	front := Balance(t, &Edge{Host: strings.TrimPrefix(streams.URL, "http://")})
	var broken atomic.Int64
	var running sync.WaitGroup
	for i := range clients {
		begun[i] = make(chan struct{}, 1)
		running.Go(func() {
			for range requests {
				if !whole(front.URL, strconv.Itoa(i), begun[i]) {
					broken.Add(1)
				}
			}
		})
	}
	running.Wait()
	if n := broken.Load(); n > 0 {
		t.Errorf("%d of %d streams broke", n, clients*requests)
	}
}

// whole posts a body and reports whether the response stream ends correctly. It sends to begun when
// the stream begins.
func whole(url, body string, begun chan struct{}) bool {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, len(":\n\n"))); err != nil {
		return false
	}
	begun <- struct{}{}
	rest, err := io.ReadAll(resp.Body)
	if err != nil { // The handler may not have received the value.
		select {
		case <-begun:
		default:
		}
		return false
	}
	return strings.HasSuffix(string(rest), "end\n\n")
}
