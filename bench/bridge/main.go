// Command bridge is the practical limit the edge is measured against: net/http in front, one gRPC call
// of the same contract on one shared connection behind, and no MCP at all. The path is the tool's name,
// the body its arguments.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mcpedge/mcpedge/bench/internal/serve"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func main() {
	backend := flag.String("backend", "", "gRPC target")
	flag.Parse()
	cc, err := grpc.NewClient(*backend, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	client := mcpedgev1.NewToolServiceClient(cc)
	serve.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := call(r, client, string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
}

// call answers with what the tool does: its text, and its structured content as it is, which nobody
// parses or validates here.
func call(r *http.Request, client mcpedgev1.ToolServiceClient, arguments string) ([]byte, error) {
	stream, err := client.CallTool(r.Context(), &mcpedgev1.CallToolRequest{Name: r.URL.Path[1:], ArgumentsJson: arguments})
	if err != nil {
		return nil, err
	}
	msg, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	result := msg.GetResult()
	structured := result.GetStructuredContentJson()
	content := structured
	if len(result.GetContent()) > 0 {
		content = result.GetContent()[0].GetText().GetText()
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	answer := append(append([]byte(`{"content":[{"type":"text","text":`), text...), "}]"...)
	if structured != "" {
		answer = append(append(answer, `,"structuredContent":`...), structured...)
	}
	_, _ = stream.Recv() // the end of the stream
	return append(answer, '}'), nil
}
