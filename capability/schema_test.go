package capability

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type color string

func (color) JSONSchema() string { return `{"type":"string","enum":["red","blue"]}` }

type base struct {
	ID   string `json:"id"`
	Name string // hidden by the outer field
}

type node struct {
	Value    int     `json:"value"`
	Children []*node `json:"children,omitempty"`
}

type chain struct {
	Next *chain `json:"next" description:"The rest"`
	Then *chain `json:"then"`
}

const inlineNode = `{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":` +
	`{"type":"object","description":"a node as above"}}},"required":["value"]}`

// mesh0 contains itself in 4^8 ways.
type (
	mesh0 struct{ A, B, C, D *mesh1 }
	mesh1 struct{ A, B, C, D *mesh2 }
	mesh2 struct{ A, B, C, D *mesh3 }
	mesh3 struct{ A, B, C, D *mesh4 }
	mesh4 struct{ A, B, C, D *mesh5 }
	mesh5 struct{ A, B, C, D *mesh6 }
	mesh6 struct{ A, B, C, D *mesh7 }
	mesh7 struct{ A, B, C, D *mesh0 }
)

func TestSchemaIsBounded(t *testing.T) {
	text := schemaOf(reflect.TypeFor[mesh0](), false)
	if len(text) > 512<<10 || strings.Contains(text, "$ref") {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}

func TestSchema(t *testing.T) {
	for name, c := range map[string]struct {
		t      reflect.Type
		output bool
		want   string
	}{
		"struct": {reflect.TypeFor[struct {
			City  string  `json:"city" description:"City name"`
			Days  int     `json:"days,omitempty" minimum:"1" maximum:"14"`
			Exact *bool   `json:"exact"`
			Unit  string  `json:"unit" enum:"c,f" default:"c"`
			Limit float64 `json:"limit,omitzero" exclusiveMinimum:"0" multipleOf:"0.5"`
			skip  int
			Never string `json:"-"`
		}](), false, `{"type":"object","properties":{` +
			`"city":{"type":"string","description":"City name"},` +
			`"days":{"type":"integer","minimum":1,"maximum":14},` +
			`"exact":{"type":"boolean"},` +
			`"unit":{"type":"string","enum":["c","f"],"default":"c"},` +
			`"limit":{"type":"number","exclusiveMinimum":0,"multipleOf":0.5}},"required":["city"]}`},
		"lists and maps": {reflect.TypeFor[struct {
			Tags  []string       `json:"tags" minItems:"1" maxItems:"3" uniqueItems:"true" enum:"a,b"`
			Pair  [2]int         `json:"pair"`
			Count map[string]int `json:"count"`
			Open  map[string]any `json:"open"`
			Data  []byte         `json:"data"`
		}](), false, `{"type":"object","properties":{` +
			`"tags":{"type":"array","minItems":1,"maxItems":3,"uniqueItems":true,"items":{"type":"string","enum":["a","b"]}},` +
			`"pair":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"integer"}},` +
			`"count":{"type":"object","additionalProperties":{"type":"integer"}},` +
			`"open":{"type":"object"},` +
			`"data":{"type":"string","contentEncoding":"base64","maxLength":1398104}},"required":["tags","pair","count","open","data"]}`},
		"special": {reflect.TypeFor[struct {
			At   time.Time       `json:"at"`
			Addr netip.Addr      `json:"addr"`
			Raw  json.RawMessage `json:"raw"`
			Any  any             `json:"any"`
			Big  int64           `json:"big,string"`
			Hue  color           `json:"hue" description:"The hue"`
			U    uint8           `json:"u" required:"false"`
		}](), false, `{"type":"object","properties":{` +
			`"at":{"type":"string","format":"date-time"},"addr":{"type":"string"},"raw":{},"any":{},` +
			`"big":{"type":"string"},"hue":{"type":"string","enum":["red","blue"],"description":"The hue"},` +
			`"u":{"type":"integer","minimum":0}},"required":["at","addr","raw","any","big","hue"]}`},
		"embedded": {reflect.TypeFor[struct {
			base
			Name string `json:"Name" pattern:"^a" minLength:"1" maxLength:"9" format:"email" title:"T" header:"Name"`
		}](), false, `{"type":"object","properties":{"id":{"type":"string"},` +
			`"Name":{"type":"string","title":"T","format":"email","minLength":1,"maxLength":9,"pattern":"^a","x-mcp-header":"Name"}},` +
			`"required":["id","Name"]}`},
		"embedded pointer": {reflect.TypeFor[struct{ *node }](), false,
			`{"type":"object"}`}, // an unexported type behind a pointer cannot be decoded
		"recursive": {reflect.TypeFor[node](), false,
			`{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":` +
				`{"type":"object","description":"a node as above"}}},"required":["value"]}`},
		"recursive, with a description": {reflect.TypeFor[chain](), false,
			`{"type":"object","properties":{"next":{"type":"object","description":"The rest"},"then":{"type":"object","description":"a chain as above"}}}`},
		"the same type twice": {reflect.TypeFor[struct{ A, B node }](), false,
			`{"type":"object","properties":{"A":` + inlineNode + `,"B":` + inlineNode + `},"required":["A","B"]}`},
		"recursive output": {reflect.TypeFor[node](), true,
			`{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}}},"required":["value"],` +
				`"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}}},"required":["value"]}}}`},
		"output prints null": {reflect.TypeFor[struct {
			List []string  `json:"list"`
			Ptr  *string   `json:"ptr"`
			Gone []string  `json:"gone,omitempty"`
			Kids []*string `json:"kids,omitempty"`
			Hue  *color    `json:"hue"`
		}](), true, `{"type":"object","properties":{"list":{"type":["array","null"],"items":{"type":"string"}},` +
			`"ptr":{"type":["string","null"]},"gone":{"type":"array","items":{"type":"string"}},` +
			`"kids":{"type":"array","items":{"type":["string","null"]}},` +
			`"hue":{"anyOf":[{"type":"string","enum":["red","blue"]},{"type":"null"}]}},"required":["list","ptr","hue"]}`},
		"list":  {reflect.TypeFor[[]int](), true, `{"type":"array","items":{"type":"integer"}}`},
		"plain": {reflect.TypeFor[float32](), true, `{"type":"number"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want any
			text := schemaOf(c.t, c.output)
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestSchemaKeepsTheOrderOfFields(t *testing.T) {
	text := schemaOf(reflect.TypeFor[struct{ Z, A, M int }](), false)
	if z, a, m := strings.Index(text, `"Z"`), strings.Index(text, `"A"`), strings.Index(text, `"M"`); z > a || a > m {
		t.Errorf("not in the order of the fields: %s", text)
	}
}

func TestSchemaRefusesMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		make func()
		says string
	}{
		"channel":       {func() { schemaOf(reflect.TypeFor[struct{ C chan int }](), false) }, ".C: a chan int makes no JSON"},
		"deep function": {func() { schemaOf(reflect.TypeFor[struct{ L []struct{ F func() } }](), false) }, ".L[].F"},
		"map keys":      {func() { schemaOf(reflect.TypeFor[map[float64]int](), false) }, "keys"},
		"bound": {func() {
			schemaOf(reflect.TypeFor[struct {
				N int `minimum:"low"`
			}](), false)
		}, `field N: the tag minimum:"low"`},
		"count": {func() {
			schemaOf(reflect.TypeFor[struct {
				S string `minLength:"-1"`
			}](), false)
		}, "minLength"},
		"default": {func() {
			schemaOf(reflect.TypeFor[struct {
				N int `default:"x"`
			}](), false)
		}, "default"},
		"enum": {func() {
			schemaOf(reflect.TypeFor[struct {
				N int `enum:"1,true"`
			}](), false)
		}, "enum"},
		"input":        {func() { inputSchemaOf("t", reflect.TypeFor[string](), false) }, "take a struct or a map"},
		"form":         {func() { formOf[struct{ In struct{ A int } }]() }, `member "In"`},
		"form of list": {func() { formOf[struct{ L []string }]() }, `member "L"`},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, c.says) {
					t.Errorf("panic %q does not say %q", p, c.says)
				}
			}()
			c.make()
			t.Error("no panic")
		})
	}
}

func TestDecode(t *testing.T) {
	type args struct {
		City  string `json:"city"`
		Days  int8   `json:"days" default:"3"`
		Inner struct {
			Unit string `json:"unit" default:"c"`
			On   *bool  `json:"on" default:"true"`
		} `json:"inner,omitzero"`
	}
	decode := decoderOf[args]("t", true, true)
	var got args
	if err := decode(`{"city":"a","unknown":1,"inner":{"unit":"f"}}`, &got); err != nil {
		t.Fatal(err)
	}
	if got.City != "a" || got.Days != 3 || got.Inner.Unit != "f" || got.Inner.On == nil || !*got.Inner.On {
		t.Errorf("got %+v", got)
	}
	for text, says := range map[string]string{
		``:                                 `"city" is missing`,
		`{"x":{"city":1},"l":["city"]}`:    `"city" is missing`,
		`{"x":"city"}`:                     `"city" is missing`,
		`{"city":1}`:                       `"city" must be a string, not a JSON number`,
		`{"city":"a","days":999}`:          `"days" must be an integer of 8 bits`,
		`{"city":"a","inner":{"unit":[]}}`: `"inner.unit" must be a string, not a JSON array`,
		`[]`:                               `must be a JSON object, not a JSON array`,
		`{"city"`:                          `do not fit`,
	} {
		var in args
		err := decode(text, &in)
		var f *Failure
		if f, _ = err.(*Failure); f == nil || f.Reason != InvalidArgument || !strings.Contains(f.Message, says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	var in args
	if err := decode(`{"c\u0069ty":"a \" } \\"}`, &in); err != nil {
		t.Errorf("an escaped name: %v", err)
	}
}

func TestFormRules(t *testing.T) {
	r := formRules(`{"type":"object","properties":{
		"s":{"type":"string","minLength":2,"maxLength":3,"pattern":"^ä"},
		"n":{"type":"number","minimum":1,"maximum":2},"i":{"type":"integer"},"b":{"type":"boolean"},
		"e":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
		"m":{"type":"array","minItems":1,"items":{"anyOf":[{"const":"p","title":"P"},{"const":"q","title":"Q"}]}}},"required":["b"]}`)
	for text, want := range map[string]bool{
		`{"b":true}`: true, `{"b":"true"}`: false, `{}`: false, `[]`: false, `null`: false, ``: false,
		`{"b":true,"s":"ää"}`: true, `{"b":true,"s":"ä"}`: false, `{"b":true,"s":"aaa"}`: false, `{"b":true,"s":"äää4"}`: false,
		`{"b":true,"n":1.5}`: true, `{"b":true,"n":2.5}`: false, `{"b":true,"n":0}`: false,
		`{"b":true,"i":7}`: true, `{"b":true,"i":7.5}`: false,
		`{"b":true,"e":"x"}`: true, `{"b":true,"e":"y"}`: false,
		`{"b":true,"m":["p","q"]}`: true, `{"b":true,"m":[]}`: false, `{"b":true,"m":["r"]}`: false, `{"b":true,"other":null}`: true,
	} {
		if err := r.check(json.RawMessage(text)); (err == nil) != want {
			t.Errorf("%s: %v, want fitting: %v", text, err, want)
		}
	}
}
