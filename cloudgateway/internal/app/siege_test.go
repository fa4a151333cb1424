package app

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestSiege: whatever strangers do, and callers who ask for too much, the gateway keeps its memory below the limit of the chart, keeps its
// Lease, and serves an honest caller. The gateway is a process of its own with the Lease of the chart; so are the strangers. Each assault
// lasts a second, or as long as the environment variable SIEGE says; then the load is that of docs/security.md, and the honest caller's
// p99 counts.
func TestSiege(t *testing.T) {
	length, most, small := time.Second, 300, 30
	full := os.Getenv("SIEGE") != ""
	if full {
		var err error
		if length, err = time.ParseDuration(os.Getenv("SIEGE")); err != nil {
			t.Fatalf("SIEGE: %v", err)
		}
		most, small = 3000, 450
	}
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
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.write("keys.yaml", "sessionSecrets: ["+sealSecret+"]\n")
	front := fmt.Sprintf("front: {listen: 127.0.0.1:0, keysFile: %s/keys.yaml}\n", w.dir)
	active := w.startReplica(w.write("besieged.yaml", strings.Replace(string(text), "level: debug", "level: info", 1)+election+front))
	w.addr, w.admin = active.addr, active.admin
	w.write("token-bulk", "bulk")
	active.await("leader elected")
	frontAddress, _ := active.await("the OpenAPI front listens")["listen"].(string)
	client := w.dial("writer")
	made, err := client.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
		RequestId: "r-1", Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetLoadBalancer().GetLoadBalancerId()
	list, err := client.Instances.ListInstances(t.Context(), wholeList())
	if err != nil || len(list.GetInstances()) != instances {
		t.Fatalf("%d instances, %v", len(list.GetInstances()), err)
	}
	t.Logf("a list has %.1f MiB, and idle the gateway has got %.0f MiB", float64(proto.Size(list))/(1<<20), w.memory())
	limit := chartMemory(t)
	for n, a := range []assault{
		{Kind: "stalled messages", Connections: 30},
		{Kind: "stalled messages", Connections: 300},
		{Kind: "stalled messages", Connections: 3000},
		{Kind: "slow headers", Connections: most},
		{Kind: "tokens", Connections: 10, PerSecond: 2000},
		{Kind: "messages at the limit", Connections: 30},
		{Kind: "messages at the limit of a caller", Connections: 16},
		{Kind: "empty tags", Connections: 16},
		{Kind: "20 000 ids", Connections: 8},
		{Kind: "streams", Connections: 10},
		{Kind: "streams of a caller", Connections: 1},
		{Kind: "small calls of a caller", Connections: small},
		{Kind: "small calls of a caller, unread", Connections: small},
		{Kind: "answers that nobody reads", Connections: 4},
		{Kind: "batches of 20 000 ids, unread", Connections: 4},
		{Kind: "front: idle connections", Connections: most},
		{Kind: "front: slow headers", Connections: most},
		{Kind: "front: bodies of 10 MiB", Connections: 30},
		{Kind: "front: half bodies", Connections: most},
		{Kind: "front: invented keys", Connections: 30},
		{Kind: "front: invented tokens", Connections: 30},
	} {
		if a.Connections > most {
			continue // What 300 show is enough for an ordinary run.
		}
		a.Network, a.Length, a.Address, a.Dir = 1+n, length, active.addr, w.dir
		if strings.HasPrefix(a.Kind, "front: ") {
			a.Address = frontAddress
		}
		took, sum, late := w.besieged(a, client, id)
		p50, p99 := took[len(took)/2], took[len(took)*99/100]
		got, resident := w.memory(), peakMemory(t, active.pid)
		t.Logf("%s, %d at a time: %d connections tried, at most %d held, %d closed; %d calls, %d ended; the caller's %d "+
			"calls: p50 %s, p99 %s, max %s; "+
			"Lease at most %s old; so far Go got %.0f MiB, and at most %.0f MiB were resident", a.Kind, a.Connections, sum.Tried,
			sum.Most, sum.Closed, sum.Calls, sum.Ended,
			len(took), p50, p99, took[len(took)-1], late.Round(time.Millisecond), got, resident)
		if sum.Calls == 0 {
			t.Errorf("%s: the test shows nothing", a.Kind)
		}
		held := strangersHeld
		if strings.Contains(a.Kind, "of a caller") {
			held = callersHeld + strangersHeld
		}
		if sum.Most > int64(held) {
			t.Errorf("%s: %d connections are held at a time, want at most %d", a.Kind, sum.Most, held)
		}
		if got > limit {
			t.Errorf("%s: the gateway has got %.0f MiB, the chart has a limit of %.0f", a.Kind, got, limit)
		}
		if full && p99 > promisedP99 && !strings.HasPrefix(a.Kind, "small calls") { // A caller that may call may keep the gateway busy.
			t.Errorf("%s: the caller's p99 is %s, want at most %s", a.Kind, p99, promisedP99)
		}
	}
	if err := read(t.Context(), w.dial("reader")); err != nil {
		t.Errorf("a caller who comes afterwards: %v", err)
	}
	w.lease.mu.Lock()
	defer w.lease.mu.Unlock()
	if held := w.lease.held["cloudgateway"].Spec; *held.LeaseTransitions != 0 || *held.HolderIdentity == "" {
		t.Errorf("the Lease was lost: %v", held)
	}
}

const (
	// strangersHeld is the bound of docs/security.md, and some whose end the strangers have not seen yet.
	strangersHeld = 128 + 64
	callersHeld   = 128
	promisedP99   = 50 * time.Millisecond
)

// besieged lets the strangers come, and returns how long the calls of an honest caller take until they leave, shortest first, what the
// strangers report, and how old the Lease became.
func (w *world) besieged(a assault, client *gateway.Client, id string) (took []time.Duration, sum sums, late time.Duration) {
	w.t.Helper()
	plan, err := json.Marshal(a)
	if err != nil {
		w.t.Fatal(err)
	}
	command := exec.CommandContext(w.t.Context(), os.Args[0])
	command.Env = append(os.Environ(), besiegeWith+"="+string(plan))
	command.Stderr = os.Stderr
	left := make(chan []byte, 1)
	go func() {
		out, err := command.Output()
		if err != nil {
			w.t.Errorf("the strangers: %v", err)
		}
		left <- out
	}()
	var mu sync.Mutex
	var calls sync.WaitGroup
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case out := <-left:
			calls.Wait()
			if err := json.Unmarshal(out, &sum); err != nil || len(took) == 0 {
				w.t.Fatalf("%s: the strangers say %q, the caller made %d calls: %v", a.Kind, out, len(took), err)
			}
			slices.Sort(took)
			return took, sum, late
		case <-tick.C:
		}
		late = max(late, w.lease.age("cloudgateway"))
		due := time.Now()
		calls.Go(func() {
			_, err := client.LoadBalancers.GetLoadBalancer(w.t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: id,
				MaxAge: durationpb.New(time.Hour)})
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			if err != nil {
				w.t.Errorf("%s: the honest caller: %v", a.Kind, err)
			}
		})
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
