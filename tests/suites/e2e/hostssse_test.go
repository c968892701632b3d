package e2e

import (
	"encoding/json"
	"net/http"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// hostSSE is the connection of a host over HTTP+SSE.
type hostSSE struct {
	// endpoint is closed once message is the address for messages; responses are those that came on the stream.
	endpoint  chan struct{}
	message   string
	responses chan sseResponse
}

type sseResponse struct {
	ID    json.RawMessage
	Error *struct{ Code int }
}

// openSSE follows the stream that a host opened, declines what it asks there, and waits for the address for messages.
func (h *host) openSSE(resp *http.Response, cancel func()) {
	h.t.Helper()
	h.sse = &hostSSE{endpoint: make(chan struct{}), responses: make(chan sseResponse, 64)}
	h.mu.Lock()
	h.streams = append(h.streams, cancel)
	h.mu.Unlock()
	h.readers.Go(func() {
		defer resp.Body.Close()
		h.read(resp, func(text []byte) bool {
			switch method, id := requestOf(text); {
			case method != "" && id != nil:
				h.decline(&sentByHost{Path: "/sse", Headers: map[string]string{"Content-Type": "application/json"}}, id)
			case method == "":
				var r sseResponse
				if err := json.Unmarshal(text, &r); err != nil {
					h.t.Errorf("%v: %.300s", err, text)
				}
				h.sse.responses <- r
			}
			return true
		})
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.over {
			h.ended++
		}
	})
	await.Receive(h.t, "the address for messages", h.sse.endpoint)
}

// awaitSSE waits for the response to a request.
func (h *host) awaitSSE(id json.RawMessage) {
	h.t.Helper()
	for {
		r := await.Receive(h.t, "the response to "+string(id), h.sse.responses)
		if string(r.ID) != string(id) {
			h.t.Errorf("a response to %s, want one to %s", r.ID, id)
			continue
		}
		if r.Error != nil {
			h.t.Errorf("request %s is answered by the error %d", id, r.Error.Code)
		}
		return
	}
}
