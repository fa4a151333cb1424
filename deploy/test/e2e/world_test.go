package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/proc"
	"alicloud-controllers.dev/deploy/tools/local/world"
	"alicloud-controllers.dev/services/kube"
)

// testWorld is a world with the helpers of the tests.
type testWorld struct {
	*world.World
	seen *evidence
}

// pace is how long changes take in the cloud.
type pace bool

// With instant changes the cloud never answers that it is busy, so that calls can be counted; realistic is what it is like.
const (
	instant   pace = true
	realistic pace = false
)

// boot starts a world with all controllers.
func boot(t *testing.T, nodes int, p pace) testWorld {
	t.Helper()
	return bootWith(t, world.Config{Nodes: nodes, Controllers: world.Controllers(), Fast: bool(p)})
}

// racing are our programs with the race detector, if the tests have it.
func racing(t *testing.T) string {
	t.Helper()
	dir, err := raced()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// bootWith starts a world, stops it after the test, and looks then for secrets in all that could be seen of it. The processes log
// all they can.
func bootWith(t *testing.T, cfg world.Config) testWorld {
	t.Helper()
	progress := &bytes.Buffer{}
	cfg.Dir, cfg.Kubernetes, cfg.LogLevel, cfg.Out = t.TempDir(), built.kubernetes, "debug", progress
	if cfg.BinDir == "" {
		cfg.BinDir = built.bin
	}
	started, err := world.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("start world: %v\n%s", err, progress)
	}
	w := testWorld{World: started, seen: &evidence{texts: map[string]string{}}}
	t.Cleanup(func() {
		if t.Failed() {
			w.showLogs(t)
		}
		w.collect(t)
		if err := w.Stop(); err != nil {
			t.Errorf("stop world: %v", err)
		}
		w.checkSecrets(t)
	})
	return w
}

func (w testWorld) showLogs(t *testing.T) {
	t.Helper()
	for _, name := range w.Ours() {
		t.Logf("end of the log of %s:\n%s", name, proc.Tail(w.Process(name).LogFile()))
	}
}

// seldom keeps the looks that a controller takes every five minutes out of the calls that are counted, on a machine of any speed.
func seldom() map[string]any { return map[string]any{"syncInterval": "1h"} }

// stayed fails if a controller has ended by itself. One that could not renew its Lease in time, as on a machine that
// halts, ends as it should.
func (w testWorld) stayed(t *testing.T) {
	t.Helper()
	for _, name := range world.Controllers() {
		if w.Process(name) == nil { // This world has none.
			continue
		}
		n := w.Process(name).Ends() // Before the look at the log, which has the ends of all of them then.
		log, err := os.ReadFile(w.Process(name).LogFile())
		if err != nil {
			t.Fatal(err)
		}
		lost := strings.Count(string(log), "\n"+name+": controller: "+kube.ErrLeaseLost.Error())
		if n > lost {
			t.Errorf("%s ended %d times by itself, %d of them for its Lease", name, n, lost)
		}
	}
}

// pollInterval and patience of eventually. 240 nodes take more than a minute on an idle machine, since the cloud limits
// the calls; a machine that has other work as well may take several times as long.
const pollInterval, patience = 50 * time.Millisecond, 5 * time.Minute

// eventually waits until check returns nil, and fails with its last error. It looks more and more seldom: a long wait is to cost little.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	poll(t, what, check, func(waited time.Duration) time.Duration { return min(max(waited/10, pollInterval), 10*pollInterval) })
}

// eventuallyEvery is for a check that has a pace of its own.
func eventuallyEvery(t *testing.T, interval time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	poll(t, what, check, func(time.Duration) time.Duration { return interval })
}

func poll(t *testing.T, what string, check func(ctx context.Context) error, pause func(waited time.Duration) time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begin := time.Now()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		// That the time is over says less than what was wrong before.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, last)
		case <-time.After(pause(time.Since(begin))):
		}
	}
}

// quiet is longer than changes are gathered and any window of the cloud.
const quiet = 3 * time.Second

// settle waits until the cloud is no longer asked anything, and returns the calls since the given number, with the next one.
func (w testWorld) settle(t *testing.T, since int64) ([]journal.Call, int64) {
	t.Helper()
	calls, next := []journal.Call{}, since
	idle, seen := time.Duration(0), time.Now()
	interval := 2 * pollInterval
	eventuallyEvery(t, interval, "the cloud is left alone", func(ctx context.Context) error {
		got, n, err := w.Cloud().Calls(ctx, next)
		if err != nil {
			return err
		}
		now := time.Now()
		idle += min(now.Sub(seen), 2*interval) // While the whole machine halts nobody is quiet.
		if seen = now; n != next {
			idle = 0
		}
		calls, next = append(calls, got...), n
		if waits := w.starting(ctx); waits != "" {
			idle = 0 // It is looked at again.
			return fmt.Errorf("listeners of Service %s don't run yet", waits)
		}
		if idle < quiet {
			return fmt.Errorf("quiet for %s", idle)
		}
		return nil
	})
	return calls, next
}

