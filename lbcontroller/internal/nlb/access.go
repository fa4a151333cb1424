package nlb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// The words of an entry. Rules that accept come before those that drop the rest.
const (
	accept, acceptPriority = "accept", 1
	drop, dropPriority     = "drop", 100
)

// listPrefix begins the name of a Service's security group, before its default name.
const listPrefix = "k8s-nlb-"

// access asks for a security group with spec.loadBalancerSourceRanges. Its name and rules are those of the existing CCM, which has no rule
// that drops the rest of IPv6.
func (b builder) access() {
	switch {
	case !b.Restricts():
		return
	case b.Reuse.ID != "" && b.Reuse.Listeners:
		b.Problem(
			"%s would restrict the access to all listeners of NLB %s, which is yours: remove the field, and give the NLB security groups in "+
				"the console", annotation.SourceRanges, b.Reuse.ID)
		return
	case b.Reuse.ID != "":
		b.NoEffect("%s has no effect: NLB %s is yours; give it security groups in the console", annotation.SourceRanges, b.Reuse.ID)
		return
	}
	b.OnlyOne(annotation.SecurityGroupIDs)
	entries := []string{drop + " 0.0.0.0/0", drop + " ::/0"}
	for _, network := range b.SourceRanges() {
		entries = append(entries, accept+" "+network.String())
	}
	b.RestrictTo(listPrefix+ownership.DefaultName(string(b.View.Service.UID)), entries)
}

// isOurs reports whether a security group was made for the Service.
func isOurs(o model.Observed, id string) bool {
	return slices.ContainsFunc(o.Lists, func(l model.AccessList) bool { return l.ID == id })
}

// besideRanges are the security groups that an NLB keeps beside that of its source ranges: nobody knows whom they let in.
func besideRanges(d *model.Desired, o model.Observed) []string {
	if d.Access == nil || d.Access.IsOver() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(specOf(d).GetSecurityGroupIds()), func(id string) bool {
		return id == model.ComingList || isOurs(o, id)
	})
}

// Guard implements plan.Differ: the NLB has the security group, beside those that people have given it.
func (p Product) Guard(d *model.Desired, o model.Observed) (guarded *model.Desired, refused string) {
	asked, _ := d.Instance.Asked.(Asked)
	groups, isAsked := p.guardGroups(d, o)
	refused = p.unfit(d, o)
	if !isAsked || d.Access == nil && refused == "" {
		return d, ""
	}
	spec := proto.CloneOf(specOf(d))
	spec.SecurityGroupIds, asked.SecurityGroups = groups, refused == ""
	result := *d
	result.Instance.Spec, result.Instance.Asked = spec, asked
	return &result, refused
}

// Uses implements plan.Differ: an NLB leaves a security group before that is deleted.
func (Product) Uses(there model.Observed, list string) (has, keeps bool) {
	return slices.Contains(present(there).GetSecurityGroupIds(), list), false
}

// OpenTo implements lb.Product.
func (Product) OpenTo(there model.Observed) string {
	nlb := present(there)
	if nlb == nil || len(there.Listeners) == 0 {
		return ""
	}
	from := "the networks that reach its VPC"
	if internet := nlbv1.AddressType_ADDRESS_TYPE_INTERNET; nlb.GetAddressType() == internet || nlb.GetIpv6AddressType() == internet {
		from = "the internet"
	}
	if groups := nlb.GetSecurityGroupIds(); len(groups) > 0 {
		return fmt.Sprintf("load balancer %s is open from %s to whom its security groups let in: %s", there.InstanceID, from,
			strings.Join(groups, ", "))
	}
	return fmt.Sprintf("load balancer %s is open from %s to everybody", there.InstanceID, from)
}

// Bind implements apply.Caller.
func (Product) Bind(action plan.Action, id string) plan.Action {
	bound := func(ids []string) []string {
		ids = slices.Clone(ids)
		if i := slices.Index(ids, model.ComingList); i >= 0 {
			ids[i] = id
		}
		slices.Sort(ids)
		return ids
	}
	switch a := action.(type) {
	case CreateInstance:
		a.Spec = proto.CloneOf(a.Spec)
		a.Spec.SecurityGroupIds = bound(a.Spec.GetSecurityGroupIds())
		return a
	case UpdateInstance:
		if a.Request.GetSecurityGroups() != nil {
			a.Request = proto.CloneOf(a.Request)
			a.Request.SecurityGroups = &nlbv1.SecurityGroups{SecurityGroupIds: bound(a.Request.GetSecurityGroups().GetSecurityGroupIds())}
		}
		return a
	}
	return action
}

