package lb_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/yaml"

	svcconfig "alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/app"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

var update = flag.Bool("update", false, "rewrite what the stories say of what happens; read the change before you commit it")

// longStories take half of the processor time of all: days and weeks go by in them.
var longStories = []string{"certificate-ends", "nlb-certificate-ends", "left-on-a-users-load-balancer",
	"nlb-left-on-a-users-load-balancer", "nlb-orphans"}

// TestStories plays the stories of testdata/stories, whose README says how they are written. It compares what happens with what they say.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && slices.Contains(longStories, name) {
				t.Skip("days go by in it: make test plays it, make quick and -short do not")
			}
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var played string
			synctest.Test(t, func(t *testing.T) { played = newStory(t, archive.Files).play(string(archive.Comment)) })
			if played == string(archive.Comment) || t.Failed() {
				return
			}
			if *update {
				archive.Comment = []byte(played)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("it goes otherwise (-told +happened); if that is right, run the test with -update:\n%s",
				gocmp.Diff(strings.Split(string(archive.Comment), "\n"), strings.Split(played, "\n")))
		})
	}
}

// story is a world in which a script is played.
type story struct {
	*world
	files map[string]string
	cfg   config.Config

	applied  map[string]*corev1.Service // what a user applied last, by key
	nodePort int32                      // the last one given out
	born     int                        // Services so far
	shown    map[string]string          // what was last told of each Service and pod

	certificates certificates
	passed       bool // the step says itself how long it takes
	long         bool // minutes
	reads        bool // the step looks only

	crashed int // calls of a process that has died

	mu    sync.Mutex // guards what follows, which goroutines of the gateway and the controller use
	rules []*rule
	begun map[string]int // calls of each method
	told  []string
	// planned are the plans by Service.
	planned map[string][]string
	dead    bool // the process has died and reaches nobody any more
}

func newStory(t *testing.T, files []txtar.File) *story {
	t.Helper()
	s := &story{world: newWorld(t), files: map[string]string{}, cfg: config.Default(),
		applied: map[string]*corev1.Service{}, nodePort: 30000, shown: map[string]string{}, begun: map[string]int{},
		planned: map[string][]string{}}
	s.cfg.ClusterID, s.cfg.VPCID, s.cfg.VSwitchIDs = clusterID, "vpc-test", []string{"vsw-a", "vsw-b"}
	s.cfg.Workers = 1                                              // What happens to several Services comes in one order.
	s.cfg.SecurityGroups.Check = false                             // The same.
	s.cfg.Orphans.Interval = svcconfig.Duration(10000 * time.Hour) // Looked for in the stories about them only.
	for _, f := range files {
		s.files[f.Name] = string(f.Data)
	}
	if text, ok := s.files["config.yaml"]; ok {
		s.unmarshal(text, &s.cfg)
	}
	if text, ok := s.files["cloud.yaml"]; ok {
		var things map[string]any
		s.unmarshal(text, &things)
		for _, id := range slices.Sorted(maps.Keys(things)) {
			s.console(id, things[id])
		}
	}
	watchOver(s.world)
	s.events.named = true
	s.failing = s.apiFault
	s.cloud.Interpose(s.cloudFault)
	s.config = func(c *settings) {
		c.Controller.Client = unhurried{s.kube}
		c.Controller.SecretNamespaces = s.cfg.TLSSecretNamespaces
		c.Controller.DrainNodes = s.cfg.DrainNodes
		c.Controller.Workers, c.Controller.Logger = s.cfg.Workers, slog.New(plans{s})
		c.Controller.Kinds = app.Kinds(s.cfg, s.dependencies(c.Controller.Logger))
	}
	s.start()
	return s
}

func (s *story) dependencies(log *slog.Logger) replica.Dependencies {
	return replica.Dependencies{Client: s.kube, Gateway: s.cloud.Client(), Recorder: s.events, Registerer: s.registry, Logger: log}
}

// unhurried is an API server that answers a write on a Service when the caches have it, as they mostly do by the time at which a
// call of the cloud is answered. Those of stories take no time, and what is known of the Service after one would depend on the
// order of goroutines.
type (
	unhurried         struct{ *fake.Clientset }
	unhurriedCore     struct{ typedv1.CoreV1Interface }
	unhurriedServices struct{ typedv1.ServiceInterface }
)

func (u unhurried) CoreV1() typedv1.CoreV1Interface { return unhurriedCore{u.Clientset.CoreV1()} }

func (u unhurriedCore) Services(namespace string) typedv1.ServiceInterface {
	return unhurriedServices{u.CoreV1Interface.Services(namespace)}
}

// Patch implements typedv1.ServiceInterface.
func (u unhurriedServices) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions,
	sub ...string) (*corev1.Service, error) {
	written, err := u.ServiceInterface.Patch(ctx, name, kind, data, o, sub...)
	<-time.After(time.Millisecond)
	return written, err
}

func (s *story) unmarshal(text string, into any) {
	s.t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		s.t.Fatalf("%v in:\n%s", err, text)
	}
}