// starting names a Service whose listeners were started and aren't known to run; empty if there is none.
func (w testWorld) starting(ctx context.Context) string {
	list, err := w.Client().CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "" // The API server may be away in this test.
	}
	for _, svc := range list.Items {
		for _, c := range svc.Status.Conditions {
			isNew := time.Since(c.LastTransitionTime.Time) < 4*quiet // Else nobody is there to look.
			if c.Type == "Synced" && c.Reason == "Starting" && isNew && svc.DeletionTimestamp == nil {
				return svc.Name
			}
		}
	}
	return ""
}

// position is the end of the journal once the cloud is left alone.
func (w testWorld) position(t *testing.T) int64 {
	t.Helper()
	_, next := w.settle(t, 0)
	return next
}

// counts are the numbers of calls by action for one product.
func counts(calls []journal.Call, product string) map[string]int {
	got := map[string]int{}
	for _, call := range calls {
		if call.Product == product {
			name := call.Action
			if call.Code != "" {
				name += " " + call.Code
			}
			got[name]++
		}
	}
	return got
}

func (w testWorld) state(t *testing.T) *state.Cloud {
	t.Helper()
	s, err := w.Cloud().State(t.Context())
	if err != nil {
		t.Fatalf("read state of the cloud: %v", err)
	}
	return s
}

const annotationPrefix = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"

// newService is a Service of type LoadBalancer with one TCP port for each given number.
func newService(name string, annotations map[string]string, ports ...int32) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}},
	}
	for key, value := range annotations {
		s.Annotations[annotationPrefix+key] = value
	}
	for _, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("p%d", port), Port: port, TargetPort: intstr.FromInt32(8080),
		})
	}
	return s
}

func (w testWorld) create(t *testing.T, service *corev1.Service) {
	t.Helper()
	if _, err := w.Client().CoreV1().Services(service.Namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create Service %s: %v", service.Name, err)
	}
}

func (w testWorld) change(t *testing.T, name string, change func(*corev1.Service)) {
	t.Helper()
	eventually(t, "change Service "+name, func(ctx context.Context) error {
		services := w.Client().CoreV1().Services(metav1.NamespaceDefault)
		s, err := services.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(s)
		_, err = services.Update(ctx, s, metav1.UpdateOptions{})
		return err
	})
}

// balanced waits until a Service has an address, and returns it.
func (w testWorld) balanced(t *testing.T, name string) *corev1.Service {
	t.Helper()
	var service *corev1.Service
	eventually(t, "Service "+name+" gets an address", func(ctx context.Context) error {
		var err error
		service, err = w.Client().CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("it is pending; events: %v", w.events(ctx, name))
		}
		return nil
	})
	return service
}

func (w testWorld) delete(t *testing.T, name string) {
	t.Helper()
	if err := w.Client().CoreV1().Services(metav1.NamespaceDefault).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete Service: %v", err)
	}
}

// remove deletes a Service and waits until it is gone.
func (w testWorld) remove(t *testing.T, name string) {
	t.Helper()
	w.delete(t, name)
	w.gone(t, name)
}

// gone waits until a Service that was deleted is gone.
func (w testWorld) gone(t *testing.T, name string) {
	t.Helper()
	services := w.Client().CoreV1().Services(metav1.NamespaceDefault)
	eventually(t, "Service "+name+" goes", func(ctx context.Context) error {
		list, err := services.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("it is there; events: %v", w.events(ctx, name))
		}
		return err
	})
}

// events are the messages of a Service's events, with their type.
func (w testWorld) events(ctx context.Context, service string) []string {
	list, err := w.Client().CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Service,involvedObject.name=" + service,
	})
	if err != nil {
		return []string{err.Error()}
	}
	messages := map[string]bool{}
	for _, e := range list.Items {
		if e.Source.Component != "service-controller" {
			continue // The API server warns about cluster addresses that it repairs.
		}
		messages[strings.Join([]string{e.Type, e.Reason, e.Message}, " ")] = true
	}
	return slices.Sorted(maps.Keys(messages))
}
