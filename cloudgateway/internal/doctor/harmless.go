package doctor

import (
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/policy"
)

// Ids of nothing. RAM judges before anybody looks whether the thing exists.
const (
	noLoadBalancer  = "lb-cloudgatewaydoctor"
	noResourceGroup = "rg-cloudgatewaydoctor"
	noServerGroup   = "rsp-cloudgatewaydoctor"
	noVpc           = "vpc-cloudgatewaydoctor"
	noVSwitch       = "vsw-cloudgatewaydoctor"
	noRouteTable    = "vtb-cloudgatewaydoctor"
	noInstance      = "i-cloudgatewaydoctor"
	noInterface     = "eni-cloudgatewaydoctor"
	noServers       = `[{"ServerId":"` + noInstance + `","Port":"80","Weight":"0"}]`
	noNetwork       = "192.0.2.0/24" // reserved for documentation
	noRule          = "rule-cloudgatewaydoctor"
	noRules         = `[{"RuleName":"doctor","Domain":"doctor.invalid","VServerGroupId":"` + noServerGroup + `"}]`
	noExtension     = "de-cloudgatewaydoctor"
)

const (
	noEip   = "eip-cloudgatewaydoctor"
	noEntry = "rte-cloudgatewaydoctor"
)

// harmless are parameters with which an action has no effect: everything is about things that do not exist. All parameters that
// the action insists on are there, so that the cloud comes to ask RAM. Nil: nothing keeps the action from having an effect.
func harmless(row policy.Row) cloud.Params {
	switch string(row.Product) {
	case "slb":
		return harmlessSLB(row.Action)
	case "vpc":
		return harmlessVPC(row.Action)
	case "ecs":
		return harmlessECS(row.Action)
	}
	return nil
}

func harmlessSLB(action string) cloud.Params {
	lb := cloud.Params{"LoadBalancerId": noLoadBalancer}
	group := cloud.Params{"VServerGroupId": noServerGroup}
	listener := cloud.Params{"LoadBalancerId": noLoadBalancer, "ListenerPort": "80"}
	switch action {
	case "DescribeLoadBalancers", "DeleteLoadBalancer", "DescribeVServerGroups", "DescribeHealthStatus",
		"DescribeLoadBalancerAttribute":
		return lb
	case "CreateLoadBalancer":
		return cloud.Params{"AddressType": "intranet", "VpcId": noVpc, "VSwitchId": noVSwitch, "LoadBalancerSpec": "slb.s1.small"}
	case "SetLoadBalancerName":
		return lb.With("LoadBalancerName", "doctor")
	case "SetLoadBalancerDeleteProtection":
		return lb.With("DeleteProtection", "on")
	case "SetLoadBalancerModificationProtection":
		return lb.With("ModificationProtectionStatus", "ConsoleProtection")
	case "ModifyLoadBalancerInstanceSpec":
		return lb.With("LoadBalancerSpec", "slb.s1.small")
	case "ModifyLoadBalancerInstanceChargeType":
		return lb.With("InstanceChargeType", "PayByCLCU")
	case "ModifyLoadBalancerInternetSpec":
		return lb.With("InternetChargeType", "paybytraffic")
	case "SetLoadBalancerStatus":
		return lb.With("LoadBalancerStatus", "active")
	case "MoveResourceGroup":
		return cloud.Params{"ResourceType": "loadbalancer", "ResourceId": noLoadBalancer, "NewResourceGroupId": noResourceGroup}
	case "DescribeAvailableResource":
		return cloud.Params{"AddressType": "vpc"}
	case "TagResources":
		return cloud.Params{"ResourceType": "instance", "ResourceId.1": noLoadBalancer, "Tag.1.Key": "doctor", "Tag.1.Value": "doctor"}
	case "UntagResources":
		return cloud.Params{"ResourceType": "instance", "ResourceId.1": noLoadBalancer, "TagKey.1": "doctor"}
	case "DescribeLoadBalancerListeners":
		return cloud.Params{"LoadBalancerId.1": noLoadBalancer}
	case "CreateLoadBalancerTCPListener", "CreateLoadBalancerUDPListener":
		return listener.With("Bandwidth", "-1")
	case "CreateLoadBalancerHTTPListener", "CreateLoadBalancerHTTPSListener":
		return listener.With("Bandwidth", "-1").With("HealthCheck", "off").With("StickySession", "off").With("ServerCertificateId", "doctor")
	case "SetLoadBalancerTCPListenerAttribute", "SetLoadBalancerUDPListenerAttribute",
		"SetLoadBalancerHTTPListenerAttribute", "SetLoadBalancerHTTPSListenerAttribute":
		return listener.With("Description", "doctor")
	case "StartLoadBalancerListener", "StopLoadBalancerListener", "DeleteLoadBalancerListener":
		return listener.With("ListenerProtocol", "tcp")
	case "CreateVServerGroup":
		return lb.With("VServerGroupName", "doctor")
	case "DescribeVServerGroupAttribute", "DeleteVServerGroup":
		return group
	case "AddBackendServers", "SetBackendServers", "RemoveBackendServers":
		return lb.With("BackendServers", noServers)
	case "AddVServerGroupBackendServers", "RemoveVServerGroupBackendServers", "SetVServerGroupAttribute":
		return group.With("BackendServers", noServers)
	case "ModifyVServerGroupBackendServers":
		return group.With("OldBackendServers", noServers).With("NewBackendServers", noServers)
	case "DescribeRules", "DescribeDomainExtensions":
		return listener
	case "CreateRules":
		return listener.With("RuleList", noRules)
	case "SetRule":
		return cloud.Params{"RuleId": noRule, "RuleName": "doctor"}
	case "DescribeRuleAttribute":
		return cloud.Params{"RuleId": noRule}
	case "DeleteRules":
		return cloud.Params{}.JSONList("RuleIds", []string{noRule})
	case "CreateDomainExtension":
		return listener.With("Domain", "doctor.invalid").With("ServerCertificateId", "doctor")
	case "SetDomainExtensionAttribute":
		return cloud.Params{"DomainExtensionId": noExtension, "ServerCertificateId": "doctor"}
	case "DescribeDomainExtensionAttribute", "DeleteDomainExtension":
		return cloud.Params{"DomainExtensionId": noExtension}
	}
	return harmlessAccess(action)
}

