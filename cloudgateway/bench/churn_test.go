package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// churn is how much a gateway has to do.
type churn struct{ balancers, servers, minutes, changes int }

// TestChurn: load balancers with two listeners and two groups of 1 000 servers each are written, and then followed for
// an hour in which nodes come and go, while the gateway stays below 150 MiB. It is a process of its own, so that the
// cloud's memory is not counted. The hour has as many changes of groups as the published limits let through, four
// actions with 90 calls a minute each, and passes as fast as the gateway can: so what it remembers for minutes or an
// hour does not end meanwhile, and the figure is an upper bound. CHURN=full has 2 000 load balancers; HEAP_PROFILE
// names a file for a profile of the heap at the end.
func TestChurn(t *testing.T) {
	const mib, promised, groups = 1 << 20, 150, 2
	size := churn{balancers: 4, servers: 1000, minutes: 60, changes: 2}
	full := os.Getenv("CHURN") == "full"
	if full {
		size = churn{balancers: 2000, servers: 1000, minutes: 60, changes: 4 * 90}
	}
	w := newWorld(t, seedInstances(size.servers+size.minutes), wide("slb/CreateLoadBalancer", "slb/CreateVServerGroup",
		"slb/AddVServerGroupBackendServers", "slb/RemoveVServerGroupBackendServers", "slb/ModifyVServerGroupBackendServers",
		"slb/SetVServerGroupAttribute", "slb/CreateLoadBalancerTCPListener", "slb/StartLoadBalancerListener", "slb/DescribeLoadBalancers",
		"slb/DescribeLoadBalancerListeners", "slb/DescribeVServerGroups", "slb/DescribeVServerGroupAttribute", "ecs/DescribeInstances"))
	settings := api.FastSettings()
	settings.SpecificationsNotSold = false // the requests of these tests name one
	settings.Quotas.LoadBalancers, settings.Quotas.Servers = size.balancers, groups*(size.servers+1)
	settings.Quotas.ServerAttachments = groups * size.balancers
	w.sim.SetSettings(settings)
	client := w.dial()
	before := w.metric("process_resident_memory_bytes") / mib

	all := make([]service, size.balancers)
	parallel(t, size.balancers, func(ctx context.Context, i int) (err error) {
		all[i], err = writeService(ctx, client, i, size.servers)
		return err
	})
	written := w.metric("process_resident_memory_bytes") / mib
	for minute := range size.minutes {
		// A node goes and another one comes, of which the controllers read the instance, and change the groups, some load balancers in turn.
		// Each load balancer is looked at once in an hour.
		left, came := instanceID(minute), instanceID(size.servers+minute)
		if _, err := client.Instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: came}); err != nil {
			t.Fatal(err)
		}
		parallel(t, size.changes, func(ctx context.Context, n int) error {
			of := (minute*size.changes + n) % (groups * size.balancers)
			return all[of/groups].replace(ctx, client, of%groups, left, came)
		})
		looks := (size.balancers + size.minutes - 1) / size.minutes
		parallel(t, looks, func(ctx context.Context, n int) error {
			return all[(minute*looks+n)%size.balancers].look(ctx, client, size.servers)
		})
		w.sim.ClearCalls() // It is the test's memory that would grow.
	}
	resident, got := w.metric("process_resident_memory_bytes")/mib, w.metric("go_memstats_sys_bytes")/mib
	t.Logf("%d load balancers with %d groups of %d servers, %d changes of groups in %d minutes: %.0f MiB resident before, %.0f written, "+
		"%.0f at the end; Go has got at most %.0f MiB, of which %.0f of heap and %.0f of stacks are in use", size.balancers, groups, size.servers,
		size.minutes*size.changes, size.minutes, before, written, resident, got, w.metric("go_memstats_heap_inuse_bytes")/mib,
		w.metric("go_memstats_stack_inuse_bytes")/mib)
	if got > promised || full && resident > promised { // The first never falls, and does not count what the race detector needs.
		t.Errorf("the gateway has got %.0f MiB and has %.0f resident, want at most %d", got, resident, promised)
	}
	if file := os.Getenv("HEAP_PROFILE"); file != "" {
		w.heapProfile(file)
	}
}

// service is a load balancer with its groups.
type service struct {
	number   int
	balancer string
	groups   []string
}

// writeService makes a load balancer with two groups and two listeners.
func writeService(ctx context.Context, c *gateway.Client, i, servers int) (s service, err error) {
	s.number = i
	name := fmt.Sprintf("a%032d", i)
	made, err := c.LoadBalancers.CreateLoadBalancer(ctx, &slbv1.CreateLoadBalancerRequest{
		RequestId: name, Name: name, AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
	})
	if err != nil {
		return s, err
	}
	s.balancer = made.GetLoadBalancer().GetLoadBalancerId()
	for g, port := range []int32{80, 443} {
		request := &slbv1.CreateServerGroupRequest{
			RequestId: fmt.Sprint(name, g), LoadBalancerId: s.balancer, Name: fmt.Sprintf("k8s/%d/service-%d/default/c-1", port, i),
		}
		for n := range servers {
			request.Servers = append(request.Servers, server(instanceID(n), i))
		}
		group, err := c.ServerGroups.CreateServerGroup(ctx, request)
		if err != nil {
			return s, err
		}
		s.groups = append(s.groups, group.GetServerGroupId())
		if _, err := c.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{
			Key:    &slbv1.ListenerKey{LoadBalancerId: s.balancer, Port: port, Protocol: slbv1.Protocol_PROTOCOL_TCP},
			Config: &slbv1.ListenerConfig{ServerGroupId: new(group.GetServerGroupId())},
		}); err != nil {
			return s, err
		}
	}
	return s, nil
}

func server(id string, i int) *slbv1.Server {
	return &slbv1.Server{
		Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, Port: int32(30000 + i), Weight: new(int32(100)),
		Description: "k8s/80/service/default/c-1",
	}
}

// replace puts one server in the place of another one.
func (s service) replace(ctx context.Context, c *gateway.Client, group int, left, came string) error {
	_, err := c.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
		LoadBalancerId: s.balancer, ServerGroupId: s.groups[group], Add: []*slbv1.Server{server(came, s.number)},
		Remove: []*slbv1.Server{server(left, s.number)},
	})
	return err
}

// look reads all of it.
func (s service) look(ctx context.Context, c *gateway.Client, servers int) error {
	got, err := c.LoadBalancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: s.balancer, View: slbv1.View_VIEW_FULL, ServerGroupIds: s.groups,
	})
	if err != nil {
		return err
	}
	for _, g := range got.GetLoadBalancer().GetServerGroups() {
		if n := len(g.GetServers()); n < servers {
			return fmt.Errorf("%s has %d servers", g.GetServerGroupId(), n)
		}
	}
	return nil
}

// parallel does things sixteen at a time.
func parallel(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(16)
	for i := range n {
		all.Go(func() error { return do(t.Context(), i) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// heapProfile writes what the gateway's heap holds to a file.
func (w *world) heapProfile(file string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.admin+"/debug/pprof/heap", http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	var profile strings.Builder
	if _, err := io.Copy(&profile, answer.Body); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(profile.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
