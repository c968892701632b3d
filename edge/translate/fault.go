package translate

import (
	"fmt"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// broken is a breach of the contract by the backend: field is the protobuf field, the rest says what
// is wrong with it and what to do.
func broken(field, format string, args ...any) error {
	return mcp.Errorf(mcp.KindContract, "%s: %s", field, fmt.Sprintf(format, args...))
}

// within names the message around the field that an error of broken speaks of.
func within(outer string, err error) error {
	if e, ok := err.(*mcp.Error); ok && e.Kind == mcp.KindContract {
		e.Message = outer + "." + e.Message
	}
	return err
}

// withinNth is within for an element of a list.
func withinNth(outer string, i int, err error) error {
	return within(fmt.Sprintf("%s[%d]", outer, i), err)
}

// incapable says that the call needs what the client's revision cannot express.
func incapable(required, format string, args ...any) *mcp.Error {
	e := mcp.Errorf(mcp.KindMissingCapability, format, args...)
	e.Data = []byte(`{"requiredCapabilities":` + required + `}`)
	return e
}
