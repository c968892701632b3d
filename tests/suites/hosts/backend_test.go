//go:build hosts

package hosts

import (
	"context"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// backend has a tool of every kind that hosts treat differently. It is safe for concurrent use.
type backend struct {
	mu    sync.Mutex
	gates map[string]*gate
}

// gate is where a call of the tool hold waits.
type gate struct {
	// arrived gets a value for each call that waits; closing open lets all pass.
	arrived, open chan struct{}
}

// gate makes a new gate with a name.
func (b *backend) gate(name string) *gate {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &gate{arrived: make(chan struct{}, 100), open: make(chan struct{})}
	b.gates[name] = g
	return g
}

// The names that hosts are given.
const (
	note   = "test://note"
	prompt = "edge_greeting"
)

func (b *backend) server() *capability.Server {
	s := capability.New("hosts", "1")
	type text struct {
		Text string `json:"text"`
	}
	capability.AddTool(s, "say_back", "Returns its text", func(_ context.Context, _ *capability.Call, in text) (string, error) {
		return "said " + in.Text, nil
	}, capability.ReadOnly())
	capability.AddTool(s, "count_up", "Reports progress", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		for i := range 3 {
			c.Progress(float64(i+1), 3, "counting")
		}
		return "counted", nil
	}, capability.ReadOnly())
	capability.AddTool(s, "ask_name", "Asks the user", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		in, err := capability.Ask[text](c, "name", "What is your name?")
		return "named " + in.Text, err
	})
	capability.AddTool(s, "hold_on", "Waits", func(ctx context.Context, c *capability.Call, in text) (string, error) {
		b.mu.Lock()
		g := b.gates[in.Text]
		b.mu.Unlock()
		g.arrived <- struct{}{}
		report := time.NewTicker(200 * time.Millisecond)
		defer report.Stop()
		for n := 1; ; n++ {
			c.Progress(float64(n), 0, "holding")
			select {
			case <-g.open:
				return "held", nil
			case <-report.C:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}, capability.ReadOnly())
	capability.AddTool(s, "take_time", "Takes some seconds", takeTime, capability.ReadOnly())
	capability.AddPrompt(s, &capability.Prompt{Name: prompt, Description: "Greets"},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "hello", nil })
	capability.AddResource(s, &capability.Resource{Uri: note, Name: "note", MimeType: "text/plain"},
		func(context.Context, *capability.Call, string) (string, error) { return "noted", nil })
	return s
}

// takeTimeIn are the arguments of take_time.
type takeTimeIn struct {
	Seconds  int  `json:"seconds"`
	Progress bool `json:"progress"`
}

func takeTime(ctx context.Context, c *capability.Call, in takeTimeIn) (string, error) {
	end := time.After(time.Duration(in.Seconds) * time.Second)
	report := time.NewTicker(5 * time.Second)
	defer report.Stop()
	for n := 1; ; n++ {
		select {
		case <-end:
			return "took its time", nil
		case <-report.C:
			if in.Progress {
				c.Progress(float64(5*n), float64(in.Seconds), "working")
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
