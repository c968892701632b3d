package dispatch

import (
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/schema"
)

// smallCheck is the number of bytes of a check that the charge of its request includes.
const smallCheck = 16 << 10

// checkArguments charges the memory of a check (the decoded value and its derivatives), and then
// checks arguments, an object. The errors are those of the check, or of kind KindOverloaded if the
// budget has no room.
func (r *round) checkArguments(c *catalog.ToolCheck, args []byte) error {
	check, err := c.Arguments(args)
	if err != nil {
		return err
	}
	bytes := chargeOf(&check)
	if err := r.call.Memory.Grow(budget.Checks, bytes); err != nil {
		return mcp.Overloaded(err)
	}
	defer r.call.Memory.Shrink(budget.Checks, bytes)
	return check.Run()
}

// checkResult runs the check of a result. The result is in memory already, so the charge is not
// refused.
func (r *round) checkResult(check *schema.Check) error {
	bytes := chargeOf(check)
	r.call.Memory.Force(budget.Checks, bytes)
	defer r.call.Memory.Shrink(budget.Checks, bytes)
	return check.Run()
}

// chargeOf returns the bytes to charge for a check. 0 means that the charge of its request includes
// them.
func chargeOf(check *schema.Check) int64 {
	if n := check.Held() + check.Bytes(); n > smallCheck {
		return n
	}
	return 0
}
