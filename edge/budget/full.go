package budget

import "fmt"

// Full is why something was not admitted. Its text is for whoever was refused, and says nothing of others.
type Full struct {
	// What was refused, and how many bytes more it was to hold.
	Purpose Purpose
	Bytes   int64
	// Own is what the holder holds, Share an equal share, Used what all hold, Limit the most they may, in bytes.
	Own, Share, Used, Limit int64
	// Holders is how many hold anything, whoever was refused included.
	Holders int
	// Holder names who was refused, and Refusals counts them since the last time: set for OnFull only.
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
	Logs:     "the call cannot be kept for later: answer or cancel those that wait",
}

// Error implements error.
func (f *Full) Error() string {
	return fmt.Sprintf("the edge cannot serve this now, its memory is in use: %s; then try again (%d bytes were needed, and %d are held for you)",
		remedies[f.Purpose], f.Bytes, f.Own)
}
