package openapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPublicHosts: where the SDK has a host for a region that people can have, the gateway calls the same.
func TestPublicHosts(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aliyun/alibaba-cloud-sdk-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`"([a-z0-9-]+)": +"([a-z0-9.-]+)"`)
	inside := regexp.MustCompile(
		`test|inner|internal|nebula|oxs|-pop$|-edge-|-bj-b01$|-[a-z]+[0-9]+-[a-z][0-9]+$|yushanfang|fujian|wuhan|zhangbei`)
	for _, p := range []Product{SLB, VPC, ECS, ESS} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "services", string(p), "endpoint.go"))
		if err != nil {
			t.Fatal(err)
		}
		regions := 0
		for _, found := range row.FindAllStringSubmatch(string(text), -1) {
			region, want := found[1], found[2]
			if inside.MatchString(region) && !strings.HasSuffix(region, "finance-pop") {
				continue
			}
			regions++
			if got := publicHost(p.row(), region); got != want {
				t.Errorf("%s in %s: got %s, the SDK has %s", p, region, got, want)
			}
		}
		if regions < 8 {
			t.Errorf("%s: the SDK has %d regions", p, regions)
		}
	}
}
