package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// patience bounds every step.
const patience = 60 * time.Second

// The trace that callers say they are in.
const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// traced calls the example's tool as the edge does, with trace context in the metadata, and is an error
// unless the tool ran under the caller's trace.
func traced(ctx context.Context, e *example) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := grpc.NewClient(e.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := pb.NewToolServiceClient(conn).CallTool(metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent), &pb.CallToolRequest{
		Name: "brew", ArgumentsJson: `{"tea":"oolong"}`,
		Context: &pb.RequestContext{CallId: "traced", Attempt: 1, Round: 2},
		InputResponses: []*pb.InputResponse{{Key: "cups", Response: &pb.InputResponse_Elicit{Elicit: &pb.ElicitResult{
			Action: pb.ElicitAction_ELICIT_ACTION_ACCEPT, ContentJson: `{"cups":1}`}}}},
	})
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("before a result: %w", err)
		}
		if result := m.GetResult(); result != nil {
			var got tea
			if err := json.Unmarshal([]byte(result.GetStructuredContentJson()), &got); err != nil {
				return err
			}
			return equal("result", got, tea{Tea: "oolong", Cups: 1, Trace: traceID})
		}
	}
}
