package lb_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// The size of the chaos. CHAOS_RUNS asks for more runs than the ordinary ones, with new seeds or those from CHAOS_SEED
// on; CHAOS_SEED alone repeats one run.
const (
	chaosRuns, chaosSteps         = 5, 60
	chaosServices, chaosNodes     = 4, 4
	faultPercent, apiFaultPercent = 15, 10
)

// TestChaos lets users, nodes, the console, the network and the process itself go wild, each run with a seed of its own. Then peace
// returns, and each Service must have exactly what it asks for, nothing else may be left, nothing foreign may have been touched, and
// another look must change nothing. What a seed does is fixed, how it meets the controller's own goroutines is not.
func TestChaos(t *testing.T) {
	t.Parallel()
	ordinary := chaosRuns
	if testing.Short() {
		ordinary = 1
	}
	first, runs := seeds(t, "CHAOS_SEED", "CHAOS_RUNS", ordinary)
	var failed atomic.Int64
	t.Cleanup(func() {
		if runs >= chaosRuns && failed.Load() == 0 {
			t.Error("no write to the API server failed: another reaction answers before the one that fails")
		}
	})
	for i := range runs {
		seed := first + uint64(i)
		t.Run(fmt.Sprintf("CHAOS_SEED=%d", seed), func(t *testing.T) {
			t.Parallel()
			inWorld(t, chaosNodes, func(w *world) {
				m := newMonkey(w, seed)
				m.play()
				failed.Add(m.failed.Load())
			})
		})
	}
}

// seeds are the first seed of a test's random runs and their number, which the environment may name. They are written
// before anything happens and past the test's log, which is lost when a crash or the time limit ends the runs.
func seeds(t *testing.T, seed, number string, ordinary int) (first uint64, runs int) {
	t.Helper()
	first, runs = 1, ordinary
	var err error
	text, most := os.Getenv(seed), os.Getenv(number)
	if most != "" {
		first = uint64(time.Now().UnixNano())
		if runs, err = strconv.Atoi(most); err != nil {
			t.Fatalf("%s: %v", number, err)
		}
	}
	if text != "" {
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seed, err)
		}
		if most == "" {
			runs = 1
		}
	}
	_, _ = fmt.Fprintf(os.Stderr, "%s: %s=%d %s=%d\n", t.Name(), seed, first, number, runs)
	return first, runs
}

// monkey does things at random.
type monkey struct {
	*world

	mu     sync.Mutex // guards what follows: faults are drawn by goroutines of the gateway
	random *rand.Rand
	wild   bool // faults strike
	dead   bool // the process has died and reaches nobody any more

	born  int   // Services so far
	ports int32 // node ports so far
	// pods are those behind each Service.
	pods map[string][]somePod
	// drift is what is only reported, until peace returns.
	drift Drift
	// limits are how many nodes are servers, and out of which, by group; drains are the groups that may have servers without weight.
	limits map[string]limit
	drains map[string]bool
	// resting are servers that may be there or not, and keepsLast the groups whose last servers stay.
	resting, keepsLast map[string]bool
	theirs             []string  // the CLB of others
	foreign            []foreign // what others have put into CLBs of ours
	diary              []string

	failed atomic.Int64 // writes to the API server
}

func newMonkey(w *world, seed uint64) *monkey {
	m := &monkey{world: w, random: rand.New(rand.NewPCG(seed, 0)), ports: 30000, pods: map[string][]somePod{}}
	w.config = m.bothKinds
	watchOver(w)
	m.addVirtualNode()
	w.kube.PrependReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(kubetesting.PatchAction)
		if ok && bytes.Contains(patch.GetPatch(), []byte(`"uid"`)) && m.strikes(apiFaultPercent) { // The controller's, not a user's.
			m.failed.Add(1)
			if !m.isDead() && m.n(2) == 0 { // Only the answer is lost.
				_, _, _ = w.write(action)
			}
			return true, nil, errors.New("etcdserver: request timed out")
		}
		return false, nil, nil
	})
	w.lag(func() time.Duration { return time.Duration(m.n(1500)) * time.Millisecond })
	w.cloud.Interpose(m.fault)
	m.seedCloud()
	w.restart()
	return m
}

func (m *monkey) n(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(n)
}

func pick[T any](m *monkey, list ...T) T { return list[m.n(len(list))] }

// strikes reports whether one of the faults that strike so often does so now.
func (m *monkey) strikes(percent int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead || m.wild && m.random.IntN(100) < percent
}

