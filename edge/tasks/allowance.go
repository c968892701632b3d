package tasks

import (
	"errors"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	// listQuestions bounds the questions to the policy server for one tasks/list.
	listQuestions = 32
	// listArguments bounds the arguments that are read for the decisions of one tasks/list, in bytes.
	listArguments = 4 << 20
)

// allowances bound what the decisions on the tasks of one list cost together: the questions to the policy server, whose answers are remembered,
// and the arguments that are read for rules. A list ends before the first task that they do not suffice for; the next page begins with it. The
// first task of a list is always decided on, so that each page gets further. Safe for concurrent use.
type allowances struct {
	// holder is charged with the arguments while they are in memory; nil charges nobody.
	holder *budget.Holder
	// questions and bytes are what is left.
	questions, bytes atomic.Int64
	// begun: the first task of the list has its part.
	begun bool
}

func newAllowances(holder *budget.Holder) *allowances {
	a := &allowances{holder: holder}
	a.questions.Store(listQuestions)
	a.bytes.Store(listArguments)
	return a
}

// divide returns the parts of the next n tasks of the list. It is not for concurrent use.
func (a *allowances) divide(n int) []allowance {
	parts := make([]allowance, n)
	for i := range parts {
		parts[i].all = a
	}
	if n > 0 && !a.begun {
		parts[0].first, a.begun = true, true
	}
	return parts
}

// errSpent refuses what the allowances do not suffice for.
var errSpent = errors.New("the allowance of this list is spent")

// allowance is the part of one decision.
type allowance struct {
	all *allowances
	// first: the part suffices for everything that there is memory for.
	first bool
	// err is why the part did not suffice: errSpent, or of the first task an *mcp.Error; nil: it did.
	err  error
	held budget.Reservation
}

// ask takes a question to the policy server.
func (a *allowance) ask() error {
	if a.all.questions.Add(-1) < 0 && !a.first {
		a.err = errSpent
	}
	return a.err
}

// read takes arguments of n bytes and charges them until done is called.
func (a *allowance) read(n int) error {
	if a.all.bytes.Add(-int64(n)) < 0 && !a.first {
		a.err = errSpent
		return a.err
	}
	if a.all.holder == nil || n <= smallParams {
		return nil
	}
	var err error
	if a.held, err = a.all.holder.Reserve(budget.Checks, copies*int64(n)); err != nil {
		a.err = errSpent
		if a.first {
			a.err = mcp.Overloaded(err)
		}
	}
	return a.err
}

// done gives back what read charged.
func (a *allowance) done() { a.held.Release() }

// decided counts the tasks before the first whose part did not suffice. The error is that of the first task of a list.
func decided(parts []allowance) (int, error) {
	for i := range parts {
		switch err := parts[i].err; {
		case err == nil:
		case parts[i].first:
			return 0, err
		default:
			return i, nil
		}
	}
	return len(parts), nil
}
