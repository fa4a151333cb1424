package nlb_test

import (
	"fmt"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
)

// refusal is a call that is refused: a valid one with some parameters changed.
type refusal struct {
	action, code string
	changes      []string
}

func refused(action, code string, changes ...string) refusal { return refusal{action, code, changes} }

// Everything that the tables say is refused, with the code that they say.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, r := range allRefusals() {
		t.Run(fmt.Sprint(r.action, " ", r.code, " ", strings.Join(r.changes, " ")), func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			if _, code := c.Call(r.action, with(valid()[r.action], r.changes...)...); code != r.code {
				t.Errorf("%q", code)
			}
		})
	}
}

func allRefusals() []refusal {
	all := balancerRefusals()
	all = append(all, zoneRefusals()...)
	all = append(all, listenerRefusals()...)
	all = append(all, groupRefusals()...)
	all = append(all, serverRefusals()...)
	return append(all, otherRefusals()...)
}

func balancerRefusals() []refusal {
	all := []refusal{
		refused("CreateLoadBalancer", "IllegalParam.loadBalancerName", "LoadBalancerName", "1"),
		refused("CreateLoadBalancer", "IllegalParam", "LoadBalancerType", "Application"),
		refused("CreateLoadBalancer", "IllegalParam", "Tag.1.Key", "acs:x"),
		refused("CreateLoadBalancer", "IllegalParam", "BandwidthPackageId", "cbwp-x"),
		refused("CreateLoadBalancer", "IllegalParam", "AddressType", "Intranet", "BandwidthPackageId", "cbwp-1"),
		refused("CreateLoadBalancer", "OperationDenied.OnlyPostPaidSupported", "LoadBalancerBillingConfig.PayType", "PrePay"),
		refused("CreateLoadBalancer", "ResourceNotFound.Vpc", "VpcId", "vpc-x"),
		refused("CreateLoadBalancer", "OperationFailed.NotExist.ResourceGroup", "ResourceGroupId", "x"),
		refused("CreateLoadBalancer", "ResourceNotFound.SecurityGroup", "SecurityGroupIds.1", "sg-x"),
		refused("CreateLoadBalancer", "Mismatch.vpc", "SecurityGroupIds.1", "sg-far"),
		refused("CreateLoadBalancer", "Conflict.SecurityGroup", "SecurityGroupIds.1", "sg-1", "SecurityGroupIds.2", "sg-advanced"),
		refused("CreateLoadBalancer", "ResourceAlreadyAssociated.SecurityGroup", "SecurityGroupIds.1", "sg-1", "SecurityGroupIds.2", "sg-1"),
		refused("GetLoadBalancerAttribute", "ResourceNotFound.loadBalancer", "LoadBalancerId", "nlb-x"),
		refused("ListLoadBalancers", "IllegalParam.LoadBalancerType", "LoadBalancerType", "Application"),
		refused("ListLoadBalancers", "IllegalParam", "NextToken", "x"),
		refused("ListLoadBalancers", "IllegalParam", "MaxResults", "101"),
		refused("DeleteLoadBalancer", "OperationDenied.DeletionProtectionEnabled", "LoadBalancerId", "nlb-kept"),
		refused("DeleteLoadBalancer", "Conflict.Lock", "LoadBalancerId", "nlb-joining"),
		refused("UpdateLoadBalancerAttribute", "IllegalParam.loadBalancerName", "LoadBalancerName", "_"),
		refused("UpdateLoadBalancerProtection", "IllegalParam", "DeletionProtectionEnabled", ""),
		refused("UpdateLoadBalancerProtection", "IllegalParam.deletionProtectionReason", "DeletionProtectionReason", "x"),
		refused("UpdateLoadBalancerProtection", "IllegalParam.modificationProtectionReason", "ModificationProtectionReason", "x"),
		refused("EnableLoadBalancerIpv6Internet", "OperationDenied.NonDualStackInstance", "LoadBalancerId", "nlb-2"),
		refused("EnableLoadBalancerIpv6Internet", "ResourceNotFound.Ipv6Gateway", "LoadBalancerId", "nlb-no-gateway"),
		refused("DisableLoadBalancerIpv6Internet", "OperationDenied.NonDualStackInstance", "LoadBalancerId", "nlb-2"),
		refused("DisableLoadBalancerIpv6Internet", "OperationDenied.Ipv6IntranetInstance", "LoadBalancerId", "nlb-1"),
		refused("LoadBalancerJoinSecurityGroup", "ResourceNotFound.SecurityGroup", "SecurityGroupIds.1", "sg-x"),
		refused("LoadBalancerJoinSecurityGroup", "Mismatch.vpc", "SecurityGroupIds.1", "sg-far"),
		refused("LoadBalancerJoinSecurityGroup", "Conflict.SecurityGroup", "SecurityGroupIds.2", "sg-advanced"),
		refused("LoadBalancerJoinSecurityGroup", "ResourceAlreadyAssociated.SecurityGroup", "LoadBalancerId", "nlb-2"),
		refused("LoadBalancerJoinSecurityGroup", "QuotaExceeded.QuotaInsufficient",
			"SecurityGroupIds.2", "sg-2", "SecurityGroupIds.3", "sg-3", "SecurityGroupIds.4", "sg-4", "SecurityGroupIds.5", "sg-5"),
		refused("LoadBalancerLeaveSecurityGroup", "ResourceNotFound.SecurityGroup", "SecurityGroupIds.1", "sg-2"),
		refused("AttachCommonBandwidthPackageToLoadBalancer", "OperationDenied.IntranetLoadBalancer", "LoadBalancerId", "nlb-in"),
		refused("AttachCommonBandwidthPackageToLoadBalancer", "ResourceAlreadyAssociated.loadbalancer", "LoadBalancerId", "nlb-2"),
		refused("AttachCommonBandwidthPackageToLoadBalancer", "ResourceNotFound.BandwidthPackageId", "BandwidthPackageId", "x"),
		refused("AttachCommonBandwidthPackageToLoadBalancer", "ResourceNotFound.CommonBandwidthPackage", "BandwidthPackageId", "cbwp-x"),
		refused("DetachCommonBandwidthPackageFromLoadBalancer", "ResourceNotAssociated.loadbalancer", "LoadBalancerId", "nlb-1"),
		refused("MoveResourceGroup", "OperationFailed.NotExist.ResourceGroup", "NewResourceGroupId", "x"),
		refused("LoadBalancerJoinSecurityGroup", "Conflict.Lock", "LoadBalancerId", "nlb-joining"),
		refused("LoadBalancerLeaveSecurityGroup", "Conflict.Lock", "LoadBalancerId", "nlb-joining"),
		refused("UpdateLoadBalancerAttribute", "ResourceInConfiguring.loadbalancer", "LoadBalancerId", "nlb-new"),
	}
	for action, params := range valid() {
		if a, ok := codesOf(action); ok && a["ResourceNotFound.loadBalancer"] && params[0] == "LoadBalancerId" {
			all = append(all, refused(action, "ResourceNotFound.loadBalancer", "LoadBalancerId", "nlb-x"))
			for code, id := range map[string]string{
				"ResourceInCreating.loadbalancer": "nlb-new", "ResourceInConfiguring.loadbalancer": "nlb-busy",
				"IncorrectStatus.loadbalancer": "nlb-dead",
			} {
				if a[code] {
					all = append(all, refused(action, code, "LoadBalancerId", id))
				}
			}
		}
	}
	return all
}

