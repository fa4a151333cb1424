package instance

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

// describe reads all pages of DescribeInstances, by id.
func (s *Service) describe(ctx context.Context, filter cloud.Params) (map[string]*ecsv1.Instance, error) {
	found := map[string]*ecsv1.Instance{}
	params := cloud.Params{}.Int("MaxResults", ecs.ItemsPerCall).Merge(filter)
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (string, error) {
		var answer struct {
			NextToken string
			Instances struct{ Instance []instanceAnswer }
		}
		if err := s.api.Read(ctx, "DescribeInstances", p, &answer); err != nil {
			return "", err
		}
		for _, a := range answer.Instances.Instance {
			found[a.InstanceID] = a.decode()
		}
		return answer.NextToken, nil
	})
	return found, err
}

// fetch reads at most ecs.ItemsPerCall instances by id; one that does not exist is not in the answer.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string]*ecsv1.Instance, error) {
	return s.describe(ctx, cloud.Params{}.JSONList("InstanceIds", ids))
}

// listing is a parameter of DescribeInstances that takes a list, and its values.
type listing struct {
	Param  string
	Values []string
}

// listed is the list of a request; it has at most one.
func listed(r *ecsv1.ListInstancesRequest) listing {
	for _, of := range []listing{
		{"InstanceIds", r.GetInstanceIds()}, {"PrivateIpAddresses", r.GetPrivateIps()},
		{"PublicIpAddresses", r.GetPublicIps()}, {"EipAddresses", r.GetEips()},
	} {
		if len(of.Values) > 0 {
			return listing{of.Param, cloud.Sorted(of.Values)}
		}
	}
	return listing{}
}

// list reads now, in as many calls as the list takes.
func (s *Service) list(ctx context.Context, filter cloud.Params, of listing) ([]*ecsv1.Instance, error) {
	found := map[string]*ecsv1.Instance{}
	for values := of.Values; ; {
		chunk := values[:min(ecs.ItemsPerCall, len(values))]
		some, err := s.describe(ctx, cloud.Params{}.Merge(filter).JSONList(of.Param, chunk))
		if err != nil {
			return nil, err
		}
		maps.Copy(found, some)
		if values = values[len(chunk):]; len(values) == 0 {
			break
		}
	}
	return cloud.SortedBy(slices.Collect(maps.Values(found)), (*ecsv1.Instance).GetInstanceId), nil
}

func notFound(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.InstanceNotFound, API: "ecs/DescribeInstances",
		Message: fmt.Sprintf("there is no instance %s in this region, or the gateway may not see it", id),
	}
}
