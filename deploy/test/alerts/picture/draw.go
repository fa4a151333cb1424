package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"alicloud-controllers.dev/deploy/test/alerts/internal/series"
)

// dashboard is what the chart makes one of.
type dashboard struct {
	Rows []struct {
		Title  string
		Stats  []struct{ Title, Expr string }
		Panels []struct {
			Title, Unit, Axis string
			Queries           []struct{ Expr, Legend string }
		}
	}
}

// row is what the page shows below one title.
type row struct {
	Title  string
	Stats  []stat
	Panels []panel
}

type stat struct {
	Title, Value string
	Bad          bool
}

type panel struct {
	Title string
	Axis  string // what it counts
	Most  string // of the axis
	Lines []line
}

type line struct{ Legend, Points, Colour string }

// The size of a panel's plane, and of how many lines at most its legend speaks.
const (
	width, height = 560.0, 120.0
	mostLines     = 6
	steps         = 120
)

func colours() []string {
	return []string{"#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0"}
}

// draw evaluates all queries over the time that was recorded. A row about what isn't there has nothing to show, and is left out.
func draw(ctx context.Context, d dashboard, recorded *series.Memory, begin, end time.Time) (rows []row, err error) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: time.Minute})
	for _, r := range d.Rows {
		out := row{Title: r.Title}
		isEmpty := true
		for _, s := range r.Stats {
			query, err := engine.NewInstantQuery(ctx, recorded, nil, series.OfOneCluster(s.Expr), end)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Title, err)
			}
			result, err := query.Exec(ctx).Vector()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Title, err)
			}
			shown := stat{Title: s.Title, Value: "no data"}
			if len(result) > 0 {
				shown.Value, shown.Bad = number(result[0].F, ""), result[0].F >= 1
			}
			query.Close()
			isEmpty, out.Stats = false, append(out.Stats, shown)
		}
		for _, p := range r.Panels {
			shown := panel{Title: p.Title, Axis: p.Axis}
			var all []promql.Series
			var legends []string
			for _, q := range p.Queries {
				query, err := engine.NewRangeQuery(ctx, recorded, nil, series.OfOneCluster(q.Expr), begin, end, end.Sub(begin)/steps)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.Title, err)
				}
				result, err := query.Exec(ctx).Matrix()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.Title, err)
				}
				for _, one := range result {
					if one.Floats = finite(one.Floats); len(one.Floats) > 0 {
						all, legends = append(all, one), append(legends, legend(q.Legend, one.Metric))
					}
				}
			}
			most := greatest(all)
			shown.Most = number(most, p.Unit)
			for i, one := range all[:min(len(all), mostLines)] {
				shown.Lines = append(shown.Lines, line{Legend: legends[i], Colour: colours()[i%len(colours())],
					Points: points(one.Floats, begin, end, most)})
			}
			isEmpty, out.Panels = isEmpty && len(all) == 0, append(out.Panels, shown)
		}
		if !isEmpty {
			rows = append(rows, out)
		}
	}
	return rows, nil
}

func finite(values []promql.FPoint) (out []promql.FPoint) {
	for _, v := range values {
		if !math.IsNaN(v.F) && !math.IsInf(v.F, 0) {
			out = append(out, v)
		}
	}
	return out
}

// greatest is the upper end of an axis that begins at 0.
func greatest(all []promql.Series) float64 {
	most := 0.0
	for _, one := range all {
		for _, v := range one.Floats {
			most = max(most, v.F)
		}
	}
	if most == 0 {
		return 1
	}
	return most
}

// points are the corners of a line in SVG's notation.
func points(values []promql.FPoint, begin, end time.Time, most float64) string {
	corners := make([]string, 0, len(values))
	for _, v := range values {
		x := width * float64(v.T-begin.UnixMilli()) / float64(end.Sub(begin).Milliseconds())
		corners = append(corners, fmt.Sprintf("%.1f,%.1f", x, height*(1-v.F/most)))
	}
	return strings.Join(corners, " ")
}

// legend fills in the labels that Grafana's notation names.
func legend(text string, of labels.Labels) string {
	return regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(text, func(name string) string { return of.Get(strings.Trim(name, "{}")) })
}

// number writes a figure for people.
func number(v float64, unit string) string {
	switch unit {
	case "s":
		return time.Duration(v * float64(time.Second)).Round(time.Millisecond).String()
	case "percentunit":
		return strconv.FormatFloat(v*100, 'g', 2, 64) + " %"
	case "ops":
		return strconv.FormatFloat(v, 'g', 2, 64) + "/s"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
