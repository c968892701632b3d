package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Message reads the body of a POST, which must be JSON in UTF-8 of bounded size. The returned slice
// is not reused, so what outlives the request may alias it. Its memory is charged to mem, which the
// caller got from Charge. A small body is read even if no memory is left, because its message may
// free some; mem.Check fails then. false means that the request was answered, with 415, 413, 503 or
// 400.
func (g *Guard) Message(w http.ResponseWriter, r *http.Request, mem *budget.Reservation) ([]byte, bool) {
	if why := contentType(r.Header); why != "" {
		g.Refuse(w, http.StatusUnsupportedMediaType, why)
		return nil, false
	}
	mem.Offer(budget.Requests, RequestBytes)
	body, err := g.body(w, r, mem)
	if err != nil {
		g.refuseBody(w, err)
		return nil, false
	}
	return body, true
}

// body reads the whole body. The server bounds the time.
func (g *Guard) body(w http.ResponseWriter, r *http.Request, mem *budget.Reservation) (body []byte, err error) {
	limit := g.o.MaxBody
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	if n := r.ContentLength; n >= 0 {
		body, err = read(r.Body, n, mem)
	} else {
		body, err = read(http.MaxBytesReader(w, r.Body, limit), -1, mem)
	}
	if err == nil {
		WasRead(w)
	}
	return body, err
}

func (g *Guard) refuseBody(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	if full := (*budget.Full)(nil); errors.As(err, &full) {
		g.Overloaded(w, full)
		return
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		g.o.Telemetry.Hit(telemetry.BoundBody)
		g.Refuse(w, http.StatusRequestEntityTooLarge,
			"the body is too large: the limit is "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes")
		return
	}
	g.Refuse(w, http.StatusBadRequest, g.unreadable(err))
}

// unreadable returns why a body could not be read.
func (g *Guard) unreadable(err error) string {
	switch {
	case isTimeout(err):
		g.o.Telemetry.Hit(telemetry.BoundReadTimeout)
		return "the body was not there whole within " + g.o.ReadTimeout.String() + ": send it faster, or less at a time"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the body ended before its announced end: send all of it"
	}
	return "the body is malformed: " + Quoted(err.Error()) + ": send it with a Content-Length, or in the chunks of RFC 9112, section 7.1"
}

// contentType returns the fault of the type of a POST's body. It is empty if the type is valid.
func contentType(h http.Header) string {
	if ct := h.Get("Content-Type"); ct != TypeJSON {
		// Some clients send the type twice, in one field.
		for one := range strings.SplitSeq(ct, ",") {
			media, params, err := mime.ParseMediaType(one)
			if err != nil || media != TypeJSON {
				return "content type " + Quoted(ct) + " is not served here: send " + TypeJSON
			}
			if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") && !strings.EqualFold(cs, "utf8") {
				return "charset " + Quoted(cs) + " is not served here: send UTF-8"
			}
		}
	}
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "content encoding " + Quoted(enc) + " is not served here: send the body as it is"
	}
	return ""
}
