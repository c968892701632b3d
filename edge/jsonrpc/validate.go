package jsonrpc

import "fmt"

// validate returns the first reason why the members are not a message, or nil. The most helpful reason
// comes first: shape, then version, then the members one by one.
func (e *envelope) validate() *ParseError {
	has := func(m member) bool { return e.raw[m] != nil }
	switch {
	case e.other != nil:
		if TypeOf(e.other) == Array {
			return e.invalid(e.start, "a batch where one message is expected; send the messages one by one")
		}
		return e.invalid(e.start, "%s is %s, not a message; send a JSON-RPC object", excerpt(e.other), TypeOf(e.other).article())
	case e.dupAt > 0:
		return e.invalid(e.dupAt, "the member %q occurs more than once; send it once", memberNames[e.duplicate])
	case !has(memberVersion):
		return e.invalid(e.start, `the member "jsonrpc" is missing; send "jsonrpc": "2.0"`)
	case !e.isVersion2():
		return e.memberError(memberVersion, `send "jsonrpc": "2.0"`)
	}
	if has(memberID) {
		if why := idDefect(e.raw[memberID]); why != "" {
			return e.invalid(e.at[memberID], "%s", why)
		}
	}
	switch {
	case has(memberMethod):
		return e.validateCall()
	case has(memberResult) && has(memberError):
		return e.invalid(e.at[memberError], `a response with both "result" and "error"; send one of them`)
	case has(memberResult) && !has(memberID):
		return e.invalid(e.start, `a response without "id"; send the id of its request`)
	case has(memberResult):
		return nil
	case has(memberError):
		if TypeOf(e.raw[memberError]) != Object {
			return e.memberError(memberError, "send an object with code and message")
		}
		return nil
	}
	return e.invalid(e.start, `neither "method" nor "result" nor "error"; send one of them`)
}

// validateCall checks a message that has a method.
func (e *envelope) validateCall() *ParseError {
	switch {
	case e.raw[memberResult] != nil:
		return e.invalid(e.at[memberResult], `both "method" and "result"; send a request or a response`)
	case e.raw[memberError] != nil:
		return e.invalid(e.at[memberError], `both "method" and "error"; send a request or a response`)
	case TypeOf(e.raw[memberMethod]) != String:
		return e.memberError(memberMethod, "send the method's name as a string")
	case e.raw[memberParams] != nil && TypeOf(e.raw[memberParams]) != Object:
		return e.memberError(memberParams, "send params as an object, or leave them out")
	}
	return nil
}

// isVersion2 compares the usual spelling first, to avoid decoding.
func (e *envelope) isVersion2() bool {
	raw := e.raw[memberVersion]
	if string(raw) == `"2.0"` {
		return true
	}
	s, ok := Unquote(raw)
	return ok && s == "2.0"
}

// memberError returns the error of a member with an invalid value.
func (e *envelope) memberError(m member, advice string) *ParseError {
	raw := e.raw[m]
	return e.invalid(e.at[m], "the member %q is %s, of type %s; %s", memberNames[m], excerpt(raw), TypeOf(raw), advice)
}

func (e *envelope) invalid(at int, format string, args ...any) *ParseError {
	return &ParseError{
		Code:    CodeInvalidRequest,
		ID:      e.id(),
		Reply:   e.reply(),
		Message: "invalid message: " + fmt.Sprintf(format, args...),
		Offset:  at,
	}
}