// codesOf are the codes that the table of an action names.
func codesOf(action string) (map[string]bool, bool) {
	for _, a := range nlb.Product().Actions {
		if a.Name == action {
			codes := map[string]bool{}
			for _, code := range a.Codes {
				codes[code] = true
			}
			return codes, true
		}
	}
	return nil, false
}

func zoneRefusals() []refusal {
	const second, vswitch, eip = "ZoneMappings.2.ZoneId", "ZoneMappings.2.VSwitchId", "ZoneMappings.2.AllocationId"
	var all []refusal
	for _, action := range []string{"CreateLoadBalancer", "UpdateLoadBalancerZones"} {
		id := func(changes ...string) []string {
			if action == "UpdateLoadBalancerZones" {
				return append(changes, "LoadBalancerId", "nlb-1")
			}
			return changes
		}
		six := id("AddressIpVersion", "DualStack", second, "z-c", vswitch, "vsw-c")
		all = append(all,
			refused(action, "MissingParam.ZoneMappings", id(vswitch, "")...),
			refused(action, "InvalidZones", id(second, "", vswitch, "")...),
			refused(action, "UnauthorizedZone", id(second, "z-x", vswitch, "vsw-b")...),
			refused(action, "OperationFailed.DuplicateZones.", id(second, "z-a", vswitch, "vsw-a")...),
			refused(action, "ResourceNotFound.VSwitch", id(second, "z-b", vswitch, "vsw-x")...),
			refused(action, "ResourceNotFound.VSwitch", id(second, "z-a", vswitch, "vsw-far", "ZoneMappings.1.ZoneId", "z-b",
				"ZoneMappings.1.VSwitchId", "vsw-b")...),
			refused(action, "Mismatch.ZoneIdAndVswitchId", id(second, "z-c", vswitch, "vsw-b")...),
			refused(action, "OperationFailed.vSwitchNotSupportIpv6", six...),
			refused(action, "DuplicatedParam.AllocationId", id(second, "z-b", vswitch, "vsw-b", eip, "eip-1",
				"ZoneMappings.1.AllocationId", "eip-1")...),
			refused(action, "ResourceAlreadyAssociated.AllocationId", id(second, "z-b", vswitch, "vsw-b", eip, "eip-used")...),
			refused(action, "IllegalParam", id(second, "z-b", vswitch, "vsw-b", eip, "eip-x")...),
			refused(action, "ResourceInConfiguring.VswitchId", second, "z-c", vswitch, "vsw-pending"),
			refused(action, "ResourceNotEnough.VSwitchIp", second, "z-c", vswitch, "vsw-full"),
			refused(action, "ResourceInUse.IP", second, "z-c", vswitch, "vsw-full", "ZoneMappings.2.PrivateIPv4Address", "192.168.3.1"),
			refused(action, "IllegalParam", second, "z-c", vswitch, "vsw-c", "ZoneMappings.2.PrivateIPv4Address", "192.168.2.255"),
		)
	}
	return append(all,
		refused("UpdateLoadBalancerZones", "OperationDenied.ZoneVSwitchChanged", "ZoneMappings.1.VSwitchId", "vsw-a2"),
		refused("UpdateLoadBalancerZones", "OperationDenied.ProtectedPrivateIPv4AddressChanged", "LoadBalancerId", "nlb-kept",
			"ZoneMappings.1.PrivateIPv4Address", "192.168.0.9"),
		refused("UpdateLoadBalancerZones", "IllegalParam", "ZoneMappings.1.PrivateIPv4Address", "10.0.0.9"),
		refused("UpdateLoadBalancerAddressTypeConfig", "OperationDenied.AddressTypeNotChanged", "AddressType", "Intranet"),
		refused("UpdateLoadBalancerAddressTypeConfig", "Mismatch.ZoneIdAndVswitchId", "ZoneMappings.1.VSwitchId", "vsw-b"),
		refused("UpdateLoadBalancerAddressTypeConfig", "DuplicatedParam.AllocationId", second, "z-b", vswitch, "vsw-b", eip, "eip-1"),
		refused("UpdateLoadBalancerAddressTypeConfig", "ResourceAlreadyAssociated.AllocationId", second, "z-b", vswitch,
			"vsw-b", eip, "eip-used"),
		refused("UpdateLoadBalancerAddressTypeConfig", "IllegalParam", "ZoneMappings.1.AllocationId", "eip-x"),
		refused("StartShiftLoadBalancerZones", "IllegalParam", second, "z-b", vswitch, "vsw-b"),
		refused("StartShiftLoadBalancerZones", "InvalidZones", "ZoneMappings.1.VSwitchId", "vsw-b"),
		refused("CancelShiftLoadBalancerZones", "IllegalParam", "LoadBalancerId", "nlb-shifted", second, "z-b", vswitch, "vsw-b"),
		refused("StartShiftLoadBalancerZones", "InvalidZones", "LoadBalancerId", "nlb-shifted"),
		refused("CancelShiftLoadBalancerZones", "InvalidZones", "LoadBalancerId", "nlb-1"),
	)
}

