// Package networkinterface serves NetworkInterfaceService: elastic network interfaces. Reads of single interfaces that come at about the
// same time share calls.
package networkinterface

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// kind describes network interfaces.
func kind(cfg ecs.Config) cloud.Kind[ecsv1.NetworkInterface] {
	const perPage = 500 // the greatest page of DescribeNetworkInterfaces
	return cloud.Kind[ecsv1.NetworkInterface]{
		Name: "network interface", Cache: "networkinterfaces", NotFound: rpcerr.NetworkInterfaceNotFound, IDs: "network_interface_ids",
		Listing: cloud.Listing[*ecsv1.NetworkInterface]{
			Action: "DescribeNetworkInterfaces", Items: "NetworkInterfaceSets.NetworkInterfaceSet", Decode: decode,
			ID: (*ecsv1.NetworkInterface).GetNetworkInterfaceId, MaxResults: perPage,
		},
		Filters: map[string]cloud.Filter{
			"network_interface_ids": cloud.Indexed("NetworkInterfaceId", ecs.ItemsPerCall),
			"name":                  cloud.Param("NetworkInterfaceName"),
		},
		Gathering: cfg.Gathering(),
		Observe:   cfg.ObserveInterface,
	}
}

// Service implements ecsv1.NetworkInterfaceServiceServer.
type Service struct {
	ecsv1.UnimplementedNetworkInterfaceServiceServer

	api        cloud.API
	updates    *write.Serial
	interfaces *cloud.Collection[ecsv1.NetworkInterface]
	addresses  *batch.Reader[addressKey, *ecsv1.NetworkInterface]
	// moved is called with an instance that got or lost an interface.
	moved func(instanceID string)
}

// New makes a Service.
func New(cfg ecs.Config) *Service {
	s := &Service{
		api: cfg.API(), updates: write.NewSerial(cfg.Locks),
		interfaces: cloud.NewCollection(cfg.API(), cfg.Shared, kind(cfg)), moved: func(string) {},
	}
	s.updates.OnWrite(func(id string) {
		s.interfaces.Forget(id)
		s.addresses.Clear()
	})
	s.addresses = cloud.NewReader(cfg.Shared, "networkinterface_addresses", ecs.ItemsPerCall, cfg.Gathering(), s.fetchAddresses)
	return s
}

// OnMove says what is to be done when an instance has got or lost an interface. It is for constructors.
func (s *Service) OnMove(forget func(instanceID string)) { s.moved = forget }

// ForgetAll drops what is remembered, since another product has made or deleted interfaces.
func (s *Service) ForgetAll() {
	s.interfaces.ForgetAll()
	s.addresses.Clear()
}

// Owner is how the scopes of callers see network interfaces.
func (s *Service) Owner() cloud.Owner { return s.interfaces }

// GetNetworkInterface reads one interface.
func (s *Service) GetNetworkInterface(
	ctx context.Context, r *ecsv1.GetNetworkInterfaceRequest,
) (*ecsv1.GetNetworkInterfaceResponse, error) {
	found, err := s.interfaces.Get(ctx, r.GetNetworkInterfaceId(), r.GetMaxAge())
	return cloud.Answer(&ecsv1.GetNetworkInterfaceResponse{NetworkInterface: found}, err)
}

// BatchGetNetworkInterfaces reads many interfaces by their ids, or those of a VPC by one of their addresses.
func (s *Service) BatchGetNetworkInterfaces(
	ctx context.Context, r *ecsv1.BatchGetNetworkInterfacesRequest,
) (*ecsv1.BatchGetNetworkInterfacesResponse, error) {
	if len(r.GetIpAddresses()) == 0 {
		return batchResponse(r.GetNetworkInterfaceIds(), s.interfaces.BatchGet(ctx, r.GetNetworkInterfaceIds(), r.GetMaxAge())), nil
	}
	keys := make([]addressKey, len(r.GetIpAddresses()))
	for i, text := range r.GetIpAddresses() {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("read address %d: %w", i, err)
		}
		keys[i] = addressKey{vpcID: r.GetVpcId(), address: address.Unmap()}
	}
	found := s.addresses.GetMany(ctx, keys, r.GetMaxAge().AsDuration())
	for i, key := range keys {
		if found[i].Err == nil && found[i].Value == nil {
			found[i].Err = s.interfaces.NotFound(fmt.Sprintf("with address %s in %s", key.address, key.vpcID))
		}
	}
	return batchResponse(r.GetIpAddresses(), found), nil
}

func batchResponse(requested []string, found []batch.Result[*ecsv1.NetworkInterface]) *ecsv1.BatchGetNetworkInterfacesResponse {
	results := cloud.Results(requested, found,
		func(id string, value *ecsv1.NetworkInterface, err *commonv1.ItemError) *ecsv1.NetworkInterfaceResult {
			return &ecsv1.NetworkInterfaceResult{Requested: id, NetworkInterface: value, Error: err}
		})
	return &ecsv1.BatchGetNetworkInterfacesResponse{Results: results}
}

// ListNetworkInterfaces reads every interface that matches, ordered by id.
func (s *Service) ListNetworkInterfaces(
	ctx context.Context, r *ecsv1.ListNetworkInterfacesRequest,
) (*ecsv1.ListNetworkInterfacesResponse, error) {
	found, err := s.interfaces.List(ctx, r)
	return cloud.Answer(&ecsv1.ListNetworkInterfacesResponse{NetworkInterfaces: found}, err)
}

// UpdateNetworkInterface changes what is present in the request.
func (s *Service) UpdateNetworkInterface(
	ctx context.Context, r *ecsv1.UpdateNetworkInterfaceRequest,
) (*ecsv1.UpdateNetworkInterfaceResponse, error) {
	id := r.GetNetworkInterfaceId()
	params := cloud.Params{}.With("NetworkInterfaceName", r.GetName()).With("Description", r.GetDescription()).
		List("SecurityGroupId", r.GetSecurityGroupIds())
	ecs.Boolean(params, "SourceDestCheck", r.SourceDestCheck)
	ecs.Boolean(params, "DeleteOnRelease", r.DeleteOnRelease)
	err := s.updates.Do(ctx, id, func(ctx context.Context) error {
		if err := s.api.SetAll(ctx, ecs.Attributes("ModifyNetworkInterfaceAttribute", "NetworkInterfaceId", id, params)); err != nil {
			return err
		}
		return s.api.ChangeTags(ctx, "eni", id, rpcerr.NetworkInterfaceNotFound, r.GetSetTags(), r.GetRemoveTagKeys())
	})
	return cloud.Answer(&ecsv1.UpdateNetworkInterfaceResponse{}, err)
}

// addressKey is an address in a VPC. Addresses are compared by value: IPv6 has many spellings.
type addressKey struct {
	vpcID   string
	address netip.Addr
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
		list, err := s.interfaces.Find(ctx, cloud.Params{"VpcId": g.vpcID}.List(param, addresses))
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
