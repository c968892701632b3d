package stateless

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
)

// The error of a refused state has a reason for the log. The client's message does not contain it.
func TestRefusedStatesHaveTheirReason(t *testing.T) {
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, era.KeySize) }
	sealers := make([]era.Keys, 3)
	for i := range sealers {
		if err := sealers[i].Use([][]byte{key(byte(i)), key(9)}[:1+i%2]...); err != nil {
			t.Fatal(err)
		}
	}
	now, bind := time.Now(), []byte("bound")
	text, err := sealers[0].Seal(stateCipher, sealed{CallID: "c", Expires: now.Add(time.Minute)}, bind)
	if err != nil {
		t.Fatal(err)
	}
	middle := len(text) / 2
	changed := text[:middle] + string('A'+(text[middle]-'A'+1)%2) + text[middle+1:]
	for name, c := range map[string]struct {
		by     era.Keys
		text   string
		bind   string
		at     time.Time
		reason string // empty if the state opens
	}{
		"its own":         {sealers[0], text, "bound", now, ""},
		"another replica": {sealers[1], text, "bound", now, "it is sealed with the key 66687aad, and this replica has 72cd6e84, 8c0cc17a: give all replicas the same redis.seal-keys"},
		"another request": {sealers[0], text, "other", now, "it is for another caller, set, method, target or arguments, or was changed"},
		"changed":         {sealers[0], changed, "bound", now, "it is for another caller, set, method, target or arguments, or was changed"},
		"short":           {sealers[0], text[:8], "bound", now, "it is too short"},
		"no base64":       {sealers[0], "?" + text, "bound", now, "it is not base64url"},
		"with a newline":  {sealers[0], text + "\n", "bound", now, "it is not base64url"},
		"expired":         {sealers[0], text, "bound", now.Add(time.Hour), "expired"},
	} {
		_, refused := openState(c.by, c.text, []byte(c.bind), c.at)
		switch {
		case c.reason == "" || refused == nil:
			if c.reason != "" || refused != nil {
				t.Errorf("%s: %+v", name, refused)
			}
		case name == "expired":
			if refused.Reason != "" || !strings.Contains(refused.Message, "requestState expired at") {
				t.Errorf("%s: %+v", name, refused)
			}
		case refused.Message != notIssued || !strings.HasPrefix(refused.Reason, "requestState: "+c.reason):
			t.Errorf("%s: %q, for the log %q, want %q", name, refused.Message, refused.Reason, c.reason)
		}
	}
}

// The encoding of a state is base64url of key id (4 bytes) · nonce (12) · ciphertext and tag, in every release.
func TestEncodingOfStates(t *testing.T) {
	key, bind := bytes.Repeat([]byte{5}, era.KeySize), []byte("bound")
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	id, nonce := sha256.Sum256(key), bytes.Repeat([]byte{6}, gcm.NonceSize())
	plain := []byte(`{"c":"call","r":2,"a":1,"e":"2999-01-01T00:00:00Z"}`)
	text := base64.RawURLEncoding.EncodeToString(gcm.Seal(slices.Concat(id[:4], nonce), nonce, plain, bind))
	if state, refused := openState(era.Keys{key}, text, bind, time.Now()); refused != nil || state.CallID != "call" || state.Round != 2 {
		t.Errorf("%+v, refused: %+v", state, refused)
	}
}