func harmlessVPC(action string) cloud.Params {
	eip := cloud.Params{"AllocationId": noEip}
	entry := map[string]string{
		"RouteTableId": noRouteTable, "DstCidrBlock": noNetwork, "NextHop": noInstance, "NextHopType": "Instance",
	}
	switch action {
	case "DescribeVpcs", "DescribeVpcAttribute", "DescribeRouteTableList":
		return cloud.Params{"VpcId": noVpc}
	case "CreateRouteTable":
		return cloud.Params{"VpcId": noVpc}
	case "DeleteRouteTable":
		return cloud.Params{"RouteTableId": noRouteTable}
	case "AssociateRouteTable", "UnassociateRouteTable":
		return cloud.Params{"RouteTableId": noRouteTable, "VSwitchId": noVSwitch}
	case "CreateRouteEntry":
		return cloud.Params{"DryRun": "true", "RouteTableId": noRouteTable, "DestinationCidrBlock": noNetwork, "NextHopId": noInstance}
	case "ModifyRouteEntry":
		return cloud.Params{"RouteEntryId": noEntry, "RouteEntryName": "doctor"}
	case "CreateVSwitch":
		return cloud.Params{"VpcId": noVpc, "ZoneId": "doctor", "CidrBlock": "192.0.2.0/28"}
	case "DescribeVSwitches", "DeleteVSwitch":
		return cloud.Params{"VSwitchId": noVSwitch}
	case "DescribeEipAddresses":
		return cloud.Params{"AssociatedInstanceType": "SlbInstance", "AssociatedInstanceId": noLoadBalancer}
	case "AllocateEipAddress":
		return nil // There is no dry run, and a cloud that ignored invented parameters would sell an address.
	case "ModifyEipAddressAttribute":
		return eip.With("Name", "doctor")
	case "AssociateEipAddress", "UnassociateEipAddress":
		return eip.With("InstanceId", noInstance).With("InstanceType", "EcsInstance")
	case "ReleaseEipAddress":
		return eip
	case "TagResources":
		return cloud.Params{"ResourceType": "EIP", "ResourceId.1": noEip, "Tag.1.Key": "doctor", "Tag.1.Value": "doctor"}
	case "UnTagResources":
		return cloud.Params{"ResourceType": "EIP", "ResourceId.1": noEip, "TagKey.1": "doctor"}
	case "DescribeRouteEntryList":
		return cloud.Params{"RouteTableId": noRouteTable}
	case "CreateRouteEntries":
		return cloud.Params{"DryRun": "true"}.Items("RouteEntries", []map[string]string{entry})
	case "DeleteRouteEntries":
		delete(entry, "NextHopType")
		return cloud.Params{"DryRun": "true"}.Items("RouteEntries", []map[string]string{entry})
	}
	return nil
}

func harmlessECS(action string) cloud.Params {
	switch action {
	case "DescribeInstances":
		return cloud.Params{}.JSONList("InstanceIds", []string{noInstance})
	case "DescribeNetworkInterfaces":
		return cloud.Params{"NetworkInterfaceId.1": noInterface}
	case "ModifyNetworkInterfaceAttribute":
		return cloud.Params{"NetworkInterfaceId": noInterface, "SourceDestCheck": "true"}
	case "DescribeInstanceStatus":
		return cloud.Params{"InstanceId.1": noInstance}
	case "StartInstance", "StopInstance":
		return cloud.Params{"InstanceId": noInstance}
	case "DeleteInstance":
		return cloud.Params{"InstanceId": noInstance, "DryRun": "true"}
	case "ModifyInstanceAttribute":
		return cloud.Params{"InstanceId": noInstance, "InstanceName": "doctor"}
	case "TagResources":
		return cloud.Params{"ResourceType": "instance", "ResourceId.1": noInstance, "Tag.1.Key": "doctor", "Tag.1.Value": "doctor"}
	case "UntagResources":
		return cloud.Params{"ResourceType": "instance", "ResourceId.1": noInstance, "TagKey.1": "doctor"}
	}
	return nil
}