// play plays a script and returns it with what has happened.
func (s *story) play(script string) string {
	defer s.stop()
	s.calls() // Those of the start are nobody's.
	var told strings.Builder
	lines := strings.SplitAfter(script, "\n")
	begun := false
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		if scene, ok := strings.CutPrefix(line, "given "); ok { // What follows from it isn't told.
			told.WriteString(line)
			s.do(strings.TrimSpace(scene))
			s.happened()
			continue
		}
		if !strings.HasPrefix(line, "> ") {
			switch {
			case line == "\n" || strings.HasPrefix(line, "#"):
				told.WriteString(line)
			case !begun && line != "":
				s.t.Fatalf("%q is neither a command nor a comment, which begins with #", line)
			}
			continue // What was told of what happens.
		}
		begun = true
		told.WriteString(line)
		s.do(strings.TrimSpace(line[2:]))
		if len(lines) > 0 && strings.HasPrefix(lines[0], "> ") {
			synctest.Wait() // Else whether a pass sees it with what comes next depends on the order of goroutines.
			continue        // It happens at the same time.
		}
		if s.t.Failed() {
			break
		}
		for _, happened := range s.happened() {
			told.WriteString(wrap(s.certificates.named(happened)))
		}
	}
	s.heal()
	return told.String()
}

const lineWidth = 118

// wrap breaks a long line between words.
func wrap(line string) string {
	const indent = "        "
	var text strings.Builder
	line = strings.ReplaceAll(line, "\n", " / ")
	for len(line) > lineWidth {
		at := strings.LastIndexByte(line[:lineWidth], ' ')
		if at <= len(indent) {
			break
		}
		text.WriteString(line[:at] + "\n")
		line = indent + line[at+1:]
	}
	return text.String() + line + "\n"
}

// happened lets the time of a step pass, and tells what has happened.
func (s *story) happened() []string {
	if s.reads {
		s.reads = false
		return s.take()
	}
	if !s.passed {
		s.settle()
	}
	s.mu.Lock()
	died := s.dead
	s.mu.Unlock()
	if died {
		s.stop()
		s.crashed = len(s.cloud.Calls())
		s.mu.Lock()
		s.dead = false
		s.mu.Unlock()
		s.start()
	}
	s.reap()
	synctest.Wait() // What follows at once belongs to the same step.
	doings := slices.Concat(s.take(), s.toldCalls())
	if s.long { // How often something was tried depends on chance.
		seen := map[string]bool{}
		doings = slices.DeleteFunc(doings, func(line string) bool {
			again := seen[line]
			seen[line] = true
			return again
		})
	}
	s.passed, s.long = false, false
	lines := slices.Concat(doings, s.events.take(), s.marksOf())
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, errDead.Error()) })
	if len(lines) == 0 {
		return []string{"nothing happens"}
	}
	return lines
}

// take returns the lines since the last time.
func (s *story) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.told
	for _, service := range slices.Sorted(maps.Keys(s.planned)) {
		lines = append(lines, s.planned[service]...)
	}
	s.told, s.planned = nil, map[string][]string{}
	return lines
}

func (s *story) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// toldCalls are the calls since the last time, a line each. Those of several load balancers are told one after the
// other, and equal ones in one line.
func (s *story) toldCalls() (lines []string) {
	const crash, background = "crash   the controller dies, and another starts", ", in the background"
	type told struct{ about, text string }
	var calls []told
	sort := func() {
		slices.SortStableFunc(calls, func(a, b told) int { return strings.Compare(a.about, b.about) })
		var beside []told // When reads in the background are made depends on chance: they come last, by their text.
		calls, beside = parted(calls, func(c told) bool { return strings.Contains(c.text, background) })
		slices.SortStableFunc(beside, func(a, b told) int { return strings.Compare(a.text, b.text) })
		calls = append(calls, beside...)
		for i := range calls { // The server groups of a new NLB are made beside it; they are told before.
			for n := i; n > 0 && strings.HasPrefix(calls[n].text, "nlb.CreateServerGroup") &&
				strings.HasPrefix(calls[n-1].text, "nlb.CreateLoadBalancer"); n-- {
				calls[n-1], calls[n] = calls[n], calls[n-1]
			}
		}
		for i := 0; i < len(calls); { // Those of several server groups are made at the same time, and end in any order.
			n := 1
			for method := ofGroups(calls[i].text); method != "" && i+n < len(calls) && ofGroups(calls[i+n].text) == method; {
				n++
			}
			slices.SortStableFunc(calls[i:i+n], func(a, b told) int { return strings.Compare(groupOf(a.text), groupOf(b.text)) })
			i += n
		}
		for i := 0; i < len(calls); {
			n := 1
			for i+n < len(calls) && calls[i+n] == calls[i] {
				n++
			}
			text := "call    " + calls[i].text
			if i += n; n > 1 && !s.long {
				text += fmt.Sprintf(" (%d times)", n)
			}
			lines = append(lines, text)
		}
		calls = nil
	}
	about := "" // A call without an id is told with the one before.
	for i, c := range s.cloud.Calls() {
		if s.crashed > 0 && i == s.crashed {
			sort()
			lines = append(lines, crash)
		}
		text := s.certificates.named(c.Method + " " + requestText(c.Request)) // Their order must not depend on fingerprints.
		if c.Priority == gateway.Background {
			text += background
		}
		if c.Err != nil {
			text += " -> " + s.certificates.named(c.Err.Error())
		}
		if id := s.loadBalancerOf(c.Request); id != "" {
			about = id
		}
		calls = append(calls, told{about, text})
	}
	if sort(); s.crashed == len(s.cloud.Calls()) && s.crashed > 0 {
		lines = append(lines, crash)
	}
	s.crashed = 0
	s.cloud.ResetCalls()
	return lines
}

