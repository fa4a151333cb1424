package chart_test

import (
	"strings"
	"testing"

	ours "alicloud-controllers.dev/deploy/chart"
)

// TestDockerfile: whoever builds the images with a container tool gets the names that the chart runs.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := read(t, "../images/Dockerfile")
	for _, component := range ours.Components() {
		if !strings.Contains(text, "AS "+component+"\nENTRYPOINT [\"/usr/local/bin/"+component+"\"]\n") {
			t.Errorf("no target %s whose program has its name", component)
		}
	}
}
