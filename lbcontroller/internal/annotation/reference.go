package annotation

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown renders the table as the reference page.
func Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Annotations of Services\n\n"+
		"<!-- Generated from lbcontroller/internal/annotation; do not edit. -->\n\n"+
		"Each key stands behind the prefix `%s`; the older `%s`\nis understood, too, and loses against the first. "+
		"Values of choices and switches may be in any case, and items of lists may have spaces around\nthem. A Service "+
		"with a bad value gets one "+
		"Warning event that names annotation, value and what is allowed, and its configuration\nstays as it is until that is mended; "+
		"the backends of a load balancer that there is go on following nodes and pods, with the weights that they have.\n"+
		"*Since* is the version of the existing CCM that introduced the annotation; *new* is one that it doesn't have. "+
		"*For* names the load balancers\n"+
		"for which it is: an NLB is that of a Service with `spec.loadBalancerClass` `alibabacloud.com/nlb`.\n", Prefix, LegacyPrefix)
	b.WriteString("\n## A value for one port\n\n" +
		"Where *values* says *by port*, `PORT:VALUE` is for one port of `spec.ports`, and a value without a port for all others:\n" +
		"`9090,443:10443` asks for 10443 on port 443 and for 9090 on the rest. `443:10443` alone leaves the rest at the default. " +
		"The items of a\n" +
		"list stand for themselves: `http_2xx,443:http_2xx,443:http_3xx`. Deleting the value for a port does to that port what *when removed*\n" +
		"says, unless there is one for all. A port that the Service doesn't have is passed over, and an event says so. TCP and UDP on one\n" +
		"number are one port here. Colons and commas that a value has of its own keep their meaning: only digits before a colon are a port,\n" +
		"in `domain-extensions` only before a whole `domain:certificate`, and in `health-check-domain` and a CLB's `cert-id` only if no other\n" +
		"colon follows. Who may connect (`acl-…`) is the same for all ports of a Service.\n")
	for _, scope := range []Scope{Instance, Status, Listener, Health, Group, Backends} {
		fmt.Fprintf(&b,
			"\n## %s\n\n| key | for | values | default | what it does | when removed | since |\n|---|---|---|---|---|---|---|\n", scope)
		for _, s := range sideBySide(scope) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", s.Key, s.kinds(), s.allowedByPort(), s.Default, s.about(),
				s.Removal, s.Since)
		}
	}
	fmt.Fprintf(&b, "\n## which Services and which backends\n\n| annotation | effect |\n|---|---|\n"+
		"| `%s` | `alibabacloud.com/clb` and `alibabacloud.com/nlb`: as in `spec.loadBalancerClass`; any other value: "+
		"another controller's Service |\n"+
		"| `%s` | set: the Service is served through a tunnel, not by a CLB |\n"+
		"| `%s` | if `loadBalancerTypeAnnotation` is on in the configuration: `nlb` asks for an NLB, anything else is "+
		"another controller's Service |\n"+
		"| `%s` | `eni`: pods are the backends; `ecs`: nodes are; anything else, such as `ENI`: nodes are, and an event says so; not set: "+
		"`backendType` of the configuration |\n",
		Class, TunnelType, LoadBalancerType, BackendType)
	return b.String()
}

// sideBySide are the rows of some scopes, or of all: those of CLBs, each with that of NLBs for the same key, and those that only NLBs have.
func sideBySide(scopes ...Scope) []Spec {
	of := func(kind LoadBalancer) []Spec {
		return slices.DeleteFunc(slices.Clone(TableFor(kind)), func(s Spec) bool {
			return len(scopes) > 0 && !slices.Contains(scopes, s.Scope) || kind != CLB && len(s.For) > 1
		})
	}
	var rows []Spec
	nlbs := of(NLB)
	for _, s := range of(CLB) {
		rows = append(rows, s)
		for i, n := range nlbs {
			if n.Key == s.Key {
				rows, nlbs = append(rows, n), slices.Delete(nlbs, i, i+1)
				break
			}
		}
	}
	return append(rows, nlbs...)
}

// kinds are the load balancers that a row is for.
func (s Spec) kinds() string {
	if len(s.For) == 0 {
		return string(CLB)
	}
	names := make([]string, len(s.For))
	for i, kind := range s.For {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}

// allowedByPort is what the value may be, and whether it may be for one port.
func (s Spec) allowedByPort() string {
	if s.ByPort() {
		return s.Allowed() + "; by port"
	}
	return s.Allowed()
}

// about is the sentence of the row, and where it applies.
func (s Spec) about() string {
	text := s.Doc
	if len(s.Protocols) > 0 {
		text += " For " + strings.Join(s.Protocols, " and ") + "."
	}
	if s.Field != "" {
		text += " `" + s.Field + "` asks for the same."
	}
	if s.Refused {
		text = "**Not supported by this version: a Service that carries it is refused.** " + text
	}
	return text
}
