package capability

import (
	"encoding/json"
	"fmt"
	"strings"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// onceMark begins the keys under which values of Once are kept among the answers; no client's answer has it.
const onceMark = "\x00once:"

// Once gives a call a value that is the same in all its rounds: a time, a random id, a price as it was when the user was
// asked. fn is called in the first round that comes by; later rounds get what it returned then. key is the value's own
// among those of the call, 1 to 128 bytes.
//
// The value is kept as JSON in the state of the call, within the 64 KiB that all answers have together, from the next
// question on: what it was before it was encoded is lost in the first round, too, so that all rounds see the same. A
// round that is lost with its edge before it asked calls fn again. An error of fn is returned, and nothing is kept: the
// next round calls fn again. Use it in the handler's own goroutine, as Ask.
func Once[T any](c *Call, key string, fn func() (T, error)) (T, error) {
	var value T
	kept, err := c.once(key, func() (string, error) {
		v, err := fn()
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return "", fmt.Errorf("capability: the value of Once %q cannot be kept: %w", key, whereNotFinite(v, err))
		}
		return string(text), nil
	})
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal([]byte(kept), &value); err != nil {
		return value, fmt.Errorf("capability: the value of Once %q cannot be read again: %w", key, err)
	}
	return value, nil
}

// once returns the JSON that is kept under a key, or keeps what fn makes.
func (c *Call) once(key string, fn func() (string, error)) (string, error) {
	if key == "" || len(key) > maxKey {
		return "", fmt.Errorf("capability: the key of Once has 1 to %d bytes, not %d: %.40q", maxKey, len(key), key)
	}
	c.mu.Lock()
	r := c.answers.keptUnder(onceMark + key)
	c.mu.Unlock()
	if r != nil {
		return r.GetRawJson(), nil
	}
	text, err := fn() // may ask
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers.kept = append(c.answers.kept, &InputResponse{
		Key: onceMark + key, Response: &mcpedgev1.InputResponse_RawJson{RawJson: text},
	})
	return text, nil
}

// keptUnder returns what was kept under a key in an earlier round or in this one; nil: nothing.
func (a *answers) keptUnder(key string) *InputResponse {
	for _, r := range a.kept {
		if r.GetKey() == key {
			return r
		}
	}
	return nil
}

// isOnce says whether an answer has a key of Once.
func isOnce(r *InputResponse) bool { return strings.HasPrefix(r.GetKey(), onceMark) }
