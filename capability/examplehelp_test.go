package capability_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// exampleClient prints the answers of the examples' servers, one per line.
type exampleClient struct{ *capabilitytest.Client }

// serve serves s as Main does in a separate process, until stop is called.
func serve(s *capability.Server) (c exampleClient, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	client := &capabilitytest.Client{Conn: conn, Tools: mcpedgev1.NewToolServiceClient(conn),
		Resources: mcpedgev1.NewResourceServiceClient(conn), Prompts: mcpedgev1.NewPromptServiceClient(conn)}
	return exampleClient{client}, func() {
		_ = conn.Close()
		cancel()
		if err := <-served; err != nil {
			fmt.Println(err)
		}
	}
}

// accepts accepts every form with content, and has no roots. declines declines every form.
func accepts(content string) func(*capability.InputRequest) *capability.InputResponse {
	return answers(&mcpedgev1.ElicitResult{Action: mcpedgev1.ElicitAction_ELICIT_ACTION_ACCEPT, ContentJson: content})
}

func declines(q *capability.InputRequest) *capability.InputResponse {
	return answers(&mcpedgev1.ElicitResult{Action: mcpedgev1.ElicitAction_ELICIT_ACTION_DECLINE})(q)
}

func answers(elicited *mcpedgev1.ElicitResult) func(*capability.InputRequest) *capability.InputResponse {
	return func(q *capability.InputRequest) *capability.InputResponse {
		if q.GetListRoots() != nil {
			return &capability.InputResponse{Response: &mcpedgev1.InputResponse_ListRoots{ListRoots: &mcpedgev1.ListRootsResult{}}}
		}
		fmt.Println("asked:", q.GetElicitForm().GetMessage())
		return &capability.InputResponse{Response: &mcpedgev1.InputResponse_Elicit{Elicit: elicited}}
	}
}

func (c exampleClient) call(tool string, arguments any) string {
	out, err := c.CallTool(context.Background(), tool, arguments)
	if err != nil {
		return err.Error()
	}
	for _, p := range out.Progress {
		fmt.Printf("progress: %v of %v, %s\n", p.GetProgress(), p.GetTotal(), p.GetMessage())
	}
	if structured := out.Result.GetStructuredContentJson(); structured != "" {
		return structured
	}
	return saying(out.Result.GetContent(), out.Failure)
}

func (c exampleClient) read(uri string) string {
	out, err := c.ReadResource(context.Background(), uri)
	switch {
	case err != nil:
		return err.Error()
	case out.Failure != nil:
		return saying(nil, out.Failure)
	}
	return out.Result.GetContents()[0].GetText()
}

func (c exampleClient) prompt(name string, arguments map[string]string) string {
	out, err := c.GetPrompt(context.Background(), name, arguments)
	switch {
	case err != nil:
		return err.Error()
	case out.Failure != nil:
		return saying(nil, out.Failure)
	}
	return saying([]*capability.Content{out.Result.GetMessages()[0].GetContent()}, nil)
}

// saying returns the first text of some content, or the failure.
func saying(content []*capability.Content, failure *mcpedgev1.Failure) string {
	if failure != nil {
		return fmt.Sprintf("%s: %s", failure.GetReason(), failure.GetMessage())
	}
	return content[0].GetText().GetText()
}
