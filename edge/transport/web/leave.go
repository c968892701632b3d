package web

import "net/http"

// MayLeave says whether a response can end before its handler returns: by Events.Leave, or by Leave where there are
// no events. Over HTTP/1.1 it can.
func MayLeave(w http.ResponseWriter, r *http.Request) bool {
	_, ok := w.(http.Hijacker)
	return ok && r.ProtoMajor == 1 && r.ProtoMinor == 1
}

// Leave ends a response without events, and its connection, while the handler goes on. The response is not used
// any more.
func Leave(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // The handler's return ends it.
	}
	_ = conn.Close()
}

// Leave is Close, and ends the connection too, while the handler goes on. It is for a response that MayLeave. The
// Events are not used any more.
func (e *Events) Leave() {
	r, ok := e.body.(*response)
	if !ok {
		e.Close()
		return
	}
	if e.held != nil {
		_ = e.write()
	}
	conn, _, err := r.control.Hijack()
	if err != nil {
		return // The handler's return ends it.
	}
	(&detached{conn: conn, timeout: e.guard.o.WriteTimeout}).end(nil)
}
