package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const otherVSwitch = "vsw-2"

// slowJobs gives the cloud the job times that it has, and a second zone.
func slowJobs(c *openapisim.Config) {
	settings := api.DefaultSettings()
	c.Settings = &settings
	c.Seed.VSwitches[otherVSwitch] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"}
}

func nlbRequest(requestID string) *nlbv1.CreateLoadBalancerRequest {
	return &nlbv1.CreateLoadBalancerRequest{
		RequestId: requestID, Name: "web-" + requestID, VpcId: testVPC, AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTRANET,
		ZoneMappings: []*nlbv1.ZoneMapping{
			{ZoneId: "cn-hangzhou-h", VswitchId: testVSwitch}, {ZoneId: "cn-hangzhou-i", VswitchId: otherVSwitch},
		},
		Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	}
}

func nlbServers(first, count int) []*nlbv1.Server {
	list := make([]*nlbv1.Server, count)
	for i := range list {
		list[i] = &nlbv1.Server{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(first + i), Port: 30080, Description: "k8s/80/web"}
	}
	return list
}

// serve makes what one port of a Service needs: a balancer and a group at the same time, and then a listener.
func (w *world) serveNLB(ctx context.Context, name string, servers int) (balancer, group, listener string, err error) {
	parts, partCtx := errgroup.WithContext(ctx)
	parts.Go(func() error {
		made, err := w.NetworkLoadBalancers.CreateLoadBalancer(partCtx, nlbRequest(name))
		balancer = made.GetLoadBalancer().GetLoadBalancerId()
		if err == nil && (made.GetLoadBalancer().GetDnsName() == "" ||
			made.GetLoadBalancer().GetStatus() != nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_ACTIVE) {
			err = fmt.Errorf("the answer has %v", made.GetLoadBalancer())
		}
		return err
	})
	parts.Go(func() error {
		made, err := w.NetworkServerGroups.CreateServerGroup(partCtx, &nlbv1.CreateServerGroupRequest{
			RequestId: name, Name: "k8s-80-" + name, VpcId: testVPC, Servers: nlbServers(0, servers),
		})
		group = made.GetServerGroupId()
		return err
	})
	if err := parts.Wait(); err != nil {
		return "", "", "", err
	}
	made, err := w.NetworkListeners.CreateListener(ctx, &nlbv1.CreateListenerRequest{
		RequestId: name, LoadBalancerId: balancer, Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, Port: 80,
		Config: &nlbv1.ListenerConfig{ServerGroupId: &group, Description: new("k8s/80/" + name)},
	})
	return balancer, group, made.GetListenerId(), err
}

// count counts the calls since forget: all writes, all reads, and the reads of jobs.
func (w *world) count() (writes, reads, jobs int) {
	for _, call := range w.calls(true) {
		switch {
		case call.Mutating:
			writes++
		case call.Action == "ListAsynJobs":
			jobs++
			fallthrough
		default:
			reads++
		}
	}
	return writes, reads, jobs
}

// TestCostOfNLB: a port of a Service costs four writes, and few looks at jobs. Those that wait at the same time share the looks.
func TestCostOfNLB(t *testing.T) {
	for services, most := range map[int]struct{ writes, reads, jobs int }{1: {4, 8, 8}, 100: {400, 400, 400 / 5}} {
		t.Run(fmt.Sprint(services), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, slowJobs, func(c *openapisim.Config) {
					c.Settings.Quotas.NLBs, c.Settings.Quotas.NLBGroupsPerServer = services, services
				})
				var work errgroup.Group
				begin := time.Now()
				for i := range services {
					work.Go(func() error {
						_, _, _, err := w.serveNLB(t.Context(), fmt.Sprintf("s%d", i), 90)
						return err
					})
				}
				if err := work.Wait(); err != nil {
					t.Fatal(err)
				}
				writes, reads, jobs := w.count()
				t.Logf("%d at once: %d writes, %d reads of which %d of jobs, in %s", services, writes, reads, jobs, time.Since(begin))
				if writes != most.writes || reads > most.reads || jobs > most.jobs {
					t.Errorf("%d writes, %d reads, %d of jobs, want %d, and at most %d and %d", writes, reads, jobs, most.writes, most.reads, most.jobs)
				}
			})
		})
	}
}

