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

// TestBalanceBreaksNoStream: a stream that begins as soon as the request is read comes whole.
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

// whole posts a body and says whether the stream that answers it ends as it should, once begun was told of its beginning.
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
	if err != nil { // Its handler may not have taken the word.
		select {
		case <-begun:
		default:
		}
		return false
	}
	return strings.HasSuffix(string(rest), "end\n\n")
}
