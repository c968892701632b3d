package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// curate applies the overlay's changes to the call's arguments: it refuses members that a backend
// may read as a pinned argument, and adds pinned values and defaults. It does not depend on the
// check by the schema. canonical rewrites the result to the form that the backend reads.
//
// In a call that is bound to a backend, an earlier round has curated the arguments. Then each
// pinned value must be present and equal the caller's current one.
//
// The caller returns the error only after the rules have not hidden the target, so that hidden
// targets are answered as before. No record and no task is created for a call with refused
// arguments.
func (r *round) curate(arguments []overlay.Argument, bound bool, canonical func(args []byte) ([]byte, error)) error {
	if len(arguments) == 0 {
		return nil
	}
	args, err := r.arguments()
	if err != nil {
		return err
	}
	c := curation{round: r, arguments: arguments, bound: bound}
	if err = c.keepSent(args); err == nil { // before canonical removes nulls
		if c.sent, err = canonical(args); err != nil {
			err = mcp.Errorf(mcp.KindInvalidParams, "params.arguments: %v", err)
		}
	}
	if err == nil && !bytes.Equal(c.sent, args) { // The backend reads other members than the edge.
		c.kept = nil
		err = c.keepSent(c.sent)
	}
	if err == nil {
		err = c.add()
	}
	if err != nil {
		return mcp.AsError(err)
	}
	out, err := canonical(c.effective())
	switch {
	case err != nil:
		return errRefusedMember
	case bound && !sameMembers(out, c.sent):
		return &mcp.Error{Kind: mcp.KindForbidden, Message: "the call cannot continue: what it may do has changed since it began; start the call again",
			Reason: "a pinned argument has another value than in the first round"}
	case !bound:
		r.call.Params.Arguments = out
		r.call.Params.SetAdded(c.added())
		r.call.Backend = r.named.Backend.Name()
	}
	return nil
}

// tryPins returns what pinned arguments in audit mode would have done with the round. canonical is
// that of curate; nil changes nothing. It returns nil for a call that is bound to a backend,
// because its first round was tried, and for arguments that are not an object.
func (r *round) tryPins(trials []overlay.Argument, bound bool, canonical func(args []byte) ([]byte, error)) []mcp.Trial {
	if len(trials) == 0 || bound {
		return nil
	}
	args, err := r.arguments()
	if err != nil {
		return nil
	}
	given := []json.RawMessage{args}
	if canonical != nil {
		if read, err := canonical(args); err == nil {
			given = append(given, read)
		}
	}
	return overlay.Try(trials, &r.call.Principal, given...)
}

// errRefusedMember is the error for a member that is not among the listed arguments. It names no
// pinned argument.
var errRefusedMember = mcp.Errorf(mcp.KindInvalidParams, "params.arguments has a member that is not accepted: send only what the list describes")

// curation is the change of one call's arguments.
type curation struct {
	round     *round
	arguments []overlay.Argument
	bound     bool
	// sent are the arguments in canonical form, kept those of them that the caller may send, and
	// extra the added values.
	sent        []byte
	kept, extra []argument
}

type argument struct {
	name  string
	value json.RawMessage
}

// keepSent adds to kept the members that the caller may send, and fails if there are others. A bound
// call already has the pinned ones. A null counts as absent if the argument has a default.
func (c *curation) keepSent(args []byte) error {
	return jsonrpc.Members(args, func(name string, value json.RawMessage) error {
		pin := overlay.PinOf(c.arguments, name)
		switch {
		case pin == nil && jsonrpc.TypeOf(value) == jsonrpc.Null && c.hasDefault(name):
		case pin == nil:
			c.kept = append(c.kept, argument{name, value})
		case !c.bound || name != pin.Name:
			return errRefusedMember
		}
		return nil
	})
}

func (c *curation) hasDefault(name string) bool {
	return slices.ContainsFunc(c.arguments, func(a overlay.Argument) bool { return a.Name == name && a.Default != nil })
}

// add computes the values that are added. It adds no default beside a member that a backend may read
// as the argument.
func (c *curation) add() error {
	sent := func(name string) bool {
		return slices.ContainsFunc(c.kept, func(a argument) bool { return overlay.SameMember(a.name, name) })
	}
	who := &c.round.call.Principal
	for i := range c.arguments {
		a := &c.arguments[i]
		switch {
		case a.Pin != nil:
			value, err := a.Value(who)
			if err != nil {
				return c.denied(a, err)
			}
			c.extra = append(c.extra, argument{a.Name, value})
		case a.Default != nil && !sent(a.Name) && !c.bound:
			c.extra = append(c.extra, argument{a.Name, a.Default})
		}
	}
	return nil
}

// denied returns the error for a caller without the value of a pinned argument.
func (c *curation) denied(a *overlay.Argument, err error) error {
	out := &mcp.Error{Kind: mcp.KindForbidden, Message: "forbidden: your credentials lack what this needs", Reason: fmt.Sprintf("the pinned argument %s: %v", a.Name, err)}
	if c.round.call.Principal.Anonymous() {
		out.Kind, out.Challenge, out.Message = mcp.KindUnauthenticated, &mcp.Challenge{Anonymous: true}, "call with credentials"
	}
	return out
}

// effective returns the arguments that the backend is to read.
func (c *curation) effective() []byte { return objectOf(c.kept, c.extra) }

// added returns the added members as an object.
func (c *curation) added() json.RawMessage { return objectOf(c.extra) }

func objectOf(lists ...[]argument) []byte {
	out := []byte{'{'}
	for _, list := range lists {
		for _, a := range list {
			out = jsonrpc.AppendMember(out, a.name, a.value)
		}
	}
	return append(out, '}')
}

// sameMembers reports whether two objects have the same members, in any order.
func sameMembers(a, b []byte) bool {
	members := func(object []byte) map[string]string {
		out := map[string]string{}
		_ = jsonrpc.Members(object, func(name string, value json.RawMessage) error {
			out[name] = string(jsonrpc.Compact(nil, value))
			return nil
		})
		return out
	}
	x, y := members(a), members(b)
	if len(x) != len(y) {
		return false
	}
	for name, value := range x {
		if other, ok := y[name]; !ok || other != value {
			return false
		}
	}
	return true
}

// curateCompletion applies the overlay to the arguments in the context of a prompt's completion.
// silent is true if the completed argument is pinned, so that there are no suggestions.
func (r *round) curateCompletion(arguments []overlay.Argument) (silent bool, err error) {
	c := curation{round: r, arguments: arguments}
	asked := r.named.Completion
	for name := range asked.Arguments {
		if overlay.PinOf(arguments, name) != nil {
			return false, errRefusedMember
		}
		c.kept = append(c.kept, argument{name: name})
	}
	c.kept = append(c.kept, argument{name: asked.Argument})
	if overlay.PinOf(arguments, asked.Argument) != nil {
		return true, nil
	}
	if err := c.add(); err != nil {
		return false, err
	}
	if asked.Arguments == nil && len(c.extra) > 0 {
		asked.Arguments = map[string]string{}
	}
	for _, a := range c.extra {
		text, _ := jsonrpc.Unquote(a.value)
		asked.Arguments[a.name] = text
	}
	return false, nil
}

// errMisfit replaces the error of a check that names a pinned argument.
var errMisfit = errors.New("the arguments do not fit the schema of the tool")

// withoutPins returns the error of a check of arguments, or errMisfit if it names a pinned
// argument.
func withoutPins(err error, arguments []overlay.Argument) error {
	for i := range arguments {
		if a := &arguments[i]; a.Pin != nil && strings.Contains(err.Error(), a.Name) {
			return errMisfit
		}
	}
	return err
}