// ofGroups says which calls about server groups of NLBs are made at the same time as others; "" for other calls.
func ofGroups(text string) string {
	method, _, _ := strings.Cut(text, " ")
	switch method {
	case "nlb.CreateServerGroup":
		return method
	case "nlb.UpdateServerGroup", "nlb.DeleteServerGroup", "nlb.ApplyServerChanges":
		return "changes" // Those of one group are made one after the other.
	}
	return ""
}

// groupOf is the server group that a call is about, by its id or name.
func groupOf(text string) string { return strings.SplitN(text, " ", 3)[1] }

// parted splits a list in those for which something doesn't hold and those for which it does.
func parted[T any](list []T, holds func(T) bool) (not, those []T) {
	for _, item := range list {
		if holds(item) {
			those = append(those, item)
		} else {
			not = append(not, item)
		}
	}
	return not, those
}

// marksOf are the lines about Services and pods on which something else is written than the last time.
func (s *story) marksOf() (lines []string) {
	now := map[string]string{}
	for _, svc := range s.services() {
		now["status  "+svc.Name] = serviceText(svc)
	}
	pods, err := s.kube.CoreV1().Pods("default").List(s.t.Context(), listAll)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		var gates []string
		for _, gate := range pod.Spec.ReadinessGates {
			for _, c := range pod.Status.Conditions {
				if c.Type == gate.ConditionType {
					gates = append(gates, fmt.Sprintf("\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
				}
			}
		}
		now["gate    "+pod.Name] = strings.Join(gates, "")
	}
	for _, name := range slices.Sorted(maps.Keys(s.shown)) {
		if _, there := now[name]; !there {
			lines = append(lines, name+" is gone")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != s.shown[name] {
			lines = append(lines, strings.Split(name+now[name], "\n")...)
		}
	}
	s.shown = now
	return lines
}

// serviceText is what the controller has written on a Service.
func serviceText(svc *corev1.Service) string {
	var addresses, marks []string
	for _, i := range svc.Status.LoadBalancer.Ingress {
		address := cmp.Or(i.IP, i.Hostname)
		if i.IPMode != nil {
			address += " " + string(*i.IPMode)
		}
		addresses = append(addresses, address)
	}
	text := " " + cmp.Or(strings.Join(addresses, ", "), "no address")
	marks = append(marks, svc.Finalizers...)
	for _, key := range slices.Sorted(maps.Keys(svc.Labels)) {
		switch key {
		case LabelHash:
			marks = append(marks, "hash")
		case LabelLoadBalancerID:
			marks = append(marks, "id "+svc.Labels[key])
		}
	}
	if claims := svc.Annotations[annotation.Claims]; claims != "" {
		marks = append(marks, "claims "+claims)
	}
	if svc.DeletionTimestamp != nil {
		marks = append(marks, "being deleted")
	}
	if len(marks) > 0 {
		text += "; " + strings.Join(marks, ", ")
	}
	for _, c := range svc.Status.Conditions {
		text += fmt.Sprintf("\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, strings.ReplaceAll(c.Message, "\n", " / "))
	}
	return text
}

// plans is the log of a controller, of which only the plans are told.
type plans struct{ *story }

// Enabled implements slog.Handler.
func (plans) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (p plans) WithAttrs([]slog.Attr) slog.Handler { return p }

// WithGroup implements slog.Handler.
func (p plans) WithGroup(string) slog.Handler { return p }

// Handle implements slog.Handler.
func (p plans) Handle(_ context.Context, r slog.Record) error {
	var service, plan string
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "service":
			service = a.Value.String()
		case "plan":
			plan = a.Value.String()
		}
		return true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(plan) {
		p.planned[service] = append(p.planned[service], "plan    "+strings.TrimSpace(line))
	}
	return nil
}

// rule says what becomes of calls.
type rule struct {
	text   string // as it was ordered
	struck int    // times so far
	method string // that they are of; empty for the call of that number, from now on
	about  string // a text that is in the request
	number int
	left   int
	wait   time.Duration
	fault  gatewaytest.Fault
	dies   bool
}
