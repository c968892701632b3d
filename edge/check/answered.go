package check

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// answeredBy describes a question that was answered from the trial.
const answeredBy = "answered"

// answered has the questions of a call that the trial answered, by key, in the form in which they
// were asked last.
type answered map[string]asked

// asked is a question, and the state of the round that asked it.
type asked struct {
	question *pb.InputRequest
	state    []byte
}

// fits returns an error if an answer of the trial violates the form's schema, or if the backend
// asks the same question again in the same state. state is the state of the round that asks.
func (given answered) fits(q *pb.InputRequest, a *pb.InputResponse, state []byte) error {
	if err := misfit(q.GetElicitForm(), a.GetElicit()); err != nil {
		return fmt.Errorf("--answer %s: the answer does not fit: %w", q.GetKey(), err)
	}
	before, again := given[q.GetKey()]
	given[q.GetKey()] = asked{q, state}
	if again && proto.Equal(before.question, q) && bytes.Equal(before.state, state) {
		return fmt.Errorf("--answer %s: the answer does not fit: the tool asks the same again, and gives no reason", q.GetKey())
	}
	return nil
}

// misfit returns an error if accepted content violates the form's schema. It ignores an invalid
// schema.
func misfit(form *pb.ElicitForm, result *pb.ElicitResult) error {
	if form == nil || result.GetAction() != pb.ElicitAction_ELICIT_ACTION_ACCEPT {
		return nil
	}
	s, err := schema.Compile(form.GetRequestedSchemaJson())
	if err != nil {
		return nil // reported with the question
	}
	if result.GetContentJson() == "" {
		return errors.New("an accepted form has content")
	}
	if err := s.Validate([]byte(result.GetContentJson())); err != nil && !errors.Is(err, schema.ErrCost) {
		return err
	}
	return nil
}
