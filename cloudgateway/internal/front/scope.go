package front

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/scope"
)

// change says which parameters of an action name what it changes, and which it refers to. For callers with a scope, an
// action without one is refused, and so is any other parameter that could name something.
type change struct {
	of     map[string]scope.Kind // by parameter: a single id, "NAME.1" and so on, or a JSON array
	makes  scope.Kind            // with the Tag.N
	in     string                // the parameter that says in which vSwitch or VPC
	refers []string              // what ADR 9 does not protect, such as the certificate of a listener
}

// of is a change of what one parameter names.
func of(param string, kind scope.Kind, refers ...string) change {
	return change{of: map[string]scope.Kind{param: kind}, refers: refers}
}

// changes are the actions of which the front knows what they change, or what keys they give, by "product:Action".
func changes() map[string]change {
	all := map[string]change{
		"ecs:CreateNetworkInterface": {makes: scope.NetworkInterface, in: "VSwitchId", refers: []string{"SecurityGroupId", "SecurityGroupIds"}},
		"ecs:RunInstances": {makes: scope.Instance, in: "VSwitchId", refers: []string{"ImageId", "SecurityGroupId",
			"SecurityGroupIds"}},
		"slb:CreateLoadBalancer":    {makes: scope.LoadBalancer, in: "VSwitchId", refers: []string{"VpcId", "MasterZoneId", "SlaveZoneId"}},
		"vpc:AllocateEipAddress":    {makes: scope.EIP},
		"vpc:CreateVSwitch":         {makes: scope.VSwitch, in: "VpcId"},
		"vpc:ReleaseEipAddress":     of("AllocationId", scope.EIP),
		"vpc:DeleteVSwitch":         of("VSwitchId", scope.VSwitch),
		"ecs:DeleteInstances":       of("InstanceId", scope.Instance),
		"cas:DeleteUserCertificate": of("CertId", scope.UserCertificate),
	}
	for _, action := range []string{"AttachNetworkInterface", "DetachNetworkInterface"} {
		all["ecs:"+action] = change{of: map[string]scope.Kind{"NetworkInterfaceId": scope.NetworkInterface, "InstanceId": scope.Instance}}
	}
	for _, action := range []string{
		"DeleteNetworkInterface", "ModifyNetworkInterfaceAttribute", "AssignPrivateIpAddresses", "UnassignPrivateIpAddresses",
		"AssignIpv6Addresses",
		"UnassignIpv6Addresses",
	} {
		all["ecs:"+action] = of("NetworkInterfaceId", scope.NetworkInterface, "SecurityGroupId")
	}
	for _, action := range []string{"StartInstance", "StopInstance", "RebootInstance", "DeleteInstance"} {
		all["ecs:"+action] = of("InstanceId", scope.Instance)
	}
	listener := []string{"VServerGroupId", "AclId", "ServerCertificateId", "CACertificateId"}
	for _, protocol := range []string{"TCP", "UDP", "HTTP", "HTTPS"} {
		all["slb:CreateLoadBalancer"+protocol+"Listener"] = of("LoadBalancerId", scope.LoadBalancer, listener...)
		all["slb:SetLoadBalancer"+protocol+"ListenerAttribute"] = of("LoadBalancerId", scope.LoadBalancer, listener...)
	}
	for _, action := range []string{
		"DeleteLoadBalancer", "SetLoadBalancerStatus", "SetLoadBalancerName", "SetLoadBalancerDeleteProtection", "StartLoadBalancerListener",
		"StopLoadBalancerListener", "DeleteLoadBalancerListener", "CreateVServerGroup", "AddBackendServers",
		"RemoveBackendServers", "SetBackendServers",
	} {
		all["slb:"+action] = of("LoadBalancerId", scope.LoadBalancer, "BackendServers")
	}
	maps.Copy(all, reads())
	return all
}

