package clb

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// white lets only the entries of a list connect.
const white = "white"

// listPrefix begins the name of a Service's access control list and of its EIP, before its default name.
const listPrefix = "k8s-clb-"

// access asks for an access control list with spec.loadBalancerSourceRanges, for all listeners of the Service. The list has one family,
// that of the address: nobody with an address of the other can come.
func (b builder) access() {
	if !b.Restricts() {
		return
	}
	if b.Reuse.ID != "" && !b.Reuse.Listeners {
		b.NoEffect("%s has no effect: the listeners of CLB %s are yours; give them an access control list in the console, or set annotation %s%s",
			annotation.SourceRanges, b.Reuse.ID, annotation.Prefix, annotation.ForceOverride)
		return
	}
	b.OnlyOne(annotation.ACLStatus, annotation.ACLID, annotation.ACLType)
	family, isIPv6 := "IPv4", b.Values.Text(annotation.IPVersion) == "ipv6"
	if isIPv6 {
		family = "IPv6"
	}
	var entries, others []string
	for _, network := range b.SourceRanges() {
		if network.Addr().Is6() == isIPv6 {
			entries = append(entries, network.String())
		} else {
			others = append(others, network.String())
		}
	}
	switch {
	case len(entries) == 0:
		b.Problem("%s has no %s network, and the CLB has an %s address: add one, or change annotation %s%s",
			annotation.SourceRanges, family, family, annotation.Prefix, annotation.IPVersion)
	case len(others) > 0:
		b.NoEffect("%s in %s have no effect: the CLB has an %s address", strings.Join(others, ", "), annotation.SourceRanges, family)
	}
	b.RestrictTo(listPrefix+ownership.DefaultName(string(b.View.Service.UID)), entries)
}

// Guard implements plan.Differ: all listeners have the access control list. Lists that people have given a listener are theirs.
func (p Product) Guard(d *model.Desired, o model.Observed) (guarded *model.Desired, refused string) {
	if d.Access == nil {
		return d, ""
	}
	there := map[model.ListenerKey]*slbv1.ListenerConfig{}
	for _, l := range o.Listeners {
		if config := configOf(l.Config); config.GetAclEnabled() {
			there[l.Key] = config
		}
	}
	isOurs := func(id string) bool {
		return slices.ContainsFunc(o.Lists, func(l model.AccessList) bool { return l.ID == id })
	}
	result := *d
	result.Listeners = slices.Clone(d.Listeners)
	list, _ := o.List(p)
	for i, l := range result.Listeners {
		config, ids := proto.CloneOf(configOf(l.Config)), there[l.Key].GetAclIds()
		switch foreign := slices.IndexFunc(ids, func(id string) bool { return !isOurs(id) }); {
		case d.Access.IsOver() && (config.AclEnabled != nil || !slices.ContainsFunc(ids, isOurs)):
			continue
		case d.Access.IsOver() && d.AccessUnsaid != "":
			return d, fmt.Sprintf("the access to listener %s stays restricted, as annotation acl-status is gone; set it to off, "+
				"or to on with acl-id and acl-type", plan.KeyText(l.Key))
		case d.Access.IsOver():
			config.AclEnabled = new(false)
		case foreign >= 0 && d.AccessUnsaid == "":
			return d, fmt.Sprintf("%s can't restrict the access to listener %s, which has access control list %s that isn't the Service's; "+
				"switch its access control off in the console, or remove the field", annotation.SourceRanges, plan.KeyText(l.Key), ids[foreign])
		default:
			config.AclEnabled, config.AclType, config.AclIds = new(true), new(white), []string{list.ID}
		}
		result.Listeners[i].Config = config
	}
	if d.Access.IsOver() {
		return &result, ""
	}
	isIPv6 := strings.Contains(d.Access.Entries[0], ":")
	if clb := present(o); clb != nil && (clb.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6) != isIPv6 {
		return d, fmt.Sprintf("%s can't restrict the access to a CLB with an %s address; set annotation ip-version to that, "+
			"and name such networks", annotation.SourceRanges, ipVersion(clb.GetIpVersion()))
	}
	result.AccessUnsaid = "" // An annotation that is gone restricted the access before.
	return &result, ""
}

// Uses implements plan.Differ: a listener can't be made to name no list.
func (Product) Uses(there model.Observed, list string) (has, keeps bool) {
	has = slices.ContainsFunc(there.Listeners, func(l model.Listener) bool {
		return slices.Contains(configOf(l.Config).GetAclIds(), list)
	})
	return has, has
}

// OpenTo implements lb.Product.
func (Product) OpenTo(there model.Observed) string {
	var open, restricted []string
	for _, l := range there.Listeners {
		if config := configOf(l.Config); config.GetAclEnabled() {
			restricted = append(restricted, fmt.Sprintf("%s by %s list %s", plan.KeyText(l.Key), config.GetAclType(),
				strings.Join(config.GetAclIds(), ", ")))
		} else {
			open = append(open, plan.KeyText(l.Key))
		}
	}
	var texts []string
	if len(open) > 0 {
		texts = append(texts, fmt.Sprintf("load balancer %s is open to everybody who reaches %s at %s", there.InstanceID, there.Address(),
			strings.Join(open, ", ")))
	}
	if len(restricted) > 0 {
		texts = append(texts, fmt.Sprintf("load balancer %s restricts the access to %s", there.InstanceID, strings.Join(restricted, ", ")))
	}
	return strings.Join(texts, "; ")
}

