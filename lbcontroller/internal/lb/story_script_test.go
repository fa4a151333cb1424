package lb_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/app"
)

var listAll = metav1.ListOptions{}

// errDead is what a process sees of others when it has died.
var errDead = errors.New("the process has died")

const everyTime = 1 << 30

// do carries out one command of a script.
func (s *story) do(line string) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("at: %s", line)
		}
	}()
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	if verb == "heal" {
		s.heal()
		return
	}
	if len(words) == 0 {
		words = []string{""}
	}
	switch verb {
	case "apply", "replace":
		for _, file := range words {
			s.manifests(file, verb == "replace")
		}
	case "edit":
		name, text, _ := strings.Cut(rest, " ")
		name, subresource, _ := strings.Cut(name, "/")
		body := map[string]any{}
		s.unmarshal(text, &body)
		s.patch(name, body, strings.Fields(subresource)...)
	case "annotate":
		s.patch(words[0], map[string]any{"metadata": map[string]any{"annotations": keyValues(s, words[1:], annotation.Prefix)}})
	case "label":
		s.patch(words[0], map[string]any{"metadata": map[string]any{"labels": keyValues(s, words[1:], "")}})
	case "delete":
		s.delete(words[0], false)
	case "vanish": // The deletion passes the finalizer.
		s.delete(words[0], true)
	case "nodes":
		for n := range s.number(words[0]) {
			if _, err := s.kube.CoreV1().Nodes().Get(s.t.Context(), fmt.Sprintf("node-%d", n+1), metav1.GetOptions{}); err != nil {
				s.addNode(n + 1)
			}
		}
	case "node":
		s.node(words[0], words[1:])
	case "pods":
		s.setPods(words[0], words[1:])
	case "console":
		id, text, _ := strings.Cut(rest, " ")
		s.inConsole(id, text)
	case "health":
		s.healthIs(words[0])
	case "advance":
		d := s.duration(words[0])
		s.passed, s.long = true, s.long || d >= time.Minute
		s.after(d)
	case "await":
		s.passed, s.long = true, true
		s.await(words[0])
	case "restart":
		s.restart()
	case "stop":
		s.stop()
	case "start":
		s.start()
	case "configure":
		s.unmarshal(rest, &s.cfg)
		s.restart()
	case "throttle", "fail", "slow", "lose", "crash":
		s.trouble(verb, words)
	case "job":
		s.job(words)
	case "listeners": // start in 5s
		s.setting(func(settings *simapi.Settings) { settings.ListenerStart = s.duration(words[len(words)-1]) })
	case "secret":
		s.putSecret(words[0], words[1])
	case "plan":
		s.plan(words[0])
	case "show":
		s.show(words[0])
	default:
		s.t.Fatalf("there is no command %q", verb)
	}
}

func (s *story) number(word string) int {
	s.t.Helper()
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) duration(word string) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// await lets time pass until a call has begun.
func (s *story) await(method string) {
	s.t.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.begun[method]
	}
	for before, left := count(), 24*time.Hour; count() == before; left -= time.Second {
		if left == 0 {
			s.t.Fatalf("no %s in a day", method)
		}
		s.after(time.Second)
	}
}

