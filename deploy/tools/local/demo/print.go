package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func (s *show) title(text string) {
	_, _ = fmt.Fprintf(s.out, "\n%5.1fs  %s\n", time.Since(s.started).Seconds(), text)
}

func (s *show) line(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, "          %s\n", fmt.Sprintf(format, args...))
}

// A step that takes longer than patience will not come. It takes seconds, and several times as long on a machine that
// has other work as well.
const patience, pollInterval = 5 * time.Minute, 50 * time.Millisecond

// wait waits for a condition and says how long it took.
func (s *show) wait(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	begin := time.Now()
	if err := s.until(ctx, condition); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	s.line("after %.1fs: %s", time.Since(begin).Seconds(), what)
	return nil
}

func (s *show) until(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, condition)
}

// waitCloud waits for a condition of the cloud.
func (s *show) waitCloud(ctx context.Context, what string, condition func(*state.Cloud) bool) error {
	return s.wait(ctx, what, func(ctx context.Context) (bool, error) {
		c, err := s.world.Cloud().State(ctx)
		return err == nil && condition(c), err
	})
}

// balancers prints the load balancers with their listeners and servers.
func (s *show) balancers(ctx context.Context) error {
	c, err := s.world.Cloud().State(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.LoadBalancers)) {
		lb := c.LoadBalancers[id]
		s.line("load balancer %s  %s  %s  %s", lb.ID, lb.Address, lb.AddressType, lb.Spec)
		slices.SortFunc(lb.Listeners, func(a, b *state.Listener) int { return cmp.Compare(a.Port, b.Port) })
		for _, l := range lb.Listeners {
			s.line("  listener %s:%d  %s", l.Protocol, l.Port, status(l))
			if group := c.ServerGroups[l.Attributes["VServerGroupId"]]; group != nil {
				s.line("    %s  %s", group.Name, strings.Join(serverNames(group), " "))
			}
		}
	}
	return nil
}

// networkBalancers prints the Network Load Balancers with their listeners and servers.
func (s *show) networkBalancers(ctx context.Context) error {
	c, err := s.world.Cloud().State(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.NLBs)) {
		lb := c.NLBs[id]
		addresses := make([]string, len(lb.Zones))
		for i, z := range lb.Zones {
			addresses[i] = cmp.Or(z.PublicIP, z.PrivateIP)
		}
		s.line("network load balancer %s  %s  %s", lb.ID, strings.Join(addresses, " "), strings.ToLower(lb.AddressType))
		for _, l := range c.NLBListeners {
			if l.NLBID != id {
				continue
			}
			s.line("  listener %s:%d  %s", strings.ToLower(l.Protocol), l.Port, strings.ToLower(l.Status))
			if group := c.NLBServerGroups[l.ServerGroupID]; group != nil {
				var names []string
				for _, server := range group.Servers {
					names = append(names, fmt.Sprintf("%s:%d", server.ServerID, server.Port))
				}
				slices.Sort(names)
				s.line("    %s  %s", group.Name, strings.Join(names, " "))
			}
		}
	}
	return nil
}

func serverNames(group *state.ServerGroup) []string {
	var names []string
	for _, server := range group.Servers {
		names = append(names, fmt.Sprintf("%s:%d", server.ServerID, server.Port))
	}
	slices.Sort(names)
	return names
}

// calls prints which calls the cloud got since the last time.
func (s *show) calls(ctx context.Context) error {
	calls, next, err := s.world.Cloud().Calls(ctx, s.since)
	if err != nil {
		return err
	}
	s.since = next
	counts := map[string]int{}
	for _, call := range calls {
		name := "read  "
		if call.Mutating {
			name = "write "
		}
		if call.Product == "nlb" { // Others have actions of the same names.
			name += "nlb "
		}
		name += call.Action
		if call.Code != "" {
			name += ", refused with " + call.Code
		}
		counts[name]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		s.line("%3d x %s", counts[name], name)
	}
	return nil
}

func externalIP(service *corev1.Service) string {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		return cmp.Or(ingress.IP, ingress.Hostname)
	}
	return "<pending>"
}

func address(node corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return "no address"
}

func running(c *state.Cloud) int {
	n := 0
	for _, lb := range c.LoadBalancers {
		for _, l := range lb.Listeners {
			if status(l) == "running" {
				n++
			}
		}
	}
	return n
}

// status is what the API would answer now: the simulator settles a state only when it is asked there.
func status(l *state.Listener) string {
	if l.SettleTo != "" && !l.SettleAt.After(time.Now()) {
		return l.SettleTo
	}
	return l.Status
}

func servers(c *state.Cloud) int {
	n := 0
	for _, group := range c.ServerGroups {
		n += len(group.Servers)
	}
	return n
}

func nlbServers(c *state.Cloud) int {
	n := 0
	for _, group := range c.NLBServerGroups {
		n += len(group.Servers)
	}
	return n
}

// customRoutes returns the routes that were not there when the table was made.
func customRoutes(c *state.Cloud) []string {
	var routes []string
	for _, table := range c.RouteTables {
		for _, entry := range table.Entries {
			if entry.Type == "Custom" && entry.Status != "Deleting" {
				routes = append(routes, fmt.Sprintf("route %s via %s in %s", entry.Cidr, entry.NextHopID, table.ID))
			}
		}
	}
	slices.Sort(routes)
	return routes
}

// leftovers names what is in after and not in before.
func leftovers(before, after *state.Cloud) []string {
	var left []string
	add := func(kind string, was, is []string) {
		for _, id := range is {
			if !slices.Contains(was, id) {
				left = append(left, strings.TrimSpace(kind+" "+id))
			}
		}
	}
	add("load balancer", keys(before.LoadBalancers), keys(after.LoadBalancers))
	add("server group", keys(before.ServerGroups), keys(after.ServerGroups))
	add("network load balancer", keys(before.NLBs), keys(after.NLBs))
	add("server group", keys(before.NLBServerGroups), keys(after.NLBServerGroups))
	add("certificate", keys(before.Certificates), keys(after.Certificates))
	add("ACL", keys(before.Acls), keys(after.Acls))
	add("EIP", keys(before.Eips), keys(after.Eips))
	add("instance", keys(before.Instances), keys(after.Instances))
	add("network interface", keys(before.Interfaces), keys(after.Interfaces))
	add("", customRoutes(before), customRoutes(after))
	return left
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
