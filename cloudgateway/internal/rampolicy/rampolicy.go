// Package rampolicy knows every action of the cloud that the gateway calls, and by which feature. From this one table come the RAM
// policies that users attach, what `cloudgateway doctor` tries, and what the gateway lets itself send.
package rampolicy

import (
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Of returns the rows of a feature.
func Of(feature Feature) []Row {
	return slices.DeleteFunc(Rows(), func(r Row) bool { return !slices.Contains(r.Features, feature) })
}

// Guard is a Caller that sends only what the table has, so that no policy made from it can be too narrow.
type Guard struct {
	caller  cloud.Caller
	allowed map[string]bool
}

// NewGuard guards a caller.
func NewGuard(caller cloud.Caller) *Guard {
	g := &Guard{caller: caller, allowed: map[string]bool{}}
	for _, r := range Rows() {
		g.allowed[r.Name()] = true
	}
	return g
}

// Do makes a call if the table has it.
func (g *Guard) Do(ctx context.Context, call openapi.Call, out any) (openapi.Result, error) {
	name := Row{Product: call.Product, Action: call.Action}.Name()
	if !g.allowed[name] {
		return openapi.Result{}, rpcerr.Errorf(rpcerr.Internal,
			"no RAM policy has %s; add it to the table of cloudgateway/internal/rampolicy", name)
	}
	return g.caller.Do(ctx, call, out)
}

// document is a policy in RAM's language.
type document struct {
	Version   string
	Statement []statement
}

type statement struct {
	Effect   string
	Action   []string
	Resource string
}

// JSON renders the RAM policy of a feature.
func JSON(feature Feature) ([]byte, error) {
	allow := statement{Effect: "Allow", Resource: "*"}
	for _, r := range Of(feature) {
		allow.Action = append(allow.Action, r.Name())
	}
	slices.Sort(allow.Action)
	text, err := json.MarshalIndent(document{Version: "1", Statement: []statement{allow}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the policy of %s: %w", feature, err)
	}
	return append(text, '\n'), nil
}

// Markdown renders docs/reference/ram-policies.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# RAM policies

<!-- Generated from cloudgateway/internal/rampolicy; do not edit. -->

The gateway's identity in the cloud (a RAM role or a RAM user) needs one policy for each feature that is used. The policies are in
[deploy/ram-policies](../../deploy/ram-policies); for the controllers and its own API, the gateway calls nothing that they do not
have. What tools call through the [OpenAPI front](../openapi-front.md) needs a policy of yours. What is missing for the
controllers, and for the services that ` + "`api.enable`" + ` lists, is reported by

` + "```sh\ncloudgateway doctor --config FILE\n```" + `

STS calls (AssumeRoleWithOIDC, GetCallerIdentity) need no permission. An identity that is to assume another role
(` + "`credentials.assumeRole`" + `) needs ` + "`sts:AssumeRole`" + ` on that role, whose trust policy must name the identity.
`)
	for _, f := range Features() {
		fmt.Fprintf(&b, "\n## %s\n\n%s Policy: [%s.json](../../deploy/ram-policies/%s.json).\n\n| action | to |\n|---|---|\n", f, f.About(), f, f)
		for _, r := range Of(f) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name(), r.For)
		}
	}
	b.WriteString(`
## Trust policy of a role for RRSA

The role that the gateway's ServiceAccount stands for (` + "`credentials.rrsa`" + `) trusts the cluster's OIDC provider. Replace the
account id and the cluster id:

` + "```json" + `
{
  "Version": "1",
  "Statement": [
    {
      "Effect": "Allow",
      "Action": "sts:AssumeRole",
      "Principal": {"Federated": ["acs:ram::<account-id>:oidc-provider/ack-rrsa-<cluster-id>"]},
      "Condition": {
        "StringEquals": {
          "oidc:aud": "sts.aliyuncs.com",
          "oidc:sub": "system:serviceaccount:kube-system:cloudgateway"
        }
      }
    }
  ]
}
` + "```" + `
`)
	return b.String()
}

// Files are the generated files by their path in the repository.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{"docs/reference/ram-policies.md": []byte(Markdown())}
	for _, f := range Features() {
		text, err := JSON(f)
		if err != nil {
			return nil, err
		}
		files["deploy/ram-policies/"+string(f)+".json"] = text
	}
	return files, nil
}

// Feature is a part of the system that can be used without the others, and has a RAM policy of its own: a controller, or what a service
// of the gateway's API offers to other programs besides, which has the name of the service.
type Feature string

// The features.
const (
	// LoadBalancers is what lbcontroller needs.
	LoadBalancers Feature = "load-balancers"
	// DefaultServerGroups is what lbcontroller needs besides where Services have the annotation default-server-group.
	DefaultServerGroups Feature = "default-server-groups"
	// NetworkLoadBalancers is what lbcontroller needs besides where Services have NLB instances.
	NetworkLoadBalancers Feature = "network-load-balancers"
	// SourceRanges is what lbcontroller needs besides where Services have loadBalancerSourceRanges.
	SourceRanges Feature = "source-ranges"
	// TLSSecrets is what lbcontroller needs besides where Services have certificates of Secrets.
	TLSSecrets Feature = "tls-secrets"
	// EIPs is what lbcontroller needs besides where Services bind or allocate an EIP.
	EIPs Feature = "eips"
	// HealthCheckRules is what lbcontroller needs besides to find security groups that keep health checks out.
	HealthCheckRules Feature = "health-check-rules"
	// HealthCheckRuleChanges is what lbcontroller needs besides to let them in where Services ask for it.
	HealthCheckRuleChanges Feature = "health-check-rule-changes"
	// Nodes is what nodecontroller needs.
	Nodes Feature = "nodes"
	// NodeMaintenance is what nodecontroller needs beside Nodes to report the scheduled maintenance of instances.
	NodeMaintenance Feature = "node-maintenance"
	// Routes is what routecontroller needs.
	Routes Feature = "routes"
	// RateLimits is what the doctor needs to read the account's rate limits.
	RateLimits Feature = "rate-limits"
)

// Features are all features that need a permission, in the order in which people meet them.
func Features() []Feature {
	all := []Feature{LoadBalancers, DefaultServerGroups, NetworkLoadBalancers, SourceRanges, TLSSecrets, EIPs, HealthCheckRules,
		HealthCheckRuleChanges, Nodes, NodeMaintenance, Routes, RateLimits}
	for _, service := range method.ToolServices() {
		all = append(all, Feature(service))
	}
	return slices.DeleteFunc(all, func(f Feature) bool { return len(Of(f)) == 0 })
}

// Used are the features that all controllers need in any case, and those of the services that are enabled for other programs.
func Used(api config.API) []Feature {
	used := []Feature{LoadBalancers, Nodes, Routes}
	for _, service := range api.Enable {
		used = append(used, Feature(service))
	}
	return used
}

// Optional are the features that the controllers need for what users may ask for, or may not.
func Optional() []Feature {
	return []Feature{DefaultServerGroups, NetworkLoadBalancers, SourceRanges, TLSSecrets, EIPs, HealthCheckRules, HealthCheckRuleChanges,
		NodeMaintenance}
}

// About describes a feature.
func (f Feature) About() string {
	switch f {
	case LoadBalancers:
		return "Services of type LoadBalancer become CLB instances: lbcontroller."
	case DefaultServerGroups:
		return "The nodes of a Service are in the default server group of its CLB instance, too: lbcontroller, only if a " +
			"Service has the annotation " +
			"`default-server-group`. Other programs need it for `GetDefaultServerGroup` and `ApplyDefaultServerChanges`."
	case NetworkLoadBalancers:
		return "Services become NLB instances: lbcontroller, only if a Service has the class `alibabacloud.com/nlb`. " +
			"Other programs need it for the services of " +
			"`nlb.v1`."
	case SourceRanges:
		return "Only the networks of `spec.loadBalancerSourceRanges` may connect to a Service, by an access control list of a CLB instance " +
			"or a security group of an NLB instance: lbcontroller, only if a Service has the field."
	case TLSSecrets:
		return "HTTPS listeners of CLB instances and TCPSSL listeners of NLB instances have certificates of Secrets: lbcontroller, only if a " +
			"Service names a Secret, as by the annotation `tls-secret`. Other programs need it for the services of `cas.v1`."
	case EIPs:
		return "EIPs are bound to CLB instances, and allocated for them: lbcontroller, only if a Service has the annotation `eip-id` or " +
			"`eip-allocate`."
	case HealthCheckRules:
		return "The event `HealthChecksBlocked` of a Service names the rule that security groups of its servers lack: lbcontroller, with " +
			"`securityGroups.check`, which is on. Without the policy there is no such event."
	case HealthCheckRuleChanges:
		return "A Service with the annotation `allow-health-checks` gets the rule that its health checks lack: lbcontroller, only with " +
			"`securityGroups.allow`, which is off."
	case Nodes:
		return "Nodes are initialised from their ECS instances, and removed with them: nodecontroller."
	case NodeMaintenance:
		return "Planned maintenance of instances becomes a condition of their nodes: nodecontroller, only with `maintenance.enabled`. " +
			"Other programs need it for `ListInstanceEvents`."
	case Routes:
		return "Pod networks become entries of VPC route tables: routecontroller."
	case RateLimits:
		return "`cloudgateway doctor` compares the account's rate limits, which Quota Center has, with those that the gateway keeps to. " +
			"Nothing else needs it."
	default: // A service.
		return "What `" + string(f) +
			"` offers to other programs and no controller uses, if `api.enable` of the gateway's configuration lists it."
	}
}

