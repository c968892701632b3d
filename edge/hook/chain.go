package hook

// Chain is a list of hooks in the order of their RPCs. It is immutable. A nil Chain is empty.
type Chain struct{ hooks []*Hook }

// NewChain returns the chain of hooks, or nil without hooks.
func NewChain(hooks []*Hook) *Chain {
	if len(hooks) == 0 {
		return nil
	}
	return &Chain{hooks}
}

// Hooks returns the hooks of the chain.
func (c *Chain) Hooks() []*Hook {
	if c == nil {
		return nil
	}
	return c.hooks
}

// Acquire keeps the connections of the hooks open until Release. It returns false if one is closed,
// because the chain was replaced.
func (c *Chain) Acquire() bool {
	for i, h := range c.Hooks() {
		if !h.conn.Acquire() {
			for _, before := range c.hooks[:i] {
				before.conn.Release()
			}
			return false
		}
	}
	return true
}

// Release undoes one Acquire that returned true.
func (c *Chain) Release() {
	for _, h := range c.Hooks() {
		h.conn.Release()
	}
}
