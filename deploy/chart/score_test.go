package chart_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unscored are the rules of kube-score that the chart doesn't follow, each with the reason.
var unscored = map[string]string{
	"container-image-pull-policy": "a tag is never made anew, and a pod that starts again must not depend on a registry",
	"container-ephemeral-storage-request-and-limit": "nothing is written but logs, which the kubelet bounds: a limit would let it evict " +
		"the pod that has most to tell",
	"pod-networkpolicy": "networkPolicy.enabled is off: clusters without it must not lose the gateway by an upgrade, and it binds no pod " +
		"on its node's network",
}

// TestScore: kube-score finds no fault in what any set of values makes. Limits of CPU are left out: they slow down a process while its
// node has nothing else to do.
func TestScore(t *testing.T) {
	t.Parallel()
	program := os.Getenv("KUBE_SCORE")
	if program == "" {
		t.Skip("KUBE_SCORE names no program; run make chart")
	}
	args := []string{"score", "--output-format=ci", "--kubernetes-version=v1.30", "--ignore-container-cpu-limit"}
	for rule := range unscored {
		args = append(args, "--ignore-test="+rule)
	}
	for name, changes := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := render(t, "kube-system", changes)
			file := filepath.Join(t.TempDir(), "chart.yaml")
			text := strings.Join(slices.Collect(maps.Values(documents)), "\n---\n")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), program, slices.Concat(args, []string{file})...).CombinedOutput()
			looked := 0
			for line := range strings.Lines(string(out)) {
				switch {
				case strings.HasPrefix(line, "[OK]"):
					looked++
				case !strings.HasPrefix(line, "[SKIPPED]"):
					t.Error(strings.TrimSpace(line))
				}
			}
			if err != nil || looked == 0 {
				t.Errorf("kube-score looked at %d objects: %v", looked, err)
			}
		})
	}
}
