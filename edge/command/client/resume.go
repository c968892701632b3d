package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxResumes bounds how often in a row a stream is resumed without an event between. The SDK waits for as long as the
// server says in the field retry, then longer each time; --timeout ends it.
const maxResumes = 5

// lastEventID is the header of a request to resume a stream, with the id of the last event that came.
const lastEventID = "Last-Event-ID"

// isResuming reports whether a request is to resume a stream.
func isResuming(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get(lastEventID) != ""
}

// resumed completes a response to a GET that resumes a stream from an event (Streamable HTTP, "Resumability and
// Redelivery"), for the SDK's client. That gives up for ever if a proxy answers that it has no replica now, or if the
// resumed stream ends without an event, as it does at a replica that is about to end, too. So the first is made an error,
// after which it tries again, and the stream begins with the id that it is resumed from. Other responses are unchanged.
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
