package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestSiege: whatever strangers do, and callers who ask for too much, the gateway keeps its memory below the limit of the chart, keeps its
// Lease, and serves an honest caller, an honest tool and the kubelet. The gateway is a process of its own with the Lease of the chart; so
// are the strangers. Each assault lasts a second, or as long as the environment variable SIEGE says; then the load is that of
// docs/security.md, and the honest ones' p99 counts. One alone: SIEGE=5s go test -run 'TestSiege/front:_sessions' -v ./internal/app.
func TestSiege(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes more than a minute: make test runs it, make quick and -short do not")
	}
	length, full := time.Second, os.Getenv("SIEGE") != ""
	size := func(short, long int) int { return short }
	if full {
		var err error
		if length, err = time.ParseDuration(os.Getenv("SIEGE")); err != nil {
			t.Fatalf("SIEGE: %v", err)
		}
		size = func(_, long int) int { return long }
	}
	most, small, some := size(300, 3000), size(30, 450), size(8, 30)
	s := besiege(t)
	for n, a := range []assault{
		{Kind: "stalled messages", Connections: 30},
		{Kind: "stalled messages", Connections: 300},
		{Kind: "stalled messages", Connections: 3000},
		{Kind: "slow headers", Connections: most},
		{Kind: "tokens", Connections: 10, PerSecond: 2000},
		{Kind: "messages at the limit", Connections: 30},
		{Kind: "messages at the limit of a caller", Connections: 16, held: callersHeld},
		{Kind: "empty tags", Connections: 16},
		{Kind: "20 000 ids", Connections: 8},
		{Kind: "streams", Connections: 10},
		{Kind: "streams of a caller", Connections: 1, held: callersHeld},
		{Kind: "small calls of a caller", Connections: small, held: callersHeld, busy: true},
		{Kind: "small calls of a caller, unread", Connections: small, held: callersHeld, busy: true},
		{Kind: "answers that nobody reads", Connections: 4},
		{Kind: "batches of 20 000 ids, unread", Connections: 4},
		{Kind: "front: idle connections", Connections: most},
		{Kind: "front: slow headers", Connections: most},
		{Kind: "front: bodies of 10 MiB", Connections: 30},
		{Kind: "front: half bodies", Connections: most},
		{Kind: "front: invented keys", Connections: 30},
		{Kind: "front: invented tokens", Connections: 30},
		{Kind: "front: idle connections of many tools", Connections: size(60, 600), Every: 6 * time.Second, held: idleHeld,
			answers: []string{"OK"}, all: true},
		{Kind: "front: many nodes of one key pair", Connections: most, Every: time.Duration(most) * 10 * time.Millisecond, Least: int64(most),
			held: toolHeld, answers: []string{"OK"}, all: true},
		{Kind: "front: a full queue of a tool", Connections: size(20, 300), held: toolHeld, answers: []string{"OK", "Throttling"}},
		{Kind: "front: slow bodies of tools", Connections: size(30, 900), Every: 9 * time.Second, held: toolsHeld,
			answers: []string{"OK", "Throttling"}},
		{Kind: "front: bodies of 64 MiB of a tool", Connections: some, Every: 3 * time.Second, held: toolHeld,
			answers: []string{"OK", "RequestTooLarge"}},
		{Kind: "front: invented actions of a tool", Connections: some, held: toolHeld, busy: true,
			answers: []string{"InvalidAction.NotFound", "Throttling"}},
		{Kind: "front: refused calls of a tool", Connections: some, Every: 10 * time.Millisecond, held: toolHeld, busy: true,
			answers: []string{"Forbidden.RAM", "Throttling"}},
		{Kind: "front: sessions of a pod", Connections: some, held: toolHeld, busy: true, answers: []string{"OK", "Throttling"}},
		{Kind: "front: answers that a tool does not read", Connections: size(16, 300), Every: 10 * time.Second, held: 300, busy: true},
		{Kind: "admin: pages that nobody reads", Connections: most, held: most},
		{Kind: "admin: readiness, again and again", Connections: most, held: most, busy: true, answers: []string{"OK"}},
	} {
		if a.Connections > most {
			continue // What 300 show is enough for an ordinary run.
		}
		t.Run(fmt.Sprintf("%s, %d", a.Kind, a.Connections), func(t *testing.T) {
			a.Network, a.Length = 1+n, length
			s.withstand(t, a, full)
		})
	}
	if err := read(t.Context(), s.dial("reader")); err != nil {
		t.Errorf("a caller who comes afterwards: %v", err)
	}
	s.lease.mu.Lock()
	defer s.lease.mu.Unlock()
	if held := s.lease.held["cloudgateway"].Spec; *held.LeaseTransitions != 0 || *held.HolderIdentity == "" {
		t.Errorf("the Lease was lost: %v", held)
	}
}