// Row says that an action of the cloud is called, what for, and by which features.
type Row struct {
	Product  openapi.Product
	Action   string
	For      string
	Features []Feature
	// Harmless are parameters with which the action has no effect. Empty: nothing keeps it from having one.
	Harmless cloud.Params
}

// Name is the action as RAM spells it, e.g. "slb:CreateLoadBalancer".
func (r Row) Name() string {
	if r.Product == openapi.CAS { // It was another product's once.
		return "yundun-cert:" + r.Action
	}
	return string(r.Product) + ":" + r.Action
}

//go:embed actions.csv
var actionsCSV string

// Rows returns the table: everything that the gateway calls and that RAM can refuse. The gateway sends nothing else.
func Rows() []Row {
	r := csv.NewReader(strings.NewReader(actionsCSV))
	r.Comma, r.Comment, r.LazyQuotes = '|', '#', true
	lines, err := r.ReadAll()
	if err != nil {
		panic(fmt.Sprintf("actions.csv: %v", err)) // A defect of the program, which every start of it shows.
	}
	rows := make([]Row, len(lines))
	for i, line := range lines {
		rows[i] = Row{Product: openapi.Product(line[0]), Action: line[1], For: line[2], Harmless: cloud.Params{}}
		for feature := range strings.FieldsSeq(line[3]) {
			rows[i].Features = append(rows[i].Features, Feature(feature))
		}
		for parameter := range strings.FieldsSeq(line[4]) {
			name, value, _ := strings.Cut(parameter, "=")
			rows[i].Harmless[name] = value
		}
	}
	return rows
}
