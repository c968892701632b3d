package translate

import (
	"encoding/json"
	"net/url"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	needElicit    = `{"elicitation":{}}`
	needElicitURL = `{"elicitation":{"url":{}}}`
)

// appendElicitForm appends the params of elicitation/create in form mode (Client Features,
// "Elicitation"). An empty schema means a form without fields.
func appendElicitForm(dst []byte, r *revision.Rules, x *pb.ElicitForm) ([]byte, error) {
	if !r.ElicitForm {
		return dst, unsupportedError(r, needElicit, elicitation)
	}
	if x.GetMessage() == "" {
		return dst, contractError("message", "empty; write what the user is to enter, and why")
	}
	start := len(dst)
	if r.ElicitMode {
		dst = append(dst, `,"mode":"form"`...)
	}
	dst = jsonrpc.AppendString(append(dst, `,"message":`...), x.GetMessage())
	dst, err := appendRequestedSchema(append(dst, `,"requestedSchema":`...), r, x.GetRequestedSchemaJson())
	if err != nil {
		return dst, err
	}
	if dst, err = appendMessageMeta(dst, r, x.GetMetaJson()); err != nil {
		return dst, err
	}
	return closeObject(dst, start), nil
}

// appendElicitURL appends the params of elicitation/create in URL mode, without an elicitationId.
func appendElicitURL(dst []byte, r *revision.Rules, x *pb.ElicitUrl) ([]byte, error) {
	if !r.ElicitMode {
		return dst, unsupportedError(r, needElicitURL, elicitationURL)
	}
	if x.GetMessage() == "" {
		return dst, contractError("message", "empty; tell the user why the URL is to be opened")
	}
	u, err := url.Parse(x.GetUrl())
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return dst, contractError("url", "no absolute https: URL; send one")
	case u.User != nil:
		return dst, contractError("url", "holds user data; send a URL without any")
	}
	dst = jsonrpc.AppendString(append(dst, `{"mode":"url","message":`...), x.GetMessage())
	dst = jsonrpc.AppendString(append(dst, `,"url":`...), x.GetUrl())
	if dst, err = appendMessageMeta(dst, r, x.GetMetaJson()); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

// appendRequestedSchema appends the schema of a form: unchanged if the revision has every kind of
// field, else field by field.
func appendRequestedSchema(dst []byte, r *revision.Rules, raw string) ([]byte, error) {
	const name = "requested_schema_json"
	if raw == "" {
		return append(dst, `{"type":"object","properties":{}}`...), nil
	}
	start := len(dst)
	dst, err := appendJSONObject(dst, name, raw)
	if err != nil {
		return dst, err
	}
	schema := append([]byte(nil), dst[start:]...)
	properties, _ := jsonrpc.Member(schema, "properties")
	kind, _ := jsonrpc.Member(schema, "type")
	if s, _ := jsonrpc.Unquote(kind); s != "object" || jsonrpc.TypeOf(properties) != jsonrpc.Object {
		return dst, contractError(name, "no form; send {\"type\":\"object\",\"properties\":{…}}")
	}
	fields, err := convertFields(r, properties)
	if err != nil || r.ElicitMode {
		return dst, err
	}
	dst = dst[:start]
	_ = jsonrpc.Members(schema, func(key []byte, value json.RawMessage) error {
		switch string(key) {
		case "properties":
			dst = append(append(dst, `,"properties":`...), fields...)
		case "$schema":
		default:
			dst = appendMember(dst, key, value)
		}
		return nil
	})
	return closeObject(dst, start), nil
}

