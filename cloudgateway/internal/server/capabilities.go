package server

import (
	"context"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

type capabilities struct {
	commonv1.UnimplementedCapabilitiesServiceServer

	cfg Config
}

func (s *capabilities) GetCapabilities(
	context.Context, *commonv1.GetCapabilitiesRequest,
) (*commonv1.GetCapabilitiesResponse, error) {
	return &commonv1.GetCapabilitiesResponse{
		Version: s.cfg.Version, Features: features(s.cfg.API), RegionId: s.cfg.Region, VpcId: s.cfg.VpcID,
	}, nil
}

// features names every method that is offered, e.g. "slb.v1.ServerGroups.ApplyServerChanges". Behaviour that is newer than its method gets a
// name of its own here.
func features(api config.API) []string {
	var names []string
	for method, row := range Policies(api) {
		if row.Off != "" {
			continue
		}
		service, name, _ := strings.Cut(strings.TrimPrefix(method, "/cloudgateway."), "/")
		plural := strings.TrimSuffix(strings.TrimSuffix(service, "Service"), "s") + "s"
		names = append(names, plural+"."+name)
	}
	slices.Sort(names)
	return names
}
