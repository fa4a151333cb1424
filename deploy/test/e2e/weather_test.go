package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// The size of a soak in bad weather, unless WEATHER_SERVICES says otherwise, and the time between two things that users do in it.
const (
	weatherServices = 300
	weatherNodes    = 10
	weatherPause    = 5 * time.Second
	// weatherPatience is how long the last of what users did may take, and the deletion of everything.
	weatherPatience = 15 * time.Minute
)

// TestWeather lets Services of both kinds live in the bad weather of the simulated cloud, which answers a few calls in a hundred with the
// codes on which real clients repeat, while users change them, nodes come and go, tools work behind the OpenAPI
// front, and processes die. The same things happen in good
// weather first, and in the end the cloud must hold the same. When all Services are deleted, nothing may be left. WEATHER_FOR=30m says how
// long; without it nothing is done. CHAOS_SEED repeats one.
func TestWeather(t *testing.T) {
	text := os.Getenv("WEATHER_FOR")
	if text == "" {
		t.Skip("WEATHER_FOR=30m runs it for so long")
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("WEATHER_FOR: %v", err)
	}
	services := weatherServices
	if text := os.Getenv("WEATHER_SERVICES"); text != "" {
		if services, err = strconv.Atoi(text); err != nil {
			t.Fatalf("WEATHER_SERVICES: %v", err)
		}
	}
	random := seed(t)
	var good []string
	for _, weather := range []string{"", "bad"} {
		passed := t.Run("weather"+weather, func(t *testing.T) {
			life := &weatherLife{t: t, random: rand.New(rand.NewPCG(random, 0)), weather: weather, want: good}
			life.boot()
			good = life.live(services, int(lasts/weatherPause), lasts)
		})
		if !passed {
			return
		}
	}
}

// weatherLife is what happens in one weather. What is done depends on the random numbers only, not on what comes of it.
type weatherLife struct {
	testWorld
	t       *testing.T
	random  *rand.Rand
	weather string
	want    []string // what the cloud holds in the end in good weather; nil in good weather

	names   []string // of the Services that there are
	made    int      // how many there have ever been
	nodes   []string
	before  map[string]int // of each kind in the cloud, before there were Services
	front   string         // its address
	tally   sync.Mutex
	calls   int
	refused map[string]int // by product, by the weather
}

