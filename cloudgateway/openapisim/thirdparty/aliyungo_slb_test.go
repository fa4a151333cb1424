package thirdparty

import (
	"errors"
	"testing"

	"github.com/denverdino/aliyungo/common"
	"github.com/denverdino/aliyungo/slb"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// Aliyungo is the oldest client in Go, which cloud providers and Terraform used before there was an SDK. It sends GET, and
// decodes with encoding/json into its own types, so that a number where the cloud has a text fails.

func aliyungoSLB(sim *openapisim.Simulator) *slb.Client {
	return slb.NewClientWithEndpoint("http://"+sim.Endpoint("slb"), openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
}

// refused checks that a call was refused with a code, and that the error carries what users report to the cloud.
func refused(t *testing.T, err error, status int, code string) {
	t.Helper()
	failure, ok := errors.AsType[*common.Error](err)
	if !ok {
		t.Errorf("error %v, want %s", err, code)
		return
	}
	if failure.Code != code || failure.StatusCode != status || failure.RequestId == "" || failure.HostId == "" || failure.Message == "" {
		t.Errorf("error %+v, want %d %s with a request id, a host and a message", failure, status, code)
	}
}

// TestAliyungoBalancer makes a load balancer, changes it in every way, and waits for it.
func TestAliyungoBalancer(t *testing.T) {
	t.Parallel()
	sim := newCloud(t)
	client := aliyungoSLB(sim)
	made, err := client.CreateLoadBalancer(&slb.CreateLoadBalancerArgs{
		RegionId: region, LoadBalancerName: "old", AddressType: slb.InternetAddressType, InternetChargeType: slb.PayByTraffic,
		LoadBalancerSpec: slb.S1Small, Bandwidth: 5, ClientToken: client.GenerateClientToken(),
	})
	check(t, err)
	id := made.LoadBalancerId
	check(t, client.WaitForLoadBalancerAsyn(id, slb.ActiveStatus, 0))
	check(t, client.SetLoadBalancerName(id, "ü*~+ &="))
	check(t, client.ModifyLoadBalancerInstanceSpec(&slb.ModifyLoadBalancerInstanceSpecArgs{RegionId: region,
		LoadBalancerId: id, LoadBalancerSpec: slb.S2Small}))
	check(t, client.ModifyLoadBalancerInternetSpec(&slb.ModifyLoadBalancerInternetSpecArgs{
		LoadBalancerId: id, InternetChargeType: slb.PayByBandwidth, Bandwidth: 10,
	}))
	check(t, client.SetLoadBalancerStatus(id, slb.InactiveStatus))
	check(t, client.WaitForLoadBalancerAsyn(id, slb.InactiveStatus, 0))

	tags := `[{"TagKey":"k","TagValue":"v"}]`
	check(t, client.AddTags(&slb.AddTagsArgs{RegionId: region, LoadBalancerID: id, Tags: tags}))
	found, err := client.DescribeLoadBalancers(&slb.DescribeLoadBalancersArgs{RegionId: region, Tags: tags})
	check(t, err)
	if len(found) != 1 || found[0].LoadBalancerName != "ü*~+ &=" || found[0].Bandwidth != 10 || found[0].InternetChargeType != "3" {
		t.Errorf("found %+v", found)
	}
	listed, pages, err := client.DescribeTags(&slb.DescribeTagsArgs{RegionId: region, LoadBalancerID: id})
	check(t, err)
	if len(listed) != 1 || listed[0].TagKey != "k" || listed[0].InstanceCount != 1 || pages.TotalCount != 1 {
		t.Errorf("tags %+v on %+v", listed, pages)
	}
	check(t, client.RemoveTags(&slb.RemoveTagsArgs{RegionId: region, LoadBalancerID: id, Tags: tags}))

	// The documents have weights as texts here and as numbers elsewhere; this client wants numbers everywhere.
	add := &slb.AddBackendServersArgs{LoadBalancerId: id, BackendServers: `[{"ServerId":"i-1","Weight":100,"Type":"ecs"},{"ServerId":"i-2"}]`}
	check(t, client.Invoke("AddBackendServers", add, &common.Response{}))
	set := &slb.SetBackendServersArgs{LoadBalancerId: id, BackendServers: `[{"ServerId":"i-2","Weight":50}]`}
	check(t, client.Invoke("SetBackendServers", set, &common.Response{}))
	left, err := client.RemoveBackendServers(id, []string{"i-1"})
	check(t, err)
	if len(left) != 1 || left[0].ServerId != "i-2" || left[0].Weight != 50 {
		t.Errorf("servers %+v", left)
	}
	zones, err := client.DescribeZones(region)
	check(t, err)
	regions, err := client.DescribeRegions()
	check(t, err)
	if len(zones) == 0 || len(zones[0].SlaveZones.SlaveZone) == 0 || len(regions) != 1 || regions[0].RegionId != region {
		t.Errorf("zones %+v, regions %+v", zones, regions)
	}

	check(t, client.DeleteLoadBalancer(id))
	_, err = client.DescribeLoadBalancerAttribute(id)
	refused(t, err, 404, "InvalidLoadBalancerId.NotFound")
	checkCalls(t, sim, "InvalidLoadBalancerId.NotFound")
}

// TestAliyungoListeners makes listeners of all protocols with a vServer group, rules and a certificate.
func TestAliyungoListeners(t *testing.T) {
	t.Parallel()
	sim := newCloud(t)
	client := aliyungoSLB(sim)
	made, err := client.CreateLoadBalancer(&slb.CreateLoadBalancerArgs{RegionId: region,
		AddressType: slb.IntranetAddressType, VSwitchId: "vsw-1", LoadBalancerSpec: slb.S1Small})
	check(t, err)
	id := made.LoadBalancerId
	group, err := client.CreateVServerGroup(&slb.CreateVServerGroupArgs{
		RegionId: region, LoadBalancerId: id, VServerGroupName: "web", BackendServers: `[{"ServerId":"i-1","Weight":100,"Port":80,"Type":"ecs"}]`,
	})
	check(t, err)
	if all := group.BackendServers.BackendServer; len(all) != 1 || all[0].Port != 80 || all[0].Weight != 100 {
		t.Errorf("servers %+v", all)
	}
	certificate, key := newCertificate(t, "example.com")
	uploaded, err := client.UploadServerCertificate(&slb.UploadServerCertificateArgs{
		RegionId: region, ServerCertificate: certificate, PrivateKey: key, ServerCertificateName: "old",
	})
	check(t, err)
	check(t, client.SetServerCertificateName(region, uploaded.ServerCertificateId, "new"))
	certificates, err := client.DescribeServerCertificatesArgs(region, uploaded.ServerCertificateId)
	check(t, err)
	if len(certificates) != 1 || certificates[0].ServerCertificateName != "new" || certificates[0].Fingerprint == "" {
		t.Errorf("certificates %+v", certificates)
	}

	web := slb.HTTPListenerType{
		LoadBalancerId: id, ListenerPort: 80, Bandwidth: -1, Scheduler: slb.WRRScheduler, VServerGroupId: group.VServerGroupId,
		StickySession: slb.OnFlag, StickySessionType: slb.InsertStickySessionType, CookieTimeout: 60, HealthCheck: slb.OnFlag,
		HealthCheckURI:         "/health",
		HealthCheckConnectPort: slb.BackendServerPort, HealthyThreshold: 3, UnhealthyThreshold: 3, HealthCheckTimeout: 5, HealthCheckInterval: 2,
		HealthCheckHttpCode: "http_2xx,http_3xx", Gzip: slb.OnFlag, XForwardedFor_SLBID: slb.OnFlag, Description: "web",
	}
	check(t, client.CreateLoadBalancerHTTPListener((*slb.CreateLoadBalancerHTTPListenerArgs)(&web)))
	secure := slb.HTTPSListenerType{HTTPListenerType: web, ServerCertificateId: uploaded.ServerCertificateId}
	secure.ListenerPort = 443
	check(t, client.CreateLoadBalancerHTTPSListener((*slb.CreateLoadBalancerHTTPSListenerArgs)(&secure)))
	tcp := slb.TCPListenerType{
		LoadBalancerId: id, ListenerPort: 22, Bandwidth: -1, VServerGroupId: group.VServerGroupId, PersistenceTimeout: 60,
		HealthCheckType:        slb.TCPHealthCheckType,
		HealthCheckConnectPort: 8022, HealthCheckConnectTimeout: 5, HealthyThreshold: 3, UnhealthyThreshold: 3,
	}
	check(t, client.CreateLoadBalancerTCPListener((*slb.CreateLoadBalancerTCPListenerArgs)(&tcp)))
	udp := slb.UDPListenerType{LoadBalancerId: id, ListenerPort: 53, Bandwidth: -1, VServerGroupId: group.VServerGroupId,
		HealthCheckConnectPort: 8053}
	check(t, client.CreateLoadBalancerUDPListener((*slb.CreateLoadBalancerUDPListenerArgs)(&udp)))
	tcp.Scheduler = slb.WLCScheduler
	tcp.HealthCheckInterval = 7
	check(t, client.SetLoadBalancerTCPListenerAttribute((*slb.SetLoadBalancerTCPListenerAttributeArgs)(&tcp)))
	udp.Description = "dns"
	check(t, client.SetLoadBalancerUDPListenerAttribute((*slb.SetLoadBalancerUDPListenerAttributeArgs)(&udp)))
	web.Gzip = slb.OffFlag
	check(t, client.SetLoadBalancerHTTPListenerAttribute((*slb.SetLoadBalancerHTTPListenerAttributeArgs)(&web)))
	secure.HealthCheckURI = "/secure"
	check(t, client.SetLoadBalancerHTTPSListenerAttribute((*slb.SetLoadBalancerHTTPSListenerAttributeArgs)(&secure)))
	for kind, port := range map[slb.ListenerType]int{slb.HTTP: 80, slb.HTTPS: 443, slb.TCP: 22, slb.UDP: 53} {
		check(t, client.WaitForListenerAsyn(id, port, kind, slb.Stopped, 0))
		check(t, client.StartLoadBalancerListener(id, port))
		check(t, client.WaitForListenerAsyn(id, port, kind, slb.Running, 0))
	}

	http, err := client.DescribeLoadBalancerHTTPListenerAttribute(id, 80)
	check(t, err)
	if http.Gzip != slb.OffFlag || http.CookieTimeout != 60 || http.Bandwidth != -1 ||
		http.HealthCheckHttpCode != "http_2xx,http_3xx" || http.Status != slb.Running {
		t.Errorf("HTTP listener %+v", http)
	}
	https, err := client.DescribeLoadBalancerHTTPSListenerAttribute(id, 443)
	check(t, err)
	if https.HealthCheckURI != "/secure" || https.ServerCertificateId != uploaded.ServerCertificateId ||
		https.VServerGroupId != group.VServerGroupId {
		t.Errorf("HTTPS listener %+v", https)
	}
	stream, err := client.DescribeLoadBalancerTCPListenerAttribute(id, 22)
	check(t, err)
	if stream.Scheduler != slb.WLCScheduler || stream.PersistenceTimeout != 60 || stream.HealthCheckInterval != 7 ||
		stream.HealthCheckConnectPort != 8022 {
		t.Errorf("TCP listener %+v", stream)
	}
	datagram, err := client.DescribeLoadBalancerUDPListenerAttribute(id, 53)
	check(t, err)
	if datagram.Description != "dns" || datagram.HealthCheckConnectPort != 8053 {
		t.Errorf("UDP listener %+v", datagram)
	}
	shown, err := client.DescribeLoadBalancerAttribute(id)
	check(t, err)
	if all := shown.ListenerPortsAndProtocol.ListenerPortAndProtocol; len(all) != 4 || len(shown.ListenerPorts.ListenerPort) != 4 {
		t.Errorf("listeners %+v", all)
	}
	health, err := client.DescribeHealthStatus(&slb.DescribeHealthStatusArgs{LoadBalancerId: id, ListenerPort: 80})
	check(t, err)
	if all := health.BackendServers.BackendServer; len(all) != 1 || all[0].ServerHealthStatus != "normal" {
		t.Errorf("health %+v", all)
	}

	aliyungoRules(t, client, id, group.VServerGroupId)
	check(t, client.StopLoadBalancerListener(id, 80))
	check(t, client.WaitForListenerAsyn(id, 80, slb.HTTP, slb.Stopped, 0))
	_, err = client.DeleteVServerGroup(&slb.DeleteVServerGroupArgs{RegionId: region, VServerGroupId: group.VServerGroupId})
	refused(t, err, 400, "RspoolVipExist")
	for _, port := range []int{80, 443, 22, 53} {
		check(t, client.DeleteLoadBalancerListener(id, port))
	}
	aliyungoGroups(t, client, id, group.VServerGroupId)
	check(t, client.DeleteServerCertificate(region, uploaded.ServerCertificateId))
	checkCalls(t, sim, "RspoolVipExist")
}

func aliyungoRules(t *testing.T, client *slb.Client, id, group string) {
	t.Helper()
	check(t, client.CreateRules(&slb.CreateRulesArgs{
		RegionId: region, LoadBalancerId: id, ListenerPort: 80,
		RuleList: `[{"RuleName":"api","Domain":"example.com","Url":"/api","VServerGroupId":"` + group + `"}]`,
	}))
	rules, err := client.DescribeRules(&slb.DescribeRulesArgs{RegionId: region, LoadBalancerId: id, ListenerPort: 80})
	check(t, err)
	if all := rules.Rules.Rule; len(all) != 1 || all[0].Url != "/api" {
		t.Fatalf("rules %+v", all)
	}
	rule := rules.Rules.Rule[0].RuleId
	check(t, client.SetRule(&slb.SetRuleArgs{RegionId: region, RuleId: rule, VServerGroupId: group}))
	check(t, client.DeleteRules(&slb.DeleteRulesArgs{RegionId: region, RuleIds: `["` + rule + `"]`}))
}

func aliyungoGroups(t *testing.T, client *slb.Client, id, group string) {
	t.Helper()
	_, err := client.AddVServerGroupBackendServers(&slb.AddVServerGroupBackendServersArgs{
		RegionId: region, LoadBalancerId: id, VServerGroupId: group, BackendServers: `[{"ServerId":"i-2","Weight":10,"Port":80}]`,
	})
	check(t, err)
	_, err = client.ModifyVServerGroupBackendServers(&slb.ModifyVServerGroupBackendServersArgs{
		RegionId: region, VServerGroupId: group,
		OldBackendServers: `[{"ServerId":"i-2","Port":80}]`, NewBackendServers: `[{"ServerId":"i-3","Port":80,"Weight":20}]`,
	})
	check(t, err)
	_, err = client.RemoveVServerGroupBackendServers(&slb.RemoveVServerGroupBackendServersArgs{
		RegionId: region, LoadBalancerId: id, VServerGroupId: group, BackendServers: `[{"ServerId":"i-1","Port":80}]`,
	})
	check(t, err)
	_, err = client.SetVServerGroupAttribute(&slb.SetVServerGroupAttributeArgs{
		RegionId: region, LoadBalancerId: id, VServerGroupId: group, VServerGroupName: "renamed",
		BackendServers: `[{"ServerId":"i-3","Port":80,"Weight":30}]`,
	})
	check(t, err)
	shown, err := client.DescribeVServerGroupAttribute(&slb.DescribeVServerGroupAttributeArgs{RegionId: region, VServerGroupId: group})
	check(t, err)
	if all := shown.BackendServers.BackendServer; len(all) != 1 || all[0].ServerId != "i-3" || all[0].Weight != 30 {
		t.Errorf("servers %+v", all)
	}
	groups, err := client.DescribeVServerGroups(&slb.DescribeVServerGroupsArgs{RegionId: region, LoadBalancerId: id,
		IncludeListener: true, IncludeRule: true})
	check(t, err)
	if all := groups.VServerGroups.VServerGroup; len(all) != 1 || all[0].VServerGroupName != "renamed" {
		t.Errorf("groups %+v", all)
	}
	_, err = client.DeleteVServerGroup(&slb.DeleteVServerGroupArgs{RegionId: region, VServerGroupId: group})
	check(t, err)
}
