package translate

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// These bound an InputRequired, as the contract states.
const (
	maxInputRequests = 16
	maxInputKey      = 128
	maxInputState    = mcp.MaxState
	maxRetryAfter    = time.Hour
)

// InputRequired renders a backend's requests to the client. If the client's revision cannot express
// one, it fails with KindMissingCapability. MissingCapability checks the client's capabilities. The
// state aliases the backend's message.
func InputRequired(r *revision.Rules, in *pb.InputRequired) (*mcp.InputRequired, error) {
	for i, x := range in.GetRequests() {
		if strings.HasPrefix(x.GetKey(), mcp.OwnKeys) {
			err := contractError("key", "%.*q begins with %q, as the keys of the edge's own questions do; use another",
				maxInputKey, x.GetKey(), mcp.OwnKeys)
			return nil, withField("input_required", withElement("requests", i, err))
		}
	}
	return OwnInput(r, in)
}

// OwnInput renders requests of the edge itself, as InputRequired does those of a backend.
func OwnInput(r *revision.Rules, in *pb.InputRequired) (*mcp.InputRequired, error) {
	switch requests, state := in.GetRequests(), in.GetState(); {
	case len(requests) == 0 && len(state) == 0:
		return nil, contractError("input_required", "neither requests nor state; set at least one")
	case len(requests) > maxInputRequests:
		return nil, contractError("input_required.requests", "%d requests; send at most %d", len(requests), maxInputRequests)
	case len(state) > maxInputState:
		return nil, contractError("input_required.state", "%d bytes; keep it to %d", len(state), maxInputState)
	}
	out := &mcp.InputRequired{State: in.GetState(), Repeatable: in.GetRepeatable()}
	if wait := in.GetRetryAfter(); wait != nil {
		out.RetryAfter = wait.AsDuration()
		if !wait.IsValid() || out.RetryAfter < 0 || out.RetryAfter > maxRetryAfter {
			return nil, contractError("input_required.retry_after", "%v is out of range; send 0 s to 1 h", out.RetryAfter)
		}
	}
	if len(in.GetRequests()) == 0 {
		return out, nil
	}
	out.RetryAfter = 0 // the edge waits for the answers instead
	out.Requests = make([]mcp.InputRequest, 0, len(in.GetRequests()))
	for i, x := range in.GetRequests() {
		request, err := inputRequest(r, x)
		if err == nil {
			err = keyFault(out.Requests, request.Key)
		}
		if err != nil {
			return nil, withField("input_required", withElement("requests", i, err))
		}
		out.Requests = append(out.Requests, request)
	}
	return out, nil
}

func keyFault(before []mcp.InputRequest, key string) error {
	if key == "" || len(key) > maxInputKey {
		return contractError("key", "%d bytes; send 1 to %d", len(key), maxInputKey)
	}
	for i := range before {
		if before[i].Key == key {
			return contractError("key", "%q names another request too; keys are unique", key)
		}
	}
	return nil
}

func inputRequest(r *revision.Rules, x *pb.InputRequest) (mcp.InputRequest, error) {
	out := mcp.InputRequest{Key: x.GetKey()}
	var err error
	switch q := x.GetRequest().(type) {
	case *pb.InputRequest_ElicitForm:
		out.Method = mcp.MethodElicit
		out.Params, err = appendElicitForm(nil, r, q.ElicitForm)
		err = withField("elicit_form", err)
	case *pb.InputRequest_ElicitUrl:
		out.Method, out.URLMode = mcp.MethodElicit, true
		out.Params, err = appendElicitURL(nil, r, q.ElicitUrl)
		err = withField("elicit_url", err)
	case *pb.InputRequest_CreateMessage:
		out.Method = mcp.MethodCreateMessage
		out.Params, err = appendCreateMessage(nil, r, q.CreateMessage)
		err = withField("create_message", err)
	case *pb.InputRequest_ListRoots:
		out.Method, out.Params = mcp.MethodListRoots, json.RawMessage(`{}`)
	case *pb.InputRequest_RawJson:
		out.Method, out.Params, err = rawRequest(q.RawJson)
		if err == nil && out.Method == mcp.MethodElicit {
			out.Params, out.URLMode, err = appendRawElicitation(r, out.Params)
			err = withField("raw_json.params", err)
		}
	default:
		err = contractError("request", "unset, or of a kind that the edge does not know; set one of its fields, or raw_json")
	}
	if err != nil {
		return mcp.InputRequest{}, err
	}
	return out, nil
}

