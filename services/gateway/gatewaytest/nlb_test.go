package gatewaytest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// That the answers are those of the real gateway is tested beside it, by TestFakeOfNLB.

// inNLB runs a test with a Fake whose jobs take a while, in a bubble of its own time.
func inNLB(t *testing.T, test func(t *testing.T, f *gatewaytest.Fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := world(t)
		f.VSwitches["vsw-2"] = &vpcv1.VSwitch{VswitchId: "vsw-2", VpcId: "vpc-1"}
		f.NLB.Job = func(method string, _ proto.Message) gatewaytest.Job {
			if method == "nlb.CreateLoadBalancer" {
				return gatewaytest.Job{Takes: 20 * time.Second}
			}
			return gatewaytest.Job{Takes: 2 * time.Second}
		}
		test(t, f)
	})
}

func networkBalancer(requestID string) *nlbv1.CreateLoadBalancerRequest {
	return &nlbv1.CreateLoadBalancerRequest{
		RequestId: requestID, Name: "web", VpcId: "vpc-1", AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET,
		ZoneMappings: []*nlbv1.ZoneMapping{{ZoneId: "cn-hangzhou-h", VswitchId: "vsw-1"}, {ZoneId: "cn-hangzhou-i", VswitchId: "vsw-2"}},
	}
}

// TestNLBJobs: a write answers at the end of its job, or before its deadline that the job goes on. What repeats it waits for the same job.
func TestNLBJobs(t *testing.T) {
	inNLB(t, func(t *testing.T, f *gatewaytest.Fake) {
		c, begin := f.Client().NetworkLoadBalancers, time.Now()
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.CreateLoadBalancer(short, networkBalancer("r-1"))
		if took := time.Since(begin); rpcerr.ReasonOf(err) != rpcerr.ResourceBusy || took >= 10*time.Second {
			t.Errorf("got %v after %s, want RESOURCE_BUSY before the deadline", err, took)
		}
		for range 2 {
			made, err := c.CreateLoadBalancer(t.Context(), networkBalancer("r-1"))
			if took := time.Since(begin); err != nil || took != 20*time.Second || made.GetLoadBalancer().GetLoadBalancerId() != "nlb-1" {
				t.Errorf("repeated: %v, %v after %s", made, err, took)
			}
		}
	})
}

// TestNLBTurns: a write waits for the job of another on the same load balancer, and for no others.
func TestNLBTurns(t *testing.T) {
	inNLB(t, func(t *testing.T, f *gatewaytest.Fake) {
		ctx, c := t.Context(), f.Client()
		group, err := c.NetworkServerGroups.CreateServerGroup(ctx, &nlbv1.CreateServerGroupRequest{
			RequestId: "g-1", Name: "web", VpcId: "vpc-1", Servers: []*nlbv1.Server{{Type: nlbv1.ServerType_SERVER_TYPE_ECS,
				ServerId: "i-1", Port: 80}},
		})
		if err != nil {
			t.Fatal(err)
		}
		begin, made := time.Now(), make(chan error)
		go func() {
			_, err := c.NetworkLoadBalancers.CreateLoadBalancer(ctx, networkBalancer("r-1"))
			made <- err
		}()
		synctest.Wait()
		f.Lock()
		if status := f.NLB.LoadBalancers["nlb-1"].GetStatus(); status != nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_PROVISIONING {
			t.Errorf("it is %s", status)
		}
		f.Unlock()
		if _, err := c.NetworkServerGroups.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{
			ServerGroupId: group.GetServerGroupId(), Add: []*nlbv1.Server{{Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-2", Port: 80}},
		}); err != nil || time.Since(begin) != 2*time.Second {
			t.Errorf("a group: %v after %s", err, time.Since(begin))
		}
		if _, err := c.NetworkListeners.CreateListener(ctx, &nlbv1.CreateListenerRequest{
			RequestId: "l-1", LoadBalancerId: "nlb-1", Protocol: nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP, Port: 80,
			Config: &nlbv1.ListenerConfig{ServerGroupId: &group.ServerGroupId},
		}); err != nil || time.Since(begin) != 22*time.Second {
			t.Errorf("a listener: %v after %s, want the end of the load balancer's job and of its own", err, time.Since(begin))
		}
		if err := <-made; err != nil {
			t.Error(err)
		}
	})
}

// TestNLBTrouble: jobs fail, answers get lost, and the journal tells the calls from those to CLB.
func TestNLBTrouble(t *testing.T) {
	inNLB(t, func(t *testing.T, f *gatewaytest.Fake) {
		ctx, c, lost := t.Context(), f.Client().NetworkLoadBalancers, errors.New("lost")
		f.Lock()
		usual := f.NLB.Job
		f.NLB.Job = func(string, proto.Message) gatewaytest.Job { return gatewaytest.Job{Fails: "InternalError"} }
		f.Unlock()
		for range 2 {
			_, err := c.CreateLoadBalancer(ctx, networkBalancer("r-1"))
			if e, _ := rpcerr.From(err); rpcerr.ReasonOf(err) != rpcerr.JobFailed || e.CloudCode != "InternalError" {
				t.Errorf("got %v, want JOB_FAILED", err)
			}
		}
		f.Lock()
		f.NLB.Job = usual
		f.Unlock()
		f.FailAfter("nlb.CreateLoadBalancer", 1, lost)
		f.Fail("CreateLoadBalancer", 1, lost)
		if _, err := c.CreateLoadBalancer(ctx, networkBalancer("r-2")); err == nil {
			t.Error("the answer was not lost")
		}
		if _, err := c.CreateLoadBalancer(ctx, networkBalancer("r-2")); err != nil {
			t.Error(err)
		}
		if _, err := c.GetLoadBalancer(ctx, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: "nlb-3"}); rpcerr.ReasonOf(
			err) != rpcerr.LoadBalancerNotFound {
			t.Errorf("it was made twice: %v", err)
		}
		writes := f.Writes()
		if len(writes) != 4 || writes[2].Method != "nlb.CreateLoadBalancer" || !errors.Is(writes[2].Err, lost) ||
			writes[2].Priority != gateway.User {
			t.Errorf("got %v", writes)
		}
		if clb := f.CallsOf("CreateLoadBalancer"); len(clb) > 0 {
			t.Errorf("got %v of CLB", clb)
		}
	})
}
