package dispatch

import (
	"encoding/json"
	"errors"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/schema"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// checkHeaders compares the headers that mirror arguments with the arguments, except for those that
// the edge has added. It occupies one of the backend's places, because it takes memory and time.
func (r *round) checkHeaders(check *catalog.ToolCheck, args json.RawMessage) error {
	t := r.named.Tool
	if !r.rules.Stateless || r.call.Header == nil || len(check.Headers) == 0 {
		return nil
	}
	release, err := r.acquireSlot(t.Owner)
	if err != nil {
		return err
	}
	defer release()
	return t.CheckParamHeaders(check.Headers, r.call.Header, withoutAdded(args, r.call.Params.Added()))
}

// validate checks arguments against the tool's schema, in one of the backend's places. It returns
// nil, nil if they are valid, and otherwise a result or an error, depending on the revision.
func (r *round) validate(check *catalog.ToolCheck, args json.RawMessage) (refused json.RawMessage, _ error) {
	t := r.named.Tool
	release, err := r.acquireSlot(t.Owner)
	if err != nil {
		return nil, err
	}
	defer release()
	err = r.checkArguments(check, args)
	if err == nil {
		return nil, nil
	}
	if errors.Is(err, schema.ErrCost) {
		return nil, r.tooCostly(t)
	}
	if full := (*mcp.Error)(nil); errors.As(err, &full) {
		return nil, full
	}
	return r.schemaRefusal(withoutPins(err, t.Arguments))
}

// schemaError reports arguments that do not fit the schema, in the form of the revision.
func (r *round) schemaError(detail error) (mcp.Reply, error) {
	return argumentReply(r.schemaRefusal(detail))
}

// schemaRefusal returns the result or the error for arguments that do not match the schema,
// depending on the revision.
func (r *round) schemaRefusal(detail error) (json.RawMessage, error) {
	result, err := translate.SchemaError(r.rules, r.server(), r.masks(redact.Results).Text(detail.Error()))
	if err != nil {
		return nil, err
	}
	return result, nil
}

// argumentReply returns the reply to a call with refused arguments: a result or an error, depending
// on the revision. The other one is nil.
func argumentReply(result json.RawMessage, err error) (mcp.Reply, error) {
	if err != nil {
		return mcp.Reply{}, err
	}
	return mcp.Reply{Result: result, ToolError: true}, nil
}

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