// rawRequest reads a request that the contract does not type. Its params are passed on unchanged.
func rawRequest(raw string) (mcp.Method, json.RawMessage, error) {
	object, err := appendJSONObject(nil, "raw_json", raw)
	if err != nil {
		return "", nil, err
	}
	value, _ := jsonrpc.Member(object, "method")
	method, _ := jsonrpc.Unquote(value)
	switch mcp.Method(method) {
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodListRoots:
	case "":
		return "", nil, contractError("raw_json.method", "missing, or no string; name the method")
	default:
		return "", nil, contractError("raw_json.method", "%.100q, which clients do not support: use elicitation/create, sampling/createMessage or roots/list", method)
	}
	params, ok := jsonrpc.Member(object, "params")
	if !ok {
		return mcp.Method(method), json.RawMessage(`{}`), nil
	}
	if jsonrpc.TypeOf(params) != jsonrpc.Object {
		return "", nil, contractError("raw_json.params", "of type %s; send an object, or leave it out", jsonrpc.TypeOf(params))
	}
	return mcp.Method(method), params, nil
}

// appendRawElicitation parses the params of a raw elicitation, and renders them by the rules of the
// typed ones. Members that the typed ones lack, such as an elicitationId, are left out.
func appendRawElicitation(r *revision.Rules, raw json.RawMessage) (params json.RawMessage, isURL bool, err error) {
	var (
		form pb.ElicitForm
		link pb.ElicitUrl
		mode string
	)
	err = jsonrpc.Members(raw, func(key string, value json.RawMessage) error {
		text, isText := jsonrpc.Unquote(value)
		switch key {
		case "mode", "message", "url":
			if !isText {
				return contractError(key, "of type %s; send a string", jsonrpc.TypeOf(value))
			}
		}
		switch key {
		case "mode":
			mode = text
		case "message":
			form.Message, link.Message = text, text
		case "url":
			link.Url = text
		case "requestedSchema":
			form.RequestedSchemaJson = string(value)
		case "_meta":
			form.MetaJson, link.MetaJson = string(value), string(value)
		}
		return nil
	})
	switch {
	case err != nil:
	case mode == "url":
		params, err = appendElicitURL(nil, r, &link)
	case mode == "" || mode == "form":
		params, err = appendElicitForm(nil, r, &form)
	default:
		err = contractError("mode", "%.40q; send form or url", mode)
	}
	return params, mode == "url", err
}

func isURLMode(params json.RawMessage) bool {
	raw, _ := jsonrpc.Member(params, "mode")
	mode, _ := jsonrpc.Unquote(raw)
	return mode == "url"
}

// needs are the client capabilities that a set of requests needs.
type needs struct {
	form, url, sampling, tools, roots bool
}

// MissingCapability returns the error of requests that need capabilities which the client did not
// declare, or which its revision lacks, or nil. It is of KindMissingCapability with the data
// {"requiredCapabilities":{…}}. A request of a kind that the edge does not know needs nothing.
func MissingCapability(r *revision.Rules, c mcp.Capabilities, in *pb.InputRequired) *mcp.Error {
	missing := missingCapability(r, &c, in)
	if missing != nil && c.Unknown {
		missing.Message += "; the request names no session, so that its client cannot be asked anything: " +
			"the client must send the Mcp-Session-Id of the response to its initialize with every request"
	}
	return missing
}

