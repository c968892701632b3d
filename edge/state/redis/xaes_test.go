package redis

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// The vectors of c2sp.org/XAES-256-GCM, whose first bits of the doubled block differ.
func TestXAESVectors(t *testing.T) {
	nonce := [nonceSize]byte([]byte("ABCDEFGHIJKLMNOPQRSTUVWX"))
	for _, c := range []struct {
		key        byte
		data, want string
	}{
		{1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		x, err := newXAES(bytes.Repeat([]byte{c.key}, 32))
		if err != nil {
			t.Fatal(err)
		}
		got := x.aead(nonce).Seal(nil, nonce[12:], []byte("XAES-256-GCM"), []byte(c.data))
		if hex.EncodeToString(got) != c.want {
			t.Errorf("key %d seals %x, want %s", c.key, got, c.want)
		}
	}
}
