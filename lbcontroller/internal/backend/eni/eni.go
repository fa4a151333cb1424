// Package eni finds the network interfaces that carry pod addresses.
package eni

import (
	"context"
	"fmt"
	"sync"
	"time"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"
)

// keepFor bounds how long an address is believed to stay on its interface. An address that leaves the Service is forgotten at
// once, so that a later pod with it is looked up anew.
const keepFor = 10 * time.Minute

// retryMissing is when addresses that no interface carries are looked up again.
const retryMissing = 30 * time.Second

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

// Answer is what is known about addresses.
type Answer struct {
	// IDs are the network interfaces by address.
	IDs map[string]string
	// Missing are the addresses that no interface carries, sorted.
	Missing []string
	// Again is when the missing ones are worth another look.
	Again time.Duration
}

// Find looks up the interfaces of the addresses of a Service, which are sorted. Addresses that it doesn't name any more are forgotten.
func (r *Resolver) Find(ctx context.Context, service string, ips []string) (Answer, error) {
	if len(ips) == 0 {
		r.Forget(service)
		return Answer{}, nil
	}
	ids, unknown := r.recall(service, ips)
	if len(unknown) > 0 {
		if err := r.look(ctx, unknown, ids); err != nil {
			return Answer{}, err
		}
		r.remember(service, ids)
	}
	a := Answer{IDs: ids, Again: retryMissing}
	for _, ip := range ips {
		if ids[ip] == "" {
			a.Missing = append(a.Missing, ip)
		}
	}
	return a, nil
}

// Forget drops what is known about a Service.
func (r *Resolver) Forget(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, service)
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
