package audit

import "github.com/mcpedge/mcpedge/edge/jsonrpc"

// Hook is the decision of one hook.
type Hook struct {
	// Name is the name of the hook. On is the checked message: request, answer or result.
	Name, On string
	// Outcome is pass, replace, deny, failed, busy or open.
	Outcome string
	// Reason is the reason of a denial or a failure. It may be empty.
	Reason string
	// Would means that the outcome had no effect, because the hook is in audit mode.
	Would bool
}

// appendHooks appends the member hooks, unless there are none.
func appendHooks(dst []byte, hooks []Hook) []byte {
	if len(hooks) == 0 {
		return dst
	}
	return appendHookList(append(dst, `,"hooks":`...), hooks)
}

// appendHookList appends an array of at least one hook.
func appendHookList(dst []byte, hooks []Hook) []byte {
	for i := range hooks {
		h := &hooks[i]
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		dst = jsonrpc.AppendString(append(append(dst, separator), `{"name":`...), h.Name)
		dst = jsonrpc.AppendString(append(dst, `,"on":`...), h.On)
		dst = jsonrpc.AppendString(append(dst, `,"outcome":`...), h.Outcome)
		if h.Reason != "" {
			dst = jsonrpc.AppendString(append(dst, `,"reason":`...), h.Reason)
		}
		if h.Would {
			dst = append(dst, `,"would":true`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
