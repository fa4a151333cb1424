package controller

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/orphan"
)

// cause is why something can't be found out, for the metrics.
type cause string

const (
	causeThrottled    cause = "throttled"
	causeCredentials  cause = "credentials"   // of the gateway in the cloud or of the controller at the gateway, or what they allow
	causeUnavailable  cause = "unavailable"   // the gateway or the cloud does not answer
	causeRegion       cause = "region"        // the gateway works in another region
	causeNothingFound cause = "nothing_found" // the answer has not one instance of a node
	causePartial      cause = "partial"       // the answer lacks the instances of too many nodes
	causeWitness      cause = "witness"       // the list of network interfaces has those of the instance, or none of nodes
	causeOther        cause = "other"
)

// allCauses are the values of cause. If several apply, the first of them is reported.
func allCauses() []cause {
	return []cause{
		causeRegion, causeCredentials, causeUnavailable, causeThrottled, causeNothingFound, causePartial, causeWitness, causeOther,
	}
}

// noEvidence is an answer of the cloud that proves nothing.
type noEvidence struct {
	cause cause
	text  string
}

func (e *noEvidence) Error() string { return e.text }

// causeOf gives the cause of an error.
func causeOf(err error) cause {
	if answer, ok := errors.AsType[*noEvidence](err); ok {
		return answer.cause
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return causeUnavailable
	}
	failure, ok := rpcerr.From(err)
	if !ok {
		return causeOther
	}
	switch failure.Reason {
	case rpcerr.Throttled:
		return causeThrottled
	case rpcerr.CloudForbidden, rpcerr.CloudCredentials, rpcerr.CallerForbidden, rpcerr.CallerUnauthenticated:
		return causeCredentials
	case rpcerr.CloudUnavailable:
		return causeUnavailable
	default:
	}
	if failure.Code == codes.Unavailable || failure.Code == codes.DeadlineExceeded {
		return causeUnavailable
	}
	return causeOther
}

// elsewhere is an error if the gateway works in another region than this controller: what it does not find may exist all the same.
func (c *Controller) elsewhere(ctx context.Context) error {
	capabilities, err := c.cfg.Gateway.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{})
	if err != nil {
		return fmt.Errorf("ask the gateway for its region: %w", err)
	}
	if region := capabilities.GetRegionId(); region != "" && region != c.region {
		return &noEvidence{causeRegion, fmt.Sprintf("the gateway works in region %s, and this controller for %s", region, c.region)}
	}
	return nil
}

// incredible says why an answer proves nothing that has so many of the instances of nodes.
func (c *Controller) incredible(ctx context.Context, found, nodes int) error {
	if err := c.elsewhere(ctx); causeOf(err) == causeRegion {
		return err
	}
	if found == 0 {
		return &noEvidence{causeNothingFound, "the cloud does not know the instance of any node; check the credentials and the region of the gateway"}
	}
	return &noEvidence{causePartial, fmt.Sprintf("the cloud does not know the instances of %d of %d nodes either; check what the gateway may see",
		nodes-found, nodes)}
}

// doubts counts, by cause, the orphans of which it can't be found out whether their instances are gone, and gives the first cause with an
// example.
func (m *memory) doubts(orphans []orphan.Orphan) (count map[cause]int, first cause, example error) {
	count = map[cause]int{}
	examples := map[cause]error{}
	for _, o := range orphans {
		err := m.doubted[o.Entry.InstanceID]
		if err == nil {
			continue
		}
		why := causeOf(err)
		if count[why]++; examples[why] == nil {
			examples[why] = err
		}
	}
	for _, why := range allCauses() {
		if count[why] > 0 {
			return count, why, examples[why]
		}
	}
	return count, "", nil
}
