package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

func packageName(m *chart.Metadata) string { return m.Name + "-" + m.Version + ".tgz" }

// pack makes the chart's package. Helm's own has the time of day in it.
func pack(c *chart.Chart) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	raw := slices.Clone(c.Raw)
	slices.SortFunc(raw, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range raw {
		header := &tar.Header{
			Name: c.Metadata.Name + "/" + file.Name, Mode: 0o644, Size: int64(len(file.Data)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
		if _, err := archive.Write(file.Data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack the chart: %w", err)
	}
	return out.Bytes(), nil
}

// change is one of a release, as Artifact Hub shows it.
type change struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

// kinds are those of changes by the headings of the changelog.
func kinds() map[string]string {
	return map[string]string{
		"": "added", "Upgrade notes": "changed", "Added": "added", "Changed": "changed", "Deprecated": "deprecated", "Removed": "removed",
		"Fixed": "fixed", "Security": "security",
	}
}

// changesOf are the changes in a part of the changelog, each with its first sentence.
func changesOf(notes string) ([]change, error) {
	all, of := []change(nil), kinds()
	kind := of[""]
	links := regexp.MustCompile(`\[([^\]]+)\]\([^)\s]+\)`)
	for line := range strings.Lines(notes) {
		line = strings.TrimRight(line, "\n")
		switch heading, isHeading := strings.CutPrefix(line, "### "); {
		case isHeading:
			if kind = of[heading]; kind == "" {
				return nil, fmt.Errorf("the changes have the heading %q, and Artifact Hub has no such kind of changes", heading)
			}
		case strings.HasPrefix(line, "- "):
			all = append(all, change{Kind: kind, Description: line[2:]})
		case strings.HasPrefix(line, "  ") && len(all) > 0:
			all[len(all)-1].Description += " " + strings.TrimSpace(line)
		}
	}
	for i := range all {
		text := links.ReplaceAllString(all[i].Description, "$1")
		if first, _, more := strings.Cut(text, ". "); more {
			text = first + "."
		}
		all[i].Description = text
	}
	return all, nil
}

// describe adds to the chart what Artifact Hub shows of it: the images, the changes, and where to read more.
func describe(c *chart.Chart, notes string, o Options) error {
	changes, err := changesOf(notes)
	if err != nil {
		return err
	}
	type image struct {
		Name      string   `json:"name"`
		Image     string   `json:"image"`
		Platforms []string `json:"platforms"`
	}
	type link struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	var images []image
	components, _ := c.Values["components"].(map[string]any)
	for name, values := range components {
		values, _ := values.(map[string]any)
		images = append(images, image{Name: name, Image: fmt.Sprintf("%s/%v:%s", o.Registry, values["repository"], c.Metadata.AppVersion),
			Platforms: strings.Split(o.Platforms, ",")})
	}
	slices.SortFunc(images, func(a, b image) int { return strings.Compare(a.Name, b.Name) })
	lists := map[string]any{"changes": changes, "images": images}
	if o.Source != "" {
		at := strings.TrimSuffix(o.Source, "/") + "/v" + c.Metadata.Version
		lists["links"] = []link{
			{"Installation", at + "/docs/install.md"}, {"Security", at + "/SECURITY.md"}, {"All pages", at + "/docs/README.md"},
		}
	}
	if c.Metadata.Annotations == nil {
		c.Metadata.Annotations = map[string]string{}
	}
	const prefix = "artifacthub.io/"
	for name, of := range lists {
		text, err := yaml.Marshal(of)
		if err != nil {
			return fmt.Errorf("write the chart's %s: %w", name, err)
		}
		c.Metadata.Annotations[prefix+name] = string(text)
	}
	c.Metadata.Annotations[prefix+"prerelease"] = fmt.Sprint(strings.Contains(c.Metadata.Version, "-"))
	c.Metadata.Annotations[prefix+"containsSecurityUpdates"] =
		fmt.Sprint(slices.ContainsFunc(changes, func(c change) bool { return c.Kind == "security" }))
	text, err := yaml.Marshal(c.Metadata)
	if err != nil {
		return fmt.Errorf("write Chart.yaml: %w", err)
	}
	for _, file := range c.Raw {
		if file.Name == chartutil.ChartfileName {
			file.Data = text
		}
	}
	return nil
}

// dashboard is the one of the chart as Grafana imports it: what it needs is named, and it asks for the data source.
func dashboard(c *chart.Chart) ([]byte, error) {
	values, err := chartutil.ToRenderValues(c, map[string]any{
		"dashboard": map[string]any{"enabled": true}, "clusterID": "any", "vpcID": "vpc-any",
		"front":   map[string]any{"enabled": true, "keysSecret": "any"},
		"network": map[string]any{"mode": "flannel", "clusterCIDRs": []any{"10.0.0.0/8"}},
	}, chartutil.ReleaseOptions{Name: "alicloud", Namespace: "kube-system"}, nil)
	if err != nil {
		return nil, fmt.Errorf("make the dashboard: %w", err)
	}
	const template = "templates/dashboard.yaml"
	only := *c
	only.Templates = slices.DeleteFunc(slices.Clone(c.Templates), func(f *chart.File) bool {
		return f.Name != template && path.Ext(f.Name) != ".tpl"
	})
	rendered, err := engine.Render(&only, values)
	if err != nil {
		return nil, fmt.Errorf("make the dashboard: %w", err)
	}
	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(rendered[c.Metadata.Name+"/"+template]), &object); err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	var model map[string]any
	if err := json.Unmarshal([]byte(object.Data["alicloud-controllers.json"]), &model); err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	type requirement struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	model["id"] = nil
	model["__inputs"] = []any{}
	model["__requires"] = []requirement{
		{"grafana", "grafana", "Grafana", "10.0.0"}, {"datasource", "prometheus", "Prometheus", "1.0.0"},
		{"panel", "stat", "Stat", ""}, {"panel", "timeseries", "Time series", ""},
	}
	text, err := json.MarshalIndent(model, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the dashboard: %w", err)
	}
	return append(text, '\n'), nil
}