func (m *monkey) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *monkey) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *monkey) fault(_ int, method string, _ proto.Message) gatewaytest.Fault {
	down := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the cloud is down"}
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "the answer was lost"}
	throttled := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", RetryAfter: 3 * time.Second}
	if !m.strikes(faultPercent) {
		return gatewaytest.Fault{}
	}
	switch {
	case m.dead:
		return pick(m, gatewaytest.Fault{Before: down}, gatewaytest.Fault{After: lost})
	case method == "CreateLoadBalancer":
		return pick(m, gatewaytest.Fault{Before: down}, gatewaytest.Fault{After: lost},
			gatewaytest.Fault{Before: noRoomFor(method, 20*time.Second)})
	}
	return pick(m, gatewaytest.Fault{Before: down}, gatewaytest.Fault{After: lost}, gatewaytest.Fault{After: down},
		gatewaytest.Fault{Before: throttled})
}

// play is a run.
func (m *monkey) play() {
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Log("what was done:\n" + strings.Join(m.diary, "\n"))
		}
	})
	start := time.Now()
	for range chaosSteps {
		m.set(func() { m.wild = true })
		act := m.act()
		m.diary = append(m.diary, fmt.Sprintf("%6.1fs %s", time.Since(start).Seconds(), act))
		m.after(time.Duration(m.n(4000)) * time.Millisecond)
		m.reap()
		m.kubelet()
	}
	m.set(func() { m.wild = false })
	m.mend(driftTime)
	m.judge()
	if m.t.Failed() {
		for _, svc := range m.services() {
			m.t.Logf("%s: %v %v", svc.Name, svc.Spec.LoadBalancerClass, svc.Status.Conditions)
		}
	}

	m.calls()
	m.after(12 * time.Hour)
	for _, call := range m.cloud.Writes() {
		m.t.Errorf("a drift check writes: %s %v", call.Method, call.Request)
	}
	m.calls()
	m.restart()
	for _, call := range m.cloud.Writes() {
		m.t.Errorf("a restart writes: %s %v", call.Method, call.Request)
	}
	for _, svc := range m.services() {
		m.delete(svc)
	}
	m.after(time.Hour)
	m.reap()
	if left := m.services(); len(left) > 0 {
		m.t.Errorf("%d Services can't go, the first is %s with finalizers %v", len(left), left[0].Name, left[0].Finalizers)
	}
	m.judge()
}

// act does one thing and says what.
func (m *monkey) act() string {
	services := m.services()
	if len(services) == 0 || len(services) < chaosServices && m.n(3) == 0 {
		return m.bear()
	}
	svc := pick(m, services...)
	switch m.n(25) {
	case 0, 1:
		ports := m.somePorts()
		m.putSlices(svc.Name, ports...) // Else there are no pods for a moment.
		m.edit(svc, map[string]any{"spec": map[string]any{"ports": ports}})
		m.putSlices(svc.Name)
		return fmt.Sprintf("%s gets ports %s", svc.Name, portsText(ports))
	case 2, 3, 4:
		key, value := m.someAnnotation()
		if isNLB(svc) {
			key, value = m.someNLBAnnotation()
		}
		m.edit(svc, annotationPatch(key, value))
		return fmt.Sprintf("%s gets annotation %s: %v", svc.Name, key, value)
	case 5:
		policy := pick(m, corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster)
		m.edit(svc, map[string]any{"spec": map[string]any{"externalTrafficPolicy": policy}})
		return fmt.Sprintf("%s gets policy %s", svc.Name, policy)
	case 6, 7:
		return m.movePods(svc.Name)
	case 8:
		kind := pick(m, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP)
		var class any
		if kind == corev1.ServiceTypeLoadBalancer {
			class = pick[any](m, nil, nil, nlb.Class)
		}
		if svc.Spec.Type == kind {
			return svc.Name + " stays"
		}
		m.edit(svc, map[string]any{"spec": map[string]any{"type": kind, "loadBalancerClass": class}})
		return fmt.Sprintf("%s becomes a %s of class %v", svc.Name, kind, class)
	case 9:
		m.delete(svc)
		return svc.Name + " is deleted"
	case 10:
		m.edit(svc, map[string]any{"metadata": map[string]any{"labels": nil}})
		return svc.Name + " loses its labels"
	case 11, 12:
		return m.changeNode()
	case 13:
		return byConsole + m.console()
	case 14, 15:
		m.clearStatus()
		return "whoever shall move has the status cleared"
	case 16:
		m.edit(svc,
			map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{annotation.Claims: svc.Annotations[annotation.Claims] +
					", lb-missing/rsp-1,?"}}})
		return svc.Name + " has its note of claims edited"
	case 17:
		return m.vanish(svc)
	case 18:
		m.restart()
		return "the controller is restarted"
	case 19:
		return m.replace(svc)
	case 20:
		return m.deleteNodes()
	case 21:
		return m.restoreNodes()
	case 22:
		return byConsole + m.eip()
	case 23:
		return m.restrict(svc)
	default:
		m.set(func() { m.dead = true })
		m.stop()
		m.set(func() { m.dead = false })
		m.start()
		return "the controller crashes"
	}
}

