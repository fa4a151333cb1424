package controller

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

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
	causeInconsistent cause = "inconsistent"  // the list of network interfaces has those of the instance, or none of nodes
	causeOther        cause = "other"
)

// allCauses are the values of cause. If several apply, the first of them is reported.
func allCauses() []cause {
	return []cause{
		causeRegion, causeCredentials, causeUnavailable, causeThrottled, causeNothingFound, causePartial, causeInconsistent, causeOther,
	}
}

// causeOf gives the cause of an error.
func causeOf(err error) cause {
	if errors.Is(err, context.DeadlineExceeded) {
		return causeUnavailable
	}
	failure, ok := rpcerr.From(err)
	if !ok {
		return causeOther
	}
	switch failure.Reason {
	case rpcerr.RegionMismatch:
		return causeRegion
	case rpcerr.NothingFound:
		return causeNothingFound
	case rpcerr.PartialAnswer:
		return causePartial
	case rpcerr.AbsenceContradicted:
		return causeInconsistent
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

// unclearOrphans counts, by cause, the orphans of which it can't be found out whether their instances are gone, and
// gives the first cause with an example.
func (m *memory) unclearOrphans(orphans []orphan.Orphan) (count map[cause]int, first cause, example error) {
	count = map[cause]int{}
	examples := map[cause]error{}
	for _, o := range orphans {
		err := m.unclear[o.Entry.InstanceID]
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
