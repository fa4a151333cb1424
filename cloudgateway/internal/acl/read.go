package acl

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Get reads one list with its entries and uses.
func (c *Client) Get(ctx context.Context, id string, maxAge time.Duration) (*slbv1.AccessControlList, error) {
	return c.lists.Get(ctx, id, maxAge, func(ctx context.Context) (*slbv1.AccessControlList, error) {
		return c.describe(ctx, id)
	})
}

// describe reads one list with its entries and uses now.
func (c *Client) describe(ctx context.Context, id string) (*slbv1.AccessControlList, error) {
	var first *entriesAnswer
	entries := map[netip.Prefix]*slbv1.AccessControlEntry{}
	err := cloud.Numbered(ctx, cloud.Params{"AclId": id}, pageSize, func(p cloud.Params) (int, int, error) {
		p["Page"] = p["PageNumber"] // This action alone calls it so.
		delete(p, "PageNumber")
		var answer entriesAnswer
		if err := c.read(ctx, "DescribeAccessControlListAttribute", p, &answer); err != nil {
			return 0, 0, err
		}
		if first == nil {
			first = &answer
		}
		if answer.TotalAclEntry != first.TotalAclEntry {
			return 0, 0, changedMeanwhile(id)
		}
		for _, e := range answer.AclEntrys.AclEntry {
			network, err := parseNetwork(e.AclEntryIP)
			if err != nil {
				return 0, 0, fmt.Errorf("decode access control list %s: %w", id, err)
			}
			entries[network] = &slbv1.AccessControlEntry{Cidr: network.String(), Comment: e.AclEntryComment}
		}
		return len(answer.AclEntrys.AclEntry), answer.TotalAclEntry, nil
	})
	if err != nil {
		return nil, err
	}
	if len(entries) != first.TotalAclEntry {
		return nil, changedMeanwhile(id)
	}
	list := first.decode()
	for _, network := range slices.SortedFunc(maps.Keys(entries), netip.Prefix.Compare) {
		list.Entries = append(list.Entries, entries[network])
	}
	list.Uses = first.uses()
	return list, nil
}

// changedMeanwhile is the error of a read whose pages do not belong together: an entry may be missing.
func changedMeanwhile(id string) error {
	return &rpcerr.Error{
		Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, RetryAfter: time.Second, API: "slb/DescribeAccessControlListAttribute",
		Message: fmt.Sprintf("the entries of access control list %s changed while they were read", id),
	}
}

// parseNetwork reads a network, or an address, which stands for a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a network", text)
	}
	return network.Masked(), nil
}

// List reads every list that matches, ordered by id.
func (c *Client) List(ctx context.Context, r *slbv1.ListAccessControlListsRequest) ([]*slbv1.AccessControlList, error) {
	filters := cloud.Tags(cloud.Params{}.
		With("AclName", r.GetName()).
		With("AddressIPVersion", versions()[r.GetIpVersion()]).
		With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	found, err := c.listings.Get(ctx, fmt.Sprintf("%q", filters), r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*slbv1.AccessControlList, error) { return c.describeAll(ctx, filters) })
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]bool, len(r.GetAclIds()))
	for _, id := range r.GetAclIds() {
		wanted[id] = true
	}
	return slices.DeleteFunc(slices.Clone(found), func(list *slbv1.AccessControlList) bool {
		// The cloud's filter also finds names that contain the name.
		return r.GetName() != "" && list.GetName() != r.GetName() || len(wanted) > 0 && !wanted[list.GetAclId()]
	}), nil
}

// describeAll reads all pages of DescribeAccessControlLists, ordered by id.
func (c *Client) describeAll(ctx context.Context, filters cloud.Params) ([]*slbv1.AccessControlList, error) {
	found := map[string]*slbv1.AccessControlList{}
	err := cloud.Numbered(ctx, filters, pageSize, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount int
			Acls       struct{ Acl []listAnswer }
		}
		if err := c.read(ctx, "DescribeAccessControlLists", p, &answer); err != nil {
			return 0, 0, err
		}
		for _, a := range answer.Acls.Acl {
			found[a.AclID] = a.decode()
		}
		return len(answer.Acls.Acl), answer.TotalCount, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *slbv1.AccessControlList) int {
		return strings.Compare(a.GetAclId(), b.GetAclId())
	}), nil
}

// listAnswer is what answers tell about a list.
type listAnswer struct {
	AclID              string `json:"AclId"`
	AclName            string
	AddressIPVersion   string
	ResourceGroupID    string `json:"ResourceGroupId"`
	ServiceManagedMode string
	Tags               cloud.TagList
}

func (a listAnswer) decode() *slbv1.AccessControlList {
	list := &slbv1.AccessControlList{
		AclId: a.AclID, Name: a.AclName, IpVersion: slbv1.IpVersion_IP_VERSION_IPV4, ResourceGroupId: a.ResourceGroupID,
		Tags: a.Tags.Decode(), ServiceManaged: a.ServiceManagedMode == "Managed",
	}
	if a.AddressIPVersion == versions()[slbv1.IpVersion_IP_VERSION_IPV6] {
		list.IpVersion = slbv1.IpVersion_IP_VERSION_IPV6
	}
	return list
}

// versions are the cloud's words for families.
func versions() map[slbv1.IpVersion]string {
	return map[slbv1.IpVersion]string{slbv1.IpVersion_IP_VERSION_IPV4: "ipv4", slbv1.IpVersion_IP_VERSION_IPV6: "ipv6"}
}

// entriesAnswer is the answer to DescribeAccessControlListAttribute.
type entriesAnswer struct {
	listAnswer

	TotalAclEntry int
	AclEntrys     struct {
		AclEntry []struct{ AclEntryIP, AclEntryComment string }
	}
	RelatedListeners struct {
		RelatedListener []struct {
			LoadBalancerID string `json:"LoadBalancerId"`
			ListenerPort   int32
			Protocol       string
			AclType        string
		}
	}
}

func (a entriesAnswer) uses() []*slbv1.AccessControlUse {
	var uses []*slbv1.AccessControlUse
	for _, l := range a.RelatedListeners.RelatedListener {
		uses = append(uses, &slbv1.AccessControlUse{
			Listener: &slbv1.ListenerKey{
				LoadBalancerId: l.LoadBalancerID, Port: l.ListenerPort,
				Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(l.Protocol)]),
			},
			AclType: l.AclType,
		})
	}
	return uses
}