// restrict lets only some networks connect to a Service, or everybody again.
func (m *monkey) restrict(svc *corev1.Service) string {
	networks := pick[any](m, []string{"10.0.0.0/8"}, []string{"10.0.0.0/8", "192.0.2.0/24"}, []string{"192.0.2.0/24"}, nil)
	m.edit(svc, map[string]any{"spec": map[string]any{"loadBalancerSourceRanges": networks}})
	return fmt.Sprintf("%s is for %v", svc.Name, networks)
}

// vanish deletes a Service past its finalizer, as the API server does when both meet. A controller that crashes before
// it has released what the Service had can't know of it, so there is peace until its load balancer is gone, for ten minutes at most: that
// of an NLB has jobs, and faults may have made the pauses before the next attempt long. A policy that keeps what a Service has would
// keep it for ever.
func (m *monkey) vanish(svc *corev1.Service) string {
	if svc.DeletionTimestamp != nil || len(svc.Finalizers) == 0 || time.Since(svc.CreationTimestamp.Time) > time.Minute ||
		svc.Annotations[annotation.Prefix+annotation.SyncPolicy] != "" {
		return svc.Name + " does not vanish"
	}
	if err := m.kube.Tracker().Delete(serviceResource(), svc.Namespace, svc.Name); err != nil {
		m.t.Fatal(err)
	}
	for range 10 {
		if m.peace(); !m.holds(string(svc.UID)) {
			break
		}
	}
	return svc.Name + " vanishes"
}

// holds reports whether the cloud has a load balancer that was made for the Service with this UID.
func (m *monkey) holds(uid string) bool {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	name := ownership.DefaultName(uid)
	for _, lb := range m.cloud.LoadBalancers {
		if hasTag(lb.Tags, ownership.TagService, name) {
			return true
		}
	}
	for _, lb := range m.cloud.NLBs {
		if hasTag(lb.Tags, ownership.TagService, name) {
			return true
		}
	}
	return false
}

// peace lets a minute pass without faults.
func (m *monkey) peace() {
	m.set(func() { m.wild = false })
	m.after(time.Minute)
	m.set(func() { m.wild = true })
}

func (m *monkey) bear() string {
	m.born++
	names := map[string]bool{}
	for _, svc := range m.services() {
		names[svc.Name] = true
	}
	name := ""
	for i := 0; name == "" || names[name]; i++ {
		name = fmt.Sprintf("svc-%d", i)
	}
	svc := web(func(s *corev1.Service) {
		s.Name, s.UID, s.Spec.Ports = name, types.UID(fmt.Sprintf("%08d-c2ae-4642-b033-5607860aef6a", m.born)), m.somePorts()
		s.CreationTimestamp = metav1.Now()
	})
	if m.n(3) == 0 {
		svc.Spec.LoadBalancerClass = new(nlb.Class)
	}
	if m.n(3) == 0 {
		annotated(annotation.AddressType, "intranet")(svc)
	}
	if m.n(3) == 0 {
		svc.Annotations[annotation.BackendType] = "eni"
	}
	if !isNLB(svc) && m.n(4) == 0 {
		annotated(annotation.IPVersion, "ipv6")(svc)
	}
	if _, err := m.kube.CoreV1().Services(svc.Namespace).Create(m.t.Context(), svc, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.putSlices(name)
	return fmt.Sprintf("%s is created with class load balancer: %t, ports %s and annotations %v", name,
		isNLB(svc), portsText(svc.Spec.Ports), svc.Annotations)
}

func (m *monkey) somePorts() []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, port := range []int32{80, 443, 8080} {
		if m.n(2) == 0 && port != 80 {
			continue
		}
		m.ports++
		target := pick(m, intstr.FromInt32(8080), intstr.FromInt32(9090), intstr.FromString("web"))
		ports = append(ports, corev1.ServicePort{Name: fmt.Sprint("p", port), Port: port, NodePort: m.ports, TargetPort: target,
			Protocol: pick(m, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)})
		ports[len(ports)-1].Name += strings.ToLower(string(ports[len(ports)-1].Protocol))
		if m.n(5) == 0 { // As DNS does.
			second := ports[len(ports)-1]
			m.ports++
			second.NodePort = m.ports
			if second.Protocol = corev1.ProtocolTCP; ports[len(ports)-1].Protocol == corev1.ProtocolTCP {
				second.Protocol = corev1.ProtocolUDP
			}
			second.Name = fmt.Sprint("p", port, strings.ToLower(string(second.Protocol)))
			ports = append(ports, second)
		}
	}
	return ports
}

