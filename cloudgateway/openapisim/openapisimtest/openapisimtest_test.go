package openapisimtest_test

import (
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
)

// A program whose tests start a cloud links neither the console nor the data plane, which are programs' worth themselves.
func TestTestsLinkNoConsoleAndNoDataPlane(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	const module = "alicloud-controllers.dev/cloudgateway/openapisim"
	if !slices.Contains(linked, module) {
		t.Fatalf("%s is not among what is linked, so nothing was found out", module)
	}
	for _, heavy := range []string{module + "/console", module + "/dataplane", "html/template"} {
		if slices.Contains(linked, heavy) {
			t.Errorf("%s is linked", heavy)
		}
	}
}

// Such a cloud says that it has no console.
func TestNoConsole(t *testing.T) {
	t.Parallel()
	sim := openapisimtest.New(t, openapisim.Config{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sim.Admin()+"/console", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", answer.StatusCode)
	}
}
