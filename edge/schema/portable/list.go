package portable

import (
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// ListWork bounds the work on the schemas of all tools that one backend lists, as [Result.Work] counts it: enough for
// 5,000 tools with schemas of 3 KiB. The schemas of the tools behind are not shown.
const ListWork = 32 << 20

// List makes the portable schemas of one backend's tools, in their order. It is not safe for concurrent use.
type List struct{ left, withheld int }

// NewList makes a List of bounded work; 0: ListWork.
func NewList(work int) *List {
	if work == 0 {
		work = ListWork
	}
	return &List{left: work}
}

// Schema is [Schema] of a text while there is work left; then the schema of any object with a note, which is
// Withheld. known, unless it is nil, is a result for the same text: it is returned, and counts as if it were made
// anew, so that the results are equal for equal lists.
func (l *List) Schema(text string, known *Result) *Result {
	if l.left <= 0 && text != "" {
		l.withheld++
		return withhold(text)
	}
	if known == nil || known.Withheld {
		made := Schema(text)
		known = &made
	}
	l.left -= known.Work
	return known
}

// Withheld is how many schemas were not shown since the work was used up.
func (l *List) Withheld() int { return l.withheld }

// withhold keeps no schema back that says which arguments are mirrored in headers: calls without them are refused.
func withhold(text string) *Result {
	out := &Result{JSON: anyObject, Withheld: true, Notes: []string{
		"The schema of the arguments is not shown, since those of the service's tools are too large together."}}
	if strings.Contains(text, headerKey) && len(text) <= MaxBytes && jsonrpc.Valid([]byte(text)) {
		out.JSON, out.Notes = text, nil
	}
	return out
}
