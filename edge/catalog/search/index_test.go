package search

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// apis returns 500 tools of public APIs, the RPCs of github.com/googleapis/googleapis (Apache
// License 2.0). Each has the first sentence of its comment, and those of some of its fields.
func apis(t testing.TB) (names []string, documents []Document) {
	t.Helper()
	raw, err := os.ReadFile("testdata/apis.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name, Description string
		Arguments         map[string]string
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	for _, x := range tools {
		d := Document{Name: x.Name, Description: x.Description}
		for name, text := range x.Arguments {
			d.Arguments = append(d.Arguments, name, text)
		}
		names, documents = append(names, x.Name), append(documents, d)
	}
	if len(names) != 500 {
		t.Fatalf("there are %d tools", len(names))
	}
	return names, documents
}

// TestQuestions checks that at least 54 of 60 questions have the right tool among the first five
// results. The questions are older than the index.
func TestQuestions(t *testing.T) {
	names, documents := apis(t)
	x := New(documents)
	raw, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	asked, right := 0, 0
	for line := range strings.Lines(string(raw)) {
		question, want, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || !slices.Contains(names, want) {
			t.Fatalf("%q names no tool", line)
		}
		asked++
		var got []string
		for _, i := range x.Find(question, 5, nil) {
			got = append(got, names[i])
		}
		if slices.Contains(got, want) {
			right++
		} else {
			t.Logf("%s: want %s: %v", question, want, got)
		}
	}
	t.Logf("%d of %d", right, asked)
	if asked != 60 || right < 54 {
		t.Errorf("%d of %d questions have their tool among the first five", right, asked)
	}
}

// TestHiddenDocuments checks that hidden documents are not found, and that the results equal those
// of an index without them.
func TestHiddenDocuments(t *testing.T) {
	names, documents := apis(t)
	var seen []string
	var few []Document
	visible := make([]bool, len(documents))
	for i := range documents {
		if visible[i] = i%3 == 0; visible[i] {
			seen, few = append(seen, names[i]), append(few, documents[i])
		}
	}
	all, own := New(documents), New(few)
	// Words that only hidden documents have, parts of such words, and one of them with a word of a
	// visible document.
	queries := []string{"delete a bucket", "list keys", "create an alert", "voices"}
	n := len(queries)
	for word, list := range all.postings {
		if len(word) > minPart+1 && len(list) > 0 && !slices.ContainsFunc(list, func(p posting) bool { return visible[p.document] }) {
			queries = append(queries, "bucket "+word, "bucket "+word[1:], "bucket "+word[:len(word)-1], word)
		}
	}
	if len(queries) < n+100 {
		t.Fatalf("there are %d queries", len(queries))
	}
	for i, query := range queries {
		var got, want []string
		for _, i := range all.Find(query, 20, visible) {
			got = append(got, names[i])
		}
		for _, i := range own.Find(query, 20, nil) {
			want = append(want, seen[i])
		}
		if i < n && len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}

// TestQueries checks that every query stays within the bounds of the index.
func TestQueries(t *testing.T) {
	x := New([]Document{
		{Name: "getUserHTTPLog", Description: "Reads logs of users."}, {Name: "b", Arguments: []string{"customer_id", "The buyer."}}, {Name: "c", Description: "日本語の説明"}, {},
	})
	for query, want := range map[string][]int{
		"user logs": {0}, "http": {0}, "LOGGED": {0}, "customers": {1}, "日本": {2}, "": nil, "the of and": nil, "\xff\x00": nil, strings.Repeat("user ", 10000): {0},
	} {
		if got := x.Find(query, 5, nil); !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%.40q: %v, want %v", query, got, want)
		}
	}
	if got := x.Find("user customer", 1, nil); len(got) != 1 {
		t.Errorf("beyond the limit: %v", got)
	}
	if got := New(nil).Find("user", 5, nil); len(got) != 0 {
		t.Errorf("found in nothing: %v", got)
	}
	if n := len(wanted(strings.Join(distinct("w", 1000), " "))); n != MaxTerms {
		t.Errorf("%d words are read", n)
	}
}

// TestMemory checks that an index of 500 tools uses less than a megabyte.
func TestMemory(t *testing.T) {
	_, documents := apis(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := New(documents)
	runtime.GC()
	runtime.ReadMemStats(&after)
	took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes", took)
	if took > 1<<20 {
		t.Errorf("the index takes %d bytes", took)
	}
	runtime.KeepAlive(x)
	runtime.KeepAlive(documents)
}

// TestVisits checks that the work of a query is bounded. It covers words with many synonyms, words
// that no document has, and words that are parts of many others.
func TestVisits(t *testing.T) {
	_, documents := apis(t)
	x := New(documents)
	var common, parts []string
	for word := range x.postings {
		common = append(common, word)
	}
	slices.SortFunc(common, func(a, b string) int { return len(x.postings[b]) - len(x.postings[a]) })
	part := func(word string) (n int) { return len((&finding{Index: x}).similar(word)) }
	count := map[string]int{}
	for word := range x.postings {
		for i := 0; i+minPart <= len(word); i++ {
			if one := word[i : i+minPart]; x.postings[one] == nil && count[one] == 0 {
				count[one] = part(one)
				parts = append(parts, one)
			}
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return count[b] - count[a] })
	all := 0
	for _, list := range x.postings {
		all += len(list)
	}
	for name, words := range map[string][]string{
		"none": nil, "unknown": distinct("qwertz", 1000), "common": common[:200], "parts": parts[:200],
		"synonyms": strings.Fields("get list create delete update search send cancel disable run enable restore copy move check image person file speech add password"),
	} {
		_, visited := x.find(strings.Join(words, " "), 20, nil)
		t.Logf("%s: %d visited", name, visited)
		// The bound counts each posting once for its word and a few times for synonyms, and the
		// vocabulary once for each similar word.
		if most := 3*all + maxSimilar*len(x.postings); visited > most || len(words) > 0 && visited == 0 {
			t.Errorf("%s: %d postings and words are visited, at most %d may be", name, visited, most)
		}
	}
}

// distinct returns n distinct words that begin with head.
func distinct(head string, n int) (words []string) {
	for i := range n {
		words = append(words, head+strings.Repeat("x", i%50)+string(rune('a'+i%26)))
	}
	return words
}

func BenchmarkFind(b *testing.B) {
	_, documents := apis(b)
	x := New(documents)
	for b.Loop() {
		x.Find("change the push endpoint of a subscription", 5, nil)
	}
}