// trouble is what a command says about calls to come.
func (s *story) trouble(verb string, words []string) {
	s.t.Helper()
	r := &rule{text: verb + " " + strings.Join(words, " "), method: words[0], left: 1}
	if verb == "lose" || verb == "crash" { // answer of, before, after
		before := words[0] == "before"
		if verb == "lose" {
			words = words[1:]
		}
		r.method, words = words[1], words[2:]
		if r.method == "call" {
			r.method, r.number, words = "", s.number(words[0]), words[1:]
		}
		if r.dies = verb == "crash"; before {
			r.fault.Before = errDead
		} else {
			r.fault.After = &rpcerr.Error{Code: rpcerr.OutcomeUnknown.Code(), Reason: rpcerr.OutcomeUnknown, Message: "the answer was lost"}
		}
	}
	refusal := &rpcerr.Error{Reason: rpcerr.Throttled, Message: "too many calls", RetryAfter: 3 * time.Second}
	switch verb {
	case "fail":
		if r.method == "patch" {
			words = slices.Insert(words, 1, string(rpcerr.CloudUnavailable))
		}
		refusal, words = &rpcerr.Error{Reason: rpcerr.Reason(words[1]), Message: "the cloud says no"}, words[1:]
		fallthrough
	case "throttle":
		refusal.Code = refusal.Reason.Code()
		r.fault.Before, words = refusal, words[1:]
	case "slow":
		r.wait, words = s.duration(words[1]), words[2:]
	}
	for _, word := range words {
		switch n, err := strconv.Atoi(word); {
		case err == nil:
			r.left = n
		case word == "always":
			r.left = everyTime
		default:
			refusal.RetryAfter = s.duration(word)
		}
	}
	r.method, r.about, _ = strings.Cut(strings.TrimSuffix(r.method, ")"), "(")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

// job is what a command says about the jobs of an NLB's writes to come.
func (s *story) job(words []string) {
	s.t.Helper()
	r := fault.Rule{ID: "job " + strings.Join(words, " "), Product: "nlb", Action: strings.TrimPrefix(words[0], "nlb."), Job: true, Times: 1}
	for words = words[1:]; len(words) > 0; {
		switch {
		case words[0] == "takes" && len(words) > 1:
			r.Latency, words = simapi.Duration(s.duration(words[1])), words[2:]
		case words[0] == "fails" && len(words) > 1:
			r.Error, words = &fault.Error{Code: words[1], Message: "the job has failed"}, words[2:]
		case words[0] == "always":
			r.Times, words = 0, words[1:]
		default:
			r.Times, words = s.number(words[0]), words[1:]
		}
	}
	s.must(s.cloud.Sim.AddFaults(r))
}

// heal ends all trouble. What was ordered and has never struck shows nothing, so it is a mistake of the story.
func (s *story) heal() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.struck == 0 || r.left > 0 && r.left < everyTime/2 {
			s.t.Errorf("%q has struck %d times, and is left over", r.text, r.struck)
		}
	}
	s.rules = nil
	for _, r := range s.cloud.Sim.Faults() {
		if r.Struck < max(r.Times, 1) {
			s.t.Errorf("%q has struck %d times, and is left over", r.ID, r.Struck)
		}
	}
	s.must(s.cloud.Sim.SetFaults())
}

// faultOf finds out what becomes of a call of a method; of a write to the API server with method "patch".
func (s *story) faultOf(method, text string) (gatewaytest.Fault, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[method]++
	if s.dead {
		return gatewaytest.Fault{Before: errDead}, 0
	}
	for _, r := range s.rules {
		if r.method == "" && method != "patch" {
			r.number--
		}
		if r.left == 0 || r.method != method && (r.method != "" || r.number != 0) || !strings.Contains(text, r.about) {
			continue
		}
		r.left--
		r.struck++
		if r.dies {
			s.dead = true
		}
		return r.fault, r.wait
	}
	return gatewaytest.Fault{}, 0
}

func (s *story) apiFault() gatewaytest.Fault {
	fault, _ := s.faultOf("patch", "")
	if fault.Before != nil && !errors.Is(fault.Before, errDead) {
		fault.Before = errors.New("etcdserver: request timed out")
	}
	return fault
}

func (s *story) cloudFault(_ int, method string, request proto.Message) gatewaytest.Fault {
	<-time.After(turnOf(request))
	fault, wait := s.faultOf(method, requestText(request))
	if wait > 0 {
		<-time.After(wait)
	}
	return fault
}

// turnOf brings into one order what is begun at once, so that a story goes one way: server groups are made by their ports, and changed and
// deleted by their ids. A change of servers that follows a refused deletion has a time of its own.
func turnOf(request proto.Message) time.Duration {
	numbered := func(text string) time.Duration {
		number, _ := strconv.Atoi(text) // The name of a target port is before all numbers.
		return time.Duration(number+1) * time.Microsecond
	}
	switch r := request.(type) {
	case *nlbv1.CreateServerGroupRequest:
		_, port, _ := strings.Cut(r.GetName(), ".")
		port, _, _ = strings.Cut(port, ".")
		return numbered(port)
	case *nlbv1.UpdateServerGroupRequest:
		return numbered(strings.TrimPrefix(r.GetServerGroupId(), "sgp-"))
	case *nlbv1.DeleteServerGroupRequest:
		return numbered(strings.TrimPrefix(r.GetServerGroupId(), "sgp-"))
	case *nlbv1.ApplyServerChangesRequest:
		return numbered(strings.TrimPrefix(r.GetServerGroupId(), "sgp-")) + time.Microsecond/2
	}
	return 0
}

