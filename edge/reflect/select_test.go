package reflect

import "testing"

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, method string
		want            bool
	}{
		{"a.v1.B/C", "a.v1.B/C", true},
		{"/a.v1.B/C", "a.v1.B/C", true},
		{"a.v1.B/c", "a.v1.B/C", false},
		{"a.v1.B", "a.v1.B/C", true},
		{"a.v1.B", "a.v1.Bb/C", false},
		{"a.*", "a.v1.B/C", true},
		{"*", "a.v1.B/C", true},
		{"*/C", "a.v1.B/C", true},
		{"*/C", "a.v1.B/CC", false},
		{"*/C*", "a.v1.B/CC", true},
		{"a.*.B/*C*D", "a.v1.B/xCyD", true},
		{"a.*.B/*C*D", "a.v1.B/xDyC", false},
		{"**", "a.v1.B/C", true},
		{"a.v1.B/C*C", "a.v1.B/C", false},
	} {
		if got := newSelection(nil, nil).matches(c.pattern, c.method); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.method, got)
		}
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"GetUser": "get_user", "HTTPServer": "http_server", "GetHTTPStatus": "get_http_status", "List2Items": "list2_items",
		"already_snake": "already_snake", "ID": "id", "GetID": "get_id", "A": "a", "Mixed_Case": "mixed_case",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
