package dispatch

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/schema"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// toolSet is the tools of a view.
type toolSet struct {
	byName map[string]*tool
	// reserved are the names of backends that are away.
	reserved map[string]*backend.Backend
	// outranked are the tools whose names belong to other backends: calls that they began go on with them.
	outranked map[ownName]*tool
	list      *list
	conflicts []Conflict
	digest    uint64
}

// tool is one tool of one backend.
type tool struct {
	name  string // as shown, with the prefix
	owner *backend.Backend
	pb    *pb.Tool
	shown *pb.Tool // as tools/list shows it
	// form is the schema of its arguments there; nil: as the backend sends it.
	form *portable.Result
	// stray: it is shown without the page that its `_meta` names, see strays.
	stray bool
	check *toolCheck
	// tasks says whether a call of it may become a task.
	tasks mcp.TaskSupport
	// target is what policy knows of it.
	target policy.Target
	// size is where that of its messages is kept; nil: not looked up yet.
	size atomic.Pointer[size]
}

func (m *merge) tools(prev *toolSet, digest uint64, strays strays) *toolSet {
	if prev != nil && prev.digest == digest && prev.list.hint == m.hint(listTools) {
		return prev
	}
	s := &toolSet{byName: make(map[string]*tool), reserved: make(map[string]*backend.Backend), outranked: make(map[ownName]*tool), digest: digest}
	s.list = m.list(listTools, "tool", &s.conflicts, func(p part, add func(string, entry) bool) {
		list := portable.NewList(m.showing.work)
		defer m.reportWithheld(p.backend.Name(), list)
		for _, x := range p.catalog.Tools {
			if x.GetName() == "" {
				add("", entry{})
				continue
			}
			t := &tool{name: p.backend.Prefix() + x.GetName(), owner: p.backend, pb: x, tasks: translate.TaskSupport(x.GetTaskSupport())}
			render := func(dst []byte, r *revision.Rules) ([]byte, error) {
				return translate.AppendTool(dst, r, t.shown, t.name)
			}
			t.target = policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: t.name, Backend: t.owner.Name(), Hints: hintsOf(x.GetAnnotations())}
			if !add(t.name, entry{render: render, target: t.target}) {
				t.shown, t.check = x, newToolCheck(p.backend.Name(), x, m.report)
				s.outranked[ownName{p.backend.Name(), t.name}] = t
				continue
			}
			var before *tool
			if prev != nil {
				before = prev.byName[t.name]
			}
			if before != nil && before.pb == x {
				t.check = before.check
			} else {
				t.check = newToolCheck(p.backend.Name(), x, m.report)
			}
			_, t.stray = strays[[2]string{p.backend.Name(), x.GetName()}]
			if t.shown = x; !t.owner.FullSchemas() {
				t.show(list, before)
			} else if t.stray {
				t.shown = pageless(x)
			}
			s.byName[t.name] = t
		}
	}, func(name string, rank int) { s.reserved[name] = m.parts[rank].backend })
	return s
}

// repeatable: running it twice does no more than running it once.
func (t *tool) repeatable() bool {
	a := t.pb.GetAnnotations()
	return a.GetReadOnly() || a.GetIdempotent()
}

