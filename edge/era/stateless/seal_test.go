package stateless

import (
	"bytes"
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
		var err error
		if sealers[i], err = era.NewKeys([][]byte{key(byte(i)), key(9)}[:1+i%2]...); err != nil {
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
