package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// ReadClaims reads the claims of a token for the flag --claims of a command, from JSON, which begins as an object does, or from a file.
func ReadClaims(command, given string) (json.RawMessage, error) {
	raw, from := []byte(given), "the JSON given"
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if raw, err = os.ReadFile(given); err != nil { // #nosec G304 G703 -- the operator names the file
			return nil, fmt.Errorf("%s: --claims: %w", command, err)
		}
		from = given
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, fmt.Errorf("%s: --claims: %s is no JSON object: give the claims of a token, decoded", command, from)
	}
	return raw, nil
}
