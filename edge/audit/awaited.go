package audit

import (
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Awaited is a call that waits for the approval that an operator gives or refuses.
type Awaited struct {
	// Names are those of the approvals that the call waits for.
	Names []string
	// Requester is the caller that made the call.
	Requester Who
}

// size estimates the memory of a, which may be nil, in bytes.
func (a *Awaited) size() (n int) {
	if a == nil {
		return 0
	}
	for _, name := range a.Names {
		n += len(name) + 16
	}
	return n + len(a.Requester.Issuer) + len(a.Requester.Subject) + len(a.Requester.Client) + overhead/4
}

// encode returns a as JSON. It returns nil if a is nil.
func (a *Awaited) encode() []byte {
	if a == nil {
		return nil
	}
	dst := []byte(`{"names":[`)
	for i, name := range a.Names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(dst, name)
	}
	who := &a.Requester
	dst = jsonrpc.AppendString(append(dst, `],"requester":{"issuer":`...), who.Issuer)
	dst = jsonrpc.AppendString(append(dst, `,"subject":`...), who.Subject)
	if who.SubjectIsClient {
		dst = append(dst, `,"subject_is_client":true`...)
	}
	if who.Client != "" {
		dst = jsonrpc.AppendString(append(dst, `,"client_id":`...), who.Client)
	}
	return append(dst, "}}"...)
}
