// Package eni finds the network interfaces that carry pod addresses.
package eni

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

// keepFor bounds how long an address is believed to stay on its interface. An address that leaves the Service is forgotten at
// once, so that a later pod with it is looked up anew.
const keepFor = 10 * time.Minute

// Resolver looks addresses up and remembers them by Service.
type Resolver struct {
	Client *gateway.Client
	// VPCID is where the pods are; if it is empty, the gateway is asked.
	VPCID string

	mu    sync.Mutex
	known map[string]map[string]found
}

type found struct {
	id    string
	until time.Time
}

// Resolve fills in the interfaces of the servers of the groups. Addresses that no interface carries end up in Unresolved and are
// returned, sorted.
func (r *Resolver) Resolve(ctx context.Context, service string, groups []model.Group) ([]string, error) {
	wanted := addresses(groups)
	if len(wanted) == 0 {
		r.Forget(service)
		return nil, nil
	}
	ids, missing := r.recall(service, wanted)
	if len(missing) > 0 {
		if err := r.look(ctx, missing, ids); err != nil {
			return nil, err
		}
		r.remember(service, ids)
	}
	var unresolved []string
	for i := range groups {
		g := &groups[i]
		for j := range g.Servers {
			s := &g.Servers[j]
			if s.Type != slbv1.ServerType_SERVER_TYPE_ENI {
				continue
			}
			if s.ID = ids[s.IP]; s.ID == "" {
				g.Unresolved = append(g.Unresolved, s.IP)
			}
		}
		slices.SortFunc(g.Servers, model.Server.Compare)
		unresolved = append(unresolved, g.Unresolved...)
	}
	slices.Sort(unresolved)
	return slices.Compact(unresolved), nil
}

// Forget drops what is known about a Service.
func (r *Resolver) Forget(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, service)
}

func addresses(groups []model.Group) []string {
	var ips []string
	for _, g := range groups {
		for _, s := range g.Servers {
			if s.Type == slbv1.ServerType_SERVER_TYPE_ENI {
				ips = append(ips, s.IP)
			}
		}
	}
	slices.Sort(ips)
	return slices.Compact(ips)
}

// recall answers what is known and keeps only what is still wanted.
func (r *Resolver) recall(service string, wanted []string) (ids map[string]string, missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids = map[string]string{}
	kept := map[string]found{}
	for _, ip := range wanted {
		if f, ok := r.known[service][ip]; ok && time.Now().Before(f.until) {
			ids[ip], kept[ip] = f.id, f
		} else {
			missing = append(missing, ip)
		}
	}
	if r.known == nil {
		r.known = map[string]map[string]found{}
	}
	r.known[service] = kept
	return ids, missing
}

func (r *Resolver) remember(service string, ids map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ip, id := range ids {
		if _, ok := r.known[service][ip]; !ok {
			r.known[service][ip] = found{id: id, until: time.Now().Add(keepFor)}
		}
	}
}

// look asks the gateway, which answers one result per address in order.
func (r *Resolver) look(ctx context.Context, ips []string, ids map[string]string) error {
	vpc, err := r.Client.VPC(ctx, r.VPCID)
	if err != nil {
		return err
	}
	answer, err := r.Client.NetworkInterfaces.BatchGetNetworkInterfaces(ctx, &ecsv1.BatchGetNetworkInterfacesRequest{IpAddresses: ips, VpcId: vpc})
	if err != nil {
		return fmt.Errorf("find the network interfaces of %d pods: %w", len(ips), err)
	}
	if len(answer.GetResults()) != len(ips) {
		return fmt.Errorf("find the network interfaces of %d pods: got %d results", len(ips), len(answer.GetResults()))
	}
	for i, result := range answer.GetResults() {
		err := rpcerr.FromItem(result.GetError())
		switch {
		case rpcerr.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("find the network interface of pod address %s: %w", ips[i], err)
		default:
			ids[ips[i]] = result.GetNetworkInterface().GetNetworkInterfaceId()
		}
	}
	return nil
}
