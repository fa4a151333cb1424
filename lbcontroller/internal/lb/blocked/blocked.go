// Package blocked finds the health checks of load balancers that security groups keep away from servers.
package blocked

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/securitygroup"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Check is a health check by TCP of a server.
type Check struct {
	Server model.ServerKey
	// Port is the one that is checked.
	Port int32
}

// Groups are the security groups of servers with their rules, by the id of the instance or the network interface. What
// isn't known of a server is left out.
type Groups map[string][]*ecsv1.SecurityGroup

// Has reports whether the groups of all servers are known that checks are about.
func (g Groups) Has(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return len(g[c.Server.ID]) == 0 })
}

// Reader reads security groups for all Services.
type Reader struct {
	Client *gateway.Client

	mu sync.Mutex
	// until is when it is tried again after the gateway, or the cloud, has refused to read groups: one refusal is enough for all Services.
	until time.Time
}

// refusedFor is how long nothing is read after a refusal.
const refusedFor = 24 * time.Hour

// Read reads the groups of the servers that checks are about, as they were up to maxAge ago: a call for all instances, one for all network
// interfaces, and one for each group. The gateway answers for all Services from what one has asked. Isn't it allowed, nothing is known.
func (r *Reader) Read(ctx context.Context, checks []Check, maxAge time.Duration) (Groups, error) {
	r.mu.Lock()
	isRefused := time.Now().Before(r.until)
	r.mu.Unlock()
	if isRefused {
		return nil, nil
	}
	groups, err := read(ctx, r.Client, checks, maxAge)
	if e, ok := rpcerr.From(err); ok &&
		(e.Reason == rpcerr.CloudForbidden || e.Reason == rpcerr.CallerForbidden || e.Code == codes.Unimplemented) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.until = time.Now().Add(refusedFor)
	}
	return groups, err
}

func read(ctx context.Context, client *gateway.Client, checks []Check, maxAge time.Duration) (Groups, error) {
	ids, err := groupIDs(ctx, client, checks, maxAge)
	if err != nil {
		return nil, err
	}
	read := map[string]*ecsv1.SecurityGroup{}
	for _, all := range ids {
		for _, id := range all {
			if _, done := read[id]; done {
				continue
			}
			answer, err := client.SecurityGroups.GetSecurityGroup(ctx,
				&ecsv1.GetSecurityGroupRequest{SecurityGroupId: id, MaxAge: durationpb.New(maxAge)})
			if err != nil && rpcerr.ReasonOf(err) != rpcerr.SecurityGroupNotFound {
				return nil, fmt.Errorf("read security group %s of servers: %w", id, err)
			}
			read[id] = answer.GetSecurityGroup()
		}
	}
	groups := Groups{}
	for server, all := range ids {
		of := make([]*ecsv1.SecurityGroup, len(all))
		for i, id := range all {
			of[i] = read[id]
		}
		if !slices.ContainsFunc(of, func(g *ecsv1.SecurityGroup) bool { return !g.GetRulesLoaded() }) {
			groups[server] = of
		}
	}
	return groups, nil
}

// groupIDs are the ids of the groups by the id of the server, sorted. A server that isn't there has none, and neither has one of which the
// gateway doesn't say them.
func groupIDs(ctx context.Context, client *gateway.Client, checks []Check, maxAge time.Duration) (map[string][]string, error) {
	ids := map[string][]string{}
	note := func(server string, groups []string) {
		if len(groups) > 0 {
			ids[server] = slices.Sorted(slices.Values(groups))
		}
	}
	age := durationpb.New(maxAge)
	if instances := serversOf(checks, model.ECS); len(instances) > 0 {
		answer, err := client.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: instances, MaxAge: age})
		if err != nil {
			return nil, fmt.Errorf("read the security groups of instances: %w", err)
		}
		for _, result := range answer.GetResults() {
			note(result.GetInstance().GetInstanceId(), result.GetInstance().GetSecurityGroupIds())
		}
	}
	if interfaces := serversOf(checks, model.ENI); len(interfaces) > 0 {
		answer, err := client.NetworkInterfaces.BatchGetNetworkInterfaces(ctx,
			&ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: interfaces, MaxAge: age})
		if err != nil {
			return nil, fmt.Errorf("read the security groups of network interfaces: %w", err)
		}
		for _, result := range answer.GetResults() {
			note(result.GetNetworkInterface().GetNetworkInterfaceId(), result.GetNetworkInterface().GetSecurityGroupIds())
		}
	}
	return ids, nil
}

// serversOf are the ids of the servers of a type, sorted.
func serversOf(checks []Check, of model.ServerType) []string {
	ids := map[string]bool{}
	for _, c := range checks {
		if c.Server.Type == of && c.Server.ID != "" {
			ids[c.Server.ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// Rule is one that is missing: it would let checks of a port in from a network.
type Rule struct {
	// Groups are the ids of the security groups that the servers are in, sorted and joined.
	Groups string
	Source netip.Prefix
	Port   int32
	// Checks are those that it would let in.
	Checks []Check
}

// Missing finds the rules that are missing for certain, ordered. Checks come from all of sources. Pure.
func Missing(checks []Check, groups Groups, sources []netip.Prefix) []Rule {
	type fate struct {
		groups string
		source netip.Prefix
		port   int32
	}
	dropped := map[fate]bool{} // Most servers are in the same groups.
	kept := map[fate][]Check{}
	for _, check := range checks {
		of := groups[check.Server.ID]
		if len(of) == 0 || check.Port <= 0 || strings.Contains(check.Server.IP, ":") {
			continue
		}
		names := make([]string, len(of))
		for i, g := range of {
			names[i] = g.GetSecurityGroupId()
		}
		for _, source := range sources {
			f := fate{strings.Join(names, ", "), source, check.Port}
			drops, known := dropped[f]
			if !known {
				_, drops = securitygroup.Drops(of, securitygroup.Traffic{Source: source, Protocol: "TCP", First: f.port, Last: f.port})
				dropped[f] = drops
			}
			if drops {
				kept[f] = append(kept[f], check)
			}
		}
	}
	rules := make([]Rule, 0, len(kept))
	for f, list := range kept {
		rules = append(rules, Rule{Groups: f.groups, Source: f.source, Port: f.port, Checks: list})
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(strings.Compare(a.Groups, b.Groups), cmp.Compare(a.Port, b.Port), a.Source.Compare(b.Source))
	})
	return rules
}

// shown is how many rules a text names.
const shown = 4

// Text says for people which rules are missing.
func Text(rules []Rule) string {
	var texts []string
	for _, r := range rules[:min(len(rules), shown)] {
		texts = append(texts, fmt.Sprintf("security group %s of %s drops TCP to port %d from %s", r.Groups, some(r.Checks), r.Port, r.Source))
	}
	if more := len(rules) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, "; ")
}

// some names one server of several, always the same of the same ones.
func some(checks []Check) string {
	ids := map[string]bool{}
	for _, c := range checks {
		ids[c.Server.ID] = true
	}
	first := slices.Min(slices.Collect(maps.Keys(ids)))
	if len(ids) == 1 {
		return first
	}
	return fmt.Sprintf("%d servers, such as %s,", len(ids), first)
}
