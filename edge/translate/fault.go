package translate

import (
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// contractError returns the error of a backend that breaks the contract. field is the protobuf field, the
// message says what is wrong with it and how to fix it.
func contractError(field, format string, args ...any) error {
	return mcp.Errorf(mcp.KindContract, "%s: %s", field, fmt.Sprintf(format, args...))
}

// withField prefixes the field in an error of contractError with the enclosing message.
func withField(outer string, err error) error {
	if e, ok := err.(*mcp.Error); ok && e.Kind == mcp.KindContract {
		e.Message = outer + "." + e.Message
	}
	return err
}

// withElement is withField for an element of a list.
func withElement(outer string, i int, err error) error {
	return withField(fmt.Sprintf("%s[%d]", outer, i), err)
}

// feature is a part of the protocol that only some revisions have.
type feature struct {
	name string
	has  func(*revision.Rules) bool
}

var (
	elicitation    = feature{"elicitation", func(r *revision.Rules) bool { return r.ElicitForm }}
	elicitationURL = feature{"elicitation by URL", func(r *revision.Rules) bool { return r.ElicitMode }}
	samplingTools  = feature{"sampling with tools", func(r *revision.Rules) bool { return r.SamplingTools }}
	samplingBlocks = feature{"sampling with messages of several blocks", func(r *revision.Rules) bool { return r.SamplingTools }}
	samplingAudio  = feature{"sampling with audio", func(r *revision.Rules) bool { return r.Audio }}
)

// severalChoices is the feature of a form's field that accepts several values.
func severalChoices(field []byte) feature {
	return feature{fmt.Sprintf("several choices in the field %q of an elicitation", field), elicitationURL.has}
}

// unsupportedError is the error of a call that needs features that the revision does not have. It names the
// revisions that have them.
func unsupportedError(r *revision.Rules, required string, needed ...feature) *mcp.Error {
	return missingCapabilityError(required, "%s", unsupportedText(r, needed))
}

func unsupportedText(r *revision.Rules, needed []feature) string {
	var list []string
	for _, f := range needed {
		list = append(list, fmt.Sprintf("%s (from %s on)", f.name, revision.Since(f.has)))
	}
	return fmt.Sprintf("the call needs %s, which protocol version %s does not have: use a client that speaks a later one",
		strings.Join(list, ", "), r.Version)
}

// missingCapabilityError is the error of a call that needs what the client, or its revision, does not support.
// required is a ClientCapabilities object.
func missingCapabilityError(required, format string, args ...any) *mcp.Error {
	e := mcp.Errorf(mcp.KindMissingCapability, format, args...)
	e.Data = []byte(`{"requiredCapabilities":` + required + `}`)
	return e
}
