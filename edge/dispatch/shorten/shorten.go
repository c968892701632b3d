// Package shorten shortens results of tools to what the context of a model has room for.
package shorten

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// BytesPerToken approximates the tokenizers of current models for English text and JSON.
const BytesPerToken = 4

// Tokens estimates how many tokens n bytes of text take.
func Tokens(n int) int { return (n + BytesPerToken - 1) / BytesPerToken }

// Result shortens a result to a number of tokens, and reports whether it was too long. It returns res
// itself if not; res is not modified. schema is the tool's input schema, of which the note to the
// model names arguments that ask for less. keeps is true if the tool has an output schema.
//
// All that a model may get of the content counts: texts, links, names, URIs, annotations and `_meta`
// of blocks, but not the bytes of images, audio and binary resources, nor the `_meta` of the result,
// which is for the client. Each block takes at least one token. Structured content has the same bound
// of its own.
//
// The texts of a result are cut together, at the end of a line or a word, and a note says how much is
// missing. Structured content cannot be cut: it is left out if it is too long, and if it must match an
// output schema, the result is an error for the model that says so.
func Result(res *pb.CallToolResult, tokens int, schema string, keeps bool) (out *pb.CallToolResult, cut bool) {
	most := tokens * BytesPerToken
	blocks, structured := measure(res.GetContent()), len(res.GetStructuredContentJson())
	if blocks.total() <= most && structured <= most {
		return res, false
	}
	out = &pb.CallToolResult{IsError: res.GetIsError(), MetaJson: res.GetMetaJson(), StructuredContentJson: res.GetStructuredContentJson()}
	out.Content = blocks.within(most)
	advice := advise(schema)
	if structured > most {
		out.StructuredContentJson = ""
		if keeps && !out.IsError {
			out.IsError = true
			advice = " The call itself has succeeded." + advice
		}
	}
	whole := max(blocks.total(), structured)
	note := fmt.Sprintf("[This result has about %d tokens, and at most %d are passed on: the rest is left out.%s]", Tokens(whole), tokens, advice)
	out.Content = append(out.Content, &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: note}}})
	return out, true
}

// lessBy are parts of the names of arguments by which tools return less.
var lessBy = []string{
	"limit", "max", "count", "size", "top", "first", "last", "page", "cursor", "offset", "filter", "query", "fields", "columns", "range", "since", "until", "lines", "depth",
}

// advise names the arguments of a schema that ask for less.
func advise(schema string) string {
	var names []string
	_ = jsonrpc.Members([]byte(schema), func(key []byte, value json.RawMessage) error {
		if string(key) != "properties" || jsonrpc.TypeOf(value) != jsonrpc.Object {
			return nil
		}
		return jsonrpc.Members(value, func(key []byte, _ json.RawMessage) error {
			name := strings.ToLower(string(key))
			if len(name) <= 64 && slices.ContainsFunc(lessBy, func(part string) bool { return strings.Contains(name, part) }) {
				names = append(names, string(key))
			}
			return nil
		})
	})
	const most = 5
	if len(names) == 0 {
		return " Ask for less."
	}
	return " Ask for less, for example by the arguments " + strings.Join(names[:min(len(names), most)], ", ") + "."
}
