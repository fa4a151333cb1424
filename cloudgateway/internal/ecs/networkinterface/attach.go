package networkinterface

import (
	"context"
	"net/netip"
	"slices"
	"strconv"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The statuses of an interface that do not pass by themselves.
const (
	available = "Available"
	inUse     = "InUse"
)

// How many addresses a call takes from an interface (ECS API reference).
const (
	ipv4PerCall = 50
	ipv6PerCall = 10
)

// CreateNetworkInterface makes an interface and waits until it can be attached. The call has a token, so it may be sent again.
func (s *Service) CreateNetworkInterface(
	ctx context.Context, r *ecsv1.CreateNetworkInterfaceRequest,
) (*ecsv1.CreateNetworkInterfaceResponse, error) {
	defer s.interfaces.ForgetLists()
	params := cloud.Tags(cloud.Params{"VSwitchId": r.GetVswitchId()}, r.GetTags()).
		List("SecurityGroupIds", r.GetSecurityGroupIds()).
		With("PrimaryIpAddress", r.GetPrimaryIp()).
		Int("SecondaryPrivateIpAddressCount", int(r.GetIpv4Count())).
		Int("Ipv6AddressCount", int(r.GetIpv6Count())).
		With("NetworkInterfaceName", r.GetName()).
		With("Description", r.GetDescription()).
		With("ResourceGroupId", r.GetResourceGroupId()).
		Bool("DeleteOnRelease", r.DeleteOnRelease).
		With("ClientToken", write.Token(ctx, "ecs/CreateNetworkInterface", r.GetRequestId(), ""))
	id := ""
	err := s.api.Set(ctx, "CreateNetworkInterface", params, &cloud.Fields{"NetworkInterfaceId": cloud.Required(&id)})
	if err != nil {
		return nil, err
	}
	made, err := write.Converge[*ecsv1.NetworkInterface]{
		Name: "the creation of " + id,
		Look: s.look(id),
		Judge: func(n *ecsv1.NetworkInterface) (write.Verdict, error) {
			if n == nil || n.GetStatus() != available && n.GetStatus() != inUse {
				return write.Waiting, nil
			}
			return write.Done, nil
		},
	}.Run(ctx)
	return cloud.Answer(&ecsv1.CreateNetworkInterfaceResponse{NetworkInterface: made}, err)
}

func (s *Service) look(id string) func(context.Context) (*ecsv1.NetworkInterface, error) {
	return func(ctx context.Context) (*ecsv1.NetworkInterface, error) { return s.interfaces.Look(ctx, id) }
}

// DeleteNetworkInterface deletes an interface and waits until it is gone.
func (s *Service) DeleteNetworkInterface(
	ctx context.Context, r *ecsv1.DeleteNetworkInterfaceRequest,
) (*ecsv1.DeleteNetworkInterfaceResponse, error) {
	const action = "DeleteNetworkInterface"
	id := r.GetNetworkInterfaceId()
	_, err := write.Converge[*ecsv1.NetworkInterface]{
		Name: "the deletion of " + id,
		Look: s.look(id),
		Judge: func(n *ecsv1.NetworkInterface) (write.Verdict, error) {
			switch {
			case n == nil:
				return write.Done, nil
			case n.GetStatus() == inUse:
				return write.Failed, rpcerr.Errorf(rpcerr.ResourceInUse, "network interface %s is attached to %s; detach it first", id,
					n.GetInstanceId()).WithAPI("ecs/" + action)
			case n.GetStatus() == available:
				return write.Todo, nil
			}
			return write.Waiting, nil
		},
		Send: func(ctx context.Context, _ *ecsv1.NetworkInterface) error {
			err := s.api.Send(ctx, action, cloud.Params{"NetworkInterfaceId": id}, nil)
			return cloud.Unless(err, rpcerr.NetworkInterfaceNotFound)
		},
		LookFirst: true,
	}.RunAlone(ctx, s.updates, id)
	return cloud.Answer(&ecsv1.DeleteNetworkInterfaceResponse{}, err)
}

// AttachNetworkInterface attaches an interface and waits until it is in use.
func (s *Service) AttachNetworkInterface(
	ctx context.Context, r *ecsv1.AttachNetworkInterfaceRequest,
) (*ecsv1.AttachNetworkInterfaceResponse, error) {
	const action = "AttachNetworkInterface"
	id, instance := r.GetNetworkInterfaceId(), r.GetInstanceId()
	defer s.moved(instance) // Whatever happens, the cloud may hold something new.
	attached, err := write.Converge[*ecsv1.NetworkInterface]{
		Name: "the attachment of " + id + " to " + instance,
		Look: s.look(id),
		Judge: func(n *ecsv1.NetworkInterface) (write.Verdict, error) {
			switch {
			case n == nil:
				return write.Failed, s.interfaces.NotFound(id)
			case n.GetStatus() == available:
				return write.Todo, nil
			case n.GetStatus() == inUse && n.GetInstanceId() == instance:
				return write.Done, nil
			case n.GetStatus() == inUse:
				return write.Failed, rpcerr.Errorf(rpcerr.ResourceInUse, "network interface %s is attached to %s", id,
					n.GetInstanceId()).WithAPI("ecs/" + action)
			}
			return write.Waiting, nil
		},
		Send: func(ctx context.Context, _ *ecsv1.NetworkInterface) error {
			return s.api.Send(ctx, action, cloud.Params{"NetworkInterfaceId": id, "InstanceId": instance}, nil)
		},
		LookFirst: true,
	}.RunAlone(ctx, s.updates, id)
	return cloud.Answer(&ecsv1.AttachNetworkInterfaceResponse{NetworkInterface: attached}, err)
}

// DetachNetworkInterface detaches an interface from an instance and waits until it can be attached to another.
func (s *Service) DetachNetworkInterface(
	ctx context.Context, r *ecsv1.DetachNetworkInterfaceRequest,
) (*ecsv1.DetachNetworkInterfaceResponse, error) {
	id, instance := r.GetNetworkInterfaceId(), r.GetInstanceId()
	defer s.moved(instance) // Whatever happens, the cloud may hold something new.
	_, err := write.Converge[*ecsv1.NetworkInterface]{
		Name: "the detachment of " + id + " from " + instance,
		Look: s.look(id),
		Judge: func(n *ecsv1.NetworkInterface) (write.Verdict, error) {
			switch {
			case n == nil, n.GetStatus() == available, n.GetInstanceId() != "" && n.GetInstanceId() != instance:
				return write.Done, nil
			case n.GetStatus() == inUse:
				return write.Todo, nil
			}
			return write.Waiting, nil
		},
		Send: func(ctx context.Context, _ *ecsv1.NetworkInterface) error {
			return s.api.Send(ctx, "DetachNetworkInterface", cloud.Params{"NetworkInterfaceId": id, "InstanceId": instance}, nil)
		},
		LookFirst: true,
	}.RunAlone(ctx, s.updates, id)
	return cloud.Answer(&ecsv1.DetachNetworkInterfaceResponse{}, err)
}

// AssignAddresses gives an interface further addresses. Each call has a token, so it may be sent again.
func (s *Service) AssignAddresses(ctx context.Context, r *ecsv1.AssignAddressesRequest) (*ecsv1.AssignAddressesResponse, error) {
	answer := &ecsv1.AssignAddressesResponse{}
	err := s.updates.Do(ctx, r.GetNetworkInterfaceId(), func(ctx context.Context) error {
		assign := func(action, param string, count int32, fields cloud.Fields) error {
			if count == 0 {
				return nil
			}
			return s.api.Set(ctx, action, cloud.Params{
				"NetworkInterfaceId": r.GetNetworkInterfaceId(), param: strconv.Itoa(int(count)),
				"ClientToken": write.Token(ctx, "ecs/"+action, r.GetRequestId(), ""),
			}, &fields)
		}
		err := assign("AssignPrivateIpAddresses", "SecondaryPrivateIpAddressCount", r.GetIpv4Count(), cloud.Fields{
			"AssignedPrivateIpAddressesSet": cloud.Fields{"PrivateIpSet": cloud.Fields{"PrivateIpAddress": &answer.Ipv4Addresses}},
		})
		if err != nil {
			return err
		}
		return assign("AssignIpv6Addresses", "Ipv6AddressCount", r.GetIpv6Count(), cloud.Fields{
			"Ipv6Sets": cloud.Fields{"Ipv6Address": &answer.Ipv6Addresses},
		})
	})
	return cloud.Answer(answer, err)
}

// UnassignAddresses takes addresses from an interface. What it has is read first and after each round, so an address that it lost is not
// asked for, which the cloud would refuse with all others.
func (s *Service) UnassignAddresses(
	ctx context.Context, r *ecsv1.UnassignAddressesRequest,
) (*ecsv1.UnassignAddressesResponse, error) {
	id, unwanted := r.GetNetworkInterfaceId(), map[netip.Addr]bool{}
	for _, text := range r.GetIpAddresses() {
		if address, err := netip.ParseAddr(text); err == nil { // The check has seen to that.
			unwanted[address.Unmap()] = true
		}
	}
	_, err := write.Converge[*ecsv1.NetworkInterface]{
		Name: "the removal of addresses of " + id,
		Look: s.look(id),
		Judge: func(n *ecsv1.NetworkInterface) (write.Verdict, error) {
			four, six := among(n.GetPrivateIps(), unwanted), among(n.GetIpv6Addresses(), unwanted)
			switch {
			case slices.Contains(four, n.GetPrimaryIp()):
				return write.Failed, rpcerr.Errorf(rpcerr.InvalidField, "ip_addresses: %s is the primary address of %s, which it keeps",
					n.GetPrimaryIp(), id)
			case len(four)+len(six) == 0:
				return write.Done, nil
			}
			return write.Todo, nil
		},
		Send: func(ctx context.Context, seen *ecsv1.NetworkInterface) error {
			if err := s.unassign(ctx, id, "UnassignPrivateIpAddresses", "PrivateIpAddress", ipv4PerCall,
				among(seen.GetPrivateIps(), unwanted)); err != nil {
				return err
			}
			return s.unassign(ctx, id, "UnassignIpv6Addresses", "Ipv6Address", ipv6PerCall, among(seen.GetIpv6Addresses(), unwanted))
		},
		LookFirst: true,
	}.RunAlone(ctx, s.updates, id)
	return cloud.Answer(&ecsv1.UnassignAddressesResponse{}, err)
}

func (s *Service) unassign(ctx context.Context, id, action, param string, perCall int, addresses []string) error {
	for some := range slices.Chunk(addresses, perCall) {
		if err := s.api.Send(ctx, action, cloud.Params{"NetworkInterfaceId": id}.List(param, some), nil); err != nil {
			return err
		}
	}
	return nil
}

// among gives the addresses that are in a set, as they are spelt. IPv6 has many spellings.
func among(addresses []string, set map[netip.Addr]bool) []string {
	var found []string
	for _, text := range addresses {
		if address, err := netip.ParseAddr(text); err == nil && set[address.Unmap()] {
			found = append(found, text)
		}
	}
	return found
}
