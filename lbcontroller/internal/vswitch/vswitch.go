// Package vswitch finds vSwitches for new load balancers: those of the configuration, and while these have no room, those that
// are marked for it or in which nodes of the cluster are.
package vswitch

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
)

// Tag is on vSwitches that are meant for load balancers; its value is the id of a cluster, or empty for all clusters. Where a vSwitch
// has it, those of the nodes are not taken.
const Tag = "kubernetes.load.balancers"

// Age is how old the list of vSwitches may be at the first attempt: many load balancers may be made at once.
const Age = time.Minute

// Search says what a load balancer may be in.
type Search struct {
	// Configured are the vSwitches of the configuration, in the order in which they are taken.
	Configured []string
	ClusterID  string
	// Nodes are the addresses of nodes.
	Nodes []string
	// Address is the private address that the load balancer is to have; empty for any.
	Address string
	// IPv6 says that it is to have IPv6 addresses, too.
	IPv6 bool
}

// List reads the vSwitches of a VPC, as they were up to maxAge ago. An empty VPC is that of the gateway.
func List(ctx context.Context, client *gateway.Client, vpc string, maxAge time.Duration) ([]*vpcv1.VSwitch, error) {
	vpc, err := client.VPC(ctx, vpc)
	if err != nil {
		return nil, err
	}
	answer, err := client.VSwitches.ListVSwitches(ctx, &vpcv1.ListVSwitchesRequest{VpcId: vpc, MaxAge: durationpb.New(maxAge)})
	if err != nil {
		return nil, fmt.Errorf("look for vSwitches with free addresses: %w", err)
	}
	return answer.GetVswitches(), nil
}

// Of are the configured vSwitches that have room, and an IPv6 range if that is needed, in their order.
func (s Search) Of(list []*vpcv1.VSwitch) []*vpcv1.VSwitch {
	var roomy []*vpcv1.VSwitch
	for _, id := range s.Configured {
		i := slices.IndexFunc(list, func(v *vpcv1.VSwitch) bool { return v.GetVswitchId() == id })
		if i >= 0 && list[i].GetAvailableIpCount() > 0 && s.hasFamilies(list[i]) {
			roomy = append(roomy, list[i])
		}
	}
	return roomy
}

// All are the configured vSwitches that have room, and then the others that suit.
func (s Search) All(list []*vpcv1.VSwitch) []*vpcv1.VSwitch {
	return append(s.Of(list), s.Found(list)...)
}

// Found are the other vSwitches that suit, the one with the most room first: those with the tag, or without any such those of nodes.
func (s Search) Found(list []*vpcv1.VSwitch) []*vpcv1.VSwitch {
	tagged, nodes := slices.ContainsFunc(list, s.isTagged), addresses(s.Nodes)
	var found []*vpcv1.VSwitch
	for _, v := range list {
		meant := tagged && s.isTagged(v) || !tagged && holdsAny(v, nodes)
		suits := (s.Address == "" || holdsAny(v, addresses([]string{s.Address}))) && s.hasFamilies(v)
		if meant && suits && !slices.Contains(s.Configured, v.GetVswitchId()) && v.GetAvailableIpCount() > 0 && v.GetStatus() != "Pending" {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *vpcv1.VSwitch) int {
		return cmp.Or(cmp.Compare(b.GetAvailableIpCount(), a.GetAvailableIpCount()), strings.Compare(a.GetVswitchId(), b.GetVswitchId()))
	})
	return found
}

// hasFamilies reports whether a vSwitch has addresses of the families that a load balancer is to have.
func (s Search) hasFamilies(v *vpcv1.VSwitch) bool { return !s.IPv6 || v.GetIpv6CidrBlock() != "" }

func (s Search) isTagged(v *vpcv1.VSwitch) bool {
	return slices.ContainsFunc(v.GetTags(), func(t *commonv1.Tag) bool {
		return t.GetKey() == Tag && (t.GetValue() == "" || t.GetValue() == s.ClusterID)
	})
}

// addresses are those among texts that can be read.
func addresses(texts []string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			list = append(list, ip)
		}
	}
	return list
}

// holdsAny reports whether any of the addresses is of a vSwitch. The ranges of a VPC's vSwitches don't overlap.
func holdsAny(v *vpcv1.VSwitch, list []netip.Addr) bool {
	block, err := netip.ParsePrefix(v.GetCidrBlock())
	return err == nil && slices.ContainsFunc(list, block.Contains)
}
