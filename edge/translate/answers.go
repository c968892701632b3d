package translate

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// inputResponses converts the client's answers (Base Protocol, "Multi Round-Trip Requests"). A
// malformed answer is left out, so that the backend asks again.
func inputResponses(answers []mcp.InputResponse) []*pb.InputResponse {
	if len(answers) == 0 {
		return nil
	}
	out := make([]*pb.InputResponse, 0, len(answers))
	for i := range answers {
		response := &pb.InputResponse{Key: answers[i].Key}
		if readAnswer(response, answers[i].Method, answers[i].Result) {
			out = append(out, response)
		}
	}
	return out
}

// Answered reports whether raw is a valid result of the method. content is the JSON object of an
// accepted form, empty if there is none.
func Answered(method mcp.Method, raw json.RawMessage) (content string, ok bool) {
	var answer pb.InputResponse
	ok = readAnswer(&answer, method, raw)
	return answer.GetElicit().GetContentJson(), ok
}

func readAnswer(out *pb.InputResponse, method mcp.Method, raw json.RawMessage) bool {
	if jsonrpc.TypeOf(raw) != jsonrpc.Object || !jsonrpc.Valid(raw) {
		return false
	}
	if method == "" {
		method = methodByShape(raw)
	}
	switch method {
	case mcp.MethodElicit:
		x, ok := readElicit(raw)
		out.Response = &pb.InputResponse_Elicit{Elicit: x}
		return ok
	case mcp.MethodCreateMessage:
		x, ok := readCreateMessage(raw)
		out.Response = &pb.InputResponse_CreateMessage{CreateMessage: x}
		return ok
	case mcp.MethodListRoots:
		x, ok := readRoots(raw)
		out.Response = &pb.InputResponse_ListRoots{ListRoots: x}
		return ok
	}
	out.Response = &pb.InputResponse_RawJson{RawJson: string(raw)}
	return true
}

// methodByShape guesses the method that an answer belongs to.
func methodByShape(raw json.RawMessage) mcp.Method {
	has := func(key string) bool {
		_, ok := jsonrpc.Member(raw, key)
		return ok
	}
	switch {
	case has("action"):
		return mcp.MethodElicit
	case has("roots"):
		return mcp.MethodListRoots
	case has("role") && has("content") && has("model"):
		return mcp.MethodCreateMessage
	}
	return ""
}

// object reads the members of a client's object. read stores one and reports whether it is valid.
// Members that are null count as absent. It returns false if raw is not an object or a member is
// invalid.
func object(raw json.RawMessage, read func(key []byte, value json.RawMessage) bool) bool {
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return false
	}
	ok := true
	err := jsonrpc.Members(raw, func(key []byte, value json.RawMessage) error {
		if jsonrpc.TypeOf(value) != jsonrpc.Null {
			ok = read(key, value) && ok
		}
		return nil
	})
	return ok && err == nil
}

// text stores a string.
func text(out *string, raw json.RawMessage) (ok bool) {
	*out, ok = jsonrpc.Unquote(raw)
	return ok
}

// rawObject stores an object as its JSON.
func rawObject(out *string, raw json.RawMessage) bool {
	*out = string(raw)
	return jsonrpc.TypeOf(raw) == jsonrpc.Object
}

// binary stores the bytes of a base64 string.
func binary(out *[]byte, raw json.RawMessage) bool {
	s, ok := jsonrpc.Unquote(raw)
	if !ok {
		return false
	}
	data, err := base64.StdEncoding.DecodeString(s)
	*out = data
	return err == nil
}

// flag stores a boolean.
func flag(out *bool, raw json.RawMessage) bool {
	*out = string(raw) == "true"
	return jsonrpc.TypeOf(raw) == jsonrpc.Bool
}

func readRole(out *pb.Role, raw json.RawMessage) bool {
	switch s, _ := jsonrpc.Unquote(raw); s {
	case "user":
		*out = pb.Role_ROLE_USER
	case "assistant":
		*out = pb.Role_ROLE_ASSISTANT
	default:
		return false
	}
	return true
}

func readAnnotations(raw json.RawMessage) (*pb.Annotations, bool) {
	a := &pb.Annotations{}
	ok := object(raw, func(key []byte, value json.RawMessage) bool {
		switch string(key) {
		case "audience":
			return jsonrpc.Elements(value, func(v json.RawMessage) bool {
				var role pb.Role
				fits := readRole(&role, v)
				a.Audience = append(a.Audience, role)
				return fits
			})
		case "priority":
			f, err := strconv.ParseFloat(string(value), 64)
			a.Priority = &f
			return err == nil && jsonrpc.TypeOf(value) == jsonrpc.Number
		case "lastModified":
			return text(&a.LastModified, value)
		}
		return true
	})
	return a, ok
}
