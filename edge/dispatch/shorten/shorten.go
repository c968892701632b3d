// Package shorten shortens the results of tools to a number of tokens.
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

// Tokens estimates the number of tokens in n bytes of text.
func Tokens(n int) int { return (n + BytesPerToken - 1) / BytesPerToken }

// Result shortens a result to at most the given tokens. If the result is short enough, it returns
// res and false. res is not modified. schema is the tool's input schema: the note to the model
// names arguments of it that make the tool return less. keeps is true if the tool has an output
// schema.
//
// The texts, links, names, URIs, annotations and `_meta` of blocks count, because a model may get
// them. The bytes of images, audio and binary resources do not, nor does the `_meta` of the result,
// which is for the client. Each block takes at least one token. Structured content has the same
// bound of its own.
//
// The texts share the bound. They are cut at the end of a line or a word, and a note with the
// original size is added. Structured content cannot be cut: it is removed if it is too long. If it
// must match an output schema, the result then becomes an error for the model that says that the
// call has succeeded.
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

// limitingNames lists parts of argument names. An argument whose name has one of them makes a tool return
// less.
var limitingNames = []string{
	"limit", "max", "count", "size", "top", "first", "last", "page", "cursor", "offset", "filter", "query", "fields", "columns", "range", "since", "until", "lines", "depth",
}

// advise returns the advice of the note: the model should request less. It names the arguments of
// the schema that limit what the tool returns.
func advise(schema string) string {
	var names []string
	_ = jsonrpc.Members([]byte(schema), func(key []byte, value json.RawMessage) error {
		if string(key) != "properties" || jsonrpc.TypeOf(value) != jsonrpc.Object {
			return nil
		}
		return jsonrpc.Members(value, func(key []byte, _ json.RawMessage) error {
			name := strings.ToLower(string(key))
			if len(name) <= 64 && slices.ContainsFunc(limitingNames, func(part string) bool { return strings.Contains(name, part) }) {
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
