// Package eni finds the network interfaces that carry pod addresses.
package eni

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

// keepFor bounds how long an address is believed to stay on its interface. An address that leaves the Service is forgotten at
// once, so that a later pod with it is looked up anew.
const keepFor = 10 * time.Minute

// firstRetry and lastRetry bound the time until an address that no interface carries is looked up again: it doubles each time.
const firstRetry, lastRetry = 30 * time.Second, 30 * time.Minute

// firstGap is the least time between the first two lookups for a Service whose pods change all the time, as in a rollout, and it doubles so
// often after that. The first lookup is made at once, and all begins anew after a pause of calm.
const (
	firstGap  = 3 * time.Second
	doublings = 2
	calm      = 30 * time.Second
)

// Resolver looks addresses up.
type Resolver struct {
	Client *gateway.Client
	// VPCID is where the pods are; if it is empty, the gateway is asked.
	VPCID string
}

// Known is what is remembered of the addresses of one Service. The zero value is empty.
type Known struct {
	addresses map[string]found
	// last is when addresses were looked up last, and steps how often that was without a pause of calm.
	last  time.Time
	steps int
	// failed is what went wrong with the last lookup; nil if nothing did.
	failed error
}

// next is when the next lookup may be.
func (k *Known) next() time.Time {
	if k.steps == 0 {
		return time.Time{}
	}
	return k.last.Add(firstGap << min(k.steps-1, doublings))
}

// found is what is known about an address.
type found struct {
	// id is empty if no interface carries the address.
	id string
	// holder is the pod that had the address, if that was known.
	holder types.UID
	// until is when it is looked up again.
	until time.Time
	// misses is how often it was looked up in vain.
	misses int
}

// Answer is what is known about addresses.
type Answer struct {
	// IDs are the network interfaces by address.
	IDs map[string]string
	// Missing are the addresses that no interface carries, sorted.
	Missing []string
	// Pending are the addresses that are not looked up yet, because others were just now, sorted.
	Pending []string
	// Again is when the missing or pending ones are worth another look. After a failed lookup the pending ones wait for the caller's backoff.
	Again time.Duration
}

// Find looks up the interfaces of the addresses of a Service, which are sorted. Addresses that it doesn't name any more
// are forgotten, and so are those that another pod holds now. Those that are coming may be named soon; they are looked
// up with the others, or before there is a hurry. The answer counts also with an error: the addresses that could not be
// looked up are pending, and what was known of them before is still believed. It is an error again as long as the next
// lookup has to wait: nothing is known then that wasn't known before.
func (r *Resolver) Find(ctx context.Context, known *Known, ips, coming []string, holders map[string]types.UID) (Answer, error) {
	if len(ips)+len(coming) == 0 {
		*known = Known{}
		return Answer{}, nil
	}
	var err error
	if unknown := known.recall(ips, coming, holders); len(unknown) > 0 && known.mayLook() {
		ids, asked := map[string]string{}, []string(nil)
		asked, err = r.look(ctx, unknown, ids)
		known.remember(asked, ids, ips, holders)
		known.failed = err
	}
	a := known.answer(ips)
	if err == nil && len(a.Pending) > 0 {
		err = known.failed
	}
	return a, err
}

// mayLook reports whether a lookup may be made now, and counts it.
func (k *Known) mayLook() bool {
	now := time.Now()
	if now.Sub(k.last) >= calm {
		k.steps = 0
	}
	if now.Before(k.next()) {
		return false
	}
	k.last, k.steps = now, k.steps+1
	return true
}

// recall keeps only what is still wanted, and returns the addresses that have to be looked up.
func (k *Known) recall(ips, coming []string, holders map[string]types.UID) (unknown []string) {
	kept := map[string]found{}
	all := slices.Concat(ips, coming)
	slices.Sort(all)
	for _, ip := range slices.Compact(all) {
		f, ok := k.addresses[ip]
		if ok = ok && f.holder == holders[ip]; ok {
			kept[ip] = f
		}
		if !ok || !time.Now().Before(f.until) {
			unknown = append(unknown, ip)
		}
	}
	k.addresses = kept
	return unknown
}

// remember takes down what a lookup has answered. A pod that is only coming may not have its interface yet.
func (k *Known) remember(asked []string, ids map[string]string, ips []string, holders map[string]types.UID) {
	for _, ip := range asked {
		if _, wanted := slices.BinarySearch(ips, ip); !wanted && ids[ip] == "" {
			continue
		}
		if id := ids[ip]; id != "" {
			k.addresses[ip] = found{id: id, holder: holders[ip], until: time.Now().Add(keepFor)}
			continue
		}
		misses := 0
		if k.addresses[ip].id == "" {
			misses = k.addresses[ip].misses
		}
		k.addresses[ip] = found{misses: misses + 1, holder: holders[ip], until: time.Now().Add(min(firstRetry<<min(misses, 10), lastRetry))}
	}
}

// answer is what is known about addresses.
func (k *Known) answer(ips []string) Answer {
	a := Answer{IDs: map[string]string{}, Again: lastRetry}
	next := time.Until(k.next())
	for _, ip := range ips {
		f, ok := k.addresses[ip]
		if f.id != "" {
			a.IDs[ip] = f.id
			continue
		}
		if !ok {
			a.Pending = append(a.Pending, ip)
			if k.failed == nil {
				a.Again = min(a.Again, next)
			}
			continue
		}
		a.Missing = append(a.Missing, ip)
		a.Again = min(a.Again, max(next, time.Until(f.until))) // Its time may come while lookups have to wait.
	}
	return a
}

// look asks the gateway, which answers one result per address in order. It returns the addresses of which something is known then.
func (r *Resolver) look(ctx context.Context, ips []string, ids map[string]string) (asked []string, err error) {
	vpc, err := r.Client.VPC(ctx, r.VPCID)
	if err != nil {
		return nil, err
	}
	answer, err := r.Client.NetworkInterfaces.BatchGetNetworkInterfaces(ctx,
		&ecsv1.BatchGetNetworkInterfacesRequest{IpAddresses: ips, VpcId: vpc})
	if err != nil {
		return nil, fmt.Errorf("find the network interfaces of pods: %w", err)
	}
	if len(answer.GetResults()) != len(ips) {
		return nil, fmt.Errorf("find the network interfaces of %d pods: got %d results", len(ips), len(answer.GetResults()))
	}
	var errs []error
	for i, result := range answer.GetResults() {
		err := rpcerr.FromItem(result.GetError())
		if err != nil && rpcerr.ReasonOf(err) != rpcerr.NetworkInterfaceNotFound {
			errs = append(errs, fmt.Errorf("find the network interface of pod address %s: %w", ips[i], err))
			continue
		}
		if asked = append(asked, ips[i]); err == nil {
			ids[ips[i]] = result.GetNetworkInterface().GetNetworkInterfaceId()
		}
	}
	return asked, errors.Join(errs...)
}
