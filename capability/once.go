package capability

import (
	"encoding/json"
	"fmt"
	"strings"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// onceMark begins the keys under which values of Once are stored among the client's answers. No key
// of a question begins with it.
const onceMark = "\x00once:"

// Once returns a value that is the same in all rounds of a call: a time, a random id, a price at
// the time the user was asked. It calls fn in the first round that reaches it; later rounds get the
// stored value. key is unique among the Once keys of the call, 1 to 128 bytes: in a loop it has the id
// of the item. A second Once with the key of another one ends the call as INTERNAL, because its fn
// would not be called.
//
// The value is stored as JSON in the state of the call from the next question on; it counts towards
// the 64 KiB of answers and state. It is decoded from that JSON in every round, also in the first,
// so that all rounds see the same value. fn is called again if a replica fails before the round
// ends with a question. An error of fn is returned and not stored: the next round calls fn again. A
// value that JSON cannot store ends the call as INTERNAL.
// Once must be called in the handler's own goroutine, as Ask.
func Once[T any](c *Call, key string, fn func() (T, error)) (T, error) {
	var value T
	kept, err := c.once(key, func() (string, error) {
		v, err := fn()
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return "", c.keyMistake(fmt.Sprintf("the value of once %.40q cannot be stored: %v", key, whereNotFinite(v, err)))
		}
		return string(text), nil
	})
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal([]byte(kept), &value); err != nil {
		return value, c.keyMistake(fmt.Sprintf("the value of once %.40q cannot be decoded: %v", key, err))
	}
	return value, nil
}

// once returns the JSON stored under a key. If there is none, it calls fn and stores the result.
func (c *Call) once(key string, fn func() (string, error)) (string, error) {
	if err := c.step(key); err != nil {
		return "", err
	}
	c.mu.Lock()
	r := c.answers.keptUnder(onceMark + key)
	c.answers.stepped[key] = r != nil
	c.mu.Unlock()
	if r != nil {
		return r.GetRawJson(), nil
	}
	text, err := fn() // fn may ask
	if err != nil {
		return "", err
	}
	if err := c.step(key); err != nil { // fn may have taken the key, or another goroutine
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers.stepped[key] = true
	c.answers.kept = append(c.answers.kept, &InputResponse{
		Key: onceMark + key, Response: &mcpedgev1.InputResponse_RawJson{RawJson: text},
	})
	return text, nil
}

// step returns an error if a key is not one for Once, or if this round has its value already.
func (c *Call) step(key string) error {
	if key == "" || len(key) > maxKey {
		return c.keyMistake(fmt.Sprintf("the key of once has 1 to %d bytes, not %d: %.40q", maxKey, len(key), key))
	}
	c.mu.Lock()
	if c.answers.stepped == nil {
		c.answers.stepped = make(map[string]bool)
	}
	again := c.answers.stepped[key]
	c.mu.Unlock()
	if again {
		return c.keyMistake(fmt.Sprintf("once %.40q came twice in one round, where the second has the value of the first; "+
			"give each its own key, as %.40q + id", key, key+"-"))
	}
	return nil
}

// keptUnder returns the value stored under a key in an earlier round or in this one, or nil.
func (a *answers) keptUnder(key string) *InputResponse {
	for _, r := range a.kept {
		if r.GetKey() == key {
			return r
		}
	}
	return nil
}

// isOnce reports whether an answer has a key of Once.
func isOnce(r *InputResponse) bool { return strings.HasPrefix(r.GetKey(), onceMark) }
