package main

import (
	"fmt"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// kind is a kind of load balancer, whose Services are measured.
type kind string

const (
	clb kind = "clb"
	nlb kind = "nlb"
)

// class is what a Service has in spec.loadBalancerClass; nil: nothing.
func (k kind) class() *string {
	if k == nlb {
		return new("alibabacloud.com/nlb")
	}
	return nil
}

// calls is how many the creation of a Service with one port takes: a load balancer, a listener, for a CLB its start, and
// a group with all nodes. Jobs of an NLB are looked at less than once for each of its writes.
func (k kind) calls(nodes int) int {
	per := func(servers int) int { return (nodes + servers - 1) / servers }
	if k == nlb {
		return 2 * (3 + per(200)) //nolint:mnd // How many servers a call takes.
	}
	return 3 + per(40) //nolint:mnd // The same.
}

// createsInWindow is the published limit of CreateLoadBalancer in each minute of the clock.
func (k kind) createsInWindow() int {
	if k == nlb {
		return 200
	}
	return 60
}

// takes is how many seconds the cloud makes a load balancer, and is looked at whether it has.
func (k kind) takes() float64 {
	if k == nlb {
		return 6
	}
	return 0
}

// server is one of a server group. Pods are servers by their address.
type server struct {
	pod bool
	ip  string
}

// holds is what a cloud has of a kind: how many load balancers, and the servers of each group.
func (k kind) holds(c *state.Cloud) (balancers int, groups map[string][]server) {
	groups = map[string][]server{}
	add := func(id, kindOf, ip string) {
		groups[id] = append(groups[id], server{pod: strings.EqualFold(kindOf, "eni"), ip: ip})
	}
	if k == clb {
		for id, group := range c.ServerGroups {
			groups[id] = nil
			for _, s := range group.Servers {
				add(id, s.Type, s.ServerIP)
			}
		}
		return len(c.LoadBalancers), groups
	}
	for id, group := range c.NLBServerGroups {
		groups[id] = nil
		for _, s := range group.Servers {
			add(id, s.Type, s.ServerIP)
		}
	}
	return len(c.NLBs), groups
}

// parse reads the flag.
func (k *kind) parse(text string) error {
	if *k = kind(text); *k != clb && *k != nlb {
		return fmt.Errorf("it must be %s or %s", clb, nlb)
	}
	return nil
}
