package clb

import (
	"context"
	"fmt"
	"maps"
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// defaultGroup is the id and the name, here, of the default server group that every CLB has. Its servers have no port:
// each listener that forwards to it brings its own. The id is noted on Services, so it must not change.
const defaultGroup = "default-server-group"

// BuiltIn implements desired.Configurer: the instances of all ports, each with its highest weight, are to be in the
// default server group, or to go. On a user's instance they go as they do from server groups that are named no more.
func (Product) BuiltIn(b *desired.Builder, ports []model.Group) *model.Group {
	isOn := b.Values.On(annotation.DefaultServerGroup)
	if !isOn && (!b.Values.Has(annotation.DefaultServerGroup) || b.Reuse.ID != "") {
		return nil
	}
	g := &model.Group{ID: defaultGroup, Name: defaultGroup}
	if !isOn || b.View.Mode == backend.Pods {
		return g
	}
	servers := map[model.ServerKey]model.Server{}
	for _, port := range ports {
		g.Most = max(g.Most, port.Most)
		for _, s := range port.Servers {
			if s.Type != model.ECS {
				continue
			}
			s.Port = 0
			s.Weight, s.Description = max(s.Weight, servers[s.ServerKey].Weight), b.Owner.Group("default")
			servers[s.ServerKey] = s
		}
		g.Draining, g.Staying = withInstances(g.Draining, port.Draining), withInstances(g.Staying, port.Staying)
		g.KeepLast = g.KeepLast || port.KeepLast
	}
	g.Servers = slices.SortedFunc(maps.Values(servers), model.Server.Compare)
	return g
}

// withInstances adds the instances among keys, without their ports.
func withInstances(to, keys map[model.ServerKey]bool) map[model.ServerKey]bool {
	for key := range keys {
		if key.Type != model.ECS {
			continue
		}
		if to == nil {
			to = map[model.ServerKey]bool{}
		}
		key.Port = 0
		to[key] = true
	}
	return to
}

// checkDefaultGroup reports the annotation where it means nothing.
func (b builder) checkDefaultGroup() {
	if b.Values.On(annotation.DefaultServerGroup) && b.View.Mode == backend.Pods {
		b.NoEffect("annotation %s%s has no effect: only nodes can be in the default server group, and pods are the backends; "+
			"remove it", annotation.Prefix, annotation.DefaultServerGroup)
	}
}

// addWantedDefault reads the default server group, too, if it is among the wanted ones and wasn't read yet.
func (p Product) addWantedDefault(ctx context.Context, found *model.Observed, wanted []model.Group) error {
	isBuiltIn := func(g model.Group) bool { return g.BuiltIn }
	if found.InstanceID == "" || !slices.ContainsFunc(wanted, isBuiltIn) || slices.ContainsFunc(found.Groups, isBuiltIn) {
		return nil
	}
	return p.addDefault(ctx, found)
}

func (p Product) addDefault(ctx context.Context, to *model.Observed) error {
	answer, err := p.Gateway.ServerGroups.GetDefaultServerGroup(ctx, &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: to.InstanceID})
	if err != nil {
		return fmt.Errorf("read the default server group of CLB %s: %w", to.InstanceID, err)
	}
	g := &slbv1.ServerGroup{ServerGroupId: defaultGroup, Name: defaultGroup}
	for _, s := range answer.GetServers() {
		g.Servers = append(g.Servers, &slbv1.Server{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.Weight, Description: s.GetDescription(),
		})
	}
	filled := group(g)
	filled.BuiltIn = true
	to.Groups = append(to.Groups, filled)
	return nil
}

func defaultServers(list []model.Server) []*slbv1.DefaultServer {
	result := make([]*slbv1.DefaultServer, 0, len(list))
	for _, s := range servers(list) {
		result = append(result, &slbv1.DefaultServer{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.Weight, Description: s.GetDescription(),
		})
	}
	return result
}
