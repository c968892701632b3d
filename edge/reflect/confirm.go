package reflect

import "context"

// Confirmation returns the message that the user must confirm before each call of a tool, in the
// words of the service. confirmed marks the context of a confirmed call. It is nil if the tool
// requires no confirmation.
func (a *Adapter) Confirmation(tool string) (message string, confirmed func(context.Context) context.Context) {
	m, _ := a.current()
	if m == nil || m.methods[tool] == nil {
		return "", nil
	}
	ask := m.methods[tool].options.GetConfirm()
	if ask == nil {
		return "", nil
	}
	if message = ask.GetMessage(); message == "" {
		message = "Run “" + m.methods[tool].tool.Title + "”?"
	}
	return message, withConfirmation
}

// confirmedKey is the key of a context of a call that the user has confirmed.
type confirmedKey struct{}

// withConfirmation returns the context of a call that the user has confirmed.
func withConfirmation(ctx context.Context) context.Context {
	return context.WithValue(ctx, confirmedKey{}, true)
}

// unconfirmed reports whether a round begins a call without the confirmation that it requires,
// because the service was learned again after the edge had called Confirmation.
func (c *call) unconfirmed() bool {
	return c.method.options.GetConfirm() != nil && c.events.ctx.Value(confirmedKey{}) == nil
}
