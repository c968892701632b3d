// Package search finds tools by words, with BM25 over their names, descriptions and arguments.
package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Document has the texts of one tool that are searched.
type Document struct {
	// Name is the name that clients see. Its words have the greatest weight.
	Name string
	// Description is the title and the description.
	Description string
	// Arguments are the names and the descriptions of the arguments. Their words have the least
	// weight.
	Arguments []string
}

// The weights of words by the text that has them.
const (
	weightName        = 3
	weightDescription = 1
	weightArgument    = 0.5
)

// The parameters of BM25, usually called k1 and b. saturation limits the effect of repeated words,
// lengthNorm sets the effect of a document's length.
const (
	saturation = 0.8
	lengthNorm = 0.75
)

// MaxTerms bounds the distinct words of a query. Further ones are ignored.
const MaxTerms = 64

// Index finds documents. It is immutable and safe for concurrent use. It uses 8 bytes for each
// distinct word of each document, and about 100 bytes for each distinct word of all documents.
type Index struct {
	lengths  []float32
	postings map[string][]posting
}

// posting records that a document has a word. weight is the sum of the weights of its occurrences.
type posting struct {
	document int32
	weight   float32
}

// New returns the index of documents.
func New(documents []Document) *Index {
	x := &Index{lengths: make([]float32, len(documents)), postings: make(map[string][]posting)}
	for i := range documents {
		d := &documents[i]
		weights := make(map[string]float32)
		add := func(text string, weight float32) {
			for _, term := range terms(text) {
				weights[term] += weight
				x.lengths[i] += weight
			}
		}
		add(d.Name, weightName)
		add(d.Description, weightDescription)
		for _, a := range d.Arguments {
			add(a, weightArgument)
		}
		for term, weight := range weights {
			x.postings[term] = append(x.postings[term], posting{int32(i), weight}) // #nosec G115 -- there are not that many tools
		}
	}
	for term, list := range x.postings {
		x.postings[term] = slices.Clip(list)
	}
	return x
}

// Find returns the indexes of at most limit documents for a query, the best first. Documents with
// equal scores keep their order. visible has an element for each document, which is true if the
// document may be found. Other documents do not influence the result. nil means that all may be
// found.
func (x *Index) Find(query string, limit int, visible []bool) []int {
	found, _ := x.find(query, limit, visible)
	return found
}

// find implements Find. visited is the number of postings and words of the index that it has
// visited.
func (x *Index) find(query string, limit int, visible []bool) (found []int, visited int) {
	f := finding{Index: x, visible: visible}
	for i, n := range x.lengths {
		if visible == nil || visible[i] {
			f.documents++
			f.average += float64(n)
		}
	}
	f.average = max(1, f.average/float64(max(1, f.documents)))
	scores, unknown := make(map[int]float64), 0
	for _, group := range wanted(query) {
		best := f.best(group)
		if len(best) == 0 && unknown < maxSimilar {
			unknown++
			best = f.best(f.similar(group[0].term))
		}
		for document, one := range best {
			scores[document] += one
		}
	}
	found = make([]int, 0, len(scores))
	for document := range scores {
		found = append(found, document)
	}
	slices.SortFunc(found, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	return found[:min(limit, len(found))], f.visited
}

// finding is the state of one search.
type finding struct {
	*Index
	visible   []bool
	documents int     // the number of visible documents
	average   float64 // their average length
	visited   int     // visited postings and words of the index
}

// best returns the visible documents that have any of the terms. The score of a document is its
// highest one for a single term.
func (f *finding) best(group []term) map[int]float64 {
	out := make(map[int]float64)
	for _, w := range group {
		var list []posting
		f.visited += len(f.postings[w.term])
		for _, p := range f.postings[w.term] {
			if f.visible == nil || f.visible[p.document] {
				list = append(list, p)
			}
		}
		having := float64(len(list))
		rarity := math.Log(1 + (float64(f.documents)-having+0.5)/(having+0.5))
		for _, p := range list {
			weight := float64(p.weight)
			norm := saturation * (1 - lengthNorm + lengthNorm*float64(f.lengths[p.document])/f.average)
			one := w.weight * rarity * weight * (saturation + 1) / (weight + norm)
			out[int(p.document)] = max(out[int(p.document)], one)
		}
	}
	return out
}

// maxSimilar bounds the words of a query that are compared with all words of the index, because no
// visible document has them.
const maxSimilar = 8

// minPart is the minimum length of a word that is matched as a part of another one.
const minPart = 4

// similar returns the terms that contain a word, or that the word contains. It is for a word that
// no visible document has.
func (f *finding) similar(word string) (out []term) {
	if len(word) < minPart {
		return nil
	}
	f.visited += len(f.postings)
	for other := range f.postings {
		if strings.Contains(other, word) || len(other) >= minPart && strings.Contains(word, other) {
			out = append(out, term{other, synonymWeight})
		}
	}
	return out
}
