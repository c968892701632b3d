// Command bridge is the practical limit the edge is measured against: net/http in front, one gRPC call
// of the same contract on one shared connection behind, and no MCP at all.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	backend := flag.String("backend", "", "gRPC target")
	flag.Parse()
	cc, err := grpc.NewClient(*backend, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	client := mcpedgev1.NewToolServiceClient(cc)
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// The body is the arguments: the only JSON this server ever parses is its own answer.
		stream, err := client.CallTool(r.Context(), &mcpedgev1.CallToolRequest{Name: "echo", ArgumentsJson: string(body)})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		msg, err := stream.Recv()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		text, err := json.Marshal(msg.GetResult().GetContent()[0].GetText().GetText())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"content":[{"type":"text","text":%s}]}`, text)
		_, _ = stream.Recv() // the end of the stream
	})))
}