func (l *weatherLife) boot() {
	address, keys := frontOf(l.t, frontKey, frontSecret)
	l.front = address
	l.testWorld = bootWith(l.t, world.Config{
		Nodes: weatherNodes, Controllers: world.Controllers(), Gateway: map[string]any{
			"budget": map[string]any{"overrides": world.Unlimited()}, "front": map[string]any{"listen": address, "keysFile": keys},
		},
	})
	if err := l.Apply(l.t.Context(), []byte(frontAccess)); err != nil {
		l.t.Fatal(err)
	}
	l.initialised(l.t)
	off := false
	err := l.Cloud().Limits(l.t.Context(), func(doc *openapisim.LimitsDocument) {
		doc.Enabled = &off
		const many = 1 << 30
		q := &doc.Settings.Quotas
		q.LoadBalancers, q.Servers, q.ServerAttachments = many, 0, 0
		q.NLBs, q.NLBServerGroups, q.NLBGroupsPerServer, q.NLBServers = many, many, many, many
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, node := range l.testWorld.nodes(l.t) {
		l.nodes = append(l.nodes, node.Name)
	}
	l.before, l.refused = kinds(l.state(l.t)), map[string]int{}
	if err := l.Cloud().SetFaults(l.t.Context(), fault.Weather(l.weather)...); err != nil {
		l.t.Fatal(err)
	}
}

// live does everything, and returns what the cloud holds before all Services are deleted.
func (l *weatherLife) live(services, deeds int, lasts time.Duration) []string {
	started := time.Now()
	counting, stop := context.WithCancel(l.t.Context())
	var counted sync.WaitGroup
	counted.Go(func() { l.count(counting) })
	defer func() { stop(); counted.Wait() }()
	for range services {
		l.bear()
	}
	var clients <-chan *clientsMet
	if l.want != nil {
		clients = l.behindFront(l.t, l.front, frontKey, frontSecret, true, lasts)
	}
	for n := range deeds {
		l.act()
		due := started.Add(lasts * time.Duration(n+1) / time.Duration(deeds))
		if l.want == nil {
			continue // Good weather is there to compare with: nothing is waited for.
		}
		select {
		case <-l.t.Context().Done():
		case <-time.After(time.Until(due)):
		}
	}
	if clients != nil {
		met := <-clients
		l.t.Logf("%s: clients behind the front made and deleted %d load balancers", l.name(), met.Made)
	}
	last := time.Now()
	var lines []string
	l.wait("what the users want is there", func() (err error) {
		if lines, err = l.holds(); err == nil && l.want != nil && !slices.Equal(lines, l.want) {
			missing, more := difference(l.want, lines), difference(lines, l.want)
			err = fmt.Errorf("%d lines of good weather are missing, as %q, and %d are there instead, as %q", len(missing), firstOf(missing),
				len(more), firstOf(more))
		}
		return err
	})
	l.t.Logf("%s: %d Services of both kinds, %d nodes and %d changes in %s; the last was there after %s", l.name(), len(l.names), len(l.nodes),
		deeds, last.Sub(started).Round(time.Second), time.Since(last).Round(time.Second))
	l.end()
	return lines
}

// end deletes all Services, and waits until nothing of them is left.
func (l *weatherLife) end() {
	last := time.Now()
	for _, name := range l.names {
		l.delete(l.t, name)
	}
	l.wait("nothing is left", func() error {
		left := map[string]int{}
		for kind, n := range kinds(l.state(l.t)) {
			if n != l.before[kind] {
				left[kind] = n - l.before[kind]
			}
		}
		list, err := l.Client().CoreV1().Services(metav1.NamespaceDefault).List(l.t.Context(), metav1.ListOptions{LabelSelector: "weather"})
		if err == nil && (len(left) > 0 || len(list.Items) > 0) {
			err = fmt.Errorf("left are %v and %d Services", left, len(list.Items))
		}
		return err
	})
	l.stayed(l.t)
	l.tally.Lock()
	defer l.tally.Unlock()
	l.t.Logf("%s: 0 leaked, %s after the deletion; %d calls, refused by the weather %v", l.name(),
		time.Since(last).Round(time.Second), l.calls, l.refused)
}

func (l *weatherLife) name() string {
	if l.weather == "" {
		return "good weather"
	}
	return l.weather + " weather"
}

// count counts calls to the cloud before the journal forgets them.
func (l *weatherLife) count(ctx context.Context) {
	var since int64
	for {
		calls, next, err := l.Cloud().Calls(ctx, since)
		if err == nil {
			since = next
			l.tally.Lock()
			l.calls += len(calls)
			for _, call := range calls {
				if strings.HasPrefix(call.Fault, "weather-") {
					l.refused[call.Product]++
				}
			}
			l.tally.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func (l *weatherLife) wait(what string, check func() error) {
	l.t.Helper()
	for end := time.Now().Add(weatherPatience); ; {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) || l.t.Context().Err() != nil {
			l.t.Fatalf("%s: waited %s in vain until %s: %v", l.name(), weatherPatience, what, err)
		}
		select {
		case <-l.t.Context().Done():
		case <-time.After(time.Second):
		}
	}
}

// bear creates a Service, a CLB or an NLB in turn.
func (l *weatherLife) bear() {
	name := fmt.Sprintf("web-%04d", l.made)
	svc := newService(name, nil, 80)
	if l.made%2 == 1 {
		svc = newNLBService(name, nil, 80)
	}
	svc.Labels = map[string]string{"weather": "soak"}
	l.made++
	l.names = append(l.names, name)
	l.create(l.t, svc)
}

// act does one thing.
func (l *weatherLife) act() {
	at := l.random.IntN(len(l.names))
	switch kind := l.random.IntN(20); {
	case kind < 8:
		ports := [][]int32{{80}, {80, 443}, {8080}, {443, 8080}}[l.random.IntN(4)]
		l.change(l.t, l.names[at], func(svc *corev1.Service) {
			svc.Spec.Ports = nil
			for _, port := range ports {
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
					Name: fmt.Sprintf("p%d", port), Port: port, TargetPort: intstr.FromInt32(8080),
				})
			}
		})
	case kind < 13:
		scheduler := []string{"rr", "wrr"}[l.random.IntN(2)]
		l.change(l.t, l.names[at], func(svc *corev1.Service) {
			if svc.Annotations == nil {
				svc.Annotations = map[string]string{}
			}
			svc.Annotations[annotationPrefix+"scheduler"] = scheduler
		})
	case kind < 17:
		l.delete(l.t, l.names[at])
		l.names = slices.Delete(l.names, at, at+1)
		l.bear()
	case kind < 19:
		l.replaceNode()
	default:
		l.killed([]string{world.LB, world.Node, world.Route, "cloudgateway"}[l.random.IntN(4)])
	}
}

// replaceNode adds a node and removes the oldest with its instance.
func (l *weatherLife) replaceNode() {
	names, err := l.AddNodes(l.t.Context(), 1)
	if err == nil {
		err = l.RemoveNode(l.t.Context(), l.nodes[0])
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.nodes = append(l.nodes[1:], names...)
}

func (l *weatherLife) killed(name string) {
	if err := l.Kill(name); err != nil {
		l.t.Fatal(err)
	}
	l.restart(l.t, name)
}

// holds says what the cloud holds for Services and nodes, without what differs from run to run: ids, addresses and node ports. An error
// says what is on its way.
func (l *weatherLife) holds() ([]string, error) {
	c := l.state(l.t)
	var lines []string
	services := map[string]bool{}
	add := func(kind, group, protocol string, port int, status, scheduler string, servers []string) {
		part := strings.FieldsFunc(group, func(r rune) bool { return r == '/' || r == '.' })
		service := group
		for _, name := range part {
			if strings.HasPrefix(name, "web-") {
				service = name
			}
		}
		services[service] = true
		lines = append(lines, fmt.Sprintf("%s %s %s/%d %s %s to %d nodes", kind, service, strings.ToLower(protocol), port,
			strings.ToLower(status), strings.ToLower(scheduler), len(slices.Compact(slices.Sorted(slices.Values(servers))))))
	}
	for _, lb := range c.LoadBalancers {
		for _, listener := range lb.Listeners {
			if g := c.ServerGroups[listener.Attributes["VServerGroupId"]]; g != nil {
				var servers []string
				for _, s := range g.Servers {
					servers = append(servers, s.ServerID)
				}
				add("CLB", g.Name, listener.Protocol, listener.Port, listener.Status, listener.Attributes["Scheduler"], servers)
			}
		}
	}
	for _, listener := range c.NLBListeners {
		if g := c.NLBServerGroups[listener.ServerGroupID]; g != nil {
			var servers []string
			for _, s := range g.Servers {
				servers = append(servers, s.ServerID)
			}
			add("NLB", g.Name, listener.Protocol, listener.Port, listener.Status, g.Scheduler, servers)
		}
	}
	lines = append(lines, routes(c)...)
	lines = append(lines, fmt.Sprintf("%d CLBs, %d vServer groups, %d NLBs, %d listeners, %d server groups of NLBs", len(c.LoadBalancers),
		len(c.ServerGroups), len(c.NLBs), len(c.NLBListeners), len(c.NLBServerGroups)))
	slices.Sort(lines)
	return lines, l.incomplete(c, services, lines)
}

// routes says how many there are, and to how many nodes that there are.
func routes(c *state.Cloud) (lines []string) {
	for _, table := range c.RouteTables {
		routed, known := map[string]bool{}, 0
		for _, e := range table.Entries {
			if e.Type == "Custom" && !routed[e.NextHopID] {
				routed[e.NextHopID] = true
				if c.Instances[e.NextHopID] != nil {
					known++
				}
			}
		}
		lines = append(lines, fmt.Sprintf("%d routes to %d nodes", len(routed), known))
	}
	return lines
}

// incomplete says what the Services still lack.
func (l *weatherLife) incomplete(c *state.Cloud, services map[string]bool, lines []string) error {
	for _, name := range l.names {
		if !services[name] {
			return fmt.Errorf("%s has no listener", name)
		}
	}
	if len(services) != len(l.names) {
		return fmt.Errorf("%d Services have listeners, want %d", len(services), len(l.names))
	}
	if err := l.elsewhere(lines); err != nil {
		return err
	}
	listeners := 0
	for _, lb := range c.LoadBalancers {
		listeners += len(lb.Listeners)
	}
	if len(c.LoadBalancers)+len(c.NLBs) != len(l.names) || len(c.ServerGroups) != listeners || len(c.NLBServerGroups) != len(c.NLBListeners) {
		return fmt.Errorf("something goes still, or is left: %s", lines[0])
	}
	if len(c.Instances) != len(l.nodes) {
		return fmt.Errorf("%d instances, want %d", len(c.Instances), len(l.nodes))
	}
	list, err := l.Client().CoreV1().Services(metav1.NamespaceDefault).List(l.t.Context(), metav1.ListOptions{LabelSelector: "weather"})
	for _, svc := range list.Items {
		if err == nil {
			err = lacks(&svc, lines)
		}
	}
	return err
}

// elsewhere says what does not run, or leads to other nodes than those that there are. A route of a node that is gone stays for minutes.
func (l *weatherLife) elsewhere(lines []string) error {
	all := fmt.Sprintf("to %d nodes", len(l.nodes))
	allRoutes := fmt.Sprintf("%d routes %s", len(l.nodes), all)
	for _, line := range lines {
		listener := strings.HasPrefix(line, "CLB ") || strings.HasPrefix(line, "NLB ")
		switch {
		case listener && !strings.Contains(line, " running "), strings.Contains(line, " to ") && !strings.HasSuffix(line, all):
			return fmt.Errorf("%s, want it running and %s", line, all)
		case strings.Contains(line, " routes to ") && line != allRoutes:
			return fmt.Errorf("%s, want %s", line, allRoutes)
		}
	}
	return nil
}

// lacks says what a Service lacks of listeners and of how it is scheduled.
func lacks(svc *corev1.Service, lines []string) error {
	var want, have []string
	for _, port := range svc.Spec.Ports {
		want = append(want, strconv.Itoa(int(port.Port)))
	}
	scheduler := svc.Annotations[annotationPrefix+"scheduler"]
	scheduled := scheduler == ""
	for _, line := range lines {
		if words := strings.Fields(line); len(words) > 4 && words[1] == svc.Name {
			_, port, _ := strings.Cut(words[2], "/")
			have = append(have, port)
			scheduled = scheduled || words[4] == scheduler
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	switch {
	case !slices.Equal(want, have):
		return fmt.Errorf("%s has listeners at %v, want %v", svc.Name, have, want)
	case !scheduled:
		return fmt.Errorf("%s is not scheduled by %s", svc.Name, scheduler)
	}
	return nil
}

// kinds counts what controllers make in the cloud, by kind.
func kinds(c *state.Cloud) map[string]int {
	routes := 0
	for _, table := range c.RouteTables {
		routes += len(table.Entries)
	}
	return map[string]int{
		"CLBs": len(c.LoadBalancers), "vServer groups": len(c.ServerGroups), "access control lists": len(c.Acls),
		"certificates": len(c.Certificates),
		"NLBs":         len(c.NLBs), "listeners of NLBs": len(c.NLBListeners), "server groups of NLBs": len(c.NLBServerGroups),
		"security groups": len(c.SecurityGroups), "elastic addresses": len(c.Eips), "routes": routes,
	}
}

// difference returns the lines of a that b has not.
func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

func firstOf(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}
