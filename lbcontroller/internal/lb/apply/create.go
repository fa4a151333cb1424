package apply

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Life identifies one instance in the life of a Service.
type Life struct {
	ClusterID, UID string
	// Generation counts how often the Service gave an instance up.
	Generation string
	// Replaces is the instance that was recorded before and is gone, so that its request is never repeated.
	Replaces string
}

// requestID is the same for the same life and content: a creation that is repeated after a crash answers the first instance.
func (l Life) requestID(spec *slbv1.CreateLoadBalancerRequest) (string, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("derive the request id: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %x", l.ClusterID, l.UID, l.Generation, l.Replaces, content)
	return "lb-" + hex.EncodeToString(h.Sum(nil))[:40], nil
}

// groupRequestID is new each time: after a lost answer the group is looked up by name instead, while a repeated id could be
// answered with a group that has been deleted since.
func groupRequestID() string { return "sg-" + rand.Text() }

// extensionRequestID is new each time, as that of a group: after a lost answer the listener's extensions are read.
func extensionRequestID() string { return "de-" + rand.Text() }

// createInstance buys the instance, in another vSwitch if the first has no free address, and records it.
func (r *run) createInstance(ctx context.Context, a plan.CreateInstance) (plan.Result, error) {
	lb, err := r.buy(ctx, a.Spec)
	if err != nil && rpcerr.ReasonOf(err) == rpcerr.NoFreeAddress && len(r.OtherVSwitches) > 0 {
		other, lookErr := r.roomyVSwitch(ctx, a.Spec.GetVswitchId())
		if lookErr != nil {
			return plan.Result{}, lookErr
		}
		if other != "" {
			spec := proto.CloneOf(a.Spec)
			spec.VswitchId = other
			lb, err = r.buy(ctx, spec)
		}
	}
	if err != nil {
		return plan.Result{}, err
	}
	if r.Created != nil {
		if err := r.Created(ctx, lb.GetLoadBalancerId()); err != nil {
			return plan.Result{}, err
		}
	}
	return plan.Result{Instance: lb}, nil
}

func (r *run) buy(ctx context.Context, spec *slbv1.CreateLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	request := proto.CloneOf(spec)
	id, err := r.Life.requestID(spec)
	if err != nil {
		return nil, err
	}
	request.RequestId = id
	answer, err := r.Client.LoadBalancers.CreateLoadBalancer(ctx, request)
	if err != nil {
		return nil, err
	}
	return answer.GetLoadBalancer(), nil
}

// roomyVSwitch returns a configured vSwitch with a free address, or "".
func (r *run) roomyVSwitch(ctx context.Context, full string) (string, error) {
	answer, err := r.Client.VSwitches.ListVSwitches(ctx, &vpcv1.ListVSwitchesRequest{VswitchIds: r.OtherVSwitches})
	if err != nil {
		return "", fmt.Errorf("look for a vSwitch with free addresses: %w", err)
	}
	free := map[string]bool{}
	for _, v := range answer.GetVswitches() {
		free[v.GetVswitchId()] = v.GetAvailableIpCount() > 0
	}
	i := slices.IndexFunc(r.OtherVSwitches, func(id string) bool { return id != full && free[id] })
	if i < 0 {
		return "", nil
	}
	return r.OtherVSwitches[i], nil
}