const (
	// strangersHeld is the bound of docs/security.md, and some whose end the strangers have not seen yet.
	strangersHeld = 128 + 64
	callersHeld   = 128 + strangersHeld
	toolHeld      = 256 + strangersHeld
	toolsHeld     = 512 + 64
	idleHeld      = toolsHeld - 128 // Strangers have room beside those who do nothing.

	promisedP99 = 50 * time.Millisecond
	// busyP99 is for a caller that may call, and keeps the processor busy with it.
	busyP99 = 2 * time.Second
	// mostMissed is how many probes in a row the kubelet takes for no failure of the pod.
	mostMissed = 2
	// mostLines of the audit log may come at once, and linesPerSecond after that: sessions, and changes within the rate limits.
	mostLines, linesPerSecond = 200, 30
	// mostReviews is how often the API server may be asked at once, and reviewsPerSecond after that, readiness among it.
	mostReviews, reviewsPerSecond = 1000, 50
	// mostAgain is how often the cloud may be asked for what is remembered.
	mostAgain = 2
	// mostMetrics is the size of the page in KiB.
	mostMetrics = 256
)

// siege is a gateway, and those whom it has to serve whatever others do.
type siege struct {
	*world

	active *replica
	front  string
	limit  float64 // of the gateway's memory in the chart, in MiB
	caller *gateway.Client
	lb     string       // what the caller asks for
	tool   [2]*tool     // with a connection that it keeps, and with one for each call
	again  atomic.Int64 // how often it has connected once more
}

