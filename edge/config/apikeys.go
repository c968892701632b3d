package config

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// APIKey is one key of the file api-keys.
type APIKey struct {
	// Name of the machine: the subject of its principal. Several keys may have the same name.
	Name string `yaml:"name"`
	// SHA256 of the key, in hexadecimal digits.
	SHA256 string `yaml:"sha256"`
	Scopes Names  `yaml:"scopes"`
	Roles  Names  `yaml:"roles"`
	// Claims are further claims of its principal, by name, as an issuer would put them into a token.
	Claims KeyClaims `yaml:"claims"`
	// Expires is the end of its validity, in the form of RFC 3339; zero means never.
	Expires time.Time `yaml:"expires"`
}

// Sum returns the decoded SHA256, which ParseAPIKeys has validated.
func (k *APIKey) Sum() (sum [32]byte) {
	_, _ = hex.Decode(sum[:], []byte(k.SHA256))
	return sum
}

const maxKeyName = 256

// entryHint returns the key that was probably meant by an unknown key of an entry. It is empty for
// other errors.
func entryHint(err error) string {
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) || unknown.GetToken() == nil {
		return ""
	}
	entry := section{fields: reflect.TypeFor[APIKey]()}
	keys := entry.keys()
	if meant := Nearest(asKey(unknown.GetToken().Value), keys); meant != "" {
		return meant + " may be meant"
	}
	last := len(keys) - 1
	return fmt.Sprintf("an entry has %s and %s", strings.Join(keys[:last], ", "), keys[last])
}

// ParseAPIKeys parses the file api-keys, a list in YAML. An unknown member is an error, and so is
// an empty file, which may be half written. The file has hashes of the keys; errors contain
// neither. A name may have several keys with the same scopes, roles and claims, so that a key and its
// successor are valid at the same time.
func ParseAPIKeys(raw []byte) ([]APIKey, error) {
	var keys []APIKey
	if err := yaml.UnmarshalWithOptions(raw, &keys, yaml.Strict(), yaml.CustomUnmarshaler(parseTime)); err != nil {
		if wrong := wrongTimes(raw, err); wrong != nil {
			return nil, wrong
		}
		text := inYAML(strings.TrimRight(yaml.FormatError(err, false, false), "\n"))
		if hint := cmp.Or(entryHint(err), quotesMissing(raw, err, false)); hint != "" {
			text += ": " + hint
		}
		return nil, errors.New(text)
	}
	if keys == nil {
		return nil, errors.New("it has no list: write [] for no keys")
	}
	var errs []error
	first, sums := map[string]int{}, map[string]string{}
	for i, k := range keys {
		if len(k.Name) > maxKeyName || !mcp.IsName(k.Name) {
			errs = append(errs, fmt.Errorf("entry %d: name %.80q: give it 1 to %d bytes of visible characters, without control characters "+
				"and without spaces at its ends", i+1, k.Name, maxKeyName))
		}
		if one, there := first[k.Name]; !there {
			first[k.Name] = i
		} else if before := &keys[one]; !slices.Equal(before.Scopes, k.Scopes) || !slices.Equal(before.Roles, k.Roles) || !before.Claims.equal(k.Claims) {
			errs = append(errs, fmt.Errorf("entry %d: %.80q has other scopes, roles or claims than in entry %d: keys of one name are of one caller, so give both the same, "+
				"or the key of another caller another name", i+1, k.Name, one+1))
		}
		for _, scope := range k.Scopes {
			if why := mcp.NotScope(scope); why != "" {
				errs = append(errs, fmt.Errorf("entry %d, %.80q: scopes: %.80q %s", i+1, k.Name, scope, why))
			}
		}
		if why := k.Claims.invalid(); why != "" {
			errs = append(errs, fmt.Errorf("entry %d, %.80q: claims: %s", i+1, k.Name, why))
		}
		if sum, err := hex.DecodeString(k.SHA256); err != nil || len(sum) != 32 {
			errs = append(errs, fmt.Errorf("entry %d, %.80q: sha256 is not 64 hexadecimal digits: make it with: printf %%s \"$KEY\" | sha256sum", i+1, k.Name))
			continue
		}
		sum := strings.ToLower(k.SHA256)
		if other, taken := sums[sum]; taken {
			errs = append(errs, fmt.Errorf("entry %d, %.80q: it is the key of %.80q, too: make one for each", i+1, k.Name, cmp.Or(other, "another")))
		}
		sums[sum] = k.Name
	}
	return keys, errors.Join(errs...)
}
