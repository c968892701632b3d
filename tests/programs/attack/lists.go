package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// lists is a backend whose list of tools is what an attack says.
type lists struct {
	mcpedgev1.UnimplementedToolServiceServer
	mode atomic.Int32
	// pages that were asked for.
	pages atomic.Int64
}

// What the list is like.
const (
	short   int32 = iota // one tool
	endless              // pages without an end
	million              // a thousand pages of a thousand tools
	hanging              // never answers
	large                // one page of the size a message may have
)

func newLists() *lists { return &lists{} }

func (l *lists) server() *grpc.Server {
	s := newServer()
	mcpedgev1.RegisterToolServiceServer(s, l)
	return s
}

// ListTools implements the contract.
func (l *lists) ListTools(ctx context.Context, in *mcpedgev1.ListToolsRequest) (*mcpedgev1.ListToolsResponse, error) {
	l.pages.Add(1)
	page := 0
	if in.PageToken != "" {
		_, _ = fmt.Sscanf(in.PageToken, "page %d", &page) // one that was never given is the first page
	}
	next := fmt.Sprintf("page %d", page+1)
	switch l.mode.Load() {
	case endless:
		return &mcpedgev1.ListToolsResponse{Tools: tools(page, 1000, ""), NextPageToken: next}, nil
	case million:
		if page == 999 {
			next = ""
		}
		return &mcpedgev1.ListToolsResponse{Tools: tools(page, 1000, ""), NextPageToken: next}, nil
	case large:
		return &mcpedgev1.ListToolsResponse{Tools: tools(0, 150, strings.Repeat("d", 100<<10))}, nil
	case hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &mcpedgev1.ListToolsResponse{Tools: tools(0, 1, "")}, nil
}

func tools(page, n int, description string) []*mcpedgev1.Tool {
	var out []*mcpedgev1.Tool
	for i := range n {
		out = append(out, &mcpedgev1.Tool{Name: fmt.Sprintf("t%d_%d", page, i), Description: description})
	}
	return out
}
