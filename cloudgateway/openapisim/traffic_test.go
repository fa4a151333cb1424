package openapisim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/dataplane"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// rangesMade is how many ranges the tests of this process have.
var rangesMade atomic.Uint32

// newRange is a range on loopback that no other test of this process has.
func newRange() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(64 + os.Getpid()%64), byte(rangesMade.Add(1)), 0}), 24)
}

// newTrafficCloud is a cloud with a data plane and two instances on loopback, in ranges that no other test has.
func newTrafficCloud(t *testing.T) (*client, dataplane.Ranges) {
	t.Helper()
	ranges := dataplane.Ranges{Internet: newRange(), Intranet: newRange()}
	resources := seed()
	for _, instance := range resources.Instances {
		instance.PrivateIPs = []string{"127.0.0.1"}
	}
	return newClient(t, newCloud(t, openapisim.Config{Dataplane: &ranges, Seed: resources})), ranges
}

// balance makes a load balancer with a group of servers on loopback.
func balance(c *client, ports []int, params ...string) (lbID, address, groupID string) {
	c.t.Helper()
	lb := c.must("slb", "CreateLoadBalancer", append([]string{"InstanceChargeType", "PayByCLCU"}, params...)...)
	servers := "["
	for i, port := range ports {
		servers += fmt.Sprintf(`{"ServerId":"i-1","Port":"%d","Weight":"100"}`, port)
		if i < len(ports)-1 {
			servers += ","
		}
	}
	lbID, address = lb["LoadBalancerId"].(string), lb["Address"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lbID, "BackendServers", servers+"]")
	return lbID, address, group["VServerGroupId"].(string)
}

func webServer(t *testing.T, name string) int {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// fetch returns the body of an answer, or "" if there is none.
func fetch(ctx context.Context, url string) string {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}, Timeout: time.Minute}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return ""
	}
	answer, err := client.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker, deadline := time.NewTicker(5*time.Millisecond), time.After(2*time.Minute)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited 2 minutes in vain: %s", what)
		}
	}
}

// A load balancer made by API calls carries traffic, and reports the real health of its servers.
func TestTrafficFollowsTheAPI(t *testing.T) {
	t.Parallel()
	c, ranges := newTrafficCloud(t)
	dead := closedPort(t)
	lbID, address, groupID := balance(c, []int{webServer(t, "a"), dead})
	if addr, err := netip.ParseAddr(address); err != nil || !ranges.Internet.Contains(addr) {
		t.Fatalf("address %s is not in %s", address, ranges.Internet)
	}
	c.must("slb", "CreateLoadBalancerHTTPListener", "LoadBalancerId", lbID, "ListenerPort", "8080", "VServerGroupId", groupID,
		"HealthCheck", "on", "HealthCheckInterval", "1", "HealthyThreshold", "2", "UnhealthyThreshold", "2", "HealthCheckMethod", "get")
	url := "http://" + net.JoinHostPort(address, "8080")
	if got := fetch(t.Context(), url); got != "" {
		t.Errorf("a listener that was not started answers %q", got)
	}
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", lbID, "ListenerPort", "8080")
	eventually(t, "the servers are checked", func() bool {
		servers := at(t, c.must("slb", "DescribeHealthStatus", "LoadBalancerId", lbID), "BackendServers", "BackendServer")
		return at(t, servers, 0, "ServerHealthStatus") == "normal" && at(t, servers, 1, "ServerHealthStatus") == "abnormal"
	})
	for range 4 {
		if got := fetch(t.Context(), url); got != "a" {
			t.Errorf("answer %q, want that of the healthy server", got)
		}
	}
	c.must("slb", "StopLoadBalancerListener", "LoadBalancerId", lbID, "ListenerPort", "8080")
	eventually(t, "the listener stops", func() bool { return fetch(t.Context(), url) == "" })
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", lbID, "ListenerPort", "8080")
	eventually(t, "the listener starts", func() bool { return fetch(t.Context(), url) == "a" })
	c.must("slb", "DeleteLoadBalancer", "LoadBalancerId", lbID)
	eventually(t, "the load balancer goes", func() bool { return fetch(t.Context(), url) == "" })
}

