package gatewaytest

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// instances serves ECS instances.
type instances struct {
	ecsv1.UnimplementedInstanceServiceServer

	f *Fake
}

func (s *instances) GetInstance(_ context.Context, req *ecsv1.GetInstanceRequest) (*ecsv1.GetInstanceResponse, error) {
	if err := required("instance_id", req.GetInstanceId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	instance, err := s.f.readInstance(req.GetInstanceId())
	if err != nil {
		return nil, err
	}
	return &ecsv1.GetInstanceResponse{Instance: instance}, nil
}

// readInstance gives a copy of an instance; f is locked.
func (f *Fake) readInstance(id string) (*ecsv1.Instance, error) {
	instance, ok := f.Instances[id]
	if !ok {
		return nil, notFound(rpcerr.InstanceNotFound, "instance", id)
	}
	return proto.CloneOf(instance), nil
}

func (s *instances) BatchGetInstances(_ context.Context, req *ecsv1.BatchGetInstancesRequest,
) (*ecsv1.BatchGetInstancesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	response := &ecsv1.BatchGetInstancesResponse{}
	for _, id := range req.GetInstanceIds() {
		instance, err := s.f.readInstance(id)
		response.Results = append(response.Results, &ecsv1.InstanceResult{
			Requested: id, Instance: instance, Error: rpcerr.ToItem(err)})
	}
	return response, nil
}

func (s *instances) ListInstances(_ context.Context, req *ecsv1.ListInstancesRequest) (*ecsv1.ListInstancesResponse, error) {
	if req.GetVpcId() == "" && len(req.GetTags()) == 0 {
		return nil, invalid("vpc_id", "at least one filter is required: vpc_id or tags")
	}
	s.f.enter()
	defer s.f.leave()
	return &ecsv1.ListInstancesResponse{Instances: sorted(s.f.Instances, func(i *ecsv1.Instance) bool {
		return (req.GetVpcId() == "" || i.GetVpcId() == req.GetVpcId()) &&
			(len(req.GetPrivateIps()) == 0 || overlap(i.GetPrivateIps(), req.GetPrivateIps())) &&
			carries(i.GetTags(), req.GetTags())
	})}, nil
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// carries reports whether all wanted tags are there; an empty value matches any.
func carries(tags, wanted []*commonv1.Tag) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(tags, func(t *commonv1.Tag) bool {
			return t.GetKey() == w.GetKey() && (w.GetValue() == "" || t.GetValue() == w.GetValue())
		}) {
			return false
		}
	}
	return true
}

// networkInterfaces serves elastic network interfaces.
type networkInterfaces struct {
	ecsv1.UnimplementedNetworkInterfaceServiceServer

	f *Fake
}

func (s *networkInterfaces) GetNetworkInterface(_ context.Context, req *ecsv1.GetNetworkInterfaceRequest,
) (*ecsv1.GetNetworkInterfaceResponse, error) {
	s.f.enter()
	defer s.f.leave()
	eni, err := s.f.networkInterface(req.GetNetworkInterfaceId())
	if err != nil {
		return nil, err
	}
	return &ecsv1.GetNetworkInterfaceResponse{NetworkInterface: proto.CloneOf(eni)}, nil
}

// networkInterface finds an interface; f is locked.
func (f *Fake) networkInterface(id string) (*ecsv1.NetworkInterface, error) {
	if err := required("network_interface_id", id); err != nil {
		return nil, err
	}
	eni, ok := f.NetworkInterfaces[id]
	if !ok {
		return nil, notFound(rpcerr.NetworkInterfaceNotFound, "network interface", id)
	}
	return eni, nil
}

func (s *networkInterfaces) BatchGetNetworkInterfaces(_ context.Context, req *ecsv1.BatchGetNetworkInterfacesRequest,
) (*ecsv1.BatchGetNetworkInterfacesResponse, error) {
	if len(req.GetNetworkInterfaceIds()) > 0 && len(req.GetIpAddresses()) > 0 {
		return nil, invalid("ip_addresses", "give ids or addresses, not both")
	}
	if len(req.GetIpAddresses()) > 0 {
		if err := required("vpc_id", req.GetVpcId()); err != nil {
			return nil, err
		}
	}
	s.f.enter()
	defer s.f.leave()
	response := &ecsv1.BatchGetNetworkInterfacesResponse{}
	for _, id := range req.GetNetworkInterfaceIds() {
		response.Results = append(response.Results, interfaceResult(s.f.NetworkInterfaces[id], id))
	}
	for _, ip := range req.GetIpAddresses() {
		owners := sorted(s.f.NetworkInterfaces, func(eni *ecsv1.NetworkInterface) bool {
			return eni.GetVpcId() == req.GetVpcId() && (eni.GetPrimaryIp() == ip ||
				slices.Contains(eni.GetPrivateIps(), ip) || slices.Contains(eni.GetIpv6Addresses(), ip))
		})
		var owner *ecsv1.NetworkInterface
		if len(owners) > 0 {
			owner = owners[0]
		}
		response.Results = append(response.Results, interfaceResult(owner, ip))
	}
	return response, nil
}

func (s *networkInterfaces) ListNetworkInterfaces(_ context.Context, req *ecsv1.ListNetworkInterfacesRequest,
) (*ecsv1.ListNetworkInterfacesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	matches := func(filter, value string) bool { return filter == "" || filter == value }
	found := sorted(s.f.NetworkInterfaces, func(eni *ecsv1.NetworkInterface) bool {
		return matches(req.GetInstanceId(), eni.GetInstanceId()) && matches(req.GetVpcId(), eni.GetVpcId())
	})
	return &ecsv1.ListNetworkInterfacesResponse{NetworkInterfaces: found}, nil
}

func interfaceResult(eni *ecsv1.NetworkInterface, item string) *ecsv1.NetworkInterfaceResult {
	if eni == nil {
		return &ecsv1.NetworkInterfaceResult{
			Requested: item, Error: rpcerr.ToItem(notFound(rpcerr.NetworkInterfaceNotFound, "network interface", item)),
		}
	}
	return &ecsv1.NetworkInterfaceResult{Requested: item, NetworkInterface: proto.CloneOf(eni)}
}

func (s *networkInterfaces) UpdateNetworkInterface(_ context.Context, req *ecsv1.UpdateNetworkInterfaceRequest,
) (*ecsv1.UpdateNetworkInterfaceResponse, error) {
	s.f.enter()
	defer s.f.leave()
	eni, err := s.f.networkInterface(req.GetNetworkInterfaceId())
	if err != nil {
		return nil, err
	}
	if req.SourceDestCheck != nil {
		eni.SourceDestCheck = new(req.GetSourceDestCheck())
	}
	return &ecsv1.UpdateNetworkInterfaceResponse{}, nil
}