// convertFields checks the properties of a form and renders them for a revision without ElicitMode.
func convertFields(r *revision.Rules, properties json.RawMessage) ([]byte, error) {
	var dst []byte
	err := jsonrpc.Members(properties, func(key []byte, field json.RawMessage) error {
		name := "requested_schema_json.properties." + string(key)
		if jsonrpc.TypeOf(field) != jsonrpc.Object {
			return contractError(name, "of type %s; send a schema object", jsonrpc.TypeOf(field))
		}
		raw, _ := jsonrpc.Member(field, "type")
		kind, _ := jsonrpc.Unquote(raw)
		switch kind {
		case "string", "number", "integer", "boolean":
		case "array":
			if !r.ElicitMode {
				return unsupportedError(r, needElicit, severalChoices(key))
			}
		default:
			return contractError(name, "of a type that forms do not support; send a string, number, integer, boolean, or an array of choices")
		}
		if r.ElicitMode {
			return nil
		}
		dst = append(jsonrpc.AppendString(append(dst, ','), string(key)), ':')
		var err error
		dst, err = appendPlainField(dst, name, kind, field)
		return err
	})
	if err != nil {
		return nil, err
	}
	return closeObject(dst, 0), nil
}

// appendPlainField appends a field with titled choices as enum and enumNames. It keeps the default
// only of a boolean.
func appendPlainField(dst []byte, name, kind string, field json.RawMessage) ([]byte, error) {
	start := len(dst)
	err := jsonrpc.Members(field, func(key []byte, value json.RawMessage) error {
		switch {
		case string(key) == "default" && kind != "boolean":
		case string(key) == "oneOf" && kind == "string":
			var err error
			dst, err = appendChoices(dst, name, value)
			return err
		default:
			dst = appendMember(dst, key, value)
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	return closeObject(dst, start), nil
}

// appendChoices appends oneOf's constants as enum and their titles as enumNames.
func appendChoices(dst []byte, name string, oneOf json.RawMessage) ([]byte, error) {
	var values, titles []string
	fits := jsonrpc.Elements(oneOf, func(choice json.RawMessage) bool {
		if jsonrpc.TypeOf(choice) != jsonrpc.Object {
			return false
		}
		raw, _ := jsonrpc.Member(choice, "const")
		value, ok := jsonrpc.Unquote(raw)
		raw, _ = jsonrpc.Member(choice, "title")
		title, titled := jsonrpc.Unquote(raw)
		if !titled {
			title = value
		}
		values, titles = append(values, value), append(titles, title)
		return ok
	})
	if !fits || len(values) == 0 {
		return dst, contractError(name+".oneOf", "no choices; send an array of {\"const\":…,\"title\":…} with strings")
	}
	return appendStrings(appendStrings(dst, `,"enum":`, values), `,"enumNames":`, titles), nil
}

// readElicit reads an ElicitResult. Only an accepted form has content: a flat object, {} if the
// client sent none.
func readElicit(raw json.RawMessage) (*pb.ElicitResult, bool) {
	out := &pb.ElicitResult{}
	ok := object(raw, func(key []byte, value json.RawMessage) bool {
		switch string(key) {
		case "action":
			s, _ := jsonrpc.Unquote(value)
			out.Action = elicitActions[s]
			return out.Action != pb.ElicitAction_ELICIT_ACTION_UNSPECIFIED
		case "content":
			out.ContentJson = string(value)
			return object(value, func(_ []byte, v json.RawMessage) bool { return isFormValue(v) })
		}
		return true
	})
	switch {
	case out.Action != pb.ElicitAction_ELICIT_ACTION_ACCEPT:
		out.ContentJson = ""
	case out.ContentJson == "":
		out.ContentJson = "{}" // an accepted form without fields; a URL has no content
	}
	return out, ok && out.Action != pb.ElicitAction_ELICIT_ACTION_UNSPECIFIED
}

var elicitActions = map[string]pb.ElicitAction{
	"accept":  pb.ElicitAction_ELICIT_ACTION_ACCEPT,
	"decline": pb.ElicitAction_ELICIT_ACTION_DECLINE,
	"cancel":  pb.ElicitAction_ELICIT_ACTION_CANCEL,
}

func isFormValue(v json.RawMessage) bool {
	switch jsonrpc.TypeOf(v) {
	case jsonrpc.Object:
		return false
	case jsonrpc.Array:
		return jsonrpc.Elements(v, func(e json.RawMessage) bool { return jsonrpc.TypeOf(e) == jsonrpc.String })
	}
	return true
}
