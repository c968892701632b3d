package budget

import "fmt"

// Full is the error of a refused reservation. Its text is for the refused caller, and does not
// mention others.
type Full struct {
	// Purpose and Bytes are the refused purpose and its additional bytes.
	Purpose Purpose
	Bytes   int64
	// Own is what the holder holds, Share an equal share, Used what all holders hold, Limit the
	// maximum, in bytes.
	Own, Share, Used, Limit int64
	// Holders is the number of holders with reservations, including the refused one.
	Holders int
	// Holder names the refused holder, and Refusals counts refusals since the last report. They are
	// only set for OnFull.
	Holder   string
	Refusals int64
}

var remedies = [purposes]string{
	Requests: "the request cannot be taken: wait for responses to requests that are under way, or send less at a time",
	Calls:    "the call cannot be begun: wait for responses to calls that are under way, or send smaller params",
	Results:  "the result cannot be received: read the results of calls that are under way, or ask for less at a time",
	Checks:   "the arguments cannot be checked: wait for responses to calls that are under way, or send smaller arguments",
	Streams:  "the stream cannot be opened: close others that are open",
	Sessions: "the session cannot be kept: end others that are not needed, or say less of the client",
	Logs:     "the call cannot be kept for later: answer or cancel calls that wait for you",
}

// Error implements error.
func (f *Full) Error() string {
	return fmt.Sprintf("the edge cannot serve this now, its memory is in use: %s; then try again (%d bytes were needed, and %d are held for you)",
		remedies[f.Purpose], f.Bytes, f.Own)
}
