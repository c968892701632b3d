package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxResumes bounds the consecutive resumptions of a stream without an event. The SDK waits for the
// duration in the field retry, then longer each time; --timeout ends it.
const maxResumes = 5

// lastEventID is the header of a request to resume a stream. It has the id of the last received
// event.
const lastEventID = "Last-Event-ID"

// isResuming reports whether a request resumes a stream.
func isResuming(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get(lastEventID) != ""
}

// resumed adapts the response to a GET that resumes a stream from an event (Streamable HTTP,
// "Resumability and Redelivery") for the SDK's client.
//
// The client gives up if a proxy has no replica, or if the resumed stream ends without an event,
// which may happen at a draining replica. Therefore resumed replaces the former response by an
// error, after which the client retries, and begins the stream with the id from which it is
// resumed. Other responses are unchanged.
func resumed(r *http.Request, resp *http.Response) (*http.Response, error) {
	if !isResuming(r) {
		return resp, nil
	}
	switch resp.StatusCode {
	case http.StatusOK:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader("id: "+r.Header.Get(lastEventID)+"\n\n"), resp.Body), resp.Body}
		resp.ContentLength = -1
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the stream cannot be resumed now: %s", resp.Status)
	}
	return resp, nil
}