func listenerRefusals() []refusal {
	long := strings.Repeat("x", 257)
	tls := []string{"ListenerProtocol", "TCPSSL", "ServerGroupId", "sgp-tls", "CertificateIds.1", "cert-1"}
	all := []refusal{
		refused("CreateListener", "ResourceNotFound.loadBalancer", "LoadBalancerId", "nlb-x"),
		refused("CreateListener", "IncorrectStatus.loadbalancer", "LoadBalancerId", "nlb-new"),
		refused("CreateListener", "Conflict.Port", "ListenerPort", "80"),
		refused("CreateListener", "Conflict.Port", "ListenerPort", "1500"),
		refused("CreateListener", "Conflict.Port", "ListenerPort", "0", "StartPort", "70", "EndPort", "90"),
		refused("CreateListener", "Conflict.Port", with(tls, "ListenerPort", "80")...),
		refused("CreateListener", "IllegalParam.Port", "ListenerPort", "65536"),
		refused("CreateListener", "IllegalParam.Port", "ListenerPort", "0"),
		refused("CreateListener", "IllegalParam.Port", "ListenerPort", "0", "StartPort", "9", "EndPort", "9"),
		refused("CreateListener", "IllegalParam.Port", "StartPort", "9"),
		refused("CreateListener", "IllegalParam", "Tag.1.Value", "v"),
		refused("CreateListener", "MissingParam.Certificate", "ListenerProtocol", "TCPSSL", "ServerGroupId", "sgp-tls"),
		refused("CreateListener", "MissingParam.AlpnPolicy", with(tls, "AlpnEnabled", "true")...),
		refused("CreateListener", "MissingParam.CaCertificate", with(tls, "CaEnabled", "true")...),
		refused("CreateListener", "IllegalParam.PreserveClientIpSwitch", with(tls, "ServerGroupId", "sgp-1")...),
		refused("UpdateListenerAttribute", "MissingParam.AlpnPolicy", "ListenerId", "lsn-tls@443", "AlpnEnabled", "true"),
		refused("UpdateListenerAttribute", "MissingParam.CaCertificate", "ListenerId", "lsn-locked@80", "CaEnabled", "true",
			"CertificateIds.1", "cert-1"),
		refused("UpdateListenerAttribute", "IllegalParam.PreserveClientIpSwitch", "ListenerId", "lsn-tls@443", "ServerGroupId", "sgp-1"),
		refused("UpdateListenerAttribute", "IllegalParam.NonAnyPortListenerConflictWithAnyPortServerGroup", "ServerGroupId", "sgp-any"),
		refused("UpdateListenerAttribute", "IllegalParam.AnyPortListenerConflictWithNonAnyPortServerGroup", "ListenerId",
			"lsn-any@0", "ServerGroupId", "sgp-1"),
		refused("CreateListener", "IllegalParam.NonAnyPortListenerConflictWithAnyPortServerGroup", "ServerGroupId", "sgp-any"),
		refused("CreateListener", "IllegalParam.AnyPortListenerConflictWithNonAnyPortServerGroup", "ListenerPort", "0",
			"StartPort", "9", "EndPort", "10"),
		refused("StartListener", "IncorrectStatus.listener", "ListenerId", "lsn-1@80"),
		refused("StopListener", "IncorrectStatus.listener", "ListenerId", "lsn-off@81"),
		refused("DeleteListener", "Conflict.Lock", "ListenerId", "lsn-tls@443"),
		refused("ListListenerCertificates", "OperationDenied.Protocol", "ListenerId", "lsn-1@80"),
		refused("AssociateAdditionalCertificatesWithListener", "OperationDenied.Protocol", "ListenerId", "lsn-1@80"),
		refused("AssociateAdditionalCertificatesWithListener", "ResourceNotFound.Certificate", "AdditionalCertificateIds.1", "ca-1"),
		refused("AssociateAdditionalCertificatesWithListener", "ResourceAlreadyAssociated.Certificate", "AdditionalCertificateIds.2", "cert-2"),
		refused("AssociateAdditionalCertificatesWithListener", "ResourceAlreadyAssociated.Certificate", "AdditionalCertificateIds.2", "cert-4"),
		refused("DisassociateAdditionalCertificatesWithListener", "OperationDenied.Protocol", "ListenerId", "lsn-1@80"),
		refused("DisassociateAdditionalCertificatesWithListener", "OperationDenied.DefaultCertificateUsed",
			"AdditionalCertificateIds.1", "cert-1"),
		refused("DisassociateAdditionalCertificatesWithListener", "OperationDenied.CaCertificateUsed", "AdditionalCertificateIds.1", "ca-1"),
		refused("DisassociateAdditionalCertificatesWithListener", "ResourceNotAssociated.Certificate", "AdditionalCertificateIds.1", "cert-4"),
		refused("DisassociateAdditionalCertificatesWithListener", "IncorrectStatus.certificate", "AdditionalCertificateIds.1", "cert-3"),
	}
	for action, secure := range map[string][]string{"CreateListener": tls, "UpdateListenerAttribute": {"ListenerId", "lsn-tls@443"}} {
		udp := []string{"ListenerProtocol", "UDP", "ServerGroupId", "sgp-udp", "ListenerId", "lsn-udp@53"}
		all = append(all,
			refused(action, "ResourceNotFound.serverGroup", "ServerGroupId", "sgp-x"),
			refused(action, "IncorrectStatus.serverGroup", "ServerGroupId", "sgp-new"),
			refused(action, "IncorrectStatus.serverGroup", "ServerGroupId", "sgp-going"),
			refused(action, "Mismatch.VpcId", "ServerGroupId", "sgp-far"),
			refused(action, "Mismatch.Protocol", "ServerGroupId", "sgp-udp"),
			refused(action, "IllegalParam", "ProxyProtocolV2Config", "[]"),
			refused(action, "IllegalParam.IdleTimeout", "IdleTimeout", "901"),
			refused(action, "IllegalParam.IdleTimeout", with(udp, "IdleTimeout", "21")...),
			refused(action, "IllegalParam.MssConflictWithUdpAndGeneve", with(udp, "Mss", "1400")...),
			refused(action, "IllegalParam.ListenerDescription", "ListenerDescription", long),
			refused(action, "IllegalParamSize.certificateIds", with(secure, "CertificateIds.1", "cert-1", "CertificateIds.2", "cert-2")...),
			refused(action, "ResourceNotFound.Certificate", with(secure, "CertificateIds.1", "cert-x")...),
			refused(action, "ResourceNotFound.CaCertificate", with(secure, "CaCertificateIds.1", "cert-1")...),
			refused(action, "ResourceNotFound.securitypolicy", with(secure, "SecurityPolicyId", "tls-x")...),
		)
	}
	for action, params := range valid() {
		if a, _ := codesOf(action); a["ResourceNotFound.listener"] && params[0] == "ListenerId" {
			all = append(all, refused(action, "ResourceNotFound.listener", "ListenerId", "lsn-x@80"))
			if a["IncorrectStatus.listener"] {
				all = append(all, refused(action, "IncorrectStatus.listener", "ListenerId", "lsn-busy@82"),
					refused(action, "IncorrectStatus.loadbalancer", "ListenerId", "lsn-held@80"))
			}
		}
	}
	return all
}

