package app

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// TestReadiness: /readyz has a line for each condition, with the reason and the next step if it does not hold, and the metrics
// say the same.
func TestReadiness(t *testing.T) {
	all := []string{"ready\n", "credentials: ok\n", "cloud: ok\n", "kubernetes: ok\n", "leadership: ok, this replica leads\n"}
	tests := []struct {
		name    string
		before  func(w *world) // of the gateway's start
		after   func(w *world)
		code    int
		lines   []string
		metrics []string
	}{
		{
			name: "all is well", code: http.StatusOK, lines: all,
			metrics: []string{`leader_election_master_status{name="cloudgateway"} 1`, `readiness_check{check="cloud"} 1`},
		},
		{
			name: "no credentials", before: func(w *world) { w.write("secret", "") }, code: http.StatusServiceUnavailable,
			lines: []string{
				"not ready\n", "credentials: no valid cloud credentials from", "is empty", `next step: run "cloudgateway doctor"`, "kubernetes: ok\n",
			},
			metrics: []string{`readiness_check{check="credentials"} 0`},
		},
		{
			name: "no cloud", after: func(w *world) { w.cutOff() }, code: http.StatusServiceUnavailable,
			lines:   []string{"cloud: no answer from 127.0.0.1:", "next step: check the network", "credentials: ok\n"},
			metrics: []string{`cloudgateway_openapi_unanswered{product="slb"}`, `readiness_check{check="cloud"} 0`},
		},
		{
			name: "the cloud is back", after: func(w *world) {
				w.cutOff()
				if err := w.sim.SetFaults(); err != nil {
					w.t.Error(err)
				}
				if err := read(w.t.Context(), w.dial("reader")); err != nil {
					w.t.Error(err)
				}
			},
			code: http.StatusOK, lines: all, metrics: []string{`cloudgateway_openapi_unanswered{product="slb"} 0`},
		},
		{
			name: "no API server", after: func(w *world) { w.kube.Close() }, code: http.StatusServiceUnavailable,
			lines: []string{"kubernetes: the API server can't be reached", "next step: check the API server", "leadership: ok"},
		},
		{
			name: "leader by election", before: func(w *world) { w.elect() }, code: http.StatusOK, lines: all,
			metrics: []string{`leader_election_master_status{name="cloudgateway"} 1`},
		},
		{
			name: "standby", before: func(w *world) {
				w.elect()
				w.lease.hold("cloudgateway", "cloudgateway-7f")
			},
			code: http.StatusOK, lines: []string{"ready\n", "leadership: ok, standby: cloudgateway-7f leads\n"},
			metrics: []string{`leader_election_master_status{name="cloudgateway"} 0`, `readiness_check{check="leadership"} 1`},
		},
		{
			name: "no permission for the Lease", before: func(w *world) {
				w.elect()
				w.lease.forbid()
			},
			code: http.StatusServiceUnavailable,
			lines: []string{
				"leadership: the Lease kube-system/cloudgateway: ", "orbidden", "next step: check that the ServiceAccount may create, get and update",
			},
			metrics: []string{`leader_election_master_status{name="cloudgateway"} 0`, `readiness_check{check="leadership"} 0`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.before != nil {
				tt.before(w)
			}
			w.start()
			if tt.after != nil {
				tt.after(w)
			}
			code, text := w.awaitPage("/readyz?verbose", tt.code, tt.lines)
			if code != tt.code {
				t.Errorf("/readyz = %d, want %d", code, tt.code)
			}
			if missing := lacking(text, tt.lines); missing != "" {
				t.Errorf("/readyz lacks %q:\n%s", missing, text)
			}
			_, metrics := w.awaitPage("/metrics", http.StatusOK, tt.metrics)
			if missing := lacking(metrics, tt.metrics); missing != "" {
				t.Errorf("the metrics lack %q", missing)
			}
			if code, text := w.get("/livez"); code != http.StatusOK {
				t.Errorf("live: %d\n%s", code, text)
			}
		})
	}
}

// awaitPage reads a page of the admin server until it answers with the code and all these texts, but not for ever: the gateway may still be
// starting.
func (w *world) awaitPage(path string, want int, texts []string) (int, string) {
	w.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for begun := time.Now(); ; <-look.C {
		code, text := w.get(path)
		if code == want && lacking(text, texts) == "" || time.Since(begun) > patience {
			return code, text
		}
	}
}

// lacking is the first part that a text lacks.
func lacking(text string, parts []string) string {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// cutOff lets the cloud drop every connection, and makes a call that finds out.
func (w *world) cutOff() {
	w.t.Helper()
	client := w.dial("reader")
	if err := w.sim.SetFaults(fault.Rule{Product: "slb", Drop: true}); err != nil {
		w.t.Fatal(err)
	}
	if err := read(w.t.Context(), client); err == nil {
		w.t.Error("no error without a cloud")
	}
}

// election is that of the chart, with its long times: those of a short one can pass in a test on a busy machine.
const election = "leaderElection: {enabled: true, namespace: kube-system, name: cloudgateway}\n"

// elect switches the election on.
func (w *world) elect() {
	w.t.Helper()
	text, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	w.file = w.write("elected.yaml", string(text)+election)
}

// hold lets another replica have the Lease for an hour.
func (l *leases) hold(name, holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, seconds := metav1.NowMicro(), int32(time.Hour.Seconds())
	l.held[name] = &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", ResourceVersion: "1"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
		},
	}
}

// forbid refuses every request.
func (l *leases) forbid() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forbidden = true
}
