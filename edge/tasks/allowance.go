package tasks

import (
	"errors"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	// listQuestions bounds the requests to the policy server for one tasks/list.
	listQuestions = 32
	// listArguments bounds the arguments that are read for the decisions of one tasks/list, in
	// bytes.
	listArguments = 4 << 20
)

// allowances bound the total cost of the decisions on the tasks of one list: the requests to the
// policy server, whose answers are cached, and the arguments that are read for rules. A list ends
// before the first task for which they do not suffice; the next page begins with that task. The
// first task of a list is always decided, so that each page makes progress. Safe for concurrent
// use.
type allowances struct {
	// holder is charged with the arguments while they are in memory; nil disables the charge.
	holder *budget.Holder
	// questions and bytes are the used parts of the allowances.
	questions, bytes atomic.Int64
	// begun is true once the first task of the list has its part.
	begun bool
}

// errAllowanceSpent is the error of a part that does not suffice.
var errAllowanceSpent = errors.New("the allowance of this list is spent")

// allowance is the part of one decision.
type allowance struct {
	all *allowances
	// first is true for the part of the first task, which only the memory bounds.
	first bool
	// err is why the part did not suffice: errAllowanceSpent, or an *mcp.Error for the first task. nil means
	// that it did.
	err  error
	held budget.Reservation
}

// ask takes one request to the policy server from the allowance.
func (a *allowance) ask() error {
	if a.all.questions.Add(1) > listQuestions && !a.first {
		a.err = errAllowanceSpent
	}
	return a.err
}

// read takes arguments of n bytes from the allowance and charges them to held, which the caller releases.
func (a *allowance) read(n int) error {
	if a.all.bytes.Add(int64(n)) > listArguments && !a.first {
		a.err = errAllowanceSpent
		return a.err
	}
	if a.all.holder == nil || n <= runtime.SmallParams {
		return nil
	}
	var err error
	if a.held, err = a.all.holder.Reserve(budget.Checks, copies*int64(n)); err != nil {
		a.err = errAllowanceSpent
		if a.first {
			a.err = mcp.Overloaded(err)
		}
	}
	return a.err
}