// besiege starts the gateway.
func besiege(t *testing.T) *siege {
	t.Helper()
	w := newWorld(t, func(seed *state.Cloud) {
		var tags []state.Tag
		for i := range instanceTag {
			tags = append(tags, state.Tag{Key: fmt.Sprintf("example.com/tag-%d", i), Value: strings.Repeat("v", 40)})
		}
		for _, id := range known(instances) {
			seed.Instances[id] = &state.Instance{Name: id, VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", Status: "Running", Tags: tags}
		}
	})
	w.latency = 5 * time.Millisecond
	w.toolMay = map[string]bool{"vpc:Describe*": true, "slb:*": true, largeAction: true}
	if err := w.sim.SetFaults(fault.Rule{Product: "ecs", Action: "DescribeZones", Error: &fault.Error{
		Status: http.StatusBadRequest, Code: "InvalidParameter", Message: strings.Repeat("l", largeAnswer),
	}}); err != nil {
		t.Fatal(err)
	}
	keys := fmt.Sprintf("sessionSecrets: [%s]\nkeys:\n", sealSecret)
	for i := range 1 + besiegers {
		id := fmt.Sprintf("tool-%d", i)
		if i == besiegers {
			id = honestTool
		}
		keys += fmt.Sprintf("- {id: %s, secret: %s, user: \"system:serviceaccount:tools:%s\", wait: 50s}\n", id, secretOf(id), id)
	}
	w.write("keys.yaml", keys)
	text := string(must(os.ReadFile(w.file)))
	text = strings.Replace(text, "level: debug", "level: info", 1)
	text = strings.Replace(text, "budget: {", "budget: {overrides: {vpc/DescribeVpcs: {calls: 1000000, window: 60s}, "+
		"ecs/DescribeZones: {calls: 1000000, window: 60s}, vpc/DescribeVSwitches: {calls: 600, window: 60s}}, ", 1)
	s := &siege{world: w, limit: chartMemory(t)}
	s.active = w.startReplica(w.write("besieged.yaml", text+election+
		fmt.Sprintf("front: {listen: 127.0.0.1:0, keysFile: %s/keys.yaml}\n", w.dir)))
	w.addr, w.admin = s.active.addr, s.active.admin
	w.write("token-bulk", "bulk")
	s.active.await("leader elected")
	s.front, _ = s.active.await("the OpenAPI front listens")["listen"].(string)
	s.caller = w.dial("writer")
	made, err := s.caller.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
		RequestId: "r-1", Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.lb = made.GetLoadBalancer().GetLoadBalancerId()
	for i := range s.tool {
		s.tool[i] = newTool(t, "https://"+s.front, honestTool, secretOf(honestTool))
		transport := s.tool[i].client.Transport.(*http.Transport)
		transport.DisableKeepAlives = i > 0
	}
	list, err := s.caller.Instances.ListInstances(t.Context(), wholeList())
	if err != nil || len(list.GetInstances()) != instances {
		t.Fatalf("%d instances, %v", len(list.GetInstances()), err)
	}
	t.Logf("a list has %.1f MiB, and idle the gateway has got %.0f MiB", float64(proto.Size(list))/(1<<20), w.memory())
	return s
}

// withstand lets an assault happen, and judges it as all others.
func (s *siege) withstand(t *testing.T, a assault, full bool) {
	a.Address, a.Dir = s.active.addr, s.dir
	switch {
	case strings.HasPrefix(a.Kind, "front: "):
		a.Address = s.front
	case strings.HasPrefix(a.Kind, "admin: "):
		a.Address = s.active.admin
	}
	begun, audits, asked, calls := time.Now(), s.active.audits.Load(), s.asked.Load(), len(s.sim.Calls(0))
	s.again.Store(0)
	sum, met := s.besieged(t, a)
	lasted := time.Since(begun)
	audits, asked = s.active.audits.Load()-audits, s.asked.Load()-asked
	again := 0
	for _, call := range s.sim.Calls(int64(calls)) {
		if strings.HasPrefix(call.Action, "DescribeLoadBalancer") {
			again++
		}
	}
	_, page := s.get("/metrics")
	metrics, got, resident := len(page)>>10, s.memory(), peakMemory(t, s.active.pid)
	t.Logf("%d connections tried, at most %d held, %d closed; %d calls, %d ended, %d lost, answers %v", sum.Tried, sum.Most, sum.Closed,
		sum.Calls, sum.Ended, sum.Lost, sum.Codes)
	t.Logf("the caller: %s; the tool: %s; the kubelet missed at most %d probes in a row of %d; Lease at most %s old",
		met.caller, met.tool, met.missed, met.probes, met.late.Round(time.Millisecond))
	t.Logf("in %s: %d lines of the audit log, %d requests to the API server, %d calls for what was remembered; "+
		"%d KiB of metrics; so far Go got %.0f MiB, and at most %.0f MiB were resident",
		lasted.Round(time.Second), audits, asked, again, metrics, got, resident)
	if sum.Calls == 0 {
		t.Error("the test shows nothing")
	}
	if held := int64(max(a.held, strangersHeld)); sum.Most > held {
		t.Errorf("%d connections are held at a time, want at most %d", sum.Most, held)
	}
	if got > s.limit {
		t.Errorf("the gateway has got %.0f MiB, the chart has a limit of %.0f", got, s.limit)
	}
	for what, n := range map[string][2]int64{
		"lines of the audit log":                   {audits, mostLines + int64(linesPerSecond*lasted.Seconds())},
		"requests to the API server":               {asked, mostReviews + int64(reviewsPerSecond*lasted.Seconds())},
		"calls for what is remembered":             {int64(again), mostAgain},
		"connections of the tool that others took": {s.again.Load(), int64(1 + len(met.tool)/10)},
		"KiB of metrics":                           {int64(metrics), mostMetrics},
	} {
		if n[0] > n[1] {
			t.Errorf("%d %s, want at most %d", n[0], what, n[1])
		}
	}
	for code, n := range sum.Codes {
		if !slices.Contains(a.answers, code) {
			t.Errorf("%d answers are %s, want %v", n, code, a.answers)
		}
	}
	if full && a.all && sum.Lost > 0 { // A slow machine makes handshakes slowly, and strangers crowd each other out.
		t.Errorf("%d calls got no answer", sum.Lost)
	}
	promised := promisedP99
	if a.busy {
		promised = busyP99
	}
	if full && (met.caller.p99() > promised || met.tool.p99() > busyP99) {
		t.Errorf("p99 is %s for the caller, want at most %s, and %s for the tool, want at most %s", met.caller.p99(), promised, met.tool.p99(),
			busyP99)
	}
}

// metWith is what those met whom the gateway has to serve.
type metWith struct {
	caller, tool   latencies
	missed, probes int           // by the kubelet, in a row
	late           time.Duration // the oldest that the Lease was
}

// latencies of calls, the shortest first.
type latencies []time.Duration

func (l latencies) p99() time.Duration { return l[len(l)*99/100] }

func (l latencies) String() string {
	return fmt.Sprintf("%d calls, p50 %s, p99 %s, max %s", len(l), l[len(l)/2].Round(10*time.Microsecond), l.p99().Round(10*time.Microsecond),
		l[len(l)-1].Round(10*time.Microsecond))
}

// besieged lets the strangers come, and those who are to be served call until they leave.
func (s *siege) besieged(t *testing.T, a assault) (sum sums, met metWith) {
	t.Helper()
	plan, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), besiegeWith+"="+string(plan))
	command.Stderr = os.Stderr
	left := make(chan struct{})
	var out []byte
	go func() {
		defer close(left)
		if out, err = command.Output(); err != nil {
			t.Errorf("the strangers: %v", err)
		}
	}()
	var mu sync.Mutex
	var calls sync.WaitGroup
	calls.Go(func() { met.missed, met.probes = s.probe(t, left) })
	do := func(who string, took *latencies, call func() error) {
		due := time.Now()
		calls.Go(func() {
			err := call()
			mu.Lock()
			defer mu.Unlock()
			*took = append(*took, time.Since(due))
			if err != nil {
				t.Errorf("the honest %s: %v", who, err)
			}
		})
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-left:
			calls.Wait()
			if err := json.Unmarshal(out, &sum); err != nil || len(met.caller) == 0 || len(met.tool) == 0 {
				t.Fatalf("the strangers say %q, the caller made %d calls, the tool %d: %v", out, len(met.caller), len(met.tool), err)
			}
			slices.Sort(met.caller)
			slices.Sort(met.tool)
			return sum, met
		case <-tick.C:
		}
		met.late = max(met.late, s.lease.age("cloudgateway"))
		do("caller", &met.caller, func() error {
			_, err := s.caller.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: s.lb,
				MaxAge: durationpb.New(time.Hour)})
			return err
		})
		if n%5 == 0 {
			do("tool", &met.tool, func() error { return s.callAsTool(t, n/5) })
		}
	}
}