// Bind implements apply.Caller.
func (Product) Bind(action plan.Action, id string) plan.Action {
	bound := func(c model.ListenerConfig) model.ListenerConfig {
		config := configOf(c)
		if !slices.Contains(config.GetAclIds(), model.ComingList) {
			return c
		}
		config = proto.CloneOf(config)
		config.AclIds = []string{id}
		return config
	}
	switch a := action.(type) {
	case plan.CreateListener:
		a.Listener.Config = bound(a.Listener.Config)
		return a
	case plan.UpdateListener:
		a.Changed = bound(a.Changed)
		return a
	}
	return action
}

// Lists implements observe.Reader.
func (p Product) Lists(ctx context.Context, mark observe.Mark) ([]model.AccessList, error) {
	found, err := p.Gateway.AccessControlLists.ListAccessControlLists(ctx, &slbv1.ListAccessControlListsRequest{Tags: listTags(mark)})
	if err != nil {
		return nil, fmt.Errorf("look for the access control list: %w", err)
	}
	var lists []model.AccessList
	for _, l := range found.GetAccessControlLists() {
		if !mark.Made(listPrefix, l.GetName(), l.GetTags()) {
			continue
		}
		answer, err := p.Gateway.AccessControlLists.GetAccessControlList(ctx, &slbv1.GetAccessControlListRequest{AclId: l.GetAclId()})
		if err != nil {
			return nil, fmt.Errorf("read access control list %s: %w", l.GetAclId(), err)
		}
		list := model.AccessList{ID: l.GetAclId(), Name: l.GetName()}
		for _, e := range answer.GetAccessControlList().GetEntries() {
			list.Entries = append(list.Entries, e.GetCidr())
		}
		slices.Sort(list.Entries)
		lists = append(lists, list)
	}
	return lists, nil
}

// listTags are the marks by which an access control list is known.
func listTags(mark observe.Mark) []*commonv1.Tag {
	return []*commonv1.Tag{{Key: ownership.TagService, Value: mark.DefaultName}, {Key: ownership.TagCluster, Value: mark.ClusterID}}
}

// callList makes the call of an action about the access control list. The request id is new each time: after a lost answer the list is
// found by its tags.
func (p Product) callList(ctx context.Context, w apply.Work, action plan.Action) (plan.Result, error) {
	var err error
	switch a := action.(type) {
	case plan.CreateList:
		request := &slbv1.CreateAccessControlListRequest{
			RequestId: "acl-" + rand.Text(), Name: a.Access.Name,
			Tags: listTags(observe.Mark{DefaultName: ownership.DefaultName(w.Life.UID), ClusterID: w.Life.ClusterID}),
		}
		if spec, ok := a.Spec.(*slbv1.CreateLoadBalancerRequest); ok {
			request.ResourceGroupId = spec.GetResourceGroupId()
		}
		request.IpVersion = slbv1.IpVersion_IP_VERSION_IPV4
		if strings.Contains(a.Access.Entries[0], ":") {
			request.IpVersion = slbv1.IpVersion_IP_VERSION_IPV6
		}
		for _, cidr := range a.Access.Entries {
			request.Entries = append(request.Entries, &slbv1.AccessControlEntry{Cidr: cidr})
		}
		answer, err := p.Gateway.AccessControlLists.CreateAccessControlList(ctx, request)
		return plan.Result{ListID: answer.GetAclId()}, err
	case plan.ChangeList:
		for _, step := range a.Steps(func(string) bool { return true }) {
			request := &slbv1.UpdateAccessControlListRequest{AclId: a.ID, RemoveEntries: step.Remove}
			for _, cidr := range step.Add {
				request.AddEntries = append(request.AddEntries, &slbv1.AccessControlEntry{Cidr: cidr})
			}
			if _, err = p.Gateway.AccessControlLists.UpdateAccessControlList(ctx, request); err != nil {
				break
			}
		}
	case plan.KeepList:
		_, err = p.Gateway.AccessControlLists.UpdateAccessControlList(ctx, &slbv1.UpdateAccessControlListRequest{
			AclId: a.ID, RemoveTagKeys: []string{ownership.TagService, ownership.TagCluster},
		})
	case plan.DeleteList:
		_, err = p.Gateway.AccessControlLists.DeleteAccessControlList(ctx, &slbv1.DeleteAccessControlListRequest{AclId: a.ID})
		if rpcerr.ReasonOf(err) == rpcerr.AclInUse {
			return plan.Result{Held: true}, nil
		}
	}
	return plan.Result{}, err
}