// An intranet load balancer is reached at its own address and at that of its EIP.
func TestTrafficOfIntranetAndEIP(t *testing.T) {
	t.Parallel()
	c, ranges := newTrafficCloud(t)
	lbID, address, groupID := balance(c, []int{webServer(t, "a")}, "AddressType", "intranet", "VSwitchId", "vsw-1")
	eip := c.must("vpc", "AllocateEipAddress")
	external := eip["EipAddress"].(string)
	for text, within := range map[string]netip.Prefix{address: ranges.Intranet, external: ranges.Internet} {
		if addr, err := netip.ParseAddr(text); err != nil || !within.Contains(addr) {
			t.Fatalf("address %s is not in %s", text, within)
		}
	}
	c.must("slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", lbID, "ListenerPort", "8080", "VServerGroupId",
		groupID, "Bandwidth", "-1")
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", lbID, "ListenerPort", "8080")
	eventually(t, "the intranet address answers", func() bool { return fetch(t.Context(), "http://"+address+":8080") == "a" })
	if got := fetch(t.Context(), "http://"+external+":8080"); got != "" {
		t.Errorf("an EIP that belongs to nobody answers %q", got)
	}
	c.must("vpc", "AssociateEipAddress", "AllocationId", eip["AllocationId"].(string), "InstanceId", lbID, "InstanceType", "SlbInstance")
	eventually(t, "the EIP answers", func() bool { return fetch(t.Context(), "http://"+external+":8080") == "a" })
	c.must("vpc", "UnassociateEipAddress", "AllocationId", eip["AllocationId"].(string), "InstanceId", lbID, "InstanceType", "SlbInstance")
	eventually(t, "the EIP goes", func() bool { return fetch(t.Context(), "http://"+external+":8080") == "" })
}

// The key of an uploaded certificate is kept, so that its listener can use it.
func TestTrafficOfHTTPS(t *testing.T) {
	t.Parallel()
	c, _ := newTrafficCloud(t)
	lbID, address, groupID := balance(c, []int{webServer(t, "a")})
	certificate, key := selfSigned(t)
	uploaded := c.must("slb", "UploadServerCertificate", "ServerCertificate", certificate, "PrivateKey", key)
	c.must("slb", "CreateLoadBalancerHTTPSListener", "LoadBalancerId", lbID, "ListenerPort", "8443", "VServerGroupId", groupID,
		"HealthCheck", "off", "StickySession", "off", "Bandwidth", "-1", "ServerCertificateId", uploaded["ServerCertificateId"].(string))
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", lbID, "ListenerPort", "8443")
	eventually(t, "HTTPS answers", func() bool { return fetch(t.Context(), "https://"+address+":8443") == "a" })
}

func TestDataplaneRangesAreChecked(t *testing.T) {
	t.Parallel()
	for _, ranges := range []dataplane.Ranges{
		{Internet: netip.MustParsePrefix("47.96.0.0/16")},
		{Internet: netip.MustParsePrefix("127.48.0.0/24")},
	} {
		if _, err := openapisim.New(openapisim.Config{Dataplane: &ranges}); err == nil {
			t.Errorf("a simulator with %+v", ranges)
		}
	}
}

// Changes that no call made are seen, too.
func TestGenerationCountsChanges(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	snapshot, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"call":    func() { c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU") },
		"update":  func() { sim.Update(func(*state.Cloud) {}) },
		"seed":    func() { _ = sim.Seed(&state.Cloud{}) },
		"restore": func() { _ = sim.Restore(snapshot) },
	} {
		before := sim.Generation()
		if change(); sim.Generation() == before {
			t.Errorf("%s: no other generation", name)
		}
	}
	before := sim.Generation()
	c.must("slb", "DescribeLoadBalancers")
	if sim.Generation() != before {
		t.Error("a read is a change")
	}
}