func groupRefusals() []refusal {
	const check = "HealthCheckConfig."
	var all []refusal
	for action, any := range map[string][]string{
		"CreateServerGroup": {"AnyPortEnabled", "true"}, "UpdateServerGroupAttribute": {"ServerGroupId", "sgp-any", check +
			"HealthCheckEnabled", "true"},
	} {
		tls := []string{"Protocol", "TCPSSL", "ServerGroupId", "sgp-tls", "PreserveClientIpEnabled", "true"}
		all = append(all,
			refused(action, "IllegalParam.ServerGroupName", "ServerGroupName", "x"),
			refused(action, "IllegalParam.ConnectionDrainTimeout", "ConnectionDrainTimeout", "901"),
			refused(action, "IllegalParam.PreserveClientIpSwitch", tls...),
			refused(action, "IllegalParam", "Scheduler", "fair"),
			refused(action, "IllegalParam", "Scheduler", "qch"),
			refused(action, "IllegalParam", check+"HealthCheckInterval", "51"),
			refused(action, "IllegalParam.healthCheckDomain", check+"HealthCheckDomain", "$HOST"),
			refused(action, "IlleagalParam.healthCheckUrl", check+"HealthCheckUrl", "index"),
			refused(action, "IllegalParam.AnyPortServerGroupConflictWithHealthCheckConfig", any...),
		)
	}
	return append(all,
		refused("CreateServerGroup", "IllegalParam", "Tag.1.Key", "k", "Tag.2.Key", "k"),
		refused("CreateServerGroup", "ResourceNotFound.Vpc", "VpcId", "vpc-x"),
		refused("CreateServerGroup", "ResourceNotFound.ResourceGroup", "ResourceGroupId", "x"),
		refused("CreateServerGroup", "OperationDenied.VpcNotSupportIpv6", "VpcId", "vpc-2", "AddressIPVersion", "DualStack"),
		refused("UpdateServerGroupAttribute", "ResourceNotFound.serverGroup", "ServerGroupId", "sgp-x"),
		refused("UpdateServerGroupAttribute", "IncorrectStatus.serverGroup", "ServerGroupId", "sgp-new"),
		refused("DeleteServerGroup", "ResourceNotFound.serverGroup", "ServerGroupId", "sgp-x"),
		refused("DeleteServerGroup", "ResourceInUse.ServerGroup", "ServerGroupId", "sgp-1"),
		refused("DeleteServerGroup", "IncorrectStatus.serverGroup", "ServerGroupId", "sgp-going"),
		refused("DeleteServerGroup", "Conflict.Lock", "ServerGroupId", "sgp-busy"),
		refused("ListServerGroupServers", "ResourceNotFound.serverGroup", "ServerGroupId", "sgp-x"),
	)
}

