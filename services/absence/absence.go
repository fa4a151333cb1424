package absence

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/services/budget"
)

const (
	// askedAtOnce bounds the questions about network interfaces under way.
	askedAtOnce = 10
	// witnessesAsked is how many instances that are there may have to show a network interface.
	witnessesAsked = 3
)

// mayLack is how many of the witnesses an answer may lack: instances are released before those who know them learn of it.
var mayLack = budget.Policy{Minimum: 3, Percent: 5} //nolint:gochecknoglobals // A constant.

// Cloud is where the answers come from.
type Cloud struct {
	// Region is the one that the answers are about.
	Region string
	// Instances reads instances by id.
	Instances func(context.Context, *ecsv1.BatchGetInstancesRequest) (*ecsv1.BatchGetInstancesResponse, error)
	// Interfaces lists network interfaces.
	Interfaces func(context.Context, *ecsv1.ListNetworkInterfacesRequest) (*ecsv1.ListNetworkInterfacesResponse, error)
}

// Confirm finds out which of the instances of a request are gone. What goes wrong with the whole is an error of each of them.
func (c Cloud) Confirm(ctx context.Context, request *ecsv1.ConfirmAbsentRequest) *ecsv1.ConfirmAbsentResponse {
	request = proto.CloneOf(request)
	named := make(map[string]bool, len(request.GetWitnessIds()))
	request.WitnessIds = slices.DeleteFunc(request.GetWitnessIds(), func(id string) bool { // One that is named again proves no more.
		defer func() { named[id] = true }()
		return named[id]
	})
	results := make([]*ecsv1.ConfirmAbsentResult, len(request.GetInstanceIds()))
	there, err := c.read(ctx, request, results)
	lacking := make([]int, 0, len(results))
	for i, result := range results {
		if result == nil {
			lacking = append(lacking, i)
		}
	}
	if err == nil && len(lacking) > 0 {
		err = c.credible(ctx, request, there)
	}
	var asked errgroup.Group
	asked.SetLimit(askedAtOnce)
	for _, i := range lacking {
		if err != nil {
			results[i] = unclear(err)
			continue
		}
		asked.Go(func() error {
			results[i] = c.withoutInterface(ctx, request.GetInstanceIds()[i])
			return nil
		})
	}
	_ = asked.Wait() // The functions give no errors.
	for i, id := range request.GetInstanceIds() {
		results[i].Requested = id
	}
	return &ecsv1.ConfirmAbsentResponse{Results: results}
}

// read reads instances and witnesses in one go, and fills in the results of all instances but those that the answer lacks. It gives the
// instances that are there and were to be expected: of the witnesses, or without any of all that was asked about.
func (c Cloud) read(ctx context.Context, request *ecsv1.ConfirmAbsentRequest,
	results []*ecsv1.ConfirmAbsentResult) (there []string, err error) {
	if expected := request.GetRegionId(); expected != "" && c.Region != "" && expected != c.Region {
		return nil, rpcerr.Errorf(rpcerr.RegionMismatch, "the gateway works in region %s, and the instances are in %s", c.Region, expected)
	}
	ids := slices.Concat(request.GetInstanceIds(), request.GetWitnessIds())
	response, err := c.Instances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
	if err != nil {
		return nil, err
	}
	if n := len(response.GetResults()); n != len(ids) {
		return nil, rpcerr.Errorf(rpcerr.Internal, "%d results for %d instances", n, len(ids))
	}
	for i, result := range response.GetResults() {
		failure, instance := rpcerr.FromItem(result.GetError()), result.GetInstance()
		if instance != nil && (i >= len(results) || len(request.GetWitnessIds()) == 0) {
			there = append(there, ids[i])
		}
		switch {
		case i >= len(results) || rpcerr.ReasonOf(failure) == rpcerr.InstanceNotFound:
		case instance != nil:
			results[i] = &ecsv1.ConfirmAbsentResult{Presence: ecsv1.Presence_PRESENCE_PRESENT, Instance: instance}
		case failure != nil:
			results[i] = unclear(failure)
		default:
			results[i] = unclear(rpcerr.Errorf(rpcerr.Internal, "neither an instance nor an error"))
		}
	}
	return there, nil
}

// credible is nil if an answer proves something by what it lacks: it has enough of the witnesses, and the list of network interfaces has
// those of one.
func (c Cloud) credible(ctx context.Context, request *ecsv1.ConfirmAbsentRequest, there []string) error {
	switch witnesses := len(request.GetWitnessIds()); {
	case len(there) == 0 && witnesses == 0:
		return rpcerr.Errorf(rpcerr.NothingFound,
			"the cloud knows none of the %d instances; name others that are there as witnesses", len(request.GetInstanceIds()))
	case len(there) == 0:
		return rpcerr.Errorf(rpcerr.NothingFound, "the cloud knows none of %d instances that have to be there", witnesses)
	case witnesses-len(there) > mayLack.Limit(witnesses):
		return rpcerr.Errorf(rpcerr.PartialAnswer, "the cloud does not know %d of %d instances that have to be there",
			witnesses-len(there), witnesses)
	}
	for _, id := range there[:min(len(there), witnessesAsked)] {
		if eni, err := c.interfaceOf(ctx, id); eni != "" || err != nil {
			return err
		}
	}
	return rpcerr.Errorf(rpcerr.AbsenceContradicted, "the cloud lists no network interface of instances that are there, such as %s", there[0])
}

// withoutInterface is the result for an instance that the list of instances lacks. The network interface that an instance is made with goes
// with it, and no list leaves both out by the same mistake.
func (c Cloud) withoutInterface(ctx context.Context, id string) *ecsv1.ConfirmAbsentResult {
	eni, err := c.interfaceOf(ctx, id)
	switch {
	case err != nil:
		return unclear(err)
	case eni != "":
		return unclear(rpcerr.Errorf(rpcerr.AbsenceContradicted,
			"the cloud does not list instance %s, but its network interface %s exists", id, eni))
	default:
		return &ecsv1.ConfirmAbsentResult{Presence: ecsv1.Presence_PRESENCE_ABSENT}
	}
}

// interfaceOf gives a network interface of an instance, "" if it has none.
func (c Cloud) interfaceOf(ctx context.Context, instance string) (string, error) {
	response, err := c.Interfaces(ctx, &ecsv1.ListNetworkInterfacesRequest{InstanceId: instance})
	if err != nil {
		return "", fmt.Errorf("list the network interfaces of instance %s: %w", instance, err)
	}
	for _, eni := range response.GetNetworkInterfaces() {
		return eni.GetNetworkInterfaceId(), nil
	}
	return "", nil
}

func unclear(err error) *ecsv1.ConfirmAbsentResult {
	return &ecsv1.ConfirmAbsentResult{Presence: ecsv1.Presence_PRESENCE_UNCLEAR, Error: rpcerr.ToItem(err)}
}
