package catalog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// ToolCheck is what a tool's schemas demand, read when the tool is first called, once for as long as
// the backend lists the same tool.
type ToolCheck struct {
	owner  string
	tool   *pb.Tool
	report *reporter

	done atomic.Bool
	mu   sync.Mutex

	// Set once done.
	Input, output *schema.Schema
	HasOutput     bool
	Headers       []paramHeader
}

func newToolCheck(owner string, t *pb.Tool, report *reporter) *ToolCheck {
	return &ToolCheck{owner: owner, tool: t, report: report}
}

// Ready compiles what is not compiled yet and returns c.
func (c *ToolCheck) Ready() *ToolCheck {
	if !c.done.Load() {
		c.prepare()
	}
	return c
}

func (c *ToolCheck) prepare() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done.Load() {
		return
	}
	c.Input = c.compile("input schema", c.tool.GetInputSchemaJson())
	c.output = c.compile("output schema", c.tool.GetOutputSchemaJson())
	c.HasOutput = c.tool.GetOutputSchemaJson() != ""
	var faults []string
	c.Headers, faults = paramHeaders(c.tool.GetInputSchemaJson())
	for _, fault := range faults {
		c.warn("an x-mcp-header annotation is invalid and ignored, and conforming clients do not list its tool", fault)
	}
	c.done.Store(true)
}

// compile returns a schema that accepts everything when there is none that can be used.
func (c *ToolCheck) compile(which, text string) *schema.Schema {
	s, err := schema.Compile(text)
	if err != nil {
		c.warn("a tool's "+which+" cannot be used: what it describes goes unchecked", err.Error())
		return &schema.Schema{}
	}
	if s.Multiplies() {
		c.warn("a tool's "+which+" multiplies: what would take too long to check goes unchecked",
			fmt.Sprintf("64 KiB can take more than %d applications of its parts: have fewer of them apply to the same value", schema.MaxValues))
	}
	return s
}

func (c *ToolCheck) warn(message, detail string) {
	c.report.once("tool\x00"+c.owner+"\x00"+c.tool.GetName()+"\x00"+message+"\x00"+detail, message,
		"backend", c.owner, "tool", c.tool.GetName(), "error", detail)
}

// Arguments makes the check of arguments, an object, which says where they do not fit, in one line. The error is
// schema.ErrCost for those that cannot be checked within bounds, unless that is the schema's fault: then the backend
// has the last word.
func (c *ToolCheck) Arguments(args []byte) (schema.Check, error) {
	check, err := c.Input.Prepare(args)
	if errors.Is(err, schema.ErrCost) && c.Input.Multiplies() {
		return schema.Check{}, nil
	}
	return check, err
}

// Promised makes the check of the structured content of a tool that has an output schema; what it finds is misfit's to
// tell. The error says what is wrong before that.
func (c *ToolCheck) Promised(content string) (schema.Check, error) {
	if content == "" {
		return schema.Check{}, errors.New("structured_content_json is missing, though the tool declares an output schema")
	}
	if !c.output.Trivial() && !jsonrpc.Valid([]byte(content)) { // else rendering it tells
		return schema.Check{}, errors.New("structured_content_json is no valid JSON")
	}
	check, err := c.output.Prepare([]byte(content))
	if errors.Is(err, schema.ErrCost) {
		if !c.output.Multiplies() {
			c.warn("a tool's result is too large to be checked by its output schema and goes unchecked",
				fmt.Sprintf("it takes more than %d applications of the schema's parts", schema.MaxValues))
		}
		return schema.Check{}, nil
	}
	return check, Misfit(err)
}

// Misfit is what a check of structured content found; nil: nothing.
func Misfit(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("structured_content_json does not fit the tool's output schema: %w", err)
}
