// Package series holds series of figures in memory, where the engine of Prometheus finds them.
package series

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Memory holds series and answers queries from them.
type Memory struct{ Series []storage.Series }

// Querier implements storage.Queryable.
func (m *Memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found []storage.Series
		for _, s := range m.Series {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
				found = append(found, s)
			}
		}
		slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
		return &set{series: found}
	}}, nil
}

// set is a storage.SeriesSet.
type set struct {
	series []storage.Series
	now    storage.Series
}

func (s *set) Next() bool {
	if len(s.series) == 0 {
		return false
	}
	s.now, s.series = s.series[0], s.series[1:]
	return true
}
func (s *set) At() storage.Series                { return s.now }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// Sample is a plain number at a time.
func Sample(at time.Time, value float64) chunks.Sample { return sample{at.UnixMilli(), value} }

type sample struct {
	at    int64 // in milliseconds
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// OfOneCluster is a query of the dashboard as the chart writes it where a Prometheus has one cluster.
func OfOneCluster(expr string) string {
	return strings.NewReplacer("(LABELS)", "()", "LABELS, ", "", "ZERO", "vector(0)").Replace(expr)
}