// closedPort returns a port on which nobody listens while the test runs: that of a client.
func closedPort(t *testing.T) int {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", webServer(t, "holder")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().(*net.TCPAddr).Port
}

func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: rawKey}))
}

func TestAdminShowsTraffic(t *testing.T) {
	t.Parallel()
	if status, body := admin(t, newCloud(t, openapisim.Config{}), http.MethodGet, "/admin/dataplane", ""); status != http.StatusNotFound {
		t.Errorf("without a data plane: %d %s", status, body)
	}
	c, _ := newTrafficCloud(t)
	if status, body := admin(t, c.sim, http.MethodGet, "/admin/dataplane", ""); status != http.StatusOK || body != `{"listeners":[]}`+"\n" {
		t.Errorf("with a data plane: %d %s", status, body)
	}
}

// A Network Load Balancer made by API calls carries a port and a range of ports, and reports the real health of its servers.
func TestTrafficOfNLB(t *testing.T) {
	t.Parallel()
	cloud, settings := twoZones(2), api.FastSettings()
	for _, instance := range cloud.Instances {
		instance.PrivateIPs = []string{"127.0.0.1"}
	}
	ranges := dataplane.Ranges{Internet: newRange(), Intranet: newRange()}
	c := newClient(t, newCloud(t, openapisim.Config{Dataplane: &ranges, Seed: cloud, Settings: &settings, LimitsOff: true}))
	lb := c.must("nlb", "CreateLoadBalancer", newNLBParams()...)["LoadbalancerId"].(string)
	zones := at(t, c.must("nlb", "GetLoadBalancerAttribute", "LoadBalancerId", lb), "ZoneMappings")
	address := at(t, zones, 0, "LoadBalancerAddresses", 0, "PublicIPv4Address").(string)
	group := func(port string, more ...string) string {
		id := c.must("nlb", "CreateServerGroup", append([]string{
			"ServerGroupName", "g0", "VpcId", "vpc-1", "HealthCheckConfig.HealthCheckInterval", "1",
			"HealthCheckConfig.HealthyThreshold", "2", "HealthCheckConfig.UnhealthyThreshold", "2",
		}, more...)...)["ServerGroupId"].(string)
		c.must("nlb", "AddServersToServerGroup", "ServerGroupId", id, "Servers.1.ServerId", "i-1", "Servers.1.ServerType", "Ecs",
			"Servers.1.Port", port)
		return id
	}
	listen := func(group string, ports ...string) string {
		return c.must("nlb", "CreateListener", append([]string{
			"LoadBalancerId", lb, "ListenerProtocol", "TCP", "ServerGroupId", group,
		}, ports...)...)["ListenerId"].(string)
	}
	found := func(listener string) []any {
		shown := c.must("nlb", "GetListenerHealthStatus", "ListenerId", listener)
		return at(t, shown, "ListenerHealthStatus", 0, "ServerGroupInfos", 0, "NonNormalServers").([]any)
	}
	alive, dead := webServer(t, "a"), closedPort(t)
	ranged := listen(group("", "AnyPortEnabled", "true", "HealthCheckConfig.HealthCheckConnectPort", strconv.Itoa(alive)),
		"ListenerPort", "0", "StartPort", strconv.Itoa(alive), "EndPort", strconv.Itoa(alive+1))
	eventually(t, "the range answers", func() bool { return fetch(t.Context(), fmt.Sprintf("http://%s:%d", address, alive)) == "a" })
	eventually(t, "its server is checked", func() bool { return len(found(ranged)) == 0 })
	single := listen(group(strconv.Itoa(dead)), "ListenerPort", strconv.Itoa(alive+2))
	eventually(t, "the server without a port is found out", func() bool {
		got := found(single)
		return len(got) == 1 && at(t, got, 0, "Status") == "Unhealthy" && at(t, got, 0, "Reason", "ReasonCode") == "CONNECT_TIMEOUT"
	})
}
