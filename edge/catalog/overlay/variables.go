package overlay

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// VariablesOf returns the pinned variables of a template of a backend. The entries of all forms of its
// text apply.
func (l List) VariablesOf(backend, text string) []Argument {
	if !l.pinsVariables {
		return nil
	}
	pins := l.Of(backend, text).Variables
	for _, form := range uris.TemplateForms(text) {
		pins = mergeArguments(pins, l.Of(backend, form).Variables)
	}
	return pins
}

// PinsVariables reports whether an entry pins a variable of templates.
func (l List) PinsVariables() bool { return l.pinsVariables }

// Text returns the value of a pinned variable for a caller, a text. An error means that the caller
// has none: it is missing, empty, not a text, or a segment that paths leave out.
func (a *Argument) Text(who *mcp.Principal) (string, error) {
	value, err := a.Pin.JSON(who)
	if err != nil {
		return "", err
	}
	text, ok := jsonrpc.Unquote(value)
	switch {
	case !ok:
		return "", fmt.Errorf("it is %s, and a variable is a text", jsonrpc.TypeOf(value))
	case text == "":
		return "", errors.New("it is empty")
	case text == "." || text == "..":
		return "", errors.New("it is a dot segment, which paths leave out")
	}
	return text, nil
}

// Unbound returns the ArgumentErrors of the pinned variables of the template with a text, or nil.
func Unbound(text string, variables []Argument) error {
	t, err := uris.Parse(text)
	if err != nil {
		return ArgumentErrors{{variables[0].Place, err}}
	}
	_, err = Bound(t, variables)
	return err
}

// Bound returns the readings of the pinned variables of a template, by their index, and an error for
// each that cannot be pinned.
func Bound(t *uris.Template, variables []Argument) ([]*uris.Readings, error) {
	var errs ArgumentErrors
	readings := make([]*uris.Readings, len(variables))
	all := map[string]string{}
	for i := range variables {
		a := &variables[i]
		r, err := t.ReadingsOf(a.Name)
		if err != nil {
			errs = append(errs, ArgumentError{cmp.Or(a.pinAt, a.Place), err})
			continue
		}
		readings[i], all[a.Name] = r, "x"
	}
	if _, err := t.Bind(all); err != nil && len(errs) == 0 {
		errs = append(errs, ArgumentError{variables[0].Place, err})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return readings, nil
}
