package web

import (
	"net/http"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings every HTTP transport has. The zero value of each member is its documented
// default.
type Options struct {
	// MaxBody bounds a request body, in bytes; 0: DefaultMaxBody. A larger one is refused with 413.
	MaxBody int64
	// ReadTimeout is that of the server, which keeps to it, for who is told of it; 0: 30 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds one write to a client; 0: 10 s. A client that takes longer is disconnected.
	WriteTimeout time.Duration
	// Origins are the origins of browsers that may call, such as "https://app.example"; "*" allows
	// any. Without one only an origin that names the edge's own host may.
	Origins []string
	// Telemetry counts the bounds that are met; nil: nothing does.
	Telemetry *telemetry.Telemetry
	// Hosts are the names that the Host header may have, without port; empty: any. A listener on
	// loopback must set them, or a web page could reach it by DNS rebinding.
	Hosts []string
	// Linked lets a page of another site link to what is behind, for a handler whose GET has no effect and costs little: a browser that
	// follows a link, or opens an address, may.
	Linked bool
	// Proxies are those whose word is taken for the address of a client; nil: nobody's is.
	Proxies Proxies
	// Budget admits what requests hold in memory; nil: everything. It charges Holder, or else the request's
	// principal or address.
	Budget *budget.Budget
	Holder *budget.Holder
	// Tokens has requests keep the access token that they came with, see Guard.Token.
	Tokens bool
	// Refusal renders the body of what is refused, JSON; nil: a JSON-RPC error without an id.
	Refusal func(status int, message string) []byte
}

// DefaultMaxBody is what fits into a gRPC message of the default size (4 MiB) beside its context.
const DefaultMaxBody = 4<<20 - 64<<10

const defaultReadTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 10 * time.Second
	}
	if o.Refusal == nil {
		o.Refusal = func(status int, message string) []byte {
			switch status {
			case http.StatusServiceUnavailable:
				return refusal(codeNotNow, message)
			case http.StatusUnauthorized:
				return refusal(codeUnauthenticated, message)
			case http.StatusTooManyRequests:
				return refusal(codeLimit, message)
			}
			return Refusal(message)
		}
	}
	return o
}
