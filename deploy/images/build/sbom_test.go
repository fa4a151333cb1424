package build

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestMaterials(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "sigs.k8s.io/yaml", Version: "v1.6.0"}, {Path: own + "services", Version: "v0.0.0"},
	}}
	b := materials("lbcontroller", "1.2.3", time.Unix(0, 0), info, []notice{
		{module: "alicloud-controllers.dev", ids: []string{"Apache-2.0"}}, {module: "stdlib", ids: []string{"BSD-3-Clause"}},
		{module: "sigs.k8s.io/yaml", ids: []string{"BSD-3-Clause", "MIT"}},
	})
	var got []string
	for _, part := range append(b.Components, b.Metadata.Component) {
		line := part.Type + " " + part.Name + " " + part.Version + " " + part.PURL
		for _, l := range part.Licences {
			line += " " + l.Licence.ID
		}
		got = append(got, line)
	}
	const want = "library alicloud-controllers.dev/services 1.2.3  Apache-2.0\n" +
		"library sigs.k8s.io/yaml v1.6.0 pkg:golang/sigs.k8s.io/yaml@v1.6.0 BSD-3-Clause MIT\n" +
		"library stdlib go1.26.8 pkg:golang/stdlib@1.26.8 BSD-3-Clause\n" +
		"application lbcontroller 1.2.3  Apache-2.0"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if b.Metadata.Timestamp != "1970-01-01T00:00:00Z" {
		t.Errorf("it is of %+v", b.Metadata)
	}
}
