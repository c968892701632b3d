package jsonrpc

import "strconv"

// The functions here append one message in one line, provided that the given raw JSON has no
// newline (see [HasRawNewline], [Compact]). Raw JSON must be valid: it is copied unchanged. They
// allocate only to grow dst.
//

const (
	envelopeHead = `{"jsonrpc":"2.0"`
	idMember     = `,"id":`
	resultMember = `,"result":`
	// ResultRoom is the length of a response without its id and its result.
	ResultRoom = len(envelopeHead + idMember + resultMember + `}`)
)

// AppendResultHead begins a response. The caller appends the result and a closing brace.
func AppendResultHead(dst []byte, id ID) []byte {
	return append(appendHead(dst, id), resultMember...)
}

// ResultHeadLen returns the length of what AppendResultHead appends.
func ResultHeadLen(id ID) int { return ResultRoom - 1 + len(id.raw) }

// AppendResult appends a response. An empty result becomes {}; id must not be zero.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = AppendResultHead(dst, id)
	if len(result) == 0 {
		return append(dst, `{}}`...)
	}
	return append(append(dst, result...), '}')
}

// AppendError appends an error response. The zero ID omits the member "id", which is never null.
// Empty data omit the member "data".
func AppendError(dst []byte, id ID, code int, message string, data []byte) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, message)
	if len(data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, `}}`...)
}

// AppendRequest appends a request. Empty params are omitted. id must not be zero.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendNotification appends a notification. Empty params are omitted.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return AppendRequest(dst, ID{}, method, params)
}

// AppendMessage appends a message of any kind, with its raw members unchanged. A Message without a
// kind appends nothing.
func AppendMessage(dst []byte, m Message) []byte {
	switch m.Kind {
	case Request:
		return AppendRequest(dst, m.ID, m.Method, m.Params)
	case Notification:
		return AppendNotification(dst, m.Method, m.Params)
	case Response:
		return AppendResult(dst, m.ID, m.Result)
	case ErrorResponse:
		dst = appendHead(dst, m.ID)
		dst = append(dst, `,"error":`...)
		return append(append(dst, m.Error...), '}')
	}
	return dst
}

// appendHead opens the envelope.
func appendHead(dst []byte, id ID) []byte {
	dst = append(dst, envelopeHead...)
	if !id.IsZero() {
		dst = append(dst, idMember...)
		dst = append(dst, id.raw...)
	}
	return dst
}

// AppendMember appends a member to the text of an object that begins in dst with "{" and is not
// closed yet. It adds a comma unless the member is the first one.
func AppendMember(dst []byte, name string, value []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(AppendString(dst, name), ':'), value...)
}
