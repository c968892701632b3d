// Command teahouse is a tool that asks its user and tells how it goes, a resource template and a prompt.
package main

import (
	"context"
	"fmt"
	"strings"

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

const base = "tea://go/"

// order is what the tool is called with, cups what it asks for, brewed what it gives.
type (
	order struct {
		Tea string `json:"tea" enum:"assam,oolong,sencha"`
	}
	cups struct {
		Cups int `json:"cups" minimum:"1" maximum:"5"`
	}
	brewed struct {
		Tea   string `json:"tea"`
		Cups  int    `json:"cups"`
		Trace string `json:"trace"`
	}
)

// brew runs anew when the user has answered: until then, Ask does not return.
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
