package capability

import (
	"encoding/json"
	"fmt"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Form returns the question of Ask. It panics if T is not a flat form.
func Form[T any](key, message string) Question[T] {
	f := formOf[T]()
	return ask(formRequest(key, message, f.schema), func(r *InputResponse) (T, error) {
		var value T
		result, err := elicited(r)
		if err == nil {
			err = result.Err()
		}
		if err == nil {
			err = f.decode(result.Content, &value)
		}
		return value, err
	})
}

// FormSchema returns the question of Call.AskForm. It panics if schema is not a JSON object.
func FormSchema(key, message, schema string) Question[ElicitResult] {
	check := formRules(schema)
	return ask(formRequest(key, message, schema), func(r *InputResponse) (ElicitResult, error) {
		result, err := elicited(r)
		if err == nil && result.Action == Accept {
			err = check.check(result.Content)
		}
		return result, err
	})
}

// OpenURL returns the question of Call.AskURL.
func OpenURL(key, message, url string) Question[ElicitResult] {
	return ask(&InputRequest{Key: key, Request: &mcpedgev1.InputRequest_ElicitUrl{
		ElicitUrl: &mcpedgev1.ElicitUrl{Message: message, Url: url}}}, elicited)
}

// Sampling returns the question of Call.Sample.
func Sampling(key string, request *SamplingRequest) Question[*SamplingResult] {
	return ask(&InputRequest{Key: key, Request: &mcpedgev1.InputRequest_CreateMessage{CreateMessage: request}},
		func(r *InputResponse) (*SamplingResult, error) {
			m := r.GetCreateMessage()
			if m == nil || len(m.GetContent()) == 0 {
				return nil, errInvalid
			}
			return m, nil
		})
}

// ListRoots returns the question of Call.Roots.
func ListRoots(key string) Question[[]*Root] {
	return ask(&InputRequest{Key: key, Request: &mcpedgev1.InputRequest_ListRoots{ListRoots: &mcpedgev1.ListRoots{}}},
		func(r *InputResponse) ([]*Root, error) {
			if r.GetListRoots() == nil {
				return nil, errInvalid
			}
			return r.GetListRoots().GetRoots(), nil
		})
}

// RawQuestion returns a question of any method that the client supports. request is a JSON object
// with `method` and `params`. The answer is the client's result, a JSON value. It panics if request
// is not a JSON object.
func RawQuestion(key string, request json.RawMessage) Question[json.RawMessage] {
	mustBeObject("a raw question", string(request))
	return ask(&InputRequest{Key: key, Request: &mcpedgev1.InputRequest_RawJson{RawJson: string(request)}},
		func(r *InputResponse) (json.RawMessage, error) {
			if r.GetRawJson() == "" {
				return nil, errInvalid
			}
			return json.RawMessage(r.GetRawJson()), nil
		})
}

func formRequest(key, message, schema string) *InputRequest {
	return &InputRequest{Key: key, Request: &mcpedgev1.InputRequest_ElicitForm{
		ElicitForm: &mcpedgev1.ElicitForm{Message: message, RequestedSchemaJson: schema}}}
}

// elicited decodes the user's answer to a form or URL.
func elicited(r *InputResponse) (ElicitResult, error) {
	e := r.GetElicit()
	switch e.GetAction() {
	case mcpedgev1.ElicitAction_ELICIT_ACTION_ACCEPT:
		result := ElicitResult{Action: Accept}
		if text := e.GetContentJson(); text != "" {
			result.Content = json.RawMessage(text)
		}
		return result, nil
	case mcpedgev1.ElicitAction_ELICIT_ACTION_DECLINE:
		return ElicitResult{Action: Decline}, nil
	case mcpedgev1.ElicitAction_ELICIT_ACTION_CANCEL:
		return ElicitResult{Action: Cancel}, nil
	default:
		return ElicitResult{}, fmt.Errorf("%w: no action", errInvalid)
	}
}
