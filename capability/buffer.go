package capability

import (
	"bytes"
	"encoding/json"
	"sync"
)

// jsonBuffer is an encoder with its buffer, reused over calls.
type jsonBuffer struct {
	bytes.Buffer
	enc *json.Encoder
}

var buffers = sync.Pool{New: func() any {
	b := &jsonBuffer{}
	b.enc = json.NewEncoder(&b.Buffer)
	b.enc.SetEscapeHTML(false)
	return b
}}

// maxKept bounds what one large result leaves behind.
const maxKept = 1 << 20

func (b *jsonBuffer) free() {
	if b.Cap() <= maxKept {
		buffers.Put(b)
	}
}
