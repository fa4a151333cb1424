package ecs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// interfacesPerPage is the greatest page of DescribeNetworkInterfaces.
const interfacesPerPage = 500

// addressKey is an address in a VPC. Addresses are compared by value: IPv6 has many spellings.
type addressKey struct {
	vpcID   string
	address netip.Addr
}

// describeInterfaces reads all pages of DescribeNetworkInterfaces.
func (c *Client) describeInterfaces(ctx context.Context, filter cloud.Params) ([]*ecsv1.NetworkInterface, error) {
	var found []*ecsv1.NetworkInterface
	params := cloud.Params{}.Int("MaxResults", interfacesPerPage).Merge(filter)
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (string, error) {
		var answer struct {
			NextToken            string
			NetworkInterfaceSets struct{ NetworkInterfaceSet []interfaceAnswer }
		}
		if err := c.read(ctx, "DescribeNetworkInterfaces", p, &answer); err != nil {
			return "", err
		}
		for _, a := range answer.NetworkInterfaceSets.NetworkInterfaceSet {
			found = append(found, a.decode())
		}
		return answer.NextToken, nil
	})
	return found, err
}

// fetchInterfaces reads at most itemsPerCall interfaces by id.
func (c *Client) fetchInterfaces(ctx context.Context, ids []string) (map[string]*ecsv1.NetworkInterface, error) {
	list, err := c.describeInterfaces(ctx, cloud.Params{}.List("NetworkInterfaceId", ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string]*ecsv1.NetworkInterface, len(list))
	for _, n := range list {
		found[n.GetNetworkInterfaceId()] = n
	}
	return found, nil
}

// fetchAddresses reads the interfaces that have the addresses, at most itemsPerCall: one call per VPC and family.
func (c *Client) fetchAddresses(ctx context.Context, keys []addressKey) (map[addressKey]*ecsv1.NetworkInterface, error) {
	type group struct {
		vpcID string
		six   bool
	}
	groups := map[group][]string{}
	for _, k := range keys {
		g := group{vpcID: k.vpcID, six: k.address.Is6()}
		groups[g] = append(groups[g], k.address.String())
	}
	found := make(map[addressKey]*ecsv1.NetworkInterface, len(keys))
	for g, addresses := range groups {
		param := "PrivateIpAddress"
		if g.six {
			param = "Ipv6Address"
		}
		list, err := c.describeInterfaces(ctx, cloud.Params{"VpcId": g.vpcID}.List(param, addresses))
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			for _, text := range slices.Concat(n.GetPrivateIps(), n.GetIpv6Addresses()) {
				if address, err := netip.ParseAddr(text); err == nil {
					found[addressKey{g.vpcID, address}] = n
				}
			}
		}
	}
	return found, nil
}

// UpdateNetworkInterface changes the source/destination check.
func (c *Client) UpdateNetworkInterface(ctx context.Context, id string, sourceDestCheck bool) error {
	unlock, err := cloud.Lock(ctx, c.locks, id)
	if err != nil {
		return err
	}
	defer unlock()
	defer c.addresses.Cache.Clear()
	defer c.interfaces.Cache.Invalidate(id)
	call := cloud.Write(openapi.ECS, "ModifyNetworkInterfaceAttribute", cloud.Params{
		"NetworkInterfaceId": id, "SourceDestCheck": strconv.FormatBool(sourceDestCheck),
	})
	call.Idempotent = true
	return cloud.Retry(ctx, cloud.Busy, func(ctx context.Context) error {
		_, err := c.caller.Do(ctx, call, nil)
		return err
	})
}

func noInterface(what string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.NetworkInterfaceNotFound, API: "ecs/DescribeNetworkInterfaces",
		Message: fmt.Sprintf("there is no network interface %s, or the gateway may not see it", what),
	}
}

// interfaceAnswer is one interface in the answer to DescribeNetworkInterfaces.
type interfaceAnswer struct {
	NetworkInterfaceID string `json:"NetworkInterfaceId"`
	InstanceID         string `json:"InstanceId"`
	Attachment         struct {
		InstanceID string `json:"InstanceId"`
	}
	Type             string
	Status           string
	VpcID            string `json:"VpcId"`
	VSwitchID        string `json:"VSwitchId"`
	ZoneID           string `json:"ZoneId"`
	PrivateIPAddress string `json:"PrivateIpAddress"`
	SourceDestCheck  *bool
	PrivateIPSets    struct {
		PrivateIPSet []struct {
			PrivateIPAddress string `json:"PrivateIpAddress"`
		} `json:"PrivateIpSet"`
	} `json:"PrivateIpSets"`
	Ipv6Sets ipv6Sets
}

func (a interfaceAnswer) decode() *ecsv1.NetworkInterface {
	n := &ecsv1.NetworkInterface{
		NetworkInterfaceId: a.NetworkInterfaceID,
		InstanceId:         a.InstanceID,
		Type:               a.Type,
		Status:             a.Status,
		VpcId:              a.VpcID,
		VswitchId:          a.VSwitchID,
		ZoneId:             a.ZoneID,
		PrimaryIp:          a.PrivateIPAddress,
		Ipv6Addresses:      a.Ipv6Sets.addresses(),
		SourceDestCheck:    a.SourceDestCheck,
	}
	if n.GetInstanceId() == "" {
		n.InstanceId = a.Attachment.InstanceID
	}
	for _, p := range a.PrivateIPSets.PrivateIPSet {
		n.PrivateIps = append(n.PrivateIps, p.PrivateIPAddress)
	}
	if len(n.GetPrivateIps()) == 0 && n.GetPrimaryIp() != "" {
		n.PrivateIps = []string{n.GetPrimaryIp()}
	}
	return n
}
