// Command teahouse has a tool that asks its user and reports progress, a resource template and a prompt.
package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/capability"
)

var (
	names  = []string{"assam", "oolong", "sencha"}
	tastes = map[string]string{"assam": "strong and malty", "oolong": "between green and black", "sencha": "fresh and grassy"}
)

const (
	base = "tea://go/"
	pace = 250 * time.Millisecond // of a minute in this house
)

// order has the arguments of brew, cups the answer that it asks for, brewed its result. steeping has the arguments and the result of steep.
type (
	order struct {
		Tea string `json:"tea" enum:"assam,oolong,sencha"`
	}
	cups struct {
		Cups int `json:"cups" minimum:"1" maximum:"5"`
	}
	steeping struct {
		Minutes int `json:"minutes" minimum:"1"`
	}
	brewed struct {
		Tea   string `json:"tea"`
		Cups  int    `json:"cups"`
		Trace string `json:"trace"`
	}
)

// brew runs again from its top when the user has answered: until then, Ask does not return.
func brew(ctx context.Context, c *capability.Call, in order) (brewed, error) {
	out := brewed{Tea: in.Tea, Trace: trace.SpanContextFromContext(ctx).TraceID().String()}
	answer, err := capability.Ask[cups](c, "cups", fmt.Sprintf("How many cups of %s?", in.Tea))
	if err != nil {
		return out, nil // the user wants none
	}
	for out.Cups < answer.Cups {
		out.Cups++
		c.Progress(float64(out.Cups), float64(answer.Cups), fmt.Sprintf("cup %d of %d", out.Cups, answer.Cups))
	}
	return out, nil
}

// steep takes long. Nothing in it concerns tasks: when its task is cancelled, ctx is. It may run again from its top.
func steep(ctx context.Context, c *capability.Call, in steeping) (steeping, error) {
	for minute := 1; minute <= in.Minutes; minute++ {
		c.Progress(float64(minute), float64(in.Minutes), fmt.Sprintf("minute %d of %d", minute, in.Minutes))
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			fmt.Println("steeping was cancelled")
			return in, ctx.Err()
		}
	}
	return in, nil
}

// kiln is a table of jobs, as a queue or a batch system is one.
type kiln struct {
	mu   sync.Mutex
	jobs map[string]time.Time // when each will be done
}

// fire adds a job to the table in its first round, and queries it in later ones: the state of the call is the name of the job. A
// round may run twice, because a replica may fail.
func (k *kiln) fire(_ context.Context, c *capability.Call, in steeping) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	job := string(c.State())
	if job == "" {
		job = c.ID()
		k.jobs[job] = time.Now().Add(time.Duration(in.Minutes) * pace)
	}
	done, known := k.jobs[job]
	if !known {
		return "", capability.Errorf(capability.NotFound, "there is no job %s", job)
	}
	if left := time.Until(done); left > 0 {
		if minute := in.Minutes - int(left/pace); len(c.State()) > 0 {
			c.Progress(float64(minute), float64(in.Minutes), fmt.Sprintf("minute %d of %d", minute, in.Minutes))
		}
		return "", &capability.InputRequired{State: []byte(job), RetryAfter: pace, Repeatable: true}
	}
	return fmt.Sprintf("fired for %d minutes", in.Minutes), nil
}

// quench removes the job of a cancelled task from the table.
func (k *kiln) quench(_ context.Context, c *capability.Call) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.jobs, string(c.State()))
	fmt.Println("the kiln was quenched")
	return nil
}

func read(_ context.Context, _ *capability.Call, uri string, vars map[string]string) (string, error) {
	taste, known := tastes[vars["name"]]
	if !known {
		return "", capability.Errorf(capability.NotFound, "there is no resource %s", uri)
	}
	return vars["name"] + " is " + taste, nil
}

func recommend(_ context.Context, _ *capability.Call, args map[string]string) (string, error) {
	return fmt.Sprintf("Recommend one of %s to a guest who feels %s.", strings.Join(names, ", "), args["mood"]), nil
}

func main() {
	tracing := otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(sdktrace.NewTracerProvider()), // give it a span processor to export what is traced
		otelgrpc.WithPropagators(propagation.TraceContext{}))
	s := capability.New("teahouse-go", "1.0.0", capability.WithServerOptions(grpc.StatsHandler(tracing)))
	capability.AddTool(s, "brew", "Brews as many cups as asked", brew)
	capability.AddTool(s, "steep", "Steeps for minutes", steep, capability.Idempotent(), capability.Tasks(capability.TaskOptional))
	k := &kiln{jobs: map[string]time.Time{}}
	capability.AddTool(s, "fire", "Fires a pot, as a job of the kiln's own", k.fire, capability.Tasks(capability.TaskOptional))
	s.OnCancel("fire", k.quench)
	for _, name := range names {
		capability.AddResource(s, &capability.Resource{Uri: base + name, Name: name, MimeType: "text/plain"},
			func(ctx context.Context, c *capability.Call, uri string) (string, error) {
				return read(ctx, c, uri, map[string]string{"name": name})
			})
	}
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: base + "{name}", Name: "tea", MimeType: "text/plain"},
		read, capability.Suggest("name", names...))
	capability.AddPrompt(s, &capability.Prompt{Name: "recommend", Description: "Recommends a tea",
		Arguments: []*capability.PromptArgument{{Name: "mood", Description: "How the guest feels", Required: true}}}, recommend)
	capability.Main(s)
}