// manifests applies the objects of a file, or replaces what is there by them.
func (s *story) manifests(file string, replace bool) {
	s.t.Helper()
	text, ok := s.files[file]
	if !ok {
		s.t.Fatalf("there is no file %s", file)
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if err != nil {
			s.t.Fatalf("%s: %v", file, err)
		}
		switch o := object.(type) {
		case *corev1.Service:
			o.Namespace = "default"
			s.applyService(o, replace)
		case *corev1.Node:
			if o.Spec.ProviderID == "" {
				o.Spec.ProviderID = "cn-hangzhou.i-" + o.Name
			}
			s.addInstance(strings.TrimPrefix(o.Spec.ProviderID, "cn-hangzhou."))
			upsert(s, o, s.kube.CoreV1().Nodes())
		case *discoveryv1.EndpointSlice:
			if o.Namespace = "default"; o.AddressType == "" {
				o.AddressType = discoveryv1.AddressTypeIPv4
			}
			upsert(s, o, s.kube.DiscoveryV1().EndpointSlices("default"))
		case *corev1.Pod:
			o.Namespace, o.UID = "default", types.UID("uid-"+o.Name)
			for i := range o.Status.Conditions {
				o.Status.Conditions[i].LastTransitionTime = metav1.Now()
			}
			upsert(s, o, s.kube.CoreV1().Pods("default"))
		default:
			s.t.Fatalf("%s: %T can't be applied", file, object)
		}
	}
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// client is that of a kind of objects.
type client[T any] interface {
	Create(ctx context.Context, o T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, o T, opts metav1.UpdateOptions) (T, error)
}

// upsert writes an object, whether or not it is there.
func upsert[T any](s *story, o T, c client[T]) {
	s.t.Helper()
	_, err := c.Update(s.t.Context(), o, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = c.Create(s.t.Context(), o, metav1.CreateOptions{})
	}
	s.must(err)
}

// applyService does what kubectl apply does, or kubectl replace, with the defaults of the API server.
func (s *story) applyService(svc *corev1.Service, replace bool) {
	s.t.Helper()
	services := s.kube.CoreV1().Services("default")
	there, err := services.Get(s.t.Context(), svc.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		there, err = nil, nil
	}
	s.must(err)
	s.setDefaults(svc, there)
	last := s.applied[svc.Name]
	s.applied[svc.Name] = svc.DeepCopy()
	if there == nil {
		s.born++
		svc.UID = types.UID(fmt.Sprintf("%08d-c2ae-4642-b033-5607860aef6a", s.born))
		svc.CreationTimestamp = metav1.Now()
		_, err = services.Create(s.t.Context(), svc, metav1.CreateOptions{})
		s.must(err)
		return
	}
	there.Spec = svc.Spec
	if replace {
		there.Labels, there.Annotations, there.Finalizers = svc.Labels, svc.Annotations, svc.Finalizers
	} else {
		there.Labels = merged(there.Labels, last.Labels, svc.Labels)
		there.Annotations = merged(there.Annotations, last.Annotations, svc.Annotations)
	}
	_, err = services.Update(s.t.Context(), there, metav1.UpdateOptions{})
	s.must(err)
}

// merged is a map without what was applied last and with what is applied now.
func merged(there, last, now map[string]string) map[string]string {
	result := maps.Clone(there)
	if result == nil {
		result = map[string]string{}
	}
	for key := range last {
		delete(result, key)
	}
	maps.Copy(result, now)
	return result
}

// setDefaults sets what the API server sets. A port keeps its node port.
func (s *story) setDefaults(svc, there *corev1.Service) {
	if svc.Spec.Type == "" {
		svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	}
	if svc.Spec.ExternalTrafficPolicy == "" {
		svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == (intstr.IntOrString{}) {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
		if there != nil && port.NodePort == 0 {
			for _, had := range there.Spec.Ports {
				if had.Port == port.Port && had.Protocol == port.Protocol {
					port.NodePort = had.NodePort
				}
			}
		}
		if port.NodePort == 0 && (svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts) {
			s.nodePort++
			port.NodePort = s.nodePort
		}
	}
}

// keyValues are words of the form key=value, and key- for what goes, as a merge patch. A key without a slash gets the prefix.
func keyValues(s *story, words []string, prefix string) map[string]any {
	s.t.Helper()
	values := map[string]any{}
	for _, word := range words {
		key, value, found := strings.Cut(word, "=")
		gone := !found && strings.HasSuffix(key, "-")
		if key = strings.TrimSuffix(key, "-"); !strings.Contains(key, "/") {
			key = prefix + key
		}
		if values[key] = value; gone {
			values[key] = nil
		}
	}
	return values
}

func (s *story) delete(name string, pastFinalizer bool) {
	s.t.Helper()
	svc, err := s.kube.CoreV1().Services("default").Get(s.t.Context(), name, metav1.GetOptions{})
	s.must(err)
	if pastFinalizer || len(svc.Finalizers) == 0 {
		s.must(s.kube.Tracker().Delete(serviceResource(), "default", name))
		return
	}
	s.patch(name, map[string]any{"metadata": map[string]any{"deletionTimestamp": metav1.Now()}})
}

// node does something with nodes.
func (s *story) node(what string, words []string) {
	s.t.Helper()
	nodes := s.kube.CoreV1().Nodes()
	name := words[0]
	change := func(edit func(*corev1.Node)) {
		node, err := nodes.Get(s.t.Context(), name, metav1.GetOptions{})
		s.must(err)
		edit(node)
		_, err = nodes.Update(s.t.Context(), node, metav1.UpdateOptions{})
		s.must(err)
	}
	if what == "label" || what == "taint" {
		values := keyValues(s, words[1:], "")
		change(func(n *corev1.Node) {
			for key, value := range values {
				text, there := value.(string)
				if what == "taint" {
					n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
				}
				switch {
				case there && what == "taint":
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: text, Effect: corev1.TaintEffectNoSchedule})
				case there:
					n.Labels = merged(n.Labels, nil, map[string]string{key: text})
				default:
					delete(n.Labels, key)
				}
			}
		})
		return
	}
	for _, name = range words {
		switch what {
		case "gone":
			s.must(nodes.Delete(s.t.Context(), name, metav1.DeleteOptions{}))
		case "notready":
			change(notReady)
		case "ready":
			change(ready)
		case "drain", "undrain":
			change(func(n *corev1.Node) { drained(n, what == "drain") })
		case "cordon", "uncordon":
			change(func(n *corev1.Node) { n.Spec.Unschedulable = what == "cordon" })
		default:
			s.t.Fatalf("nodes can't be %q", what)
		}
	}
}

