package doctor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	rules "alicloud-controllers.dev/services/securitygroup"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/instance"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/securitygroup"
)

// Node ports, unless the API server has another --service-node-port-range, and where load balancers check servers from:
// a CLB from addresses of the cloud, an NLB from its vSwitches, which are in the VPC.
const firstNodePort, lastNodePort = 30000, 32767

func cloudAddresses() netip.Prefix { return netip.MustParsePrefix("100.64.0.0/10") }

// groups looks whether the security groups of the cluster's instances admit the health checks of load balancers. Where
// they don't, all servers count as unhealthy, and nothing else says why. Pods with network interfaces of their own have
// groups of their own, which are not looked at.
func (x *examination) groups(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, limitsTimeout)
	defer cancel()
	const check = "security groups"
	if x.ClusterID == "" && x.instanceID == "" {
		return // Nobody knows which instances are the cluster's.
	}
	if x.refused {
		x.report.add(check, Skipped, "", "needs credentials")
		return
	}
	findings, err := x.judgeGroups(ctx, check)
	switch {
	case rpcerr.ReasonOf(err) == rpcerr.CloudForbidden:
		x.report.add(check, Skipped, "", "whether they admit health checks is not known: %s", text(err))
	case err != nil:
		x.report.add(check, Warning, "", "whether they admit health checks is not known: %s", text(err))
	case len(findings) == 0:
		x.report.add(check, Skipped, "", "whether they admit health checks is not known: no instance with the tag %s=%s has a security group, "+
			"nor has the one on which this runs, if it is one", config.ClusterTag, cmp.Or(x.ClusterID, "the cluster's id"))
	}
	x.report.Findings = append(x.report.Findings, findings...)
}

// judgeGroups reads the instances and the rules of their groups: one call for 100 instances, and two for each group.
func (x *examination) judgeGroups(ctx context.Context, check string) ([]Finding, error) {
	cfg := ecs.Config{Caller: x.caller, Shared: cloud.Shared{Logger: cmp.Or(x.OpenAPI.Logger, slog.New(slog.DiscardHandler))}}
	of, err := x.groupsOfInstances(ctx, instance.New(cfg, x.OpenAPI.Region, nil))
	if err != nil || len(of) == 0 {
		return nil, err
	}
	reader := securitygroup.New(cfg)
	groups := map[string]*ecsv1.SecurityGroup{}
	for sets := range of {
		for id := range strings.SplitSeq(sets, " ") {
			if groups[id] != nil {
				continue
			}
			answer, err := reader.GetSecurityGroup(ctx, &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id})
			if err != nil {
				return nil, err
			}
			groups[id] = answer.GetSecurityGroup()
		}
	}
	findings := x.closed(check, of, groups, cloudAddresses(), "CLBs check servers from there", Warning)
	if network, err := netip.ParsePrefix(x.vpcCIDR); err == nil {
		findings = append(findings, x.closed(check, of, groups, network, "NLBs check servers from their vSwitches", Hint)...)
	}
	if len(findings) == 0 {
		findings = []Finding{{Check: check, Result: OK, Detail: fmt.Sprintf("%s admit health checks on TCP %d/%d",
			strings.Join(slices.Sorted(maps.Keys(groups)), ", "), firstNodePort, lastNodePort)}}
	}
	return findings, nil
}

// groupsOfInstances gives the instances by their groups, which are sorted and joined: those of the cluster, and the one this runs on.
func (x *examination) groupsOfInstances(ctx context.Context, reader *instance.Service) (map[string][]string, error) {
	var lists []*ecsv1.ListInstancesRequest
	if x.ClusterID != "" {
		lists = append(lists, &ecsv1.ListInstancesRequest{VpcId: x.VpcID, Tags: []*commonv1.Tag{{Key: config.ClusterTag, Value: x.ClusterID}}})
	}
	if x.instanceID != "" {
		lists = append(lists, &ecsv1.ListInstancesRequest{InstanceIds: []string{x.instanceID}})
	}
	of := map[string][]string{}
	for _, list := range lists {
		answer, err := reader.ListInstances(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, found := range answer.GetInstances() {
			sets := strings.Join(cloud.Sorted(found.GetSecurityGroupIds()), " ")
			if sets != "" && !slices.Contains(of[sets], found.GetInstanceId()) {
				of[sets] = append(of[sets], found.GetInstanceId())
			}
		}
	}
	return of, nil
}

// closed says which groups drop health checks from a network.
func (x *examination) closed(
	check string, of map[string][]string, groups map[string]*ecsv1.SecurityGroup, source netip.Prefix, why string, result Result,
) []Finding {
	checks := rules.Traffic{Source: source, Protocol: "TCP", First: firstNodePort, Last: lastNodePort}
	var findings []Finding
	for _, sets := range slices.Sorted(maps.Keys(of)) {
		ids := strings.Fields(sets)
		all := make([]*ecsv1.SecurityGroup, len(ids))
		for i, id := range ids {
			all[i] = groups[id]
		}
		example, drops := rules.Drops(all, checks)
		if !drops {
			continue
		}
		findings = append(findings, Finding{
			Check: check, Result: result,
			Detail: fmt.Sprintf("%s of %d instances, such as %s, drop TCP to port %d from %s: %s",
				strings.Join(ids, ", "), len(of[sets]), slices.Min(of[sets]), example.Port(), example.Addr(), why),
			Todo: fmt.Sprintf("Let %s in, where load balancers have these instances as servers: aliyun ecs AuthorizeSecurityGroup --RegionId %s "+
				"--SecurityGroupId %s --IpProtocol TCP --PortRange %d/%d --SourceCidrIp %s --Policy accept. If there is such a rule, one that drops "+
				"goes before it.", checks, x.OpenAPI.Region, ids[0], firstNodePort, lastNodePort, source),
		})
	}
	return findings
}
