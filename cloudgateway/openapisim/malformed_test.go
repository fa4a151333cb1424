package openapisim_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestMalformedRequests leaves out every required parameter of every action, and gives every parameter whose form is known a
// value of another form. The cloud answers with the code of the table, and nothing happens.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	for _, product := range openapisim.Products() {
		t.Run(product.Name, func(t *testing.T) {
			t.Parallel()
			sim := newCloud(t, openapisim.Config{LimitsOff: true, Seed: populated()})
			c := newClient(t, sim)
			for _, action := range product.Actions {
				for _, request := range malformed(product, action) {
					refuse(t, c, product, action, request)
				}
			}
		})
	}
}

// malformedRequest is a request with one thing wrong.
type malformedRequest struct {
	what   string
	params map[string]string
	code   string // "": one of the action's codes, but not that something is not found
}

func refuse(t *testing.T, c *client, product api.Product, action api.Action, r malformedRequest) {
	t.Helper()
	before, err := c.sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var params []string
	for name, value := range r.params {
		params = append(params, name, value)
	}
	c.sim.ClearCalls()
	_, code := c.call(product.Name, action.Name, params...)
	call := c.sim.Calls(0)[0]
	switch {
	case call.Status < 400 || call.Status > 499 || call.Effect:
		t.Errorf("%s, %s: status %d, code %q, effect %v", action.Name, r.what, call.Status, code, call.Effect)
	case r.code != "" && code != r.code:
		t.Errorf("%s, %s: %q, want %q", action.Name, r.what, code, r.code)
	case r.code == "" && !refusesForm(action, code):
		t.Errorf("%s, %s: %q, which is not the code of a malformed parameter", action.Name, r.what, code)
	}
	if after, err := c.sim.Snapshot(); err != nil || string(after) != string(before) {
		t.Errorf("%s, %s: the state changed (%v)", action.Name, r.what, err)
	}
}

// refusesForm reports whether a code of the action can be about the form of a parameter.
func refusesForm(action api.Action, code string) bool {
	if code == "InvalidParameter" {
		return true
	}
	return slices.Contains(action.AllCodes(), code) && !strings.Contains(code, "NotFound") && !strings.Contains(code, "NotExist")
}

// malformed returns the requests of an action with one thing wrong each.
func malformed(product api.Product, action api.Action) []malformedRequest {
	var requests []malformedRequest
	for _, p := range action.Params {
		if p.Required {
			code := "MissingParameter"
			if p.Missing != nil {
				code = p.Missing.Code
			}
			if strings.Contains(action.Path, "{"+p.Name+"}") { // there is no such path
				code = "InvalidAction.NotFound"
			}
			requests = append(requests, malformedRequest{"without " + p.Name, without(action, p), code})
		}
		for value, bad := range badValues(p) {
			params := without(action, p)
			maps.Copy(params, bad)
			code := cmp.Or(product.Malformed, "InvalidParameter")
			if p.Kind == api.JSON { // for the handler to read
				code = ""
			}
			requests = append(requests, malformedRequest{p.Name + " " + value, params, code})
		}
	}
	return requests
}

// without are well-formed values of the required parameters but one.
func without(action api.Action, missing api.Param) map[string]string {
	params := map[string]string{"RegionId": "cn-hangzhou"}
	for _, p := range action.Params {
		if p.Required {
			maps.Copy(params, goodValue(p))
		}
	}
	delete(params, missing.Name)
	for name := range goodValue(missing) {
		delete(params, name)
	}
	if missing.Name == "RegionId" {
		params["RegionId"] = "" // else the SDK sends its own
	}
	return params
}

func goodValue(p api.Param) map[string]string {
	one := func(value string) map[string]string { return map[string]string{p.Name: value} }
	switch {
	case things()[p.Name] != "":
		return one(things()[p.Name])
	case len(p.Enum) > 0:
		return one(p.Enum[0])
	}
	switch p.Kind {
	case api.Int:
		return one(strconv.FormatInt(max(p.Min, 1), 10))
	case api.Bool:
		return one("true")
	case api.JSON:
		return one("[]")
	case api.Strings:
		return map[string]string{p.Name + ".1": "x"}
	case api.Structs:
		item := map[string]string{p.Name + ".1.Key": "x"}
		for _, member := range p.Members {
			if member.Required {
				for name, value := range goodValue(member) {
					item[p.Name+".1."+name] = value
				}
			}
		}
		return item
	case api.String:
	}
	return one("x")
}

