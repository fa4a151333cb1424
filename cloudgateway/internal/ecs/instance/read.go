package instance

import (
	"context"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

// describe reads all pages of DescribeInstances.
func (s *Service) describe(ctx context.Context, filter cloud.Params) ([]*ecsv1.Instance, error) {
	return cloud.Listing[*ecsv1.Instance]{Action: "DescribeInstances", Items: "Instances.Instance", Decode: decode}.
		Tokened(ctx, s.api, cloud.Params{}.Int("MaxResults", ecs.ItemsPerCall).Merge(filter))
}

// fetch reads at most ecs.ItemsPerCall instances by id; one that does not exist is not in the answer.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string]*ecsv1.Instance, error) {
	list, err := s.describe(ctx, cloud.Params{}.JSONList("InstanceIds", ids))
	return cloud.ByKey(list, (*ecsv1.Instance).GetInstanceId), err
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
	found, err := cloud.InChunks(of.Values, ecs.ItemsPerCall, func(some []string) ([]*ecsv1.Instance, error) {
		return s.describe(ctx, cloud.Params{}.Merge(filter).JSONList(of.Param, some))
	})
	return cloud.Distinct(found, (*ecsv1.Instance).GetInstanceId), err
}

// statusesPerCall is how many statuses one answer can hold. One call may name more ids, but would need another page.
const statusesPerCall = 50

// fetchStatuses reads the statuses of at most statusesPerCall instances; one that does not exist is not in the answer.
func (s *Service) fetchStatuses(ctx context.Context, ids []string) (map[string]string, error) {
	type status struct{ id, status string }
	list, err := cloud.Listing[status]{
		Action: "DescribeInstanceStatus", Items: "InstanceStatuses.InstanceStatus", PerPage: statusesPerCall,
		Decode: func(item []byte) (i status, err error) {
			err = cloud.Decode(item, cloud.Fields{"InstanceId": &i.id, "Status": &i.status})
			return i, err
		},
	}.Numbered(ctx, s.api, cloud.Params{}.List("InstanceId", ids))
	found := make(map[string]string, len(list))
	for _, i := range list {
		found[i.id] = i.status
	}
	return found, err
}

func notFound(id string) error {
	return cloud.NotFound(rpcerr.InstanceNotFound, "ecs/DescribeInstances", "instance "+id)
}

func noStatus(id string) error {
	return cloud.NotFound(rpcerr.InstanceNotFound, "ecs/DescribeInstanceStatus", "instance "+id)
}