// Lists implements observe.Reader.
func (p Product) Lists(ctx context.Context, mark observe.Mark) ([]model.AccessList, error) {
	found, err := p.Gateway.SecurityGroups.ListSecurityGroups(ctx,
		&ecsv1.ListSecurityGroupsRequest{Tags: ownMarks(mark.DefaultName, mark.ClusterID)})
	if err != nil {
		return nil, fmt.Errorf("look for the security group: %w", err)
	}
	var lists []model.AccessList
	for _, g := range found.GetSecurityGroups() {
		if !mark.Made(listPrefix, g.GetName(), g.GetTags()) {
			continue
		}
		answer, err := p.Gateway.SecurityGroups.GetSecurityGroup(ctx, &ecsv1.GetSecurityGroupRequest{SecurityGroupId: g.GetSecurityGroupId()})
		if err != nil {
			return nil, fmt.Errorf("read security group %s: %w", g.GetSecurityGroupId(), err)
		}
		list := model.AccessList{ID: g.GetSecurityGroupId(), Name: g.GetName()}
		for _, r := range answer.GetSecurityGroup().GetRules() {
			if r.GetDirection() == ecsv1.Direction_DIRECTION_INGRESS {
				list.Entries = append(list.Entries, entryOf(r))
			}
		}
		slices.Sort(list.Entries)
		lists = append(lists, list)
	}
	return lists, nil
}

// ruleOf is the rule of an entry.
func ruleOf(entry, description string) *ecsv1.SecurityGroupRule {
	rule := &ecsv1.SecurityGroupRule{}
	if protojson.Unmarshal([]byte(entry), rule) == nil {
		return rule
	}
	word, network, _ := strings.Cut(entry, " ")
	rule = &ecsv1.SecurityGroupRule{
		Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT, Priority: acceptPriority,
		IpProtocol: "ALL", Cidr: network, Description: description,
	}
	if word == drop {
		rule.Policy, rule.Priority = ecsv1.RulePolicy_RULE_POLICY_DROP, dropPriority
	}
	return rule
}

// entryOf is the entry of a rule. One that no Service asks for is written out: it is removed.
func entryOf(rule *ecsv1.SecurityGroupRule) string {
	rule = proto.CloneOf(rule)
	rule.RuleId, rule.Description = "", ""
	word := accept
	if rule.GetPolicy() == ecsv1.RulePolicy_RULE_POLICY_DROP {
		word = drop
	}
	if entry := word + " " + rule.GetCidr(); proto.Equal(ruleOf(entry, ""), rule) {
		return entry
	}
	text, err := protojson.Marshal(rule)
	if err != nil { // It was decoded from such a message.
		return ""
	}
	return string(text)
}

func rulesOf(entries []string, description string) []*ecsv1.SecurityGroupRule {
	rules := make([]*ecsv1.SecurityGroupRule, len(entries))
	for i, e := range entries {
		rules[i] = ruleOf(e, description)
	}
	return rules
}

// callList makes the call of an action about the security group. The request id is new each time: after a lost answer the group is found
// by its tags.
func (p Product) callList(ctx context.Context, w apply.Work, action plan.Action) (plan.Result, error) {
	var err error
	switch a := action.(type) {
	case plan.CreateList:
		description := descriptionOf(a.Owner)
		request := &ecsv1.CreateSecurityGroupRequest{
			RequestId: requestID("sg-"), Name: a.Access.Name, Description: description[:min(len(description), maxDescription)], VpcId: p.VPCID,
			Type: typeOfOurs, ResourceGroupId: p.ResourceGroupID,
			Tags:  ownMarks(ownership.DefaultName(w.Life.UID), w.Life.ClusterID),
			Rules: rulesOf(a.Access.Entries, description),
		}
		if spec, ok := a.Spec.(*nlbv1.CreateLoadBalancerRequest); ok && spec.GetResourceGroupId() != "" {
			request.ResourceGroupId = spec.GetResourceGroupId()
		}
		answer, err := p.Gateway.SecurityGroups.CreateSecurityGroup(ctx, request)
		return plan.Result{ListID: answer.GetSecurityGroupId()}, err
	case plan.ChangeList:
		for _, step := range a.Steps(func(entry string) bool { return strings.HasPrefix(entry, accept+" ") }) {
			if _, err = p.Gateway.SecurityGroups.UpdateSecurityGroup(ctx, &ecsv1.UpdateSecurityGroupRequest{
				SecurityGroupId: a.ID, AddRules: rulesOf(step.Add, descriptionOf(a.Owner)), RemoveRules: rulesOf(step.Remove, ""),
			}); err != nil {
				break
			}
		}
	case plan.KeepList:
		_, err = p.Gateway.SecurityGroups.UpdateSecurityGroup(ctx, &ecsv1.UpdateSecurityGroupRequest{
			SecurityGroupId: a.ID, RemoveTagKeys: []string{ownership.TagService, ownership.TagCluster},
		})
	case plan.DeleteList:
		_, err = p.Gateway.SecurityGroups.DeleteSecurityGroup(ctx, &ecsv1.DeleteSecurityGroupRequest{SecurityGroupId: a.ID})
		if rpcerr.ReasonOf(err) == rpcerr.ResourceInUse {
			return plan.Result{Held: true}, nil
		}
	}
	return plan.Result{}, err
}

// descriptionOf is the description of the security group of a Service, and of each of its rules.
func descriptionOf(o ownership.Owner) string {
	return strings.Join([]string{"k8s", o.Namespace, o.Service, o.ClusterID}, ".")
}

// maxDescription is the length of the description of a security group.
const maxDescription = 256
