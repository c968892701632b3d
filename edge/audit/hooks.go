package audit

import "github.com/mcpedge/mcpedge/edge/jsonrpc"

// Hook is what one hook decided.
type Hook struct {
	// Name of the hook. On is what it was asked about: request, answer or result.
	Name, On string
	// Outcome is pass, replace, deny, failed, busy or open.
	Outcome string
	// Reason is that of a denial or a failure, or empty.
	Reason string
	// Would means that the outcome had no effect, by the mode of the hook.
	Would bool
}

// appendHooks appends the member hooks, if there are any.
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