func serverRefusals() []refusal {
	const kind, id, ip, port, group = "Servers.1.ServerType", "Servers.1.ServerId", "Servers.1.ServerIp", "Servers.1.Port", "ServerGroupId"
	var all []refusal
	for _, action := range []string{"AddServersToServerGroup", "RemoveServersFromServerGroup", "UpdateServerGroupServersAttribute"} {
		twice := []string{"Servers.2.ServerType", "Ecs", "Servers.2.ServerId",
			map[bool]string{true: "i-3", false: "i-1"}[action == "AddServersToServerGroup"], "Servers.2.Port", "80"}
		all = append(all,
			refused(action, "ResourceNotFound.serverGroup", group, "sgp-x"),
			refused(action, "IncorrectStatus.serverGroup", group, "sgp-new"),
			refused(action, "Conflict.Lock", group, "sgp-busy"),
			refused(action, "MissingParam.ServerId", id, ""),
			refused(action, "MissingParam.ServerType", kind, ""),
			refused(action, "IllegalParam", kind, "elephant"),
			refused(action, "IllegalParam", port, "65536"),
			refused(action, "IllegalParam", "Servers.1.Weight", "101"),
			refused(action, "DuplicatedParam.Server", twice...),
		)
		if action != "AddServersToServerGroup" {
			all = append(all, refused(action, "ResourceNotFound.BackendServer", id, "i-3"),
				refused(action, "ResourceNotFound.BackendServer", port, "81"))
		}
		if action != "RemoveServersFromServerGroup" {
			all = append(all, refused(action, "IllegalParam.description", "Servers.1.Description", "x"))
		}
	}
	add := func(code string, changes ...string) {
		all = append(all, refused("AddServersToServerGroup", code, changes...))
	}
	add("DuplicatedParam.Server", id, "i-1")
	add("ResourceInUse.IP", kind, "Eni", id, "eni-same")
	add("Mismatch.ServerType", kind, "Ip", id, "192.168.0.99")
	add("Mismatch.ServerType", group, "sgp-ip")
	add("IllegalParam.RSPortConflictWithServerGroup", group, "sgp-any")
	add("IllegalParam.RSPortConflictWithServerGroup", port, "0")
	add("ResourceNotFound.Ecs", id, "i-x")
	add("ResourceNotFound.Eni", kind, "Eni", id, "eni-x")
	add("ResourceNotFound.Eci", kind, "Eci", id, "eci-x")
	add("Mismatch.VpcId", id, "i-far")
	add("Mismatch.VpcId", kind, "Eni", id, "eni-far")
	add("IncorrectStatus.Eni", kind, "Eni", id, "eni-free")
	add("IllegalParam.IP", kind, "Eni", id, "eni-1", ip, "192.168.0.99")
	add("IllegalParam.IP", ip, "192.168.0.99")
	add("IllegalParam.IP", group, "sgp-ip", kind, "Ip", id, "8.8.8.8")
	add("MissingParam.IP", group, "sgp-ip", kind, "Ip", id, "x")
	add("OperationDenied.ServerGroupNotSupportIpv6", kind, "Eni", id, "eni-1", ip, "2408:0:0:1::9")
	many := []string{}
	for n := range 201 {
		many = append(many, fmt.Sprintf("Servers.%d.ServerId", n+1), "i-1")
	}
	add("IllegalParam", many...)
	return all
}