// callTool runs tools/call (MCP, "Tools", "Calling Tools").
func (r *round) callTool(ctx context.Context) (mcp.Reply, error) {
	t := r.tool
	r.effects = !t.repeatable()
	if err := r.admitted(ctx, t.owner.Name()); err != nil {
		return mcp.Reply{}, err
	}
	args, err := r.arguments()
	if err != nil {
		return mcp.Reply{}, err
	}
	// What follows takes memory and time, so that it is done for as many calls as the backend has places.
	release, err := r.admit(ctx, t.owner)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer release()
	check := t.check.ready()
	if r.rules.Stateless && r.call.Header != nil && len(check.headers) > 0 {
		if err := checkParamHeaders(check.headers, r.call.Header, args); err != nil {
			return mcp.Reply{}, err
		}
	}
	if err := r.fits(check, args); errors.Is(err, schema.ErrCost) {
		return mcp.Reply{}, r.tooCostly(t)
	} else if full := (*mcp.Error)(nil); errors.As(err, &full) {
		return mcp.Reply{}, full
	} else if err != nil {
		return r.schemaError(err)
	}
	req, err := translate.CallToolRequest(r.call, t.pb.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	if r.size = t.size.Load(); r.size == nil {
		r.size = r.d.sizes.of(t.owner, mcp.MethodToolsCall, t.pb.GetName())
		t.size.Store(r.size)
	}
	r.tell(req.Context, t.owner)
	ctx, end, err := r.enter(ctx, t.owner, t.pb.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	stream, err := t.owner.Tools().CallTool(ctx, req)
	if err != nil {
		return r.toolError(r.status(ctx, err))
	}
	out, err := receive[pb.CallToolResponse, *pb.CallToolResponse, *pb.CallToolResult](ctx, r, stream)
	if err != nil {
		return r.toolError(err)
	}
	if out.input != nil {
		reply, err := r.inputRequired(out.input)
		if err != nil {
			return r.toolError(err)
		}
		return reply, nil
	}
	return r.toolResult(t, check, out.result)
}

// CancelCall tells the backend of a call that it was cancelled between two rounds. A backend that has nothing to end, or cannot be told, is
// no error.
func (d *Dispatch) CancelCall(ctx context.Context, rules *revision.Rules, call *mcp.Call) error {
	v, err := d.views.forCall(ctx, call)
	if err != nil {
		return err
	}
	t := v.toolOf(call)
	if t == nil {
		return nil
	}
	call, _ = withOwnState(call)
	if call.State == nil {
		return nil
	}
	r := &round{d: d, view: v, rules: rules, call: call}
	ctx, end, err := r.begin(ctx, t.owner, t.pb.GetName())
	if err != nil {
		return err
	}
	defer end()
	req := translate.CancelCallRequest(call, t.pb.GetName())
	r.tell(req.Context, t.owner)
	if _, err = t.owner.Tools().CancelCall(ctx, req); status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}

// ownName is what a backend has, by its name and the name that clients see.
type ownName struct{ backend, name string }

// toolOf is the tool that a call is about: that of the backend which it belongs to, if it belongs to one. nil: there is none.
func (v *view) toolOf(call *mcp.Call) *tool {
	t := v.tools.byName[call.Params.Target]
	if call.Backend == "" || t != nil && t.owner.Name() == call.Backend {
		return t
	}
	return v.tools.outranked[ownName{call.Backend, call.Params.Target}]
}

// schemaError tells that arguments do not fit, the way the revision does.
func (r *round) schemaError(detail error) (mcp.Reply, error) {
	result, err := translate.SchemaError(r.rules, r.d.server, detail.Error())
	if err != nil {
		return mcp.Reply{}, err
	}
	return mcp.Reply{Result: result, ToolError: true}, nil
}

// toolError is an error of the backend: a result, when a model can act on it.
func (r *round) toolError(err error) (mcp.Reply, error) {
	e := mcp.AsError(err)
	if result, ok := translate.ToolError(r.rules, r.d.server, e); ok {
		return mcp.Reply{Result: result, ToolError: true}, nil
	}
	return mcp.Reply{}, e
}

// toolResult renders a result that keeps the tool's promise: structured content by the output schema.
func (r *round) toolResult(t *tool, check *toolCheck, res *pb.CallToolResult) (mcp.Reply, error) {
	if check.hasOutput && !res.GetIsError() {
		promise, err := check.promised(res.GetStructuredContentJson())
		if err == nil {
			err = misfit(r.checkResult(&promise))
		}
		if err != nil {
			return mcp.Reply{}, r.broken("tool %q: %v", t.pb.GetName(), err)
		}
	}
	reply, err := translate.ToolResult(r.rules, r.d.server, r.call.Envelope, res)
	if err != nil {
		return mcp.Reply{}, r.blame(err)
	}
	return reply, nil
}
