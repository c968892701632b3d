package admin

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"unicode"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Act is an operator's action on the admin address. Requests that a client could make, such as
// calls of tools, are not acts: they are recorded like those of clients.
type Act struct {
	// Operator is the authenticated principal, or the administrator without authentication.
	Operator mcp.Principal
	// Address is the source of the request; zero if unknown.
	Address netip.Addr
	// Method is one of the constants below.
	Method string
	// Target is the level that was set, or the canonical name of a tool that was disabled or
	// enabled, or whose call was approved. Backend is the tool's backend, or the backend that was
	// disabled or enabled. Set is the set that was disabled or enabled, or the set of the call.
	// Reason is the operator's. Session and Task are ids. Fields that do not apply are empty.
	Target, Backend, Set, Reason, Session, Task string
	// Approval is the id of the approval that a decision names. It is empty for other acts.
	Approval string
	// Awaited is the call whose approval the operator decides on. It is nil if that is unknown, and
	// for other acts.
	Awaited *mcp.Approval
	// Denied means that the operator may not do it, so that it has no effect.
	Denied bool
}

// The methods of acts.
const (
	ActEndSession = "admin/sessions/end"
	ActCancelTask = "admin/tasks/cancel"
	ActGrant      = "admin/approvals/grant"
	ActRefuse     = "admin/approvals/refuse"
	ActRollBack   = "admin/settings/rollback"
	ActDrain      = "admin/drain"
	ActLogLevel   = "admin/loglevel"
	ActDisable    = "admin/catalog/disable"
	ActEnable     = "admin/catalog/enable"
)

// Auditor records acts. It must be safe for concurrent use.
type Auditor interface {
	// Operate records an act before it has an effect. ended must be called once, when it has ended,
	// with ok or a word for the error. The error, a *mcp.Error, says that the act cannot be
	// recorded, and must not be done.
	Operate(ctx context.Context, a *Act) (ended func(outcome string), err error)
}

// operations records acts. A nil Auditor records nothing.
type operations struct{ records Auditor }

// do records an act, runs fn and records its outcome. The error is that of fn, or a status if the
// act cannot be recorded.
func (o operations) do(ctx context.Context, a Act, fn func() error) error {
	if o.records == nil {
		return fn()
	}
	a.Operator = caller(ctx)
	a.Address, _ = ctx.Value(addressKey{}).(netip.Addr)
	ended, err := o.records.Operate(ctx, &a)
	if err != nil {
		return unrecorded(err)
	}
	err = fn()
	ended(outcomeOf(err))
	return err
}

// unrecorded returns the status of an act that cannot be recorded and therefore is not done.
func unrecorded(err error) error {
	st := status.New(codes.Unavailable, err.Error())
	if e := (*mcp.Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
		if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}); err == nil {
			st = with
		}
	}
	return st.Err()
}

// outcomeOf returns ok, or the code of a status in lower case: not_found.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	var b strings.Builder
	for i, r := range status.Code(err).String() {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

type addressKey struct{}

// addressed adds the client address of an HTTP request to its context, for acts.
func addressed(r *http.Request) context.Context {
	return context.WithValue(r.Context(), addressKey{}, web.Proxies(nil).Address(r))
}
