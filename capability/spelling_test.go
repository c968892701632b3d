package capability

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

type spelled struct {
	Region string             `json:"region,omitempty"`
	At     time.Time          `json:"at,omitzero"`
	Raw    json.RawMessage    `json:"raw,omitempty"`
	Inner  *spelled           `json:"inner,omitempty"`
	List   []spelled          `json:"list,omitempty"`
	Map    map[string]spelled `json:"map,omitempty"`
	Free   map[string]any     `json:"free,omitempty"`
	Untold string             `json:",omitempty"`
	Nested [][]map[string]*spelled
}

// A member that is spelled differently from its field is rejected at any depth, because a policy
// that inspected the arguments has not seen it.
func TestMembersAreSpelledAsTheyAre(t *testing.T) {
	decode := decoderOf[spelled]("t", false, false)
	for arguments, want := range map[string]string{
		`{}`: "",
		` { "region" : "eu" , "inner" : { "region" : "us" , "list" : [ { } , { "region" : "x" } ] } , "at" : "2026-01-01T00:00:00Z" } `: "",
		`{"other":{"Region":1},"REGIONS":2,"region":"a\"}{b"}`:                                                                          "",
		`{"free":{"Region":1,"region":2},"raw":{"Region":[1,{"REGION":2}]},"Untold":"x"}`:                                               "",
		`{"map":{"Region":{"region":"x"},"region":{}},"list":[],"inner":null}`:                                                          "",
		`{"region":"eu","Region":"us"}`:                                "Region",
		`{"Region":"us"}`:                                              "Region",
		`{"REGION":null}`:                                              "REGION",
		`{"\u0052egion":"us"}`:                                         "Region",
		`{"\u0072egion":"us"}`:                                         "",
		`{"untold":"us"}`:                                              "untold",
		`{"inner":{"inner":{"regioN":"us"}}}`:                          "regioN",
		`{"list":[{"region":"a"},{"Region":"us"}]}`:                    "Region",
		`{"map":{"a":{"Region":"us"}}}`:                                "Region",
		`{"free":{"a":[1,2.5e3,true,null,"]"]},"Inner":{}}`:            "Inner",
		`{"Nested":[[],[{"a":null,"b":{"region":"x","Region":"y"}}]]}`: "Region",
		`{"nested":[]}`:                                                "nested",
		"{\"li\u017ft\":[]}":                                           "li\u017ft",
	} {
		var in spelled
		err := decode(arguments, &in)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), `"`+want+`"`)) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
}