// TestJobThatFails: the caller learns why, and a repetition learns it again. Nothing is made twice.
func TestJobThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		w.strike(t, fault.Rule{Product: "nlb", Action: "CreateServerGroup", Job: true, Times: 1,
			Error: &fault.Error{Code: "InternalError", Message: "It broke."}})
		request := &nlbv1.CreateServerGroupRequest{RequestId: "r-1", Name: "web", VpcId: testVPC}
		for range 2 {
			_, err := w.NetworkServerGroups.CreateServerGroup(t.Context(), request)
			e, _ := rpcerr.From(err)
			if rpcerr.ReasonOf(err) != rpcerr.JobFailed || e.Code != codes.FailedPrecondition || e.CloudCode != "InternalError" ||
				!strings.Contains(e.Message, "It broke.") || !strings.Contains(e.Message, "job ") ||
				e.API != "nlb/CreateServerGroup" || e.CloudRequestID == "" {
				t.Errorf("got %v, want JOB_FAILED with the job, its code and the request that began it", err)
			}
		}
		request.RequestId = "r-2"
		if _, err := w.NetworkServerGroups.CreateServerGroup(t.Context(), request); err != nil {
			t.Errorf("with a new request_id: %v", err)
		}
	})
}

// TestJobThatOutlivesTheDeadline: the caller is told so at its deadline, and what repeats the request, also through
// another gateway after a failover, waits for the same job. Other callers get other tokens.
func TestJobThatOutlivesTheDeadline(t *testing.T) {
	for _, failover := range []bool{false, true} {
		t.Run(fmt.Sprintf("failover=%t", failover), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, slowJobs, func(c *openapisim.Config) { c.Settings.NLBActive = 90 * time.Second })
				short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				_, err := w.NetworkLoadBalancers.CreateLoadBalancer(short, nlbRequest("r-1"))
				if took := time.Since(begin); rpcerr.ReasonOf(err) != rpcerr.ResourceBusy || took > 10*time.Second {
					t.Errorf("got %v after %s, want RESOURCE_BUSY before the deadline", err, took)
				}
				if failover {
					w.kill()
					w.startGateway(t)
				}
				made, err := w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), nlbRequest("r-1"))
				if err != nil || made.GetLoadBalancer().GetDnsName() == "" {
					t.Errorf("repeated: %v, %v", made, err)
				}
				w.sim.View(func(c *state.Cloud) {
					if len(c.NLBs) != 1 {
						t.Errorf("%d load balancers", len(c.NLBs))
					}
				})
			})
		})
	}
}

// TestDryRunOfNLB: the cloud says what it would do, and does nothing. It neither needs nor uses up a turn or a request_id.
func TestDryRunOfNLB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		balancer, group, listener, err := w.serveNLB(t.Context(), "web", 2)
		if err != nil {
			t.Fatal(err)
		}
		before := w.picture()
		create := nlbRequest("r-1")
		create.ValidateOnly = true
		for what, err := range map[string]error{
			"create": second(w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)),
			"update": second(w.NetworkLoadBalancers.UpdateLoadBalancer(t.Context(), &nlbv1.UpdateLoadBalancerRequest{
				RequestId: "r-2", ValidateOnly: true, LoadBalancerId: balancer, Name: new("renamed"), SetTags: []*commonv1.Tag{{Key: "k", Value: "v"}},
			})),
			"servers": second(w.NetworkServerGroups.ApplyServerChanges(t.Context(), &nlbv1.ApplyServerChangesRequest{
				ServerGroupId: group, ValidateOnly: true, Add: nlbServers(5, 1),
			})),
			"listener": second(w.NetworkListeners.DeleteListener(t.Context(), &nlbv1.DeleteListenerRequest{
				LoadBalancerId: balancer, ListenerId: listener, ValidateOnly: true,
			})),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		create.ZoneMappings[0].VswitchId = "vsw-gone"
		if err := second(w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), create)); rpcerr.ReasonOf(err) != rpcerr.VSwitchNotFound {
			t.Errorf("what would be refused: got %v", err)
		}
		if diff := cmp.Diff(before, w.picture()); diff != "" {
			t.Errorf("the cloud's state (-before +after):\n%s", diff)
		}
		if err := second(w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), nlbRequest("r-1"))); err != nil {
			t.Errorf("then in earnest, with the same request_id: %v", err)
		}
	})
}