func missingCapability(r *revision.Rules, c *mcp.Capabilities, in *pb.InputRequired) *mcp.Error {
	var needed needs
	for _, x := range in.GetRequests() {
		needed = needed.or(needsOf(x))
	}
	// A capability that the revision lacks cannot be declared.
	absent := needs{form: needed.form && !r.ElicitForm, url: needed.url && !r.ElicitMode, tools: needed.tools && !r.SamplingTools}
	undeclared := needs{
		form: needed.form && !absent.form && !c.ElicitForm, url: needed.url && !absent.url && !c.ElicitURL,
		sampling: needed.sampling && !c.Sampling, tools: needed.tools && !absent.tools && !(c.Sampling && c.SamplingTools),
		roots: needed.roots && !c.Roots,
	}
	const declare = "needs client capabilities that were not declared: %s; declare them, or use a client that has them"
	switch required := string(absent.or(undeclared).render()); {
	case absent == needs{} && undeclared == needs{}:
		return nil
	case absent == needs{}:
		return missingCapabilityError(required, "the call "+declare, required)
	case undeclared == needs{}:
		return unsupportedError(r, required, absent.features()...)
	default:
		return missingCapabilityError(required, "%s; it also "+declare, unsupportedText(r, absent.features()), undeclared.render())
	}
}

// or returns the union of both needs.
func (n needs) or(m needs) needs {
	return needs{
		form: n.form || m.form, url: n.url || m.url, sampling: n.sampling || m.sampling,
		tools: n.tools || m.tools, roots: n.roots || m.roots,
	}
}

// features returns the needs that only some revisions support.
func (n needs) features() (list []feature) {
	if n.form {
		list = append(list, elicitation)
	}
	if n.url {
		list = append(list, elicitationURL)
	}
	if n.tools {
		list = append(list, samplingTools)
	}
	return list
}

func needsOf(x *pb.InputRequest) needs {
	switch q := x.GetRequest().(type) {
	case *pb.InputRequest_ElicitForm:
		return needs{form: true}
	case *pb.InputRequest_ElicitUrl:
		return needs{url: true}
	case *pb.InputRequest_ListRoots:
		return needs{roots: true}
	case *pb.InputRequest_CreateMessage:
		return needs{sampling: true, tools: usesTools(q.CreateMessage)}
	case *pb.InputRequest_RawJson:
		method, params, err := rawRequest(q.RawJson)
		if err != nil {
			return needs{}
		}
		_, tools := jsonrpc.Member(params, "tools")
		isURL := isURLMode(params)
		return needs{
			form:     method == mcp.MethodElicit && !isURL,
			url:      method == mcp.MethodElicit && isURL,
			sampling: method == mcp.MethodCreateMessage,
			tools:    method == mcp.MethodCreateMessage && tools,
			roots:    method == mcp.MethodListRoots,
		}
	}
	return needs{}
}

// usesTools reports whether a sampling request needs the client's sampling.tools.
func usesTools(x *pb.CreateMessage) bool {
	if len(x.GetTools()) > 0 || x.GetToolChoiceMode() != "" {
		return true
	}
	for _, m := range x.GetMessages() {
		for _, block := range m.GetContent() {
			switch block.GetContent().(type) {
			case *pb.SamplingContent_ToolUse, *pb.SamplingContent_ToolResult:
				return true
			}
		}
	}
	return false
}

// render returns the needs as a ClientCapabilities object. An elicitation without modes means
// forms.
func (n needs) render() []byte {
	var dst []byte
	switch {
	case n.form && n.url:
		dst = append(dst, `,"elicitation":{"form":{},"url":{}}`...)
	case n.url:
		dst = append(dst, `,"elicitation":{"url":{}}`...)
	case n.form:
		dst = append(dst, `,"elicitation":{}`...)
	}
	switch {
	case n.tools:
		dst = append(dst, `,"sampling":{"tools":{}}`...)
	case n.sampling:
		dst = append(dst, `,"sampling":{}`...)
	}
	if n.roots {
		dst = append(dst, `,"roots":{}`...)
	}
	return closeObject(dst, 0)
}
