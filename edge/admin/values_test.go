package admin

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

// Results of many values are not made messages of protobuf, which take many times their size.
func TestResultsOfManyValues(t *testing.T) {
	of := func(n int) json.RawMessage { return json.RawMessage(`{"a":[` + strings.Repeat("1,", n-1) + "1]}") }
	if err := read(of(maxValues-2), &structpb.Struct{}); err != nil {
		t.Errorf("%d values: %v", maxValues, err)
	}
	if err := read(of(maxValues-1), &structpb.Struct{}); err == nil || !strings.Contains(err.Error(), "has more than 200000 values") {
		t.Errorf("one more: %v", err)
	}
}
