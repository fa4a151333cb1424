package groupbinding_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// furnished is a cloud with the things of users. In each group there is a server that somebody has put there by hand.
func furnished() *state.Cloud {
	c := state.New("cn-hangzhou", "")
	for vpc, ranges := range map[string][]string{"vpc-test": {"10.0.0.0/8", "10.0.0.0/15"}, "vpc-other": {"172.16.0.0/12", "172.16.0.0/24"}} {
		c.Vpcs[vpc] = &state.Vpc{CidrBlock: ranges[0]}
		c.VSwitches["vsw-"+vpc] = &state.VSwitch{VpcID: vpc, ZoneID: "cn-hangzhou-h", CidrBlock: ranges[1]}
	}
	for i := range 3 {
		c.Instances[fmt.Sprintf("i-%d", i+1)] = &state.Instance{VpcID: "vpc-test", VSwitchID: "vsw-vpc-test",
			ZoneID: "cn-hangzhou-h", Status: "Running", PrivateIPs: []string{fmt.Sprintf("10.1.0.%d", i+1)}}
	}
	for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
		c.Interfaces["eni-"+ip] = &state.NetworkInterface{Type: "Secondary", Status: "InUse", InstanceID: "i-1", VpcID: "vpc-test",
			VSwitchID: "vsw-vpc-test", ZoneID: "cn-hangzhou-h", PrimaryIP: ip, PrivateIPs: []string{ip}}
	}
	made := []state.Tag{{Key: ownership.TagService, Value: "a1"}, {Key: ownership.TagCluster, Value: "c-one"}}
	for id, vpc := range map[string]string{"nlb-1": "vpc-test", "nlb-away": "vpc-other", "nlb-made": "vpc-test"} {
		c.NLBs[id] = &state.NLB{Name: id, VpcID: vpc, DNSName: id + ".example.com"}
	}
	c.NLBs["nlb-made"].Tags = made
	for id, g := range map[string]state.NLBServerGroup{
		"sgp-web":  {Name: "web"},
		"sgp-api":  {Name: "api"},
		"sgp-udp":  {Name: "udp", Protocol: "UDP"},
		"sgp-tls":  {Name: "tls", Protocol: "TCPSSL", ClientIPOff: true},
		"sgp-both": {Name: "both", Protocol: "TCP_UDP"},
		"sgp-all":  {Name: "all", AnyPort: true},
		"sgp-away": {Name: "away", VpcID: "vpc-other"},
		"sgp-made": {Name: "made", Tags: made},
		"sgp-old":  {Name: "k8s.30001.TCP.old.default.c-one"},
		"sgp-x":    {Name: "twice"},
		"sgp-y":    {Name: "twice"},
	} {
		addGroup(c, id, g)
	}
	for id, vpc := range map[string]string{"lb-1": "", "lb-away": "vpc-other", "lb-made": ""} {
		lb := &state.LoadBalancer{Name: id, Address: "198.51.100.1", AddressType: "internet", Status: "active"}
		if vpc != "" { // Only one within a VPC names it.
			lb.AddressType, lb.VpcID, lb.VSwitchID, lb.Address = "intranet", vpc, "vsw-"+vpc, "172.16.0.9"
		}
		c.LoadBalancers[id] = lb
	}
	c.LoadBalancers["lb-made"].Tags = made
	for id, name := range map[string]string{"rsp-web": "web", "rsp-api": "api", "rsp-x": "twice", "rsp-y": "twice",
		"rsp-old": "k8s/30001/old/default/c-one"} {
		addVGroup(c, id, name)
	}
	return c
}

func addGroup(c *state.Cloud, id string, g state.NLBServerGroup) {
	g.VpcID = cmp.Or(g.VpcID, "vpc-test")
	g.Servers = []*state.NLBServer{{Type: "Ecs", ServerID: "i-3", Port: 9000, Weight: 7}}
	c.NLBServerGroups[id] = &g
}

func addVGroup(c *state.Cloud, id, name string) {
	c.ServerGroups[id] = &state.ServerGroup{LoadBalancerID: "lb-1", Name: name,
		Servers: []*state.Server{{Type: "ecs", ServerID: "i-3", Port: 9000, Weight: 7}}}
	c.Recount()
}

// dropGroup deletes a server group, as a person does in the console.
func (w *world) dropGroup(id string) {
	w.cloud.Change(func(c *state.Cloud) {
		delete(c.NLBServerGroups, id)
		delete(c.ServerGroups, id)
		c.Recount()
	})
}

// servers are those of the server groups, by id, without those that were put there by hand.
func (w *world) servers() map[string]string {
	groups := map[string][]string{}
	add := func(group, id string, port, weight int, description string) {
		if description == "" && id == "i-3" && port == 9000 && weight == 7 {
			groups[group] = append(groups[group], "")
			return
		}
		owner, _ := ownership.MadeFor(description)
		groups[group] = append(groups[group], fmt.Sprintf("%s:%d=%d of %s", id, port, weight, owner.ClusterID))
	}
	w.cloud.Look(func(c *state.Cloud) {
		for id, g := range c.NLBServerGroups {
			for _, s := range g.Servers {
				add(id, s.ServerID, s.Port, s.Weight, s.Description)
			}
		}
		for id, g := range c.ServerGroups {
			for _, s := range g.Servers {
				add(id, s.ServerID, s.Port, s.Weight, s.Description)
			}
		}
	})
	texts := map[string]string{}
	for id, list := range groups {
		slices.Sort(list)
		if list[0] != "" {
			w.t.Errorf("the server that was put into %s by hand is gone", id)
		}
		texts[id] = strings.TrimSpace(strings.Join(list, " "))
	}
	maps.DeleteFunc(texts, func(_, text string) bool { return text == "" })
	return texts
}
