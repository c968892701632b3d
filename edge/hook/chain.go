package hook

// Chain has hooks in the order in which they are asked. It does not change. A nil Chain has none.
type Chain struct{ hooks []*Hook }

// NewChain returns the chain of hooks; nil if there are none.
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

// Acquire keeps the connections of the hooks open until Release. It returns false if one is closed: the chain was replaced.
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

// Release ends one Acquire that returned true.
func (c *Chain) Release() {
	for _, h := range c.Hooks() {
		h.conn.Release()
	}
}
