package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"alicloud-controllers.dev/deploy/test/cases"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// record writes into the tree what became of the cases.
var record = flag.Bool("record", false, "write "+cases.Recorded)

// TestKubernetes runs those of Kubernetes' own tests that a local world can judge, one after the other. Each has to be
// found and to pass.
func TestKubernetes(t *testing.T) {
	if os.Getenv("E2E_KUBERNETES") == "" {
		t.Skip("the program with Kubernetes' own tests takes 10 minutes to build; run make e2e-kubernetes")
	}
	upstream, err := binaries.EnsureUpstream(t.Context(), binaries.Config{Root: built.root, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	all, err := cases.Load(built.root)
	if err != nil {
		t.Fatal(err)
	}
	w := boot(t, 3, realistic)
	var records []cases.Record
	for i, c := range all {
		if c.World != cases.Dev {
			continue
		}
		t.Run(c.Suite+" "+c.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			// Fake nodes run no pods, and the program must not wait for those of the system.
			report := filepath.Join(t.TempDir(), fmt.Sprintf("junit-%d.xml", i))
			r, err := c.Run(ctx, upstream.Tests, report, "--kubeconfig="+w.Kubeconfig(), "--provider=skeleton", "--allowed-not-ready-nodes=-1")
			if err != nil || r.Status != "passed" {
				t.Errorf("%s, %v\n%s", r.Status, err, r.Output)
			}
			records = append(records, c.Record(cases.Any, r))
		})
	}
	if *record {
		if err := cases.Update(built.root, records); err != nil {
			t.Error(err)
		}
	}
}
