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

// ToolCheck is a tool's compiled schemas. They are compiled at the tool's first call, and kept
// while the backend lists the same tool.
type ToolCheck struct {
	owner  string
	tool   *pb.Tool
	report *reporter

	done atomic.Bool
	mu   sync.Mutex

	// Input and output are set by Ready.
	Input, output *schema.Schema
	HasOutput     bool
	Headers       []paramHeader
}

func newToolCheck(owner string, t *pb.Tool, report *reporter) *ToolCheck {
	return &ToolCheck{owner: owner, tool: t, report: report}
}

// Ready compiles the schemas if needed and returns c.
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

// compile returns the compiled schema. If there is none, or it is unusable, it returns one that
// accepts everything.
func (c *ToolCheck) compile(which, text string) *schema.Schema {
	s, err := schema.Compile(text)
	if err != nil {
		c.warn("a tool's "+which+" cannot be used: its values are not checked", err.Error())
		return &schema.Schema{}
	}
	if s.Multiplies() {
		c.warn("a tool's "+which+" multiplies: values that take too long to check are not checked",
			fmt.Sprintf("64 KiB can take more than %d applications of its parts: apply fewer of them to the same value", schema.MaxValues))
	}
	return s
}

func (c *ToolCheck) warn(message, detail string) {
	c.report.once("tool\x00"+c.owner+"\x00"+c.tool.GetName()+"\x00"+message+"\x00"+detail, message,
		"backend", c.owner, "tool", c.tool.GetName(), "error", detail)
}

// Arguments returns the check of arguments, which must be an object. The check's error describes in
// one line where they do not fit. The error is schema.ErrCost if they exceed the bounds of
// checking, unless the schema itself causes that: then only the backend checks them.
func (c *ToolCheck) Arguments(args []byte) (schema.Check, error) {
	check, err := c.Input.Prepare(args)
	if errors.Is(err, schema.ErrCost) && c.Input.Multiplies() {
		return schema.Check{}, nil
	}
	return check, err
}

// Promised returns the check of the structured content of a tool with an output schema. Pass the
// check's error to Misfit. Promised fails if the content is missing or invalid JSON.
func (c *ToolCheck) Promised(content string) (schema.Check, error) {
	if content == "" {
		return schema.Check{}, errors.New("structured_content_json is missing, though the tool declares an output schema")
	}
	if !c.output.Trivial() && !jsonrpc.Valid([]byte(content)) { // otherwise rendering reports it
		return schema.Check{}, errors.New("structured_content_json is no valid JSON")
	}
	check, err := c.output.Prepare([]byte(content))
	if errors.Is(err, schema.ErrCost) {
		if !c.output.Multiplies() {
			c.warn("a tool's result is too large for a check by its output schema and is not checked",
				fmt.Sprintf("the check takes more than %d applications of the schema's parts", schema.MaxValues))
		}
		return schema.Check{}, nil
	}
	return check, Misfit(err)
}

// Misfit wraps the error of a check of structured content. It returns nil for nil.
func Misfit(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("structured_content_json does not fit the tool's output schema: %w", err)
}
