package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const callUsage = `mcpedge call [flags] URL TOOL [JSON]

Calls a tool of an MCP server over Streamable HTTP and prints the text of the result. JSON has the arguments, an object;
without it there are none. Progress and questions go to stderr. The exit status is 1 if the call fails or the result is an
error of the tool, and if no question has the key of an --answer. A question without an --answer is declined. In revisions
with sessions a stream that ends before the result is resumed, at another replica if there is one.

`

// callSettings is the command line of mcpedge call.
type callSettings struct {
	server
	tool      string
	arguments json.RawMessage
	answers   answers
	whole     bool
}

func parseCall(args []string, version string, stderr io.Writer) (*callSettings, error) {
	s := &callSettings{server: server{command: "call", version: version}, answers: answers{stderr: stderr}}
	flags := s.flags(callUsage, stderr)
	flags.BoolVar(&s.whole, "json", false, "print the whole result, as JSON")
	flags.Func("answer", "`KEY=JSON` answers the question KEY of the tool: JSON is the content of the form, as '{\"sure\":true}', or\n"+
		"'{\"action\":\"decline\"}'; repeatable. In revisions with sessions questions have no keys: answers are used in their order", s.answers.add)
	operands, err := s.parse(flags, args)
	if err != nil {
		return nil, err
	}
	if len(operands) < 2 || len(operands) > 3 {
		return nil, s.errorf("%d arguments: write mcpedge call URL TOOL JSON, as mcpedge call http://127.0.0.1:8080/mcp add '{\"a\":1}'", len(operands))
	}
	s.url, s.tool = operands[0], operands[1]
	if len(operands) == 3 {
		var object map[string]any
		if err := json.Unmarshal([]byte(operands[2]), &object); err != nil || object == nil {
			return nil, s.errorf("the arguments %q are not a JSON object", operands[2])
		}
		s.arguments = json.RawMessage(operands[2])
	}
	return s, nil
}

// maxRounds bounds the number of rounds of questions in one call.
const maxRounds = 10

// Call runs mcpedge call. It calls a tool of an MCP server, and prints the result to out and
// progress, questions and help to stderr. version is the version of this program. It returns
// flag.ErrHelp if help was requested.
func Call(ctx context.Context, args []string, version string, out, stderr io.Writer) error {
	s, err := parseCall(args, version, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.connect(ctx, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // ask needs the keys of the questions
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return s.answers.next(r.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			done := fmt.Sprint(r.Params.Progress)
			if r.Params.Total > 0 {
				done += fmt.Sprint(" of ", r.Params.Total)
			}
			_, _ = fmt.Fprintln(stderr, strings.TrimSpace(done+" "+r.Params.Message))
		},
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	result, err := s.run(ctx, conn)
	if err != nil {
		return err
	}
	if err := printResult(out, result, s.whole); err != nil {
		return err
	}
	var failed error
	if result.IsError {
		failed = s.errorf("%s failed", s.tool)
	}
	return errors.Join(failed, s.unused())
}

// run calls the tool, and repeats the call with answers while its result requests input
// (2026-07-28, multi round-trip requests).
func (s *callSettings) run(ctx context.Context, conn *connection) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: s.tool, Meta: mcp.Meta{}}
	if s.arguments != nil {
		params.Arguments = s.arguments
	}
	params.SetProgressToken("call")
	for range maxRounds {
		result, err := conn.CallTool(ctx, params)
		if conn.lacksMirrored(err) && conn.readTool(ctx, s.tool) {
			result, err = conn.CallTool(ctx, params)
		}
		if err != nil {
			return nil, s.failed(ctx, conn, err)
		}
		if !result.NeedsInput() {
			return result, nil
		}
		params.RequestState, params.InputResponses = result.RequestState, mcp.InputResponseMap{}
		for key, question := range result.InputRequests {
			form, is := question.(*mcp.ElicitParams)
			if !is {
				return nil, s.errorf("%s: the question %q is neither a form nor a URL: mcpedge call cannot answer it", s.tool, key)
			}
			if params.InputResponses[key], err = s.answers.of(key, form); err != nil {
				return nil, s.errorf("%s: %w", s.tool, err)
			}
		}
	}
	return nil, s.errorf("%s: it still asks after %d rounds of questions", s.tool, maxRounds)
}

// lacksMirrored reports whether the error of a call means that headers which mirror arguments are
// missing or wrong.
func (c *connection) lacksMirrored(err error) bool {
	var refused *jsonrpc.Error
	return errors.As(err, &refused) && refused.Code == mcp.CodeHeaderMismatch
}

// readTool reads the list of tools up to the tool with a name. The SDK needs the tool's schema to
// mirror arguments in headers. It returns false if the server lists no such tool, or if the list
// cannot be read.
func (c *connection) readTool(ctx context.Context, name string) bool {
	for tool, err := range c.Tools(ctx, nil) {
		if err != nil {
			return false
		}
		if tool.Name == name {
			c.transport.refused.Store(nil)
			return true
		}
	}
	return false
}
