package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// chaosTime is how long users and faults go wild in an ordinary run. CHAOS_FOR asks for another time, CHAOS_SEED for another seed.
const chaosTime = 15 * time.Second

// seed is 1 in an ordinary run, so that all do the same; CHAOS_SEED asks for another, and CHAOS_FOR without it for a new one. It is written
// before anything happens and past the test's log, which is lost when the time limit ends the run.
func seed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64)
	switch {
	case err == nil:
	case os.Getenv("CHAOS_FOR") != "":
		seed = rand.Uint64()
	default:
		seed = 1
	}
	_, _ = fmt.Fprintf(os.Stderr, "%s: CHAOS_SEED=%d CHAOS_FOR=%s\n", t.Name(), seed, os.Getenv("CHAOS_FOR"))
	return seed
}

// TestChaos lets users, nodes, the console, the cloud and the death of processes do what they like with a dozen Services. Then
// peace returns, and each Service must have exactly what it asks for, nothing else of ours may be left, nothing of others may have
// been touched, and further looks must write nothing. The seed fixes what is done, but not how it meets the processes; lbcontroller
// has the same test in time of its own, where a thousand such runs take minutes.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, duration := seed(t), chaosTime
	if text := os.Getenv("CHAOS_FOR"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("CHAOS_FOR: %v", err)
		}
	}
	w := bootWith(t, world.Config{
		Nodes: 4, Controllers: world.Controllers(), BinDir: racing(t),
		LB: map[string]any{"drift": map[string]any{"stoppedListeners": "enforce"}}, // The monkey stops listeners, and all come back in the end.
	})
	w.initialised(t)
	m := &monkey{testWorld: w, t: t, random: rand.New(rand.NewPCG(seed, 0))}
	m.prepare()
	m.goWild(duration)
	m.mend()
	m.converge("after the chaos")

	since := w.position(t)
	for _, svc := range m.services() {
		m.patch(svc.Name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"looked-at": "again"}}})
	}
	m.quiet("an unrelated annotation", since)
	since = w.position(t)
	w.killLeader(t, world.LB)
	m.quiet("a restart", since)

	for _, svc := range m.services() {
		m.delete(svc.Name)
	}
	m.converge("after the deletion of all Services")
	if left := m.services(); len(left) > 0 {
		t.Errorf("%d Services are left", len(left))
	}
}

