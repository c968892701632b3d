package jsonrpc

import "encoding/json"

// Kind is the kind of a message. The zero Kind is not a message.
type Kind uint8

// The kinds of messages.
const (
	Request       Kind = iota + 1 // method and id
	Notification                  // method, no id
	Response                      // result and id
	ErrorResponse                 // error; the id may be absent
)

// String returns the kind's name for logs.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	case ErrorResponse:
		return "error response"
	default:
		return "no message"
	}
}

// Message is one JSON-RPC message. The raw members alias the text from which it was parsed. They
// are valid only while that text is unchanged, and must not be changed.
type Message struct {
	Kind   Kind
	ID     ID              // zero in a Notification; may be zero in an ErrorResponse
	Method string          // Request and Notification
	Params json.RawMessage // an object, or nil if absent or null; Request and Notification
	Result json.RawMessage // any value; Response
	Error  json.RawMessage // an object; ErrorResponse
	// Outline has the places of the members of Params; nil if they were not noted.
	Outline *Outline
}

// Parse parses one message, which may be surrounded by space. The error is always a [*ParseError].
//
// Beyond JSON-RPC 2.0 it requires what MCP requires: the id of a request is a string or an integer,
// never null, and params are an object. Members that the kind of message does not need may be null
// and are absent then. The members of the envelope must be unique and spelled exactly; others are
// ignored. A message has either a result or an error, and an error is an object; their content is
// not checked.
func Parse(data []byte) (Message, error) { return ParseOutlined(data, nil) }

// ParseOutlined is like [Parse], and stores the positions of the members of the params in o, in the
// same scan. The message refers to o, which must not be changed while the message is in use.
func ParseOutlined(data []byte, o *Outline) (Message, error) {
	s := scanner{data: data}
	e := envelope{outline: o}
	s.space()
	if !s.envelope(&e) || !s.end() {
		return Message{}, s.refuse(&e)
	}
	m, err := e.message()
	if err != nil {
		return Message{}, err
	}
	return m, nil
}

// member is a member of the envelope.
type member uint8

const (
	memberVersion member = iota
	memberID
	memberMethod
	memberParams
	memberResult
	memberError
	members // the number of members
)

// memberNames are the names of the members.
var memberNames = [members]string{"jsonrpc", "id", "method", "params", "result", "error"}

func memberOf(name []byte) member {
	switch string(name) {
	case "jsonrpc":
		return memberVersion
	case "id":
		return memberID
	case "method":
		return memberMethod
	case "params":
		return memberParams
	case "result":
		return memberResult
	case "error":
		return memberError
	}
	return members
}

// envelope records where the members of one message are.
type envelope struct {
	raw       [members]json.RawMessage // nil: absent
	at        [members]int
	start     int             // of the message in the text
	other     json.RawMessage // the value, if it is not an object
	duplicate member          // the first repeated member, if dupAt > 0
	dupAt     int
	twoIDs    bool
	outline   *Outline // of the params; nil disables it
}

func (e *envelope) repeated(m member, at int) {
	if e.dupAt == 0 {
		e.duplicate, e.dupAt = m, at
	}
	e.twoIDs = e.twoIDs || m == memberID
}

// envelope scans one value at pos and records its members in e, which must be zero. It returns
// false only if the text is not JSON, or nests too deep.
func (s *scanner) envelope(e *envelope) bool {
	e.start = s.pos
	if !s.at('{') {
		if !s.value() {
			return false
		}
		e.other = s.data[e.start:s.pos]
		return true
	}
	if !s.open() {
		return false
	}
	for more := s.firstKey(); more; more = s.nextKey() {
		m, from := memberOf(s.name()), s.pos
		if !s.member(m, e) {
			return false
		}
		switch {
		case m == members:
		case e.raw[m] != nil:
			e.repeated(m, from)
		default:
			e.raw[m], e.at[m] = s.data[from:s.pos:s.pos], from
		}
	}
	return s.fault == noFault
}

// member passes the value of a member, and outlines the params.
func (s *scanner) member(m member, e *envelope) bool {
	if m == memberParams && e.outline != nil && e.raw[m] == nil && s.at('{') {
		return s.outline(e.outline)
	}
	return s.value()
}

// refuse returns the error after a fault. The error of a message that nests too deep has its id, if
// the id came before.
func (s *scanner) refuse(e *envelope) *ParseError {
	err := s.parseError()
	if err.Code == CodeInvalidRequest {
		err.ID, err.Reply = e.id(), e.reply()
	}
	return err
}

// id returns the message's id if it is valid.
func (e *envelope) id() ID {
	raw := e.raw[memberID]
	if raw == nil || e.twoIDs || idDefect(raw) != "" {
		return ID{}
	}
	return ID{string(raw)}
}

func (e *envelope) reply() bool {
	return e.raw[memberMethod] == nil && (e.raw[memberResult] != nil || e.raw[memberError] != nil)
}

// message checks the members. The error is nil or the reason why they are not a message.
func (e *envelope) message() (Message, *ParseError) {
	e.dropNulls()
	if err := e.validate(); err != nil {
		return Message{}, err
	}
	m := Message{}
	if raw := e.raw[memberID]; raw != nil {
		m.ID = ID{string(raw)}
	}
	switch {
	case e.raw[memberMethod] != nil:
		m.Method, m.Params = e.methodText(), e.raw[memberParams]
		if m.Params != nil {
			m.Outline = e.outline
		}
		m.Kind = Request
		if m.ID.IsZero() {
			m.Kind = Notification
		}
	case e.raw[memberResult] != nil:
		m.Kind, m.Result = Response, e.raw[memberResult]
	default:
		m.Kind, m.Error = ErrorResponse, e.raw[memberError]
	}
	return m, nil
}

// dropNulls removes null members that the kind of message does not need. It keeps a null result if
// there is no method and no error, and a null id except in an error: requests need another id, and
// notifications none.
func (e *envelope) dropNulls() {
	isNull := func(m member) bool { return e.raw[m] != nil && e.raw[m][0] == 'n' }
	for _, m := range [...]member{memberMethod, memberParams, memberError} {
		if isNull(m) {
			e.raw[m] = nil
		}
	}
	if isNull(memberResult) && (e.raw[memberMethod] != nil || e.raw[memberError] != nil) {
		e.raw[memberResult] = nil
	}
	if isNull(memberID) && e.raw[memberMethod] == nil && e.raw[memberError] != nil {
		e.raw[memberID] = nil
	}
}

// methodText decodes the method, which validate has found to be a string.
func (e *envelope) methodText() string {
	raw := e.raw[memberMethod]
	text := raw[1 : len(raw)-1]
	for _, c := range text {
		if c == '\\' {
			return string(unescape(nil, text))
		}
	}
	return methodName(text)
}
