package lb_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// podsInstance is the instance that has the network interfaces of pods.
const podsInstance = "i-pods"

// newCloud is a simulated cloud behind the real gateway, with a VPC.
func newCloud(t testing.TB) *inprocess.Cloud {
	t.Helper()
	seed := &state.Cloud{
		Vpcs: map[string]*state.Vpc{"vpc-test": {CidrBlock: "192.168.0.0/16", Ipv6Cidrs: []string{"2001:db8::/56"}}},
		VSwitches: map[string]*state.VSwitch{
			"vsw-a": {VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/18"},
			"vsw-b": {VpcID: "vpc-test", ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"},
			"vsw-p": {VpcID: "vpc-test", ZoneID: "cn-hangzhou-j", CidrBlock: "10.0.0.0/8"}, // Of pods.
		},
		Ipv6Gateways: map[string]*state.InternetGateway{"ipv6gw-1": {VpcID: "vpc-test"}},
		Instances:    map[string]*state.Instance{podsInstance: {VpcID: "vpc-test", ZoneID: "cn-hangzhou-j", Status: "Running"}},
	}
	seed.Certificates, seed.UserCertificates = map[string]*state.Certificate{}, map[string]*state.UserCertificate{}
	for n := range 9 { // Of users.
		seed.Certificates[fmt.Sprint("cert-", n+1)] = &state.Certificate{Name: fmt.Sprint("cert-", n+1), Expires: time.Now().AddDate(10, 0, 0)}
		seed.UserCertificates[fmt.Sprint(n+1)] = &state.UserCertificate{Name: fmt.Sprint("user-", n+1), PEM: somePEM()}
	}
	seed.UserCertificates["mine"] = &state.UserCertificate{Name: "mine", PEM: somePEM()} // It has an id that is no number.
	for _, id := range []string{"ca-1", "ca-2"} {
		seed.UserCertificates[id] = &state.UserCertificate{Name: id, PEM: somePEM(), CA: true}
	}
	cloud := inprocess.New(t, "vpc-test", seed)
	settings := cloud.Sim.Settings()
	settings.SpecificationsNotSold, settings.SubscriptionsNotSold = false, false // Those who have had them can make more.
	q := &settings.Quotas
	for _, quota := range []*int{&q.LoadBalancers, &q.NLBs, &q.NLBServerGroups, &q.NLBGroupsPerServer, &q.Acls, &q.SecurityGroups, &q.Eips,
		&q.ServerAttachments, &q.Certificates} {
		*quota = 1 << 20 // Tests have more than an account that has asked for nothing.
	}
	cloud.Sim.SetSettings(settings)
	return cloud
}

// somePEM is a certificate of a user's, which ends ten years after the beginning of a world.
var somePEM = sync.OnceValue(func() string { return pemUntil(time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)) })

// pemUntil is a certificate of a user's that ends then.
func pemUntil(end time.Time) string {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "of a user"}, NotBefore: end.AddDate(-20, 0, 0),
		NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// addZones adds the vSwitches in which NLBs are; the cloud is locked.
func addZones(c *state.Cloud) {
	for n, zone := range []string{"h", "i", "j"} {
		id := "vsw-" + zone
		if zone != "j" || c.VSwitches["vsw-j"] != nil {
			c.VSwitches[id] = &state.VSwitch{ID: id, VpcID: "vpc-test", ZoneID: "cn-hangzhou-" + zone,
				CidrBlock: fmt.Sprintf("192.168.%d.0/24", 128+n), Ipv6Cidr: fmt.Sprintf("2001:db8:0:%d::/64", n)}
		}
	}
}

// addInterface makes a network interface of pods with addresses, of which the first one is its primary one; the cloud is locked.
func addInterface(c *state.Cloud, id string, ips ...string) {
	id = strings.ReplaceAll(id, ":", "-") // Ids have no colons, as IPv6 addresses do.
	eni := &state.NetworkInterface{ID: id, Type: "Secondary", Status: "InUse", InstanceID: podsInstance, VpcID: "vpc-test",
		VSwitchID: "vsw-p", ZoneID: "cn-hangzhou-j"}
	for _, ip := range ips {
		if strings.Contains(ip, ":") {
			eni.Ipv6Addresses = append(eni.Ipv6Addresses, ip)
		} else {
			eni.PrivateIPs = append(eni.PrivateIPs, ip)
		}
	}
	if len(eni.PrivateIPs) > 0 {
		eni.PrimaryIP = eni.PrivateIPs[0]
	}
	c.Interfaces[id] = eni
}

// clbListeners are the listeners of all CLBs, with their load balancers, in order; the cloud is locked.
func clbListeners(c *state.Cloud) iter.Seq2[*state.LoadBalancer, *state.Listener] {
	return func(yield func(*state.LoadBalancer, *state.Listener) bool) {
		for _, id := range slices.Sorted(maps.Keys(c.LoadBalancers)) {
			for _, l := range c.LoadBalancers[id].Listeners {
				if !yield(c.LoadBalancers[id], l) {
					return
				}
			}
		}
	}
}

// listenerAt is the listener of a CLB, nil if there is none; the cloud is locked.
func listenerAt(c *state.Cloud, id string, port int, protocol string) *state.Listener {
	for lb, l := range clbListeners(c) {
		if lb.ID == id && l.Port == port && l.Protocol == protocol {
			return l
		}
	}
	return nil
}

// dropListeners deletes those listeners of a CLB; the cloud is locked.
func dropListeners(c *state.Cloud, id string, which func(*state.Listener) bool) {
	if lb := c.LoadBalancers[id]; lb != nil {
		lb.Listeners = slices.DeleteFunc(lb.Listeners, which)
	}
}

// dropCLB deletes a CLB with all that is on it; the cloud is locked.
func dropCLB(c *state.Cloud, id string) {
	delete(c.LoadBalancers, id)
	maps.DeleteFunc(c.ServerGroups, func(_ string, g *state.ServerGroup) bool { return g.LoadBalancerID == id })
	for _, eip := range c.Eips {
		if eip.InstanceID == id {
			eip.InstanceID, eip.InstanceType, eip.Status = "", "", "Available"
		}
	}
}

// description is that of a listener of a CLB.
func description(l *state.Listener) string { return l.Attributes["Description"] }

// usersListener is a running listener of a CLB, as somebody has made it by hand.
func listenerByHand(port int, protocol, group, description string) *state.Listener {
	l := &state.Listener{Port: port, Protocol: protocol, Status: "running", Attributes: map[string]string{"Bandwidth": "-1"}}
	if group != "" {
		l.Attributes["VServerGroupId"] = group
	}
	if description != "" {
		l.Attributes["Description"] = description
	}
	return l
}

// instanceServer is an instance as a server of a CLB's group.
func instanceServer(id string, port, weight int, description string) *state.Server {
	return &state.Server{Type: "ecs", ServerID: id, Port: port, Weight: weight, Description: description, Added: time.Now()}
}

// nlbInstanceServer is an instance as a server of an NLB's group.
func nlbInstanceServer(id string, port, weight int, description string) *state.NLBServer {
	return &state.NLBServer{Type: "Ecs", ServerID: id, Port: port, Weight: weight, Description: description, Status: "Available",
		Added: time.Now()}
}

// serverText is a server as id:port=weight.
func serverText(s *state.Server) string { return fmt.Sprintf("%s:%d=%d", s.ServerID, s.Port, s.Weight) }

// nameOfCLB is the name of a CLB, "" if there is none; the cloud is locked.
func nameOfCLB(c *state.Cloud, id string) string {
	if lb := c.LoadBalancers[id]; lb != nil {
		return lb.Name
	}
	return ""
}

// tagged is the value of a tag, "" for none.
func tagged(tags []state.Tag, key string) string {
	for _, t := range tags {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// hasTag reports whether a tag has a value.
func hasTag(tags []state.Tag, key, value string) bool {
	return slices.Contains(tags, state.Tag{Key: key, Value: value})
}

// portsOf are the ports of an NLB's listener, as 80 or 80-90.
func portsOf(l *state.NLBListener) string {
	if l.Port == 0 {
		return fmt.Sprintf("%d-%d", l.StartPort, l.EndPort)
	}
	return fmt.Sprint(l.Port)
}

// firstPort is the only port of an NLB's listener, or the first one.
func firstPort(l *state.NLBListener) int { return cmp.Or(l.Port, l.StartPort) }
