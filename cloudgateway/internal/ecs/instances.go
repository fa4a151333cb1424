package ecs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// describeInstances reads all pages of DescribeInstances, by id.
func (c *Client) describeInstances(ctx context.Context, filter cloud.Params) (map[string]*ecsv1.Instance, error) {
	found := map[string]*ecsv1.Instance{}
	params := cloud.Params{}.Int("MaxResults", itemsPerCall).Merge(filter)
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (string, error) {
		var answer struct {
			NextToken string
			Instances struct{ Instance []instanceAnswer }
		}
		if err := c.read(ctx, "DescribeInstances", p, &answer); err != nil {
			return "", err
		}
		for _, a := range answer.Instances.Instance {
			found[a.InstanceID] = a.decode()
		}
		return answer.NextToken, nil
	})
	return found, err
}

// fetchInstances reads at most itemsPerCall instances by id; one that does not exist is not in the answer.
func (c *Client) fetchInstances(ctx context.Context, ids []string) (map[string]*ecsv1.Instance, error) {
	return c.describeInstances(ctx, cloud.Params{}.JSONList("InstanceIds", ids))
}

// ListInstances reads every instance that matches, ordered by id.
func (c *Client) ListInstances(ctx context.Context, r *ecsv1.ListInstancesRequest) ([]*ecsv1.Instance, error) {
	filter := cloud.Tags(cloud.Params{}, r.GetTags()).With("VpcId", r.GetVpcId()).With("VSwitchId", r.GetVswitchId()).
		With("ZoneId", r.GetZoneId()).With("SecurityGroupId", r.GetSecurityGroupId()).With("ResourceGroupId", r.GetResourceGroupId()).
		With("Status", r.GetStatus()).With("InstanceName", r.GetName()).With("InstanceType", r.GetInstanceType()).
		With("InstanceChargeType", r.GetChargeType())
	of := listed(r)
	if len(r.GetPrivateIps()) > 0 {
		filter.With("InstanceNetworkType", "vpc")
	}
	return c.lists.Get(ctx, fmt.Sprintf("%q %q", filter, of), r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*ecsv1.Instance, error) {
		return c.listInstances(ctx, filter, of)
	})
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

// listInstances reads now, in as many calls as the list takes.
func (c *Client) listInstances(ctx context.Context, filter cloud.Params, of listing) ([]*ecsv1.Instance, error) {
	found := map[string]*ecsv1.Instance{}
	for values := of.Values; ; {
		chunk := values[:min(itemsPerCall, len(values))]
		some, err := c.describeInstances(ctx, cloud.Params{}.Merge(filter).JSONList(of.Param, chunk))
		if err != nil {
			return nil, err
		}
		maps.Copy(found, some)
		if values = values[len(chunk):]; len(values) == 0 {
			break
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *ecsv1.Instance) int {
		return strings.Compare(a.GetInstanceId(), b.GetInstanceId())
	}), nil
}

func noInstance(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.InstanceNotFound, API: "ecs/DescribeInstances",
		Message: fmt.Sprintf("there is no instance %s in this region, or the gateway may not see it", id),
	}
}