// suspicious is a name or a value that could name a resource.
var (
	suspiciousName  = regexp.MustCompile(`(?i)(ids?|arns?|rolename)(\.|$)|^launchtemplate`)
	suspiciousValue = regexp.MustCompile(`^\s*[\[{]`)
	resourceID      = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	numbered        = regexp.MustCompile(`^\.[1-9][0-9]{0,2}$`)
	suspiciousTag   = regexp.MustCompile(`(?i)^tag`) // There are former spellings, such as Tag.1.key.
	tagParameter    = regexp.MustCompile(`^Tag\.([1-9][0-9]?)\.(Key|Value)$`)
)

// within refuses a write that is outside of the scopes of its caller, and one of which that can't be known.
func (f *Front) within(ctx context.Context, caller, name string, req *request) error {
	if !f.cfg.Guard.Keeps(caller) {
		return nil
	}
	passed, err := f.changes[name].read(name, req) // Another spelling of an action is another name, which is refused.
	if err != nil {
		return err
	}
	return f.cfg.Guard.Permit(ctx, caller, "call openapi "+name+" on", passed)
}

// read finds what a request changes.
func (c change) read(name string, req *request) (scope.Passed, error) {
	unknown := func(why string) (scope.Passed, error) {
		return scope.Passed{}, refuse(http.StatusForbidden, "Forbidden.RAM", fmt.Sprintf(
			"%s is refused to callers with a scope: %s. Use the gateway's own API, or a key pair whose user no scope of the "+
				"gateway's configuration names", name, why))
	}
	if len(c.of) == 0 && c.makes == "" {
		return unknown("the front does not know what it changes")
	}
	harmless := []string{"RegionId", "ZoneId", "ClientToken", "DryRun"} // They say where the call goes, and not what it changes.
	p, tags := scope.Passed{Makes: c.makes}, map[string]*commonv1.Tag{}
	params := req.all()
	for _, param := range slices.Sorted(maps.Keys(params)) {
		value := params[param]
		base, index, list := strings.Cut(param, ".")
		tag := tagParameter.FindStringSubmatch(param)
		switch kind, owner := c.of[base]; {
		case owner && (!list || numbered.MatchString("."+index)):
			ids, ok := identifiers(value)
			if !ok {
				return unknown("the value of " + param + " is no plain id, nor a JSON array of such")
			}
			for _, id := range ids {
				p.Of = append(p.Of, scope.Resource{Kind: kind, ID: id})
			}
		case c.in != "" && param == c.in && param == "VSwitchId":
			p.VSwitchID = value
		case c.in != "" && param == c.in:
			p.VpcID = value
		case c.makes != "" && tag != nil:
			if tags[tag[1]] == nil {
				tags[tag[1]] = &commonv1.Tag{}
			}
			if tag[2] == "Key" {
				tags[tag[1]].Key = value
			} else {
				tags[tag[1]].Value = value
			}
		case slices.Contains(harmless, param), slices.Contains(c.refers, base):
		case suspiciousTag.MatchString(param), suspiciousName.MatchString(param), suspiciousValue.MatchString(value):
			return unknown("the parameter " + bounded(param) + " could name something else")
		}
	}
	keys := map[string]bool{}
	for _, t := range tags {
		folded := strings.ToLower(t.GetKey())
		if keys[folded] {
			return unknown("the tag " + bounded(t.GetKey()) + " is given twice, so the cloud would choose")
		}
		keys[folded] = true
		p.Tags = append(p.Tags, t)
	}
	if c.in != "" && p.VSwitchID == "" && p.VpcID == "" && c.makes != scope.LoadBalancer { // One of the internet is in none.
		return unknown(c.in + " is missing, so the cloud would choose")
	}
	for param := range c.of {
		if !slices.ContainsFunc(p.Of, func(r scope.Resource) bool { return r.Kind == c.of[param] }) {
			return unknown(param + " is missing")
		}
	}
	return p, nil
}

// identifiers reads one id, or a JSON array of ids.
func identifiers(value string) ([]string, bool) {
	ids := []string{value}
	if strings.HasPrefix(value, "[") {
		if json.Unmarshal([]byte(value), &ids) != nil || len(ids) == 0 {
			return nil, false
		}
	}
	return ids, !slices.ContainsFunc(ids, func(id string) bool { return !resourceID.MatchString(id) })
}
