package search

import (
	"slices"
	"strings"
	"unicode"
)

// term is a word of a query, or a synonym, with its weight.
type term struct {
	term   string
	weight float64
}

// wanted returns a group of terms for each distinct word of a query: the word and its synonyms.
func wanted(query string) (groups [][]term) {
	var seen []string
	for _, one := range terms(query) {
		if len(groups) == MaxTerms {
			break
		}
		if slices.Contains(seen, one) {
			continue
		}
		seen = append(seen, one)
		group := []term{{one, 1}}
		for _, other := range synonyms[one] {
			group = append(group, term{other, synonymWeight})
		}
		groups = append(groups, group)
	}
	return groups
}

// synonymWeight is the weight of a synonym. A word of the query has the weight 1.
const synonymWeight = 0.6

// synonyms maps stems to the stems of their synonyms: words that users and authors of APIs use for
// the same thing.
var synonyms = func() map[string][]string {
	out := make(map[string][]string)
	for _, line := range []string{
		"delete remove erase destroy purge drop revoke discard",
		"create add make new insert register define deploy",
		"get read fetch show retrieve view download access pull receive",
		"list enumerate show which what all",
		"search find query lookup",
		"update change modify edit set patch adjust",
		"send post publish push write",
		"cancel stop abort end terminate",
		"disable pause suspend deactivate off",
		"start run execute launch begin trigger",
		"enable resume activate on",
		"restore recover undelete undo",
		"copy duplicate clone",
		"move rename relocate",
		"check validate verify test",
		"image picture photo",
		"person user member participant people who",
		"add invite join",
		"acknowledge ack confirm",
		"snooze silence mute suppress",
		"password auth credential",
		"file document object",
		"speech audio voice",
	} {
		words := strings.Fields(line)
		for _, a := range words {
			for _, b := range words {
				if a != b && !slices.Contains(out[stem(a)], stem(b)) {
					out[stem(a)] = append(out[stem(a)], stem(b))
				}
			}
		}
	}
	return out
}()

// ignored are frequent words that do not distinguish tools.
var ignored = func() map[string]bool {
	out := make(map[string]bool)
	for _, word := range strings.Fields("a an and any are as at be by can do does for from has have how i if in into is it its me my of or our " +
		"please than that the their them then there these this those to want we when where will with you your s t") {
		out[word] = true
	}
	return out
}()

// terms returns the stems of the words of a text, without ignored words. A word ends at a character
// that is neither letter nor digit, and before the next capital in camelCase. In a script without
// spaces, each character is a word.
func terms(text string) (out []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			if w := strings.ToLower(string(word)); !ignored[w] {
				out = append(out, stem(w))
			}
			word = word[:0]
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			out = append(out, string(r))
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
			unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// stem returns a lower-case English word without its ending, so that the forms of a word have the
// same stem.
func stem(w string) string {
	switch {
	case len(w) < 4:
		return w
	case strings.HasSuffix(w, "ies"):
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, ending := range []string{"ing", "ed", "ion", "ship"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= 4 && strings.ContainsAny(rest, "aeiouy") {
			w = rest
			if n := len(w); w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
				w = w[:n-1]
			}
			break
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}