func portsText(ports []corev1.ServicePort) string {
	var texts []string
	for _, p := range ports {
		texts = append(texts, fmt.Sprintf("%d/%s:%d>%s", p.Port, p.Protocol, p.NodePort, p.TargetPort.String()))
	}
	return strings.Join(texts, " ")
}

// someAnnotation draws an annotation, now and then a wrong one; nil takes it away.
func (m *monkey) someAnnotation() (suffix string, value any) {
	menu := map[string][]any{
		annotation.Scheduler:         {"rr", "wrr", "wlc", "fastest", nil},
		annotation.ProtocolPort:      {"http:80", "http:80,https:443", "https:443", "tcp:80", "gopher:70", nil},
		annotation.ForwardPort:       {"80:443", nil},
		annotation.CertID:            {"cert-1", "cert-2"},
		annotation.ConnectionDrain:   {"on", "off", nil},
		annotation.HealthCheckFlag:   {"on", "off", nil},
		annotation.Name:              {"mine", "yours", nil},
		annotation.DeleteProtection:  {"on", "off", nil},
		annotation.AdditionalTags:    {"a=1,b=2", "b=3", nil},
		annotation.DefaultWeight:     {"50", "many", nil},
		annotation.RemoveUnscheduled: {"on", nil},
	}
	if m.n(2) == 0 {
		menu = map[string][]any{
			annotation.MaxNodes:           {"1", "2", nil},
			annotation.DrainTerminating:   {"on", "on", "off", nil},
			annotation.SyncPolicy:         {"upsert-only", "report", nil},
			annotation.Hostname:           {"web.example.com", nil},
			annotation.ExternalIPType:     {"eip", nil},
			annotation.BackendIPVersion:   {"ipv6", nil},
			annotation.DefaultServerGroup: {"on", "on", "off", nil},
		}
	}
	if m.n(3) == 0 {
		menu = map[string][]any{
			annotation.ID:            {"lb-users-1", "lb-users-2", "lb-users-2", "lb-missing", foreignLB, nil},
			annotation.ForceOverride: {"on", "on", nil},
			annotation.VGroupPort:    {usersMapping()["lb-users-1"], usersMapping()["lb-users-2"], "rsp-none:80", "rsp-users-1", nil},
			annotation.Weight:        {"30", "0", nil},
		}
	}
	suffix = pick(m, slices.Sorted(maps.Keys(menu))...)
	return suffix, pick(m, menu[suffix]...)
}

func annotationPatch(suffix string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation.Prefix + suffix: value}}}
}

func (m *monkey) edit(svc *corev1.Service, body map[string]any, subresources ...string) {
	m.patch(svc.Name, body, subresources...)
}

func (m *monkey) delete(svc *corev1.Service) {
	m.edit(svc, map[string]any{"metadata": map[string]any{"deletionTimestamp": metav1.Now()}})
	m.reap()
}

func (m *monkey) changeNode() string {
	name := fmt.Sprintf("node-%d", 1+m.n(chaosNodes))
	node, err := m.kube.CoreV1().Nodes().Get(m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return m.restoreNodes()
	}
	node.Status.Conditions[0].Status = pick(m, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)
	node.Spec.Unschedulable = m.n(3) == 0
	if _, err := m.kube.CoreV1().Nodes().Update(m.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	return fmt.Sprintf("%s is ready: %s, cordoned: %t", name, node.Status.Conditions[0].Status, node.Spec.Unschedulable)
}
