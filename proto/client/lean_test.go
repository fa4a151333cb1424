package client

import (
	"os/exec"
	"strings"
	"testing"
)

// TestIsLean: who calls the gateway links gRPC and the gateway's protocol, and little besides.
func TestIsLean(t *testing.T) {
	t.Parallel()
	const most = 100
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	grpc := 0
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "google.golang.org/grpc") {
			grpc++
			continue
		}
		others = append(others, path)
		for _, heavy := range []string{"k8s.io/", "go.opentelemetry.io/", "github.com/prometheus/", "alicloud-controllers.dev/services"} {
			if strings.HasPrefix(path, heavy) {
				t.Errorf("it needs %s", path)
			}
		}
	}
	if len(others) > most || grpc == 0 {
		t.Errorf("besides %d packages of gRPC it needs %d, at most %d are right:\n%s", grpc, len(others), most, strings.Join(others, "\n"))
	}
}
