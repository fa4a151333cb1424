package openapisim

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// SeedPlan says what a generated seed has: one VPC for one cluster.
type SeedPlan struct {
	Region        string // default cn-hangzhou
	Cluster       string // id of the cluster; default c-seed
	Nodes         int    // instances, over the zones in turn
	Zones         int    // zones with a vSwitch each; default 2
	LoadBalancers int    // intranet ones with a TCP listener and a vServer group each
	Servers       int    // nodes in each vServer group; at most Nodes
	Block         string // of the VPC; default 172.16.0.0/12. Each zone has the same share
}

// clusterTag marks what belongs to a cluster of the container service.
const clusterTag = "ack.aliyun.com"

// Generate returns the seed of a plan. The same plan gives the same seed.
func (p SeedPlan) Generate() (*state.Cloud, error) {
	setDefault(&p.Region, "cn-hangzhou")
	setDefault(&p.Cluster, "c-seed")
	setDefault(&p.Block, "172.16.0.0/12")
	if p.Zones == 0 {
		p.Zones = 2
	}
	block, err := netip.ParsePrefix(p.Block)
	switch {
	case err != nil || !block.Addr().Is4():
		return nil, fmt.Errorf("%q is no IPv4 block", p.Block)
	case p.Zones < 1 || p.Zones > 16:
		return nil, fmt.Errorf("%d zones: 1 to 16 are possible", p.Zones)
	case p.Nodes < 0 || p.LoadBalancers < 0 || p.Servers < 0:
		return nil, fmt.Errorf("%d nodes, %d load balancers, %d servers: no number can be negative", p.Nodes, p.LoadBalancers, p.Servers)
	case p.Servers > p.Nodes:
		return nil, fmt.Errorf("%d servers in a group: there are %d nodes", p.Servers, p.Nodes)
	}
	bits := block.Bits() + 4 // sixteen zones at most
	perZone := (p.Nodes + p.LoadBalancers + p.Zones - 1) / p.Zones
	if bits > 28 || perZone > 1<<(32-bits)-4 {
		return nil, fmt.Errorf("%s has no place for %d nodes and %d load balancers in %d zones", block, p.Nodes, p.LoadBalancers, p.Zones)
	}
	c := state.New(p.Region, "")
	tags := []state.Tag{{Key: clusterTag, Value: p.Cluster}}
	c.Vpcs["vpc-seed"] = &state.Vpc{Name: "seed", CidrBlock: block.Masked().String(), Tags: tags}
	c.SecurityGroups["sg-seed"] = &state.SecurityGroup{Name: "seed", VpcID: "vpc-seed", Type: "normal", Tags: tags}
	for zone := range p.Zones {
		share := address(block, uint32(zone)<<(32-bits))
		c.VSwitches[vswitchID(zone)] = &state.VSwitch{
			VpcID: "vpc-seed", Name: vswitchID(zone), ZoneID: fmt.Sprintf("%s-%c", p.Region, 'a'+rune(zone)),
			CidrBlock: netip.PrefixFrom(share, bits).String(), Tags: tags,
		}
	}
	for n := range p.Nodes {
		// The first address of a vSwitch is the cloud's.
		ip := address(block, uint32(n%p.Zones)<<(32-bits)+uint32(n/p.Zones)+1).String()
		id := nodeID(n)
		c.Instances[id] = &state.Instance{
			Name: "node-" + id[len("i-seed"):], VSwitchID: vswitchID(n % p.Zones), PrivateIPs: []string{ip},
			SecurityGroupIDs: []string{"sg-seed"}, Tags: tags,
		}
	}
	for n := range p.LoadBalancers {
		p.addLoadBalancer(c, n, tags)
	}
	return c, nil
}

func (p SeedPlan) addLoadBalancer(c *state.Cloud, n int, tags []state.Tag) {
	lb, group := fmt.Sprintf("lb-seed%05d", n+1), fmt.Sprintf("rsp-seed%05d", n+1)
	c.LoadBalancers[lb] = &state.LoadBalancer{
		Name: lb, VSwitchID: vswitchID(n % p.Zones), Tags: tags,
		Listeners: []*state.Listener{{Port: 80, Protocol: "tcp", Attributes: map[string]string{"VServerGroupId": group}}},
	}
	g := &state.ServerGroup{LoadBalancerID: lb, Name: "seed"}
	for s := range p.Servers {
		g.Servers = append(g.Servers, &state.Server{Type: "ecs", ServerID: nodeID((n + s) % p.Nodes), Port: 30080, Weight: 100})
	}
	c.ServerGroups[group] = g
}

func vswitchID(zone int) string { return fmt.Sprintf("vsw-seed-%c", 'a'+rune(zone)) }

func nodeID(n int) string { return fmt.Sprintf("i-seed%05d", n+1) }

// address is the one at a distance from the first of a block.
func address(block netip.Prefix, distance uint32) netip.Addr {
	raw := block.Masked().Addr().As4()
	n := uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3])
	n += distance
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// WriteSeed returns a seed as a document for [ReadSeed], without what is empty.
func WriteSeed(seed *state.Cloud) ([]byte, error) {
	text, err := json.Marshal(seed)
	if err != nil {
		return nil, fmt.Errorf("encode the seed: %w", err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("encode the seed: %w", err)
	}
	text, err = json.MarshalIndent(withoutEmpty(document), "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the seed: %w", err)
	}
	return append(text, '\n'), nil
}

// withoutEmpty removes the members of objects that say nothing, times that never were among them.
func withoutEmpty(document any) any {
	switch document := document.(type) {
	case map[string]any:
		for name, member := range document {
			switch member := withoutEmpty(member).(type) {
			case nil:
				delete(document, name)
			case map[string]any:
				if len(member) == 0 {
					delete(document, name)
				}
			default:
				if _, list := member.([]any); !list && (member == "" || member == 0.0 || member == false) {
					delete(document, name)
				}
			}
			if text, ok := document[name].(string); ok && strings.HasPrefix(text, "0001-01-01T") {
				delete(document, name)
			}
		}
	case []any:
		for _, item := range document {
			withoutEmpty(item)
		}
		if len(document) == 0 {
			return nil
		}
	}
	return document
}
