package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Scrape is what one target served at one time.
type Scrape struct {
	// At is the time in seconds since the epoch. Scrapes of a target are ordered by time.
	At int64 `json:"at"`
	// Labels are the labels of the target, such as job and instance.
	Labels map[string]string `json:"labels"`
	// Text is in the format of /metrics.
	Text string `json:"text"`
}

// samples are the samples of one series, ordered by time.
type samples struct {
	labels labels.Labels
	points []chunks.Sample
}

// memory stores series for the engine.
type memory struct {
	byKey  map[string]*samples
	series []*samples
}

var _ storage.Queryable = (*memory)(nil)

// add stores the samples of a scrape, and whether it succeeded as the series up.
func (m *memory) add(s Scrape) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(s.Text))
	if err != nil {
		return fmt.Errorf("the scrape of %v: %w", s.Labels, err)
	}
	at := s.At * 1000
	m.sample("up", s.Labels, nil, at, 1)
	for name, f := range families {
		for _, one := range f.GetMetric() {
			switch {
			case one.Counter != nil:
				m.sample(name, s.Labels, one.Label, at, one.Counter.GetValue())
			case one.Gauge != nil:
				m.sample(name, s.Labels, one.Label, at, one.Gauge.GetValue())
			case one.Untyped != nil:
				m.sample(name, s.Labels, one.Label, at, one.Untyped.GetValue())
			case one.Histogram != nil:
				m.histogram(name, s.Labels, one, at)
			case one.Summary != nil:
				m.sample(name+"_sum", s.Labels, one.Label, at, one.Summary.GetSampleSum())
				m.sample(name+"_count", s.Labels, one.Label, at, float64(one.Summary.GetSampleCount()))
			}
		}
	}
	return nil
}

func (m *memory) histogram(name string, target map[string]string, one *dto.Metric, at int64) {
	h := one.Histogram
	infinite := false
	for _, b := range h.GetBucket() {
		infinite = infinite || math.IsInf(b.GetUpperBound(), 1)
		m.bucket(name, target, one, at, b.GetUpperBound(), b.GetCumulativeCount())
	}
	if !infinite {
		m.bucket(name, target, one, at, math.Inf(1), h.GetSampleCount())
	}
	m.sample(name+"_sum", target, one.Label, at, h.GetSampleSum())
	m.sample(name+"_count", target, one.Label, at, float64(h.GetSampleCount()))
}

func (m *memory) bucket(name string, target map[string]string, one *dto.Metric, at int64, bound float64, count uint64) {
	le, value := "le", strconv.FormatFloat(bound, 'g', -1, 64)
	m.sample(name+"_bucket", target, append(slices.Clone(one.Label), &dto.LabelPair{Name: &le, Value: &value}), at, float64(count))
}

// sample adds one sample to a series.
func (m *memory) sample(name string, target map[string]string, pairs []*dto.LabelPair, at int64, value float64) {
	all := labels.NewScratchBuilder(len(target) + len(pairs) + 1)
	all.Add(model.MetricNameLabel, name)
	for k, v := range target {
		all.Add(k, v)
	}
	for _, p := range pairs {
		all.Add(p.GetName(), p.GetValue())
	}
	all.Sort()
	set := all.Labels()
	if m.byKey == nil {
		m.byKey = map[string]*samples{}
	}
	s := m.byKey[set.String()]
	if s == nil {
		s = &samples{labels: set}
		m.byKey[set.String()] = s
		m.series = append(m.series, s)
	}
	s.points = append(s.points, point{at, value})
}

// Querier implements storage.Queryable. It ignores the times: the engine filters samples itself.
func (m *memory) Querier(int64, int64) (storage.Querier, error) { return querier{m}, nil }

type querier struct{ m *memory }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	out := &found{}
	for _, s := range q.m.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			out.series = append(out.series, storage.NewListSeries(s.labels, s.points))
		}
	}
	slices.SortFunc(out.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return out
}

// LabelValues implements storage.Querier. The engine does not call it.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier. The engine does not call it.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// found iterates over series.
type found struct {
	series []storage.Series
	at     int // of the current one, from 1 on
}

func (f *found) Next() bool                        { f.at++; return f.at <= len(f.series) }
func (f *found) At() storage.Series                { return f.series[f.at-1] }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

// point is one sample.
type point struct {
	at    int64
	value float64
}

var _ chunks.Sample = point{}

func (p point) T() int64                      { return p.at }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }
