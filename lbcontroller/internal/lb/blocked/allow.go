package blocked

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Description is that of the rules which are added for the health checks of a cluster. By it they are found again.
func Description(clusterID string) string {
	return "health checks of load balancers of Kubernetes cluster " + clusterID
}

// Additions are rules to add, by the id of their security group.
type Additions map[string][]*ecsv1.SecurityGroupRule

// String is the rules, for people.
func (a Additions) String() string {
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(a)) {
		texts = append(texts, fmt.Sprintf("security group %s: %s", id, RulesText(a[id])))
	}
	return strings.Join(texts, "; ")
}

// ToAdd are the rules by which health checks come in, and the missing ones that can't be added: none of the server's
// groups bears the tag of the cluster, or the rule is there, and another one drops before it. Pure.
func ToAdd(missing []Rule, groups Groups, clusterID string) (add Additions, left []Rule) {
	add = Additions{}
	for _, rule := range missing {
		of := groups[rule.Checks[0].Server.ID] // All that the rule would let in are in the same groups.
		i := slices.IndexFunc(of, func(g *ecsv1.SecurityGroup) bool { return isChangeable(g, clusterID) })
		if i < 0 {
			left = append(left, rule)
			continue
		}
		accept := &ecsv1.SecurityGroupRule{
			Direction: ecsv1.Direction_DIRECTION_INGRESS, Policy: ecsv1.RulePolicy_RULE_POLICY_ACCEPT, Priority: 1, IpProtocol: "TCP",
			StartPort: rule.Port, EndPort: rule.Port, Cidr: rule.Source.String(), Description: Description(clusterID),
		}
		id := of[i].GetSecurityGroupId()
		if slices.ContainsFunc(of[i].GetRules(), func(r *ecsv1.SecurityGroupRule) bool { return isSame(r, accept) }) {
			left = append(left, rule)
		} else if !slices.ContainsFunc(add[id], func(r *ecsv1.SecurityGroupRule) bool { return isSame(r, accept) }) {
			add[id] = append(add[id], accept)
		}
	}
	return add, left
}

// isSame reports that two rules are the same, ids and descriptions aside.
func isSame(a, b *ecsv1.SecurityGroupRule) bool {
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	a.RuleId, a.Description, b.RuleId, b.Description = "", "", "", ""
	return proto.Equal(a, b)
}

// isChangeable reports that a group is the cluster's, and made neither for a Service nor by a product of the cloud. Pure.
func isChangeable(g *ecsv1.SecurityGroup, clusterID string) bool {
	return clusterID != "" && tagOf(g.GetTags(), ownership.TagCluster) == clusterID && tagOf(g.GetTags(), ownership.TagService) == "" &&
		!g.GetServiceManaged()
}

func tagOf(tags []*commonv1.Tag, key string) string {
	for _, t := range tags {
		if t.GetKey() == key {
			return t.GetValue()
		}
	}
	return ""
}

// Unneeded are the rules of a group that were added for the health checks of a cluster, and that none of its Services needs. The Services
// must have been read after the group. Pure.
func Unneeded(g *ecsv1.SecurityGroup, clusterID string, services []*corev1.Service) []*ecsv1.SecurityGroupRule {
	var unneeded []*ecsv1.SecurityGroupRule
	for _, r := range g.GetRules() {
		isOurs := isChangeable(g, clusterID) && r.GetDescription() == Description(clusterID) &&
			r.GetDirection() == ecsv1.Direction_DIRECTION_INGRESS && r.GetPolicy() == ecsv1.RulePolicy_RULE_POLICY_ACCEPT
		if isOurs && !slices.ContainsFunc(services, func(svc *corev1.Service) bool { return mayCheck(svc, r.GetStartPort()) }) {
			unneeded = append(unneeded, r)
		}
	}
	return unneeded
}

// kubeProxyPort is the one on which kube-proxy says whether its node takes traffic.
const kubeProxyPort = 10256

// mayCheck reports whether health checks of a Service that asks for rules may go to a port. A port that pods name may be
// any, and so may one that an annotation names. Pure.
func mayCheck(svc *corev1.Service, port int32) bool {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer || svc.DeletionTimestamp != nil || !annotation.HealthChecksAllowed(svc.Annotations) {
		return false
	}
	if annotation.IsSet(svc.Annotations, annotation.HealthCheckConnectPort) || port == svc.Spec.HealthCheckNodePort || port == kubeProxyPort {
		return true
	}
	return slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		target := p.TargetPort.IntVal
		return p.NodePort == port || target == port || target == 0 && (p.TargetPort.StrVal != "" || p.Port == port)
	})
}

// Add adds rules, a read and a change for each group. What was known of a group may be old: it is changed only if it is
// still the cluster's.
func Add(ctx context.Context, client *gateway.Client, clusterID string, add Additions) error {
	for _, id := range slices.Sorted(maps.Keys(add)) {
		rules := add[id]
		now, err := client.SecurityGroups.GetSecurityGroup(ctx, &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id})
		if err != nil {
			return fmt.Errorf("read security group %s: %w", id, err)
		}
		if !isChangeable(now.GetSecurityGroup(), clusterID) {
			return fmt.Errorf("security group %s is the cluster's no more: its tag %s is gone", id, ownership.TagCluster)
		}
		_, err = client.SecurityGroups.UpdateSecurityGroup(ctx, &ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: id, AddRules: rules})
		if err != nil {
			return fmt.Errorf("add the rules to security group %s: %w", id, err)
		}
	}
	return nil
}

// Remove removes the rules that no Service needs from the security groups of a cluster, and says which, one text for each
// group. The Services are listed after the groups were read, and only if there are such rules.
func Remove(ctx context.Context, client *gateway.Client, clusterID string,
	services func(context.Context) ([]*corev1.Service, error)) (removed []string, err error) {
	list, err := client.SecurityGroups.ListSecurityGroups(ctx,
		&ecsv1.ListSecurityGroupsRequest{Tags: []*commonv1.Tag{{Key: ownership.TagCluster, Value: clusterID}}})
	if err != nil {
		return nil, fmt.Errorf("list the security groups of the cluster: %w", err)
	}
	for _, listed := range list.GetSecurityGroups() {
		if !isChangeable(listed, clusterID) {
			continue
		}
		id := listed.GetSecurityGroupId()
		answer, err := client.SecurityGroups.GetSecurityGroup(ctx, &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id})
		if err != nil {
			return removed, fmt.Errorf("read security group %s: %w", id, err)
		}
		if len(Unneeded(answer.GetSecurityGroup(), clusterID, nil)) == 0 {
			continue
		}
		all, err := services(ctx)
		if err != nil {
			return removed, err
		}
		rules := Unneeded(answer.GetSecurityGroup(), clusterID, all)
		if len(rules) == 0 {
			continue
		}
		_, err = client.SecurityGroups.UpdateSecurityGroup(ctx, &ecsv1.UpdateSecurityGroupRequest{SecurityGroupId: id, RemoveRules: rules})
		if err != nil {
			return removed, fmt.Errorf("remove rules from security group %s: %w", id, err)
		}
		removed = append(removed, fmt.Sprintf("security group %s: %s", id, RulesText(rules)))
	}
	return removed, nil
}

// RulesText is rules, for people.
func RulesText(rules []*ecsv1.SecurityGroupRule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = fmt.Sprintf("TCP to port %d from %s", r.GetStartPort(), r.GetCidr())
	}
	return strings.Join(texts, ", ")
}
