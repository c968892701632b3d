package portable

import (
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// ListWork bounds the work on the schemas of all tools of one backend, as counted by [Result.Work].
// It suffices for 5,000 tools with schemas of 3 KiB. The schemas of further tools are not shown.
const ListWork = 32 << 20

// List makes the portable schemas of one backend's tools, in their order. It is not safe for
// concurrent use.
type List struct{ left, withheld int }

// NewList returns a List with bounded work. 0 means ListWork.
func NewList(work int) *List {
	if work == 0 {
		work = ListWork
	}
	return &List{left: work}
}

// Schema calls [Schema] until the bound of work is reached. After that it returns a schema that
// accepts any object, with a note, marked as Withheld. known is an earlier result for the same
// text, or nil. It is reused, and its work is counted as for a new one, so that equal lists have
// equal results.
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

// Withheld returns the number of schemas that are not shown because the work was used up.
func (l *List) Withheld() int { return l.withheld }

// withhold returns the result that is shown without work left. It keeps a schema whose arguments
// are mirrored in headers, because calls without these headers are refused.
func withhold(text string) *Result {
	out := &Result{JSON: anyObject, Withheld: true, Notes: []string{
		"The schema of the arguments is not shown, because the schemas of the service's tools are too large together."}}
	if strings.Contains(text, headerKey) && len(text) <= MaxBytes && jsonrpc.Valid([]byte(text)) {
		out.JSON, out.Notes = text, nil
	}
	return out
}
