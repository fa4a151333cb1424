package server

import (
	"context"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

type capabilities struct {
	commonv1.UnimplementedCapabilitiesServiceServer

	cfg Config
}

func (s *capabilities) GetCapabilities(
	context.Context, *commonv1.GetCapabilitiesRequest,
) (*commonv1.GetCapabilitiesResponse, error) {
	return &commonv1.GetCapabilitiesResponse{
		Version: s.cfg.Version, Features: features(), RegionId: s.cfg.Region, VpcId: s.cfg.VpcID,
	}, nil
}

// features names every method, e.g. "slb.v1.ServerGroups.ApplyServerChanges". Behaviour that is newer than its method gets a
// name of its own here.
func features() []string {
	var names []string
	for method := range Policies() {
		service, name, _ := strings.Cut(strings.TrimPrefix(method, "/cloudgateway."), "/")
		plural := strings.TrimSuffix(strings.TrimSuffix(service, "Service"), "s") + "s"
		names = append(names, plural+"."+name)
	}
	slices.Sort(names)
	return names
}
