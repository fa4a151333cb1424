package e2e

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// upstreamCase is a row of deploy/test/upstream/cases.csv: one of Kubernetes' own tests.
type upstreamCase struct {
	suite, name string
	world       string // dev: a local world without pods is enough; kubelets: it needs real nodes
	notRun      string // why it is not run; empty if it is
}

// focus is the expression by which Ginkgo finds the case. Between suite and name there may be features.
func (c upstreamCase) focus() string {
	return regexp.QuoteMeta(c.suite) + " .*" + regexp.QuoteMeta(c.name)
}

func upstreamCases(t *testing.T) []upstreamCase {
	t.Helper()
	text, err := os.ReadFile("../upstream/cases.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var cases []upstreamCase
	for _, r := range rows[1:] {
		cases = append(cases, upstreamCase{suite: r[0], name: r[1], world: r[2], notRun: r[3]})
	}
	return cases
}

// report is what Ginkgo writes about a run, as JUnit.
type report struct {
	Suites []struct {
		Cases []struct {
			Name   string `xml:"name,attr"`
			Status string `xml:"status,attr"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// ran are the names of the cases that a run tried, with what became of them.
func (r report) ran() map[string]string {
	all := map[string]string{}
	for _, suite := range r.Suites {
		for _, c := range suite.Cases {
			if strings.HasPrefix(c.Name, "[It] ") && c.Status != "skipped" {
				all[strings.TrimPrefix(c.Name, "[It] ")] = c.Status
			}
		}
	}
	return all
}

// TestKubernetes runs those of Kubernetes' own tests that a local world can judge, one after the other. Each has to be found and to pass.
func TestKubernetes(t *testing.T) {
	if os.Getenv("E2E_KUBERNETES") == "" {
		t.Skip("the program with Kubernetes' own tests takes 10 minutes to build; run make e2e-kubernetes")
	}
	program, err := binaries.EnsureUpstream(t.Context(), binaries.Config{Root: built.root, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	w := boot(t, 3, realistic)
	for i, c := range upstreamCases(t) {
		t.Run(c.suite+" "+c.name, func(t *testing.T) {
			if c.notRun != "" || c.world != "dev" {
				t.Skip(c.notRun)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			file := filepath.Join(t.TempDir(), fmt.Sprintf("junit-%d.xml", i))
			// Fake nodes run no pods, and the program must not wait for those of the system.
			cmd := exec.CommandContext(ctx, program, "--kubeconfig="+w.Kubeconfig(), "--provider=skeleton", "--allowed-not-ready-nodes=-1",
				"--disable-log-dump", "--ginkgo.focus="+c.focus(), "--ginkgo.junit-report="+file, "--ginkgo.no-color")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r report
			if err := xml.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			if ran := r.ran(); len(ran) != 1 {
				t.Errorf("it is to be one case, and is %v\n%s", ran, out)
			}
			for name, status := range r.ran() {
				t.Logf("%s: %s", name, status)
				if status != "passed" {
					t.Errorf("%s\n%s", status, out)
				}
			}
		})
	}
}
