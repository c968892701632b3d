package capability

import (
	"bytes"
	"encoding/json"
	"sync"
)

// jsonBuffer is a JSON encoder with its buffer, reused across calls.
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

// maxKept is the largest buffer that is kept for reuse, in bytes.
const maxKept = 1 << 20

func (b *jsonBuffer) free() {
	if b.Cap() <= maxKept {
		buffers.Put(b)
	}
}