// callAsTool makes the n-th call of the honest tool: some by a connection of its own, and some of what others have used up. It connects
// again as its SDK does, since strangers of a hundred addresses may crowd a new connection out.
func (s *siege) callAsTool(t *testing.T, n int) error {
	const tries = 4
	c, name := s.tool[0], cheapAction
	if n%5 == 0 {
		c = s.tool[1]
	}
	if n%20 == 1 {
		name = narrowAction
	}
	var got reply
	var err error
	for range tries {
		if got, err = c.send(t.Context(), http.MethodGet, c.sign(http.MethodGet, c.params(name, nil)), nil, nil); err == nil {
			break
		}
		s.again.Add(1)
	}
	if err == nil && got.Status != http.StatusOK {
		return fmt.Errorf("%s: %d %s", name, got.Status, got.Body)
	}
	return err
}

// probe asks for readiness as the kubelet does, but more often.
func (s *siege) probe(t *testing.T, until <-chan struct{}) (most, probes int) {
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for missed := 0; ; probes++ {
		answer, err := client.Get("http://" + s.active.admin + "/readyz")
		missed++
		if err == nil {
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				missed = 0
			}
			err = errors.New(string(text))
		}
		if missed > mostMissed {
			t.Errorf("the kubelet missed %d probes in a row, the last with %v", missed, err)
		}
		most = max(most, missed)
		select {
		case <-until:
			return most, probes
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// age is how long ago a Lease was renewed.
func (l *leases) age(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.held[name].Spec.RenewTime.Time)
}

// chartMemory is the limit of the gateway's memory in the chart, in MiB.
func chartMemory(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/chart/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Components map[string]struct {
			Resources struct {
				Limits struct{ Memory resource.Quantity }
			}
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	limit := values.Components["cloudgateway"].Resources.Limits.Memory
	if limit.IsZero() {
		t.Fatal("the chart has no limit of the gateway's memory")
	}
	return float64(limit.Value()) / (1 << 20)
}

// memory is what Go has got from the system, in MiB. It never falls, and does not count what the race detector needs.
func (w *world) memory() float64 {
	w.t.Helper()
	_, page := w.get("/metrics")
	_, rest, _ := strings.Cut(page, "\ngo_memstats_sys_bytes ")
	text, _, _ := strings.Cut(rest, "\n")
	bytes, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return bytes / (1 << 20)
}

// peakMemory is the most that a process has had resident, in MiB, with what the race detector needs; 0 where that is not known.
func peakMemory(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("no VmHWM in %q", status)
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return float64(kib) / 1024
}
