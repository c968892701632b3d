package load

import (
	"bytes"
	"fmt"
	"net/http"
)

// IDPlaceholder in a body becomes a new id with every request: a number of as many digits, since no
// id may be used twice in a session.
const IDPlaceholder = "999000999000"

// ParentPlaceholder in a body becomes a new traceparent with every request, of which one in a hundred says
// that it is sampled.
const ParentPlaceholder = "00-ffff0000ffff0000ffff0000ffff0000-ffff0000ffff0000-00"

// Request is one prepared HTTP request, to be sent any number of times. It is a value: the With methods
// return another, and all may be used by many connections at once.
type Request struct {
	head, body []byte // the head lacks Content-Length and the empty line
	id         int    // where the id's digits are in the body; negative: nowhere
	parent     int    // where the traceparent is; negative: nowhere
}

// Prepare makes a request to a server's host:port; the header is sent beside Host and Content-Length.
func Prepare(method, addr, path string, header http.Header, body string) Request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, addr)
	_ = header.Write(&b)
	return Request{head: b.Bytes()}.WithBody([]byte(body))
}

// WithBody is the request with another body, which must not change any more.
func (r Request) WithBody(body []byte) Request {
	r.body = body
	r.id, r.parent = bytes.Index(body, []byte(IDPlaceholder)), bytes.Index(body, []byte(ParentPlaceholder))
	return r
}

// WithHeader is the request with one more header.
func (r Request) WithHeader(name string, value []byte) Request {
	head := make([]byte, 0, len(r.head)+len(name)+len(value)+4)
	head = append(append(append(head, r.head...), name...), ": "...)
	r.head = append(append(head, value...), "\r\n"...)
	return r
}

// Body of the request, not to be changed.
func (r Request) Body() []byte { return r.body }
