package capability

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func manyTools(n, descriptionBytes int) []*Tool {
	all := make([]*Tool, n)
	for i := range all {
		all[i] = &Tool{Name: fmt.Sprint("t", i), Description: strings.Repeat("x", descriptionBytes)}
	}
	return all
}

// allPages reads all pages of a list and returns their sizes.
func allPages(t *testing.T, all []*Tool, size int32) []int {
	t.Helper()
	var (
		sizes []int
		names []string
		token string
	)
	for {
		tools, next, err := page(all, (*Tool).GetName, token, size)
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, tool := range tools {
			bytes += proto.Size(tool)
			names = append(names, tool.GetName())
		}
		if bytes > pageBytes && len(tools) > 1 {
			t.Errorf("a page of %d bytes", bytes)
		}
		sizes = append(sizes, len(tools))
		if next == "" {
			break
		}
		token = next
	}
	for i, tool := range all {
		if i >= len(names) || names[i] != tool.GetName() {
			t.Fatalf("%q is not in its place", tool.GetName())
		}
	}
	return sizes
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []*Tool
		size int32
		want []int
	}{
		{"none", nil, 0, []int{0}},
		{"by count", manyTools(2500, 1), 0, []int{1000, 1000, 500}},
		{"by the caller's size", manyTools(5, 1), 2, []int{2, 2, 1}},
		{"never above the count", manyTools(1001, 1), 5000, []int{1000, 1}},
		{"exactly one", manyTools(1000, 1), 0, []int{1000}},
		{"by bytes", manyTools(5, 1<<20), 0, []int{2, 2, 1}},
		{"one above the bytes", manyTools(2, 4<<20), 0, []int{1, 1}},
	} {
		if got := allPages(t, c.all, c.size); !slices.Equal(got, c.want) {
			t.Errorf("%s: pages of %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPagesWhileTheListChanges(t *testing.T) {
	all := manyTools(6, 1)
	_, token, err := page(all, (*Tool).GetName, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]*Tool{
		"one before removed": all[1:],
		"one before added":   append([]*Tool{{Name: "new"}}, all...),
		"the last removed":   append(slices.Clone(all[:2]), all[3:]...),
	} {
		got, _, err := page(list, (*Tool).GetName, token, 1)
		if err != nil || len(got) != 1 || got[0].GetName() != "t3" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, token := range []string{"x", "3", "-1-0", "0-0", "3-zz"} {
		if _, _, err := page(all, (*Tool).GetName, token, 0); status.Code(err) != codes.InvalidArgument {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

func TestFeedCollapsesWhatLagsFarBehind(t *testing.T) {
	f := newFeed()
	w := f.join("x://")
	for i := range maxPending + 1 {
		f.publish(fmt.Sprint("x://", i))
	}
	if got := f.take(w); !slices.Equal(got, []string{"x://"}) {
		t.Errorf("%d events, the first %q", len(got), got[0])
	}
	f.publish("y://")
	if got := f.take(w); len(got) != 0 {
		t.Errorf("an unrelated event: %q", got)
	}
	f.leave(w)
}
