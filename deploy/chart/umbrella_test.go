package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// TestNamesOfTemplates: names of templates are global in Helm, so each of ours begins with the chart's name, and so
// does each that is included.
func TestNamesOfTemplates(t *testing.T) {
	t.Parallel()
	count := 0
	err := filepath.WalkDir("templates", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for _, name := range regexp.MustCompile(`(?:define|include|template|block)\s+"([^"]*)"`).FindAllStringSubmatch(read(t, path), -1) {
			count++
			if !strings.HasPrefix(name[1], load(t).Name()+".") {
				t.Errorf("%s: template %q may be another chart's", path, name[1])
			}
		}
		return nil
	})
	if err != nil || count == 0 {
		t.Errorf("%d names, %v", count, err)
	}
}

// TestUmbrella: inside of a chart that defines, as its own, every template whose name ours ends with, it is rendered as alone.
func TestUmbrella(t *testing.T) {
	t.Parallel()
	var helpers strings.Builder
	for _, path := range []string{"templates/_helpers.tpl", "templates/_gateway.tpl"} {
		for _, name := range regexp.MustCompile(`define "(?:[a-z-]+\.)?([a-zA-Z]+)"`).FindAllStringSubmatch(read(t, path), -1) {
			for _, own := range []string{name[1], "platform." + name[1]} {
				helpers.WriteString(`{{- define "` + own + `" -}}team: platform{{- end }}` + "\n")
			}
		}
	}
	if !strings.Contains(helpers.String(), `"labels"`) || !strings.Contains(helpers.String(), `"image"`) {
		t.Fatalf("the templates are not found: %s", helpers.String())
	}
	umbrella := &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "platform", Version: "1.0.0"},
		Templates: []*chart.File{
			{Name: "templates/_helpers.tpl", Data: []byte(helpers.String())},
			{Name: "templates/own.yaml", Data: []byte(`{{ include "labels" . }}`)},
		},
	}
	umbrella.AddDependency(load(t))
	changes := map[string]any{
		"serviceMonitor": map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
		"networkPolicy": map[string]any{"enabled": true}, "dashboard": map[string]any{"enabled": true},
		"admissionPolicy": map[string]any{"enabled": true},
	}
	all, err := chartutil.ToRenderValues(umbrella, map[string]any{"alicloud-controllers": values(changes)},
		chartutil.ReleaseOptions{Name: "alicloud", Namespace: "kube-system"}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	got, err := engine.RenderWithClientProvider(umbrella, all, cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	if own := got["platform/templates/own.yaml"]; own != "team: platform" {
		t.Errorf("the umbrella's own template gives %q", own)
	}
	alone, err := tryRender(t, "kube-system", values(changes), cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range alone {
		if diff := cmp.Diff(text, got["platform/charts/"+name]); diff != "" {
			t.Errorf("%s (-alone +in the umbrella):\n%s", name, diff)
		}
	}
}
