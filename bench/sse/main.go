// Command sse is the least that an open event stream costs with net/http: it sends the head and a comment,
// and waits for the client to leave.
package main

import (
	"net/http"

	"github.com/mcpedge/mcpedge/bench/internal/serve"
)

func main() {
	serve.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(": open\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
}
