package networkinterface

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// interfacesPerPage is the greatest page of DescribeNetworkInterfaces.
const interfacesPerPage = 500

// addressKey is an address in a VPC. Addresses are compared by value: IPv6 has many spellings.
type addressKey struct {
	vpcID   string
	address netip.Addr
}

// describe reads all pages of DescribeNetworkInterfaces.
func (s *Service) describe(ctx context.Context, filter cloud.Params) ([]*ecsv1.NetworkInterface, error) {
	return cloud.Listing[*ecsv1.NetworkInterface]{
		Action: "DescribeNetworkInterfaces", Items: "NetworkInterfaceSets.NetworkInterfaceSet", Decode: decode,
	}.Tokened(ctx, s.api, cloud.Params{}.Int("MaxResults", interfacesPerPage).Merge(filter))
}

// fetch reads at most ecs.ItemsPerCall interfaces by id.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string]*ecsv1.NetworkInterface, error) {
	list, err := s.describe(ctx, cloud.Params{}.List("NetworkInterfaceId", ids))
	return cloud.ByKey(list, (*ecsv1.NetworkInterface).GetNetworkInterfaceId), err
}

// fetchAddresses reads the interfaces that have the addresses, at most ecs.ItemsPerCall: one call per VPC and family.
func (s *Service) fetchAddresses(ctx context.Context, keys []addressKey) (map[addressKey]*ecsv1.NetworkInterface, error) {
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
		list, err := s.describe(ctx, cloud.Params{"VpcId": g.vpcID}.List(param, addresses))
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

func notFound(what string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.NetworkInterfaceNotFound, API: "ecs/DescribeNetworkInterfaces",
		Message: fmt.Sprintf("there is no network interface %s, or the gateway may not see it", what),
	}
}