// TestServersOfNLB: one that the cloud does not know keeps no other out, and one that is there already, or gone already, is a success.
func TestServersOfNLB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		_, group, _, err := w.serveNLB(t.Context(), "web", 3)
		if err != nil {
			t.Fatal(err)
		}
		add := append(nlbServers(1, 20), nlbServers(5000, 1)...)
		_, err = w.NetworkServerGroups.ApplyServerChanges(t.Context(), &nlbv1.ApplyServerChangesRequest{
			ServerGroupId: group, Add: add, Remove: append(nlbServers(0, 1), nlbServers(90, 1)...),
		})
		if rpcerr.ReasonOf(err) != rpcerr.ServerNotFound || !strings.Contains(err.Error(), instanceID(5000)) {
			t.Errorf("got %v, want SERVER_NOT_FOUND that names the server", err)
		}
		got, err := w.NetworkServerGroups.GetServerGroup(t.Context(), &nlbv1.GetServerGroupRequest{ServerGroupId: group})
		if err != nil || got.GetServerGroup().GetServerCount() != 20 || got.GetServerGroup().GetServers()[0].GetServerId() != instanceID(1) {
			t.Errorf("got %v, %v, want the servers 1 to 20", got, err)
		}
		if weight := got.GetServerGroup().GetServers()[0].GetWeight(); weight != 100 {
			t.Errorf("a server of which no weight is said has %d", weight)
		}
	})
}

// TestOthersGoOnWhileAnNLBIsMade: what waits for a job holds up nothing but what is about the same load balancer or group.
func TestOthersGoOnWhileAnNLBIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		balancer, group, listener, err := w.serveNLB(t.Context(), "web", 3)
		if err != nil {
			t.Fatal(err)
		}
		w.strike(t, fault.Rule{Product: "nlb", Action: "UpdateLoadBalancerAttribute", Job: true, Latency: api.Duration(time.Minute)})
		var slow errgroup.Group
		slow.Go(func() error {
			return second(w.NetworkLoadBalancers.UpdateLoadBalancer(t.Context(),
				&nlbv1.UpdateLoadBalancerRequest{LoadBalancerId: balancer, Name: new("renamed")}))
		})
		<-time.After(time.Second)
		begin := time.Now()
		if _, err := w.NetworkServerGroups.ApplyServerChanges(t.Context(),
			&nlbv1.ApplyServerChangesRequest{ServerGroupId: group, Add: nlbServers(10, 1)}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("servers of its group took %s", took)
		}
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = w.NetworkListeners.StopListener(short, &nlbv1.StopListenerRequest{LoadBalancerId: balancer, ListenerId: listener})
		if rpcerr.ReasonOf(err) != rpcerr.ResourceBusy {
			t.Errorf("a listener of it: got %v, want RESOURCE_BUSY at the deadline", err)
		}
		if err := slow.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestListenerWithoutItsNLB: a request need not name the load balancer of a listener.
func TestListenerWithoutItsNLB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		_, _, listener, err := w.serveNLB(t.Context(), "web", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.NetworkListeners.UpdateListener(t.Context(), &nlbv1.UpdateListenerRequest{
			ListenerId: listener, Config: &nlbv1.ListenerConfig{Description: new("mine")},
		}); err != nil {
			t.Fatal(err)
		}
		found, err := w.NetworkListeners.GetListener(t.Context(), &nlbv1.GetListenerRequest{ListenerId: listener})
		if err != nil || found.GetListener().GetConfig().GetDescription() != "mine" {
			t.Errorf("got %v, %v", found.GetListener(), err)
		}
		for range 2 {
			if _, err := w.NetworkListeners.DeleteListener(t.Context(), &nlbv1.DeleteListenerRequest{ListenerId: listener}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestListenerOfAnotherNLB: a listener is not changed in the name of another load balancer.
func TestListenerOfAnotherNLB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slowJobs)
		_, _, listener, err := w.serveNLB(t.Context(), "web", 1)
		if err != nil {
			t.Fatal(err)
		}
		other, err := w.NetworkLoadBalancers.CreateLoadBalancer(t.Context(), nlbRequest("other"))
		if err != nil {
			t.Fatal(err)
		}
		w.forget()
		for what, err := range map[string]error{
			"delete": second(w.NetworkListeners.DeleteListener(t.Context(), &nlbv1.DeleteListenerRequest{
				LoadBalancerId: other.GetLoadBalancer().GetLoadBalancerId(), ListenerId: listener,
			})),
			"update": second(w.NetworkListeners.UpdateListener(t.Context(), &nlbv1.UpdateListenerRequest{
				LoadBalancerId: other.GetLoadBalancer().GetLoadBalancerId(), ListenerId: listener,
				Config: &nlbv1.ListenerConfig{Description: new("mine")},
			})),
		} {
			if rpcerr.ReasonOf(err) != rpcerr.InvalidField {
				t.Errorf("%s: got %v, want INVALID_FIELD", what, err)
			}
		}
		if writes := w.actions(false); len(writes) > 0 {
			t.Errorf("%q were sent", writes)
		}
	})
}