func otherRefusals() []refusal {
	kinds := map[string]string{
		"loadbalancer": "ResourceNotFound.loadBalancer", "listener": "ResourceNotFound.listener", "servergroup": "ResourceNotFound.serverGroup",
		"securitypolicy": "ResourceNotFound.securitypolicy",
	}
	all := []refusal{
		refused("GetJobStatus", "ResourceNotFound.JobId", "JobId", "x"),
		refused("TagResources", "IllegalParam", "Tag.1.Key", strings.Repeat("k", 65)),
		refused("UntagResources", "IllegalParam", "TagKey.1", "acs:k"),
		refused("ListTagResources", "IllegalParam", "Tag.1.Value", "v"),
		refused("CreateSecurityPolicy", "IllegalParam", "SecurityPolicyName", "x"),
		refused("CreateSecurityPolicy", "OperationFailed.NotExist.ResourceGroup", "ResourceGroupId", "x"),
		refused("UpdateSecurityPolicyAttribute", "IllegalParam", "SecurityPolicyName", "x"),
		refused("UpdateSecurityPolicyAttribute", "ResourceNotFound.securitypolicy", "SecurityPolicyId", "tls-x"),
		refused("DeleteSecurityPolicy", "ResourceNotFound.securitypolicy", "SecurityPolicyId", "tls-x"),
		refused("DeleteSecurityPolicy", "ResourceInUse.securitypolicy", "SecurityPolicyId", "tls-used"),
	}
	for kind, code := range kinds {
		for _, action := range []string{"TagResources", "UntagResources"} {
			all = append(all, refused(action, code, "ResourceType", kind, "ResourceId.1", "x"))
		}
		if kind != "listener" {
			all = append(all, refused("MoveResourceGroup", code, "ResourceType", kind, "ResourceId", "x"))
		}
	}
	return all
}