// badValues are parameters by what is wrong with them.
func badValues(p api.Param) map[string]map[string]string {
	bad := map[string]map[string]string{}
	add := func(value string) { bad[fmt.Sprintf("%q", value)] = map[string]string{p.Name: value} }
	settings := api.DefaultSettings()
	most := p.Most(&settings)
	ranged := p.Min != 0 || most != 0
	switch p.Kind {
	case api.Int:
		add("letters")
		if ranged {
			add(strconv.FormatInt(p.Min-1, 10))
			add(strconv.FormatInt(p.Max+1, 10))
		}
	case api.Bool:
		add("maybe")
	case api.JSON:
		add("{")
		add(`"text"`)
	case api.Strings, api.Structs:
		if ranged {
			many := map[string]string{}
			for n := range most + 1 {
				name := fmt.Sprintf("%s.%d", p.Name, n+1)
				if p.Kind == api.Structs {
					name += ".Key"
				}
				many[name] = strconv.FormatInt(n, 10)
			}
			bad["with too many items"] = many
		}
		if len(p.Enum) > 0 {
			bad["with an unknown item"] = map[string]string{p.Name + ".1": "elephant"}
		}
	case api.String:
		if len(p.Enum) > 0 && !p.Open {
			add("elephant")
		}
	}
	return bad
}

// things are the ids of what populated holds, by the parameters that name them.
func things() map[string]string {
	return map[string]string{
		"RegionId": "cn-hangzhou", "LoadBalancerId": "lb-1", "VServerGroupId": "rsp-1", "AclId": "acl-1", "ListenerPort": "80",
	}
}

// populated is the seed with a load balancer.
func populated() *state.Cloud {
	s := seed()
	s.LoadBalancers = map[string]*state.LoadBalancer{
		"lb-1": {VSwitchID: "vsw-1", Spec: "slb.s1.small", Listeners: []*state.Listener{{Port: 80, Protocol: "http"}}},
	}
	s.ServerGroups = map[string]*state.ServerGroup{"rsp-1": {LoadBalancerID: "lb-1"}}
	s.Acls = map[string]*state.Acl{"acl-1": {Name: "acl", IPVersion: "ipv4"}}
	return s
}

// The same kind of mistake has different statuses, by product and action.
func TestStatuses(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{LimitsOff: true})
	c := newClient(t, sim)
	group := c.must("ecs", "CreateSecurityGroup", "VpcId", "vpc-1", "ClientToken", "t")["SecurityGroupId"].(string)
	c.must("vpc", "CreateRouteTable", "VpcId", "vpc-1", "ClientToken", "t")
	for _, tt := range []struct {
		product, action string
		params          []string
		code            string
		status          int
	}{
		{"vpc", "CreateRouteTable", []string{"VpcId", "vpc-1", "ClientToken", "t", "Description", "d"}, "IdempotentParameterMismatch", 400},
		{"ecs", "CreateSecurityGroup", []string{"ClientToken", "t"}, "IdempotentParameterMismatch", 403},
		{"ecs", "AuthorizeSecurityGroup", []string{"SecurityGroupId", group}, "MissingParameter", 403},
		{"ecs", "RevokeSecurityGroup", []string{"SecurityGroupId", group}, "MissingParameter", 400},
		{"ecs", "TagResources", []string{"ResourceType", "instance", "ResourceId.1", "i-1"}, "MissingParameter.Tags", 404},
		{"ecs", "DescribeSecurityGroups", []string{"RegionId", ""}, "MissingParameter.RegionId", 400},
		{"vpc", "TagResources", []string{"ResourceType", "VPC", "ResourceId.1", "vpc-1"}, "MissingParam.Tags", 400},
		{"ecs", "ListTagResources", []string{"ResourceType", "instance", "Tag.1.Key", "k", "NextToken", "x"}, "Invalid.NextToken", 403},
	} {
		sim.ClearCalls()
		c.call(tt.product, tt.action, tt.params...)
		if call := sim.Calls(0)[0]; call.Code != tt.code || call.Status != tt.status {
			t.Errorf("%s %s: %d %q, want %d %q", tt.product, tt.action, call.Status, call.Code, tt.status, tt.code)
		}
	}
}
