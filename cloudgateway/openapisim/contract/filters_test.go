package contract

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// nothing is a text that nothing in the cloud has.
const nothing = "nothing-has-this"

// prober looks at each read that a scenario makes whether the parameters that the simulator lists for it make a difference. A filter
// that is listed and not read would find everything, and a caller that relies on it would take that for its own.
type prober struct {
	lock    sync.Mutex
	actions map[string]api.Action // reads, by product and name
	read    map[string]bool       // by product, action and parameter
}

func newProber(products []api.Product) *prober {
	p := &prober{actions: map[string]api.Action{}, read: map[string]bool{}}
	for _, product := range products {
		for _, a := range product.Actions {
			isList := slices.ContainsFunc([]string{"Describe", "List", "Get"}, func(verb string) bool { return strings.HasPrefix(a.Name, verb) })
			if isList && !a.Mutating {
				p.actions[product.Name+" "+a.Name] = a
			}
		}
	}
	return p
}

// look repeats a call that has succeeded, as it was and with what is required only, once for each parameter whose effect was not seen
// yet. Nil looks at nothing.
func (p *prober) look(action string, params map[string]string, call func(map[string]string) string) {
	if p == nil {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	a := p.actions[action]
	bare := maps.Clone(params)
	for _, param := range a.Params {
		if !param.Required {
			leaveOut(bare, param.Name)
		}
	}
	for _, param := range a.Params {
		for _, base := range []map[string]string{params, bare} {
			p.try(action, param, base, call)
		}
	}
}

// try looks whether a parameter makes a difference to a call.
func (p *prober) try(action string, param api.Param, base map[string]string, call func(map[string]string) string) {
	name := action + " " + param.Name
	for _, value := range values(name, param) {
		if p.read[name] {
			return
		}
		with := maps.Clone(base)
		leaveOut(with, param.Name)
		without := maps.Clone(with)
		if param.Required {
			without = base
		}
		maps.Copy(with, value)
		before, got, after := call(without), call(with), call(without) // What is under way may change the answer by itself.
		p.read[name] = before == after && got != before
	}
}

// leaveOut takes a parameter out of those of a call.
func leaveOut(params map[string]string, name string) {
	maps.DeleteFunc(params, func(sent, _ string) bool { return sent == name || strings.HasPrefix(sent, name+".") })
}

// unread are the parameters, by product and action, that never made a difference.
func (p *prober) unread() (list []string) {
	for name, action := range p.actions {
		for _, param := range action.Params {
			hasOneValue := len(param.Enum) == 1 && !param.Open // The simulator refuses any other before the handler.
			if full := name + " " + param.Name; !p.read[full] && !hasOneValue {
				list = append(list, full)
			}
		}
	}
	slices.Sort(list)
	return list
}

// values are what a parameter is tried with: of the form that the simulator checks before the handler, so that an error is the handler's.
func values(name string, p api.Param) (list []map[string]string) {
	one := func(value string) { list = append(list, map[string]string{p.Name: value}) }
	switch {
	case name == "ecs DescribeSecurityGroupAttribute NicType":
		one("internet") // A word that it doesn't know counts as none.
	case p.Kind == api.Structs && len(p.Members) > 0:
		item := map[string]string{}
		for _, member := range p.Members {
			maps.Copy(item, values("", member)[0])
		}
		renamed := map[string]string{}
		for name, value := range item {
			renamed[p.Name+".1."+name] = value
		}
		list = append(list, renamed)
	case p.Kind == api.Structs:
		list = append(list, map[string]string{p.Name + ".1.Key": nothing, p.Name + ".1.Value": nothing})
	case p.Kind == api.Strings:
		for _, value := range append(slices.Clone(p.Enum), nothing) {
			if len(p.Enum) == 0 || value != nothing || p.Open {
				list = append(list, map[string]string{p.Name + ".1": value})
			}
		}
	case len(p.Enum) > 0:
		for _, value := range p.Enum {
			one(value)
		}
	case p.Kind == api.Bool:
		one("true")
		one("false")
	case p.Kind == api.Int && p.Min == 0 && p.Max == 0:
		one("1")
		one("65000")
	case p.Kind == api.Int:
		one(strconv.FormatInt(p.Min, 10))
		one(strconv.FormatInt(p.Max, 10))
	case p.Kind == api.JSON:
		one(`["` + nothing + `"]`)
	default:
		one(nothing)
	}
	return list
}

// again is a call of a scenario, made again: its answer without what each answer has of its own, or the code of the error.
func (c *cloud) again(product, action string, params map[string]string) string {
	var list []string
	for name, value := range params {
		list = append(list, name, value)
	}
	free := *c
	free.filters = nil
	got, code := free.once(product, action, list...)
	delete(got.tree, "RequestId")
	if script, ok := got.tree[""].(string); ok { // of DescribeClusterAttachScripts
		got.tree[""] = regexp.MustCompile(`--token \S+`).ReplaceAllString(script, "")
	}
	text, err := json.Marshal(got.tree)
	if err != nil {
		c.t.Fatal(err)
	}
	return code + " " + string(text)
}

// withoutEffect are the parameters that change no answer of the simulator, by the reason for which they need not.
func withoutEffect() map[string][]string {
	of := func(action string, params ...string) (names []string) {
		for _, param := range params {
			names = append(names, action+" "+param)
		}
		return names
	}
	return map[string][]string{
		"nothing of the kind is simulated: the list is always empty": slices.Concat(
			of("ecs DescribeCapacityReservations", "InstanceChargeType", "InstanceType", "Platform", "PrivatePoolOptions.Ids",
				"ResourceGroupId", "Status", "ZoneId"),
			of("ecs DescribeDedicatedHosts", "DedicatedHostIds", "DedicatedHostName", "DedicatedHostType", "Status", "ZoneId"),
			of("ecs DescribeElasticityAssurances", "InstanceType", "Status", "ZoneId"),
			of("vpc DescribePhysicalConnections", "Filter", "IncludeReservationData", "ResourceGroupId"),
			of("vpc ListVpcPublishedRouteEntries", "DestinationCidrBlock", "MaxResults", "NextToken", "TargetInstanceId", "TargetType"),
		),
		"everything is sold in each way, in each zone, at one price": slices.Concat(
			of("ecs DescribeAvailableResource", "InstanceChargeType", "SpotStrategy"), of("ecs DescribeZones", "InstanceChargeType", "SpotStrategy"),
			of("ecs DescribePrice", "ZoneId"), of("ecs DescribeSpotPriceHistory", "SpotDuration"),
		),
		"all that there is fits each value": slices.Concat(
			of("cs DescribeKubernetesVersionMetadata", "ClusterType", "Profile"), of("ecs DescribeImageSupportInstanceTypes", "ActionType"),
			of("ecs DescribeImages", "ActionType", "ShowExpired"), of("ecs DescribeInstanceTypes", "MaximumGPUAmount"),
		),
		"each answer has all that the parameter asks for": slices.Concat(
			of("ecs DescribeInstances", "AdditionalAttributes"), of("ecs DescribeLaunchTemplateVersions", "DetailFlag"),
			of("ecs DescribeNetworkInterfaceAttribute", "Attribute"), of("ecs DescribeZones", "Verbose"),
		),
		"nothing has a renewal that is to come": {
			"vpc DescribeCommonBandwidthPackages IncludeReservationData", "vpc DescribeEipAddresses IncludeReservationData",
			"vpc DescribeIpv6Addresses IncludeReservationData",
		},
		"names are in one language": {
			"nlb DescribeRegions AcceptLanguage", "nlb DescribeZones AcceptLanguage", "vpc ListEnhanhcedNatGatewayAvailableZones AcceptLanguage",
		},
		"a read has nothing to repeat": {
			"nlb DescribeRegions ClientToken", "nlb DescribeZones ClientToken", "nlb GetJobStatus ClientToken", "vpc DescribeEipSegment ClientToken",
		},
		"the product is called, so the service is known": {"nlb DescribeRegions ServiceCode", "nlb DescribeZones ServiceCode"},
		"the VPC is named by its id":                     {"vpc DescribeVpcAttribute IsDefault"},
		"no cluster takes the token of the script":       {"cs DescribeClusterAttachScripts expired"},
		"the scenarios never have two of a list, so that no page is shorter": {
			"ecs DescribePrefixListAssociations MaxResults", "ecs DescribePrefixLists MaxResults", "ecs DescribeSecurityGroupAttribute MaxResults",
			"ecs DescribeSnapshotGroups MaxResults", "slb DescribeAccessControlListAttribute PageSize", "slb ListTLSCipherPolicies MaxItems",
			"vpc GetVpcPrefixListAssociations MaxResults", "vpc ListDhcpOptionsSets MaxResults", "vpc ListGatewayRouteTableEntries MaxResults",
			"vpc ListIpv4Gateways MaxResults", "vpc ListTagResources MaxResults",
		},
	}
}

// TestUnreadFiltersAreSeen plants a filter that is listed and that the handler doesn't read.
func TestUnreadFiltersAreSeen(t *testing.T) {
	t.Parallel()
	p := newProber([]api.Product{{Name: "p", Actions: []api.Action{
		{Name: "ListThings", Params: []api.Param{
			api.Optional("Name"), api.OneOf("Status", "On", "Off"), api.Flag("Default"), {Name: "Id", Kind: api.Strings},
			{Name: "Tag", Kind: api.Structs}, api.Number("PageSize", 1, 50), api.Required("VpcId"), api.Optional("Planted"),
		}},
		{Name: "ListNeverCalled", Params: []api.Param{api.Optional("Name")}},
		{Name: "CreateThing", Mutating: true, Params: []api.Param{api.Optional("Name")}},
	}}})
	thing := map[string]string{"Name": "a", "Status": "On", "Default": "true", "Id.1": "t-1", "Tag.1.Key": "k", "PageSize": "50",
		"VpcId": "vpc-1"}
	handle := func(sent map[string]string) string {
		for name, value := range sent {
			if has, known := thing[name]; known && has != value {
				return "none"
			}
		}
		return "all"
	}
	p.look("p ListThings", map[string]string{"VpcId": "vpc-1"}, handle)
	if got, want := p.unread(), []string{"p ListNeverCalled Name", "p ListThings Planted"}; !slices.Equal(got, want) {
		t.Errorf("unread: %q, want %q", got, want)
	}
	changes := 0
	p.look("p ListThings", map[string]string{"VpcId": "vpc-1"}, func(map[string]string) string {
		changes++
		return strconv.Itoa(changes)
	})
	if !slices.Contains(p.unread(), "p ListThings Planted") {
		t.Error("a change of the cloud by itself counts as an effect of a filter")
	}
}
