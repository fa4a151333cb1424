package ecs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
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
	filter := cloud.Tags(cloud.Params{}.With("VpcId", r.GetVpcId()), r.GetTags())
	addresses := cloud.Sorted(r.GetPrivateIps())
	return c.lists.Get(ctx, fmt.Sprintf("%q %q", filter, addresses), r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*ecsv1.Instance, error) {
		return c.listInstances(ctx, filter, addresses)
	})
}

// listInstances reads now, as many addresses in a call as it takes.
func (c *Client) listInstances(ctx context.Context, filter cloud.Params, addresses []string) ([]*ecsv1.Instance, error) {
	found := map[string]*ecsv1.Instance{}
	for {
		chunk := addresses[:min(itemsPerCall, len(addresses))]
		p := cloud.Params{}.Merge(filter)
		if len(chunk) > 0 {
			p.With("InstanceNetworkType", "vpc").JSONList("PrivateIpAddresses", chunk)
		}
		some, err := c.describeInstances(ctx, p)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, some)
		if addresses = addresses[len(chunk):]; len(addresses) == 0 {
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

type addressList struct {
	IPAddress []string `json:"IpAddress"`
}

// instanceAnswer is one instance in the answer to DescribeInstances.
type instanceAnswer struct {
	InstanceID         string `json:"InstanceId"`
	RegionID           string `json:"RegionId"`
	ZoneID             string `json:"ZoneId"`
	InstanceType       string
	InstanceName       string
	HostName           string
	Status             string
	InstanceChargeType string
	SpotStrategy       string
	InnerIPAddress     addressList `json:"InnerIpAddress"`
	PublicIPAddress    addressList `json:"PublicIpAddress"`
	EipAddress         struct {
		IPAddress string `json:"IpAddress"`
	}
	VpcAttributes struct {
		VpcID            string      `json:"VpcId"`
		VSwitchID        string      `json:"VSwitchId"`
		PrivateIPAddress addressList `json:"PrivateIpAddress"`
	}
	NetworkInterfaces struct {
		NetworkInterface []struct {
			NetworkInterfaceID string `json:"NetworkInterfaceId"`
			Type               string
			Ipv6Sets           ipv6Sets
		}
	}
	Tags struct {
		Tag []struct{ TagKey, TagValue, Key, Value string }
	}
}

type ipv6Sets struct {
	Ipv6Set []struct{ Ipv6Address string }
}

func (s ipv6Sets) addresses() []string {
	var list []string
	for _, a := range s.Ipv6Set {
		list = append(list, a.Ipv6Address)
	}
	return list
}

func (a instanceAnswer) decode() *ecsv1.Instance {
	instance := &ecsv1.Instance{
		InstanceId:   a.InstanceID,
		RegionId:     a.RegionID,
		ZoneId:       a.ZoneID,
		InstanceType: a.InstanceType,
		Status:       a.Status,
		ChargeType:   a.InstanceChargeType,
		SpotStrategy: a.SpotStrategy,
		VpcId:        a.VpcAttributes.VpcID,
		VswitchId:    a.VpcAttributes.VSwitchID,
		PrivateIps:   a.VpcAttributes.PrivateIPAddress.IPAddress,
		InnerIps:     a.InnerIPAddress.IPAddress,
		PublicIps:    a.PublicIPAddress.IPAddress,
		Eip:          a.EipAddress.IPAddress,
		Name:         a.InstanceName,
		HostName:     a.HostName,
	}
	interfaces := a.NetworkInterfaces.NetworkInterface
	for _, n := range interfaces {
		// Instances with a single interface do not always say that it is the primary one.
		if n.Type == "Primary" || len(interfaces) == 1 {
			instance.PrimaryNetworkInterfaceId = n.NetworkInterfaceID
			instance.Ipv6Addresses = n.Ipv6Sets.addresses()
		}
	}
	for _, t := range a.Tags.Tag {
		tag := &commonv1.Tag{Key: t.TagKey, Value: t.TagValue}
		if tag.GetKey() == "" {
			tag = &commonv1.Tag{Key: t.Key, Value: t.Value}
		}
		instance.Tags = append(instance.Tags, tag)
	}
	return instance
}
