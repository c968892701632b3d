package capability_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// A value of Once is computed in one round and is the same in all later ones.
func TestOnceOverRounds(t *testing.T) {
	s := capability.New("once", "1")
	var made, rounds int
	addTool(s, "price", func(_ context.Context, c *capability.Call) (string, error) {
		rounds++
		price, err := capability.Once(c, "price", func() (int64, error) {
			made++
			return 1<<53 + int64(made), nil
		})
		if err != nil {
			return "", err
		}
		if _, err := capability.Ask[age](c, "age", "How old?"); err != nil {
			return "", err
		}
		n, err := capability.Ask[name](c, "name", fmt.Sprint("Who pays ", price, "?"))
		return fmt.Sprint(n.First, " pays ", price), err
	})
	client := capabilitytest.Start(t, s)
	client.Answer = func(r *capability.InputRequest) *capability.InputResponse {
		switch r.GetKey() {
		case "age":
			return capabilitytest.Accepted(`{"years":3}`)
		default:
			if want := "Who pays 9007199254740993?"; r.GetElicitForm().GetMessage() != want {
				t.Errorf("asked %q, want %q", r.GetElicitForm().GetMessage(), want)
			}
			return capabilitytest.Accepted(`{"first":"Ada"}`)
		}
	}
	o, err := client.CallTool(t.Context(), "price", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(o), "Ada pays 9007199254740993"; got != want || made != 1 || rounds != 3 {
		t.Errorf("%q after %d rounds with the value made %d times, want %q after 3 with 1", got, rounds, made, want)
	}
}

// An error is returned and not stored: the next round computes the value again. An invalid key and
// a value that JSON cannot encode are errors.
func TestOnceFails(t *testing.T) {
	s := capability.New("once", "1")
	var made int
	addTool(s, "flaky", func(_ context.Context, c *capability.Call) (string, error) {
		value, err := capability.Once(c, "value", func() (string, error) {
			if made++; made == 1 {
				return "", errors.New("not yet")
			}
			return fmt.Sprint("made ", made), nil
		})
		if _, err := capability.Ask[age](c, "age", "How old?"); err != nil {
			return "", err
		}
		return value, err
	})
	for name, key := range map[string]string{"empty": "", "long": strings.Repeat("k", 129)} {
		addTool(s, name, func(_ context.Context, c *capability.Call) (string, error) {
			return capability.Once(c, key, func() (string, error) { return "made", nil })
		})
	}
	addTool(s, "unkept", func(_ context.Context, c *capability.Call) (string, error) {
		_, err := capability.Once(c, "channel", func() (chan int, error) { return nil, nil })
		return "kept", err
	})
	client := capabilitytest.Start(t, s)
	client.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":3}`)
	}
	for tool, want := range map[string]string{
		"flaky": "made 2", "empty": "has 1 to 128 bytes, not 0", "long": "has 1 to 128 bytes, not 129",
		"unkept": "cannot be stored",
	} {
		o, err := client.CallTool(t.Context(), tool, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(o); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}

// The second step of a round with the key of another one would not run, and a model that saw an
// error about a step would try again what has happened: the call ends as INTERNAL.
func TestOnceTwice(t *testing.T) {
	s := capability.New("once", "1")
	var made []string
	create := func(c *capability.Call, key, item string) (string, error) {
		return capability.Once(c, key, func() (string, error) {
			made = append(made, item)
			return item, nil
		})
	}
	addTool(s, "loop", func(_ context.Context, c *capability.Call) (string, error) {
		for _, item := range []string{"a", "b"} {
			if _, err := create(c, "order", item); err != nil {
				return "caught", nil
			}
		}
		return "done", nil
	})
	addTool(s, "replayed", func(_ context.Context, c *capability.Call) (string, error) {
		for _, item := range []string{"a", "b"} {
			if _, err := create(c, "order-"+item, item); err != nil {
				return "", err
			}
		}
		if _, err := capability.Ask[age](c, "age", "How old?"); err != nil {
			return "", err
		}
		return create(c, "order-b", "c")
	})
	addTool(s, "elsewhere", func(_ context.Context, c *capability.Call) (string, error) {
		_, _ = create(c, "order", "a")
		var done sync.WaitGroup
		done.Go(func() { _, _ = create(c, "order", "b") })
		done.Wait()
		return "done", nil
	})
	addTool(s, "unkept", func(_ context.Context, c *capability.Call) (string, error) {
		_, err := capability.Once(c, "channel", func() (chan int, error) { return nil, nil })
		if err != nil {
			return "caught", nil
		}
		return "kept", nil
	})
	client := capabilitytest.Start(t, s)
	client.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":3}`)
	}
	for tool, says := range map[string]string{
		"loop":      `once "order" came twice in one round, where the second has the value of the first; give each its own key`,
		"replayed":  `once "order-b" came twice in one round`,
		"elsewhere": `once "order" came twice in one round`,
		"unkept":    `the value of once "channel" cannot be stored`,
	} {
		made = nil
		out, err := client.CallTool(limit(t), tool, nil)
		if err != nil || out.Failure.GetReason() != capability.Internal || !strings.Contains(out.Text(), says) || len(made) > 2 || slices.Contains(made, "c") {
			t.Errorf("%s: %v, %v, made %q; want %q", tool, out, err, made, says)
		}
	}
}

// A loop that asks one question until it likes the answer ends: the answer stays the same.
func TestAskWithoutEnd(t *testing.T) {
	s := capability.New("asking", "1")
	addTool(s, "until", func(_ context.Context, c *capability.Call) (string, error) {
		for {
			answer, err := capability.Ask[age](c, "age", "How old?")
			if err != nil || answer.Years > 3 {
				return "old", err
			}
		}
	})
	client := capabilitytest.Start(t, s)
	client.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":3}`)
	}
	out, err := client.CallTool(limit(t), "until", nil)
	says := `one round asked the question "age" 1000 times, and its answer stays the same; ask again under another key`
	if err != nil || out.Failure.GetReason() != capability.Internal || !strings.Contains(out.Text(), says) {
		t.Errorf("%v, %v", out, err)
	}
}
