// Command picture draws the dashboard of the chart without Grafana, from what running processes measure: it reads their
// metrics for a while, evaluates the dashboard's queries with the engine of Prometheus, and writes a page for a
// browser. make pictures runs it in a local world.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/test/alerts/internal/series"
)

//go:embed page.html.tmpl
var page string

func main() {
	during := flag.Duration("for", 3*time.Minute, "how long to read metrics")
	every := flag.Duration("every", 5*time.Second, "how often to read them")
	file := flag.String("dashboard", "deploy/chart/files/dashboard.yaml", "`file` of the dashboard")
	out := flag.String("out", "dashboard.html", "`file` to write")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Draws the dashboard from the metrics of processes: picture [flags] JOB=URL …")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(context.Background(), *during, *every, *file, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, during, every time.Duration, file, out string, targets []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var d dashboard
	if err := yaml.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(targets) == 0 {
		return errors.New("name a process, JOB=URL of its metrics")
	}
	recorded := recorder{}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	begin := time.Now()
	for at := begin; at.Sub(begin) < during; at = <-ticker.C {
		if err := recorded.read(ctx, targets, at); err != nil {
			return err
		}
	}
	drawn, err := draw(ctx, d, recorded.memory(), begin, time.Now())
	if err != nil {
		return err
	}
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(template.Must(template.New("page").Parse(page)).Execute(to, drawn), to.Close())
}

// recorder has the samples of all series by their names.
type recorder map[string][]chunks.Sample

// read takes one sample of each series of each target, with the labels that Prometheus would add.
func (r recorder) read(ctx context.Context, targets []string, at time.Time) error {
	for _, target := range targets {
		job, url, ok := strings.Cut(target, "=")
		if !ok {
			return fmt.Errorf("%q is not JOB=URL", target)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if err := r.add(lines.Text(), job, at); err != nil {
				_ = answer.Body.Close()
				return err
			}
		}
		if err := errors.Join(lines.Err(), answer.Body.Close()); err != nil {
			return err
		}
	}
	return nil
}

// add takes a line of an exposition, which is written as a series with one value.
func (r recorder) add(line, job string, at time.Time) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	key := labels.NewBuilder(name).Set("job", job).Set("pod", job+"-0").Labels()
	r[key.String()] = append(r[key.String()], series.Sample(at, values[0].Value))
	return nil
}

func (r recorder) memory() *series.Memory {
	m := &series.Memory{}
	for key, samples := range r {
		name, err := parser.NewParser(parser.Options{}).ParseMetric(key)
		if err != nil {
			panic(err) // It was made from labels.
		}
		m.Series = append(m.Series, storage.NewListSeries(name, samples))
	}
	return m
}
