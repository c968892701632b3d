package runtime

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// kinds are the kinds of the failures that depend neither on the store nor on the session.
var kinds = map[call.Failure]mcp.Kind{
	call.Late: mcp.KindTimeout, call.Oversized: mcp.KindTooLarge, call.OversizedAsk: mcp.KindTooLarge,
	call.NoIDs: mcp.KindInternal, call.UnknownOutcome: mcp.KindUnknownOutcome, call.Poison: mcp.KindUnknownOutcome, call.NoClient: mcp.KindCancelled,
}

// Texts are the texts of these failures for clients. {lifetime} stands for the maximum lifetime of
// a call, {lost} for the number of replicas that were lost while they ran it, {method} for its
// method.
type Texts map[call.Failure]string

// Error returns the error of a failure of a call with a lifetime.
func (t Texts) Error(r *medium.Record, f call.Failure, lifetime time.Duration) *mcp.Error {
	values := strings.NewReplacer("{lifetime}", lifetime.String(), "{lost}", strconv.Itoa(r.Lapses), "{method}", string(r.Method))
	return mcp.Errorf(kinds[f], "%s", values.Replace(t[f]))
}
