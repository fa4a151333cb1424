package front

import (
	"regexp"
	"slices"
)

// tie says that what an action changes is shown by other products, too.
type tie struct {
	action *regexp.Regexp // "product:Action"
	shown  []string
}

// ties are the ones that are known. What the typed API remembers of a product shows ids, addresses, states and tags
// of that product, and of others: which instances and interfaces are servers, next hops of routes, or have an EIP;
// which EIPs a load balancer has.
func ties() []tie {
	return []tie{
		// They leave server groups and routes, and lose their EIPs and addresses.
		{regexp.MustCompile(`^ecs:(Delete|Release|Detach|Replace|Convert|ModifyInstanceVpc|.*PublicIp)`), []string{"slb", "nlb", "vpc"}},
		// They are VPC's, by their former names.
		{ofVPC, []string{"slb", "nlb", "vpc"}},
		// An EIP is shown by what it is bound to.
		{regexp.MustCompile(`^vpc:.*(Eip|BandwidthPackage)`), []string{"ecs", "slb", "nlb"}},
		// Auto Scaling makes and ends instances, and attaches them to server groups.
		{regexp.MustCompile(`^ess:`), []string{"ecs", "slb", "nlb", "vpc"}},
		// Load balancers have EIPs, network interfaces and routes.
		{regexp.MustCompile(`^(slb:(Create|Delete)LoadBalancer|(nlb|alb):.*LoadBalancer(AddressTypeConfig|Zones)?)$`), []string{"vpc", "ecs"}},
	}
}

// shownBy are the products of which answers may show what an action has changed.
func shownBy(product, action string) []string {
	products := []string{product}
	for _, t := range ties() {
		if t.action.MatchString(product + ":" + action) {
			products = append(products, t.shown...)
		}
	}
	slices.Sort(products)
	return slices.Compact(products)
}