// killLeader kills a controller and returns once it leads again. A process that was started again has the identity of
// the one before, and so goes on with its Lease.
func (w testWorld) killLeader(t *testing.T, controller string) {
	t.Helper()
	if err := w.Kill(controller); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	w.restart(t, controller)
	eventually(t, controller+" leads again", func(ctx context.Context) error {
		lease, err := w.Client().CoordinationV1().Leases(chart.Namespace).Get(ctx, controller, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !lease.Spec.RenewTime.After(killed) {
			return fmt.Errorf("the lease was renewed at %s, before the process was killed at %s", lease.Spec.RenewTime, killed)
		}
		return nil
	})
}

// leader is the identity of the process that holds a controller's Lease; empty if nobody does, or it can't be read.
func (w testWorld) leader(ctx context.Context, controller string) string {
	lease, err := w.Client().CoordinationV1().Leases(chart.Namespace).Get(ctx, controller, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// monkey does things at random. What it adds by hand are things of others.
type monkey struct {
	testWorld
	t      *testing.T
	random *rand.Rand

	theirs string              // the CLB of others
	byHand map[string]addition // what others have added, by vServer group of ours
}

// addition is a server that others have put into a vServer group of ours.
type addition struct {
	instance string
	at       time.Time
}

func pick[T any](m *monkey, list ...T) T { return list[m.random.IntN(len(list))] }

// chaosPause is between two acts, on average.
const chaosPause = 250 * time.Millisecond

func (m *monkey) goWild(duration time.Duration) {
	start := time.Now()
	for round := 0; time.Since(start) < duration; round++ {
		if round%8 == 0 {
			if err := m.Cloud().SetFaults(m.t.Context(), m.someFaults()...); err != nil {
				m.t.Fatal(err)
			}
		}
		act := m.act()
		m.t.Logf("%5.1fs %s", time.Since(start).Seconds(), act)
		select {
		case <-m.t.Context().Done():
		case <-time.After(time.Duration(m.random.Int64N(int64(2 * chaosPause)))):
		}
	}
	if err := m.Cloud().ClearFaults(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

// someFaults draws two kinds of trouble with the cloud.
func (m *monkey) someFaults() []fault.Rule {
	const often, seldom = 0.25, 0.1
	menu := []fault.Rule{
		{Product: "slb", Action: "Create*", When: fault.After, Drop: true, Probability: often},
		{Product: "slb", Action: "[ADRSM]*", When: fault.After, Drop: true, Probability: seldom},
		{Product: "slb", Drop: true, Probability: seldom},
		{Product: "slb", Error: &fault.Error{Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable"}, Probability: often},
		{Product: "slb", When: fault.After, Error: &fault.Error{Status: http.StatusInternalServerError,
			Code: "InternalError"}, Probability: seldom},
		{Product: "slb", Error: &fault.Error{Code: "Throttling.User", RetryAfter: api.Duration(time.Second)}, Probability: often},
		{Product: "slb", Action: "[A-CE-Z]*", Error: &fault.Error{Code: "OperationBusy"}, Probability: often},
		{Product: "slb", Action: "DescribeLoadBalancer*", Stale: true, Probability: often},
		{Product: "ecs", Error: &fault.Error{Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable"}, Probability: often},
		{Product: "slb", Latency: api.Duration(time.Second), Probability: often},
	}
	first := m.random.IntN(len(menu))
	return []fault.Rule{menu[first], menu[(first+1+m.random.IntN(len(menu)-1))%len(menu)]}
}

const chaosServices = 12

// act does one thing and says what.
func (m *monkey) act() string {
	services := m.services()
	if len(services) < 3 || len(services) < chaosServices && m.random.IntN(3) == 0 {
		return m.bear(services)
	}
	svc := pick(m, services...)
	switch m.random.IntN(16) {
	case 0, 1:
		m.patch(svc.Name, map[string]any{"spec": map[string]any{"ports": m.somePorts()}})
		return svc.Name + " gets other ports"
	case 2, 3, 4:
		key, value := m.someAnnotation()
		m.annotate(svc.Name, key, value)
		return fmt.Sprintf("%s gets annotation %s: %v", svc.Name, key, value)
	case 5:
		policy := pick(m, corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster)
		m.patch(svc.Name, map[string]any{"spec": map[string]any{"externalTrafficPolicy": policy}})
		return fmt.Sprintf("%s gets policy %s", svc.Name, policy)
	case 6, 7:
		return m.movePods(svc.Name)
	case 8:
		kind := pick(m, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP)
		m.patch(svc.Name, map[string]any{"spec": map[string]any{"type": kind}})
		return fmt.Sprintf("%s becomes a %s", svc.Name, kind)
	case 9, 10:
		m.delete(svc.Name)
		return svc.Name + " is deleted"
	case 11:
		m.patch(svc.Name, map[string]any{"metadata": map[string]any{"labels": nil}})
		return svc.Name + " loses its labels"
	case 12, 13:
		return m.changeNodes()
	case 14:
		return m.console()
	default:
		name := pick(m, world.LB, world.LB, world.LB, "cloudgateway")
		m.restart(name)
		return name + " is killed"
	}
}

// restart kills a process and starts it again.
func (m *monkey) restart(name string) {
	m.t.Helper()
	if err := m.Kill(name); err != nil {
		m.t.Fatal(err)
	}
	if err := m.Restart(m.t.Context(), name); err != nil {
		m.t.Fatal(err)
	}
}

// bear creates a Service without a selector, whose pods are the monkey's, under a name that is free.
func (m *monkey) bear(services []corev1.Service) string {
	taken := map[string]bool{}
	for _, svc := range services {
		taken[svc.Name] = true
	}
	name := ""
	for i := 0; name == "" || taken[name]; i++ {
		name = fmt.Sprintf("chaos-%d", i)
	}
	svc := newService(name, nil)
	svc.Spec.Selector, svc.Spec.Ports = nil, m.somePorts()
	if m.random.IntN(3) == 0 {
		svc.Annotations[annotationPrefix+"address-type"] = "intranet"
	}
	if m.random.IntN(4) == 0 {
		svc.Annotations[backendType] = "eni"
	}
	m.create(m.t, svc)
	return name + " is created, backends " + svc.Annotations[backendType]
}

func (m *monkey) services() []corev1.Service {
	m.t.Helper()
	list, err := m.Client().CoreV1().Services(metav1.NamespaceDefault).List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	var services []corev1.Service
	for _, svc := range list.Items {
		if strings.HasPrefix(svc.Name, "chaos-") {
			services = append(services, svc)
		}
	}
	return services
}

// patch changes a part of a Service.
func (m *monkey) patch(name string, body map[string]any, subresources ...string) {
	m.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		m.t.Fatal(err)
	}
	_, err = m.Client().CoreV1().Services(metav1.NamespaceDefault).Patch(m.t.Context(), name, types.MergePatchType, data,
		metav1.PatchOptions{}, subresources...)
	m.harmless(err)
}

func (m *monkey) delete(name string) {
	m.t.Helper()
	m.harmless(m.Client().CoreV1().Services(metav1.NamespaceDefault).Delete(m.t.Context(), name, metav1.DeleteOptions{}))
}

func (m *monkey) annotate(name, key string, value any) {
	m.t.Helper()
	m.patch(name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotationPrefix + key: value}}})
}

// harmless lets pass what the API server refuses: a Service that is gone, or a change that doesn't fit its type.
func (m *monkey) harmless(err error) {
	m.t.Helper()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
		m.t.Fatal(err)
	}
}

// quiet fails if the cloud was written to.
func (m *monkey) quiet(what string, since int64) {
	m.t.Helper()
	calls, _ := m.settle(m.t, since)
	for _, call := range calls {
		if call.Product == "slb" && call.Mutating {
			m.t.Errorf("%s writes: %s %v", what, call.Action, call.Params)
		}
	}
	m.t.Logf("%s costs %d calls to SLB for %d Services", what, len(calls), len(m.services()))
}

// converge waits until all is as it should be.
func (m *monkey) converge(when string) {
	m.t.Helper()
	eventually(m.t, when, func(ctx context.Context) error {
		if faults := m.judge(ctx); len(faults) > 0 {
			return fmt.Errorf("%d things are wrong:\n%s", len(faults), strings.Join(faults, "\n"))
		}
		return nil
	})
}