// drained says by a condition of a node whether it is being drained, as kubectl drain does.
func drained(n *corev1.Node, now bool) {
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == "DrainInProgress" })
	if now {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "DrainInProgress", Status: corev1.ConditionTrue})
	}
}

// setPods makes the endpoints of a Service: ADDRESS@NODE, with /notready, /terminating or /waiting (for the gate of the
// pod of that address) behind it.
func (s *story) setPods(service string, words []string) {
	s.t.Helper()
	var list []discoveryv1.Endpoint
	for _, word := range words {
		if word == "" {
			continue
		}
		place, state, _ := strings.Cut(word, "/")
		address, node, _ := strings.Cut(place, "@")
		s.addENI("eni-"+address, address)
		e := pod(address, node)
		e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "pod-" + address, UID: types.UID("uid-pod-" + address)}
		e.Conditions.Ready = new(state == "")
		if state == "terminating" {
			e.Conditions.Serving, e.Conditions.Terminating = new(true), new(true)
		}
		list = append(list, e)
	}
	s.endpoints(service, list...)
}

// plan tells what "lbcontroller plan" prints.
func (s *story) plan(service string) {
	s.t.Helper()
	s.reads = true
	which := app.Selection{}
	if service != "" {
		which = app.Selection{Namespace: "default", Service: service}
	}
	deps := s.dependencies(slog.New(slog.DiscardHandler))
	deps.Registerer = nil // The controller that runs has the metrics.
	found, err := app.PreviewAll(s.t.Context(), s.kube, nil, s.cfg, app.Kinds(s.cfg, deps), which)
	s.must(err)
	var text strings.Builder
	s.must(found.WriteText(&text))
	for line := range strings.Lines(text.String()) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			s.say("%s", line)
		}
	}
	if writes := s.cloud.Writes(); len(writes) > 0 {
		s.t.Errorf("a plan writes: %v", writes)
	}
	s.cloud.ResetCalls()
}

// show tells what there is, without letting time pass.
func (s *story) show(what string) {
	s.t.Helper()
	s.reads = true
	switch name, _ := strings.CutPrefix(what, "lbcontroller_"); {
	case what == "cloud":
		for _, line := range s.cloudText() {
			s.say("%s", line)
		}
	case name != what || strings.HasPrefix(what, "ccm_"):
		s.showMetric(what)
	default:
		svc, err := s.kube.CoreV1().Services("default").Get(s.t.Context(), what, metav1.GetOptions{})
		s.must(err)
		for _, notes := range []map[string]string{svc.Labels, svc.Annotations} {
			for _, key := range slices.Sorted(maps.Keys(notes)) {
				if s.applied[what].Annotations[key] != notes[key] && key != LabelHash {
					s.say("%s: %s", key, notes[key])
				}
			}
		}
	}
}

// showMetric tells the values of a metric that aren't 0, with their labels.
func (s *story) showMetric(name string) {
	s.t.Helper()
	families, err := s.registry.Gather()
	s.must(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); family.GetName() == name && v != 0 {
				s.say("%s{%s} %v", name, strings.Join(labels, " "), v)
			}
		}
	}
}
