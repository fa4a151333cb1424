package bench

import (
	"fmt"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const serversPerGroup = 20

func balancerID(i int) string     { return fmt.Sprintf("lb-%04d", i) }
func groupID(i, group int) string { return fmt.Sprintf("rsp-%04d-%d", i, group) }
func instanceID(i int) string     { return fmt.Sprintf("i-%04d", i) }
func port(i int) string           { return strconv.Itoa(30000 + i) }

// seedBalancers are load balancers as controllers make them: two listeners, two vServer groups of 20 servers, tags.
func seedBalancers(n int) *state.Cloud {
	cloud := seedInstances(serversPerGroup)
	for i := range n {
		lb := &state.LoadBalancer{
			Name: "a" + strconv.Itoa(i), Address: fmt.Sprintf("47.0.%d.%d", i/250, 1+i%250), AddressType: "internet",
			NetworkType: "classic", Spec: "slb.s1.small", Status: "active", Bandwidth: -1,
			Tags: []state.Tag{{Key: "kubernetes.do.not.delete", Value: "a" + strconv.Itoa(i)}, {Key: "ack.aliyun.com", Value: "c-1"}},
		}
		for g, port := range []int{80, 443} {
			group := &state.ServerGroup{LoadBalancerID: balancerID(i), Name: fmt.Sprintf("k8s/%d/service-%d/default/c-1", port, i)}
			for s := range serversPerGroup {
				group.Servers = append(group.Servers, &state.Server{
					Type: "ecs", ServerID: instanceID(s), Port: 30000 + i, Weight: 100, Description: group.Name,
				})
			}
			cloud.ServerGroups[groupID(i, g)] = group
			lb.Listeners = append(lb.Listeners, &state.Listener{
				Port: port, Protocol: "tcp", Status: "running",
				Attributes: map[string]string{"Bandwidth": "-1", "Scheduler": "rr", "VServerGroupId": groupID(i, g), "HealthCheck": "on"},
			})
		}
		cloud.LoadBalancers[balancerID(i)] = lb
	}
	return cloud
}

// seedInstances are instances of one vSwitch.
func seedInstances(n int) *state.Cloud {
	cloud := state.New("cn-hangzhou", "")
	cloud.Vpcs["vpc-1"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
	cloud.VSwitches["vsw-1"] = &state.VSwitch{VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.0.0/16"}
	for i := range n {
		cloud.Instances[instanceID(i)] = &state.Instance{VSwitchID: "vsw-1", PrivateIPs: []string{fmt.Sprintf("10.0.%d.%d", i/250, 2+i%250)}}
	}
	return cloud
}
