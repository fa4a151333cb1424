package rampolicy

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/services/gateway/method"
)

// Feature is a part of the system that can be used without the others, and has a RAM policy of its own: a controller, or what a service
// of the gateway's API offers to other programs besides, which has the name of the service.
type Feature string

// The features.
const (
	// LoadBalancers is what lbcontroller needs.
	LoadBalancers Feature = "load-balancers"
	// DefaultServerGroups is what lbcontroller needs besides where Services have the annotation default-server-group.
	DefaultServerGroups Feature = "default-server-groups"
	// Nodes is what nodecontroller needs.
	Nodes Feature = "nodes"
	// Routes is what routecontroller needs.
	Routes Feature = "routes"
)

// The services of the API that offer other programs more than the controllers use.
const (
	loadBalancerService      Feature = "slb.v1.LoadBalancerService"
	listenerService          Feature = "slb.v1.ListenerService"
	serverGroupService       Feature = "slb.v1.ServerGroupService"
	forwardingRuleService    Feature = "slb.v1.ForwardingRuleService"
	accessControlListService Feature = "slb.v1.AccessControlListService"
	certificateService       Feature = "slb.v1.CertificateService"
	routeService             Feature = "vpc.v1.RouteService"
	networkService           Feature = "vpc.v1.NetworkService"
	vSwitchService           Feature = "vpc.v1.VSwitchService"
	eipService               Feature = "vpc.v1.EipService"
	instanceService          Feature = "ecs.v1.InstanceService"
	networkInterfaceService  Feature = "ecs.v1.NetworkInterfaceService"
)

// Features are all features that need a permission, in the order in which people meet them.
func Features() []Feature {
	all := []Feature{LoadBalancers, DefaultServerGroups, Nodes, Routes}
	for _, service := range method.ToolServices() {
		all = append(all, Feature(service))
	}
	return slices.DeleteFunc(all, func(f Feature) bool { return len(Of(f)) == 0 })
}

// Used are the features that all controllers need in any case, and those of the services that are enabled for other programs.
func Used(api config.API) []Feature {
	used := []Feature{LoadBalancers, Nodes, Routes}
	for _, service := range api.Enable {
		used = append(used, Feature(service))
	}
	return used
}

// Optional are the features that the controllers need for what users may ask for, or may not.
func Optional() []Feature { return []Feature{DefaultServerGroups} }

// About tells people what a feature is.
func (f Feature) About() string {
	switch f {
	case LoadBalancers:
		return "Services of type LoadBalancer become CLB instances: lbcontroller."
	case DefaultServerGroups:
		return "The nodes of a Service are in the default server group of its CLB instance, too: lbcontroller, only if a Service has the annotation " +
			"`default-server-group`. Other programs need it for `GetDefaultServerGroup` and `ApplyDefaultServerChanges`."
	case Nodes:
		return "Nodes are initialised from their ECS instances, and removed with them: nodecontroller."
	case Routes:
		return "Pod networks become entries of VPC route tables: routecontroller."
	default: // A service.
		return "What `" + string(f) + "` offers to other programs and no controller uses, if `api.enable` of the gateway's configuration lists it."
	}
}

// Row says that an action of the cloud is called, what for, and by which features.
type Row struct {
	Product  openapi.Product
	Action   string
	For      string
	Features []Feature
}

// Name is the action as RAM spells it, e.g. "slb:CreateLoadBalancer".
func (r Row) Name() string { return string(r.Product) + ":" + r.Action }

// Rows returns the table: everything that the gateway calls and that RAM can refuse. The gateway sends nothing else.
func Rows() []Row {
	row := func(product openapi.Product, action, what string, features ...Feature) Row {
		return Row{Product: product, Action: action, For: what, Features: features}
	}
	return []Row{
		row(openapi.SLB, "DescribeLoadBalancers", "find and read instances", LoadBalancers),
		row(openapi.SLB, "CreateLoadBalancer", "create an instance", LoadBalancers),
		row(openapi.SLB, "DeleteLoadBalancer", "delete an instance", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerName", "change the name", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerDeleteProtection", "change the deletion protection", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerModificationProtection", "change the modification protection", LoadBalancers),
		row(openapi.SLB, "ModifyLoadBalancerInstanceSpec", "change the size", LoadBalancers),
		row(openapi.SLB, "ModifyLoadBalancerInstanceChargeType", "change from pay-by-specification to pay-by-usage and back", LoadBalancers),
		row(openapi.SLB, "ModifyLoadBalancerInternetSpec", "change the bandwidth and its charge type", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerStatus", "let an instance serve, or not", loadBalancerService),
		row(openapi.SLB, "MoveResourceGroup", "change the resource group", loadBalancerService, accessControlListService, certificateService),
		row(openapi.SLB, "DescribeAvailableResource", "find zones for an instance", loadBalancerService),
		row(openapi.SLB, "TagResources", "set tags", LoadBalancers, loadBalancerService, listenerService, serverGroupService, accessControlListService, certificateService),
		row(openapi.SLB, "UntagResources", "remove tags", LoadBalancers, loadBalancerService, listenerService, serverGroupService, accessControlListService, certificateService),

		row(openapi.SLB, "DescribeLoadBalancerListeners", "read listeners", LoadBalancers),
		row(openapi.SLB, "CreateLoadBalancerTCPListener", "create a listener", LoadBalancers),
		row(openapi.SLB, "CreateLoadBalancerUDPListener", "create a listener", LoadBalancers),
		row(openapi.SLB, "CreateLoadBalancerHTTPListener", "create a listener", LoadBalancers),
		row(openapi.SLB, "CreateLoadBalancerHTTPSListener", "create a listener", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerTCPListenerAttribute", "change a listener", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerUDPListenerAttribute", "change a listener", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerHTTPListenerAttribute", "change a listener", LoadBalancers),
		row(openapi.SLB, "SetLoadBalancerHTTPSListenerAttribute", "change a listener", LoadBalancers),
		row(openapi.SLB, "StartLoadBalancerListener", "start a listener", LoadBalancers),
		row(openapi.SLB, "StopLoadBalancerListener", "stop a listener", listenerService),
		row(openapi.SLB, "DeleteLoadBalancerListener", "delete a listener", LoadBalancers),
		row(openapi.SLB, "DescribeHealthStatus", "read the health of servers", LoadBalancers),

		row(openapi.SLB, "DescribeVServerGroups", "read the server groups of an instance", LoadBalancers),
		row(openapi.SLB, "DescribeVServerGroupAttribute", "read the servers of a group", LoadBalancers),
		row(openapi.SLB, "CreateVServerGroup", "create a server group", LoadBalancers),
		row(openapi.SLB, "DeleteVServerGroup", "delete a server group", LoadBalancers),
		row(openapi.SLB, "AddVServerGroupBackendServers", "add servers", LoadBalancers),
		row(openapi.SLB, "RemoveVServerGroupBackendServers", "remove servers", LoadBalancers),
		row(openapi.SLB, "ModifyVServerGroupBackendServers", "replace servers", LoadBalancers),
		row(openapi.SLB, "SetVServerGroupAttribute", "change weights of servers", LoadBalancers),
		row(openapi.SLB, "DescribeLoadBalancerAttribute", "read the default server group of an instance", DefaultServerGroups),
		row(openapi.SLB, "AddBackendServers", "add servers to a default server group", DefaultServerGroups),
		row(openapi.SLB, "SetBackendServers", "change weights in a default server group", DefaultServerGroups),
		row(openapi.SLB, "RemoveBackendServers", "remove servers from a default server group", DefaultServerGroups),

		row(openapi.SLB, "DescribeRules", "read forwarding rules", forwardingRuleService),
		row(openapi.SLB, "DescribeRuleAttribute", "find the load balancer of a forwarding rule", forwardingRuleService),
		row(openapi.SLB, "CreateRules", "create forwarding rules", forwardingRuleService),
		row(openapi.SLB, "SetRule", "change a forwarding rule", forwardingRuleService),
		row(openapi.SLB, "DeleteRules", "delete forwarding rules", forwardingRuleService),
		row(openapi.SLB, "DescribeDomainExtensions", "read domain extensions", LoadBalancers),
		row(openapi.SLB, "DescribeDomainExtensionAttribute", "find the load balancer of a domain extension", LoadBalancers),
		row(openapi.SLB, "CreateDomainExtension", "create a domain extension", LoadBalancers),
		row(openapi.SLB, "SetDomainExtensionAttribute", "change the certificate of a domain extension", LoadBalancers),
		row(openapi.SLB, "DeleteDomainExtension", "delete a domain extension", LoadBalancers),

		row(openapi.SLB, "DescribeAccessControlLists", "find access control lists", accessControlListService),
		row(openapi.SLB, "DescribeAccessControlListAttribute", "read the entries of an access control list", accessControlListService),
		row(openapi.SLB, "CreateAccessControlList", "create an access control list", accessControlListService),
		row(openapi.SLB, "SetAccessControlListAttribute", "rename an access control list", accessControlListService),
		row(openapi.SLB, "AddAccessControlListEntry", "add entries to an access control list", accessControlListService),
		row(openapi.SLB, "RemoveAccessControlListEntry", "remove entries of an access control list", accessControlListService),
		row(openapi.SLB, "DeleteAccessControlList", "delete an access control list", accessControlListService),

		row(openapi.SLB, "DescribeServerCertificates", "read server certificates", LoadBalancers, certificateService),
		row(openapi.SLB, "UploadServerCertificate", "upload a server certificate", certificateService),
		row(openapi.SLB, "SetServerCertificateName", "rename a server certificate", certificateService),
		row(openapi.SLB, "DeleteServerCertificate", "delete a server certificate", certificateService),
		row(openapi.SLB, "DescribeCACertificates", "read CA certificates", certificateService),
		row(openapi.SLB, "UploadCACertificate", "upload a CA certificate", certificateService),
		row(openapi.SLB, "SetCACertificateName", "rename a CA certificate", certificateService),
		row(openapi.SLB, "DeleteCACertificate", "delete a CA certificate", certificateService),

		row(openapi.VPC, "DescribeVpcAttribute", "check that the VPC is the right one", LoadBalancers, Nodes, Routes, networkService),
		row(openapi.VPC, "DescribeVSwitches", "find a vSwitch with free addresses", LoadBalancers, vSwitchService),
		row(openapi.VPC, "DescribeVpcs", "list VPCs", networkService),
		row(openapi.VPC, "CreateVSwitch", "create a vSwitch", vSwitchService),
		row(openapi.VPC, "DeleteVSwitch", "delete a vSwitch", vSwitchService),
		row(openapi.VPC, "DescribeEipAddresses", "find the EIP of an instance", LoadBalancers, eipService),
		row(openapi.VPC, "AllocateEipAddress", "allocate an EIP", eipService),
		row(openapi.VPC, "ModifyEipAddressAttribute", "change name, description and bandwidth of an EIP", eipService),
		row(openapi.VPC, "AssociateEipAddress", "bind an EIP to an instance", eipService),
		row(openapi.VPC, "UnassociateEipAddress", "take an EIP from its instance", eipService),
		row(openapi.VPC, "ReleaseEipAddress", "release an EIP", eipService),
		row(openapi.VPC, "TagResources", "set tags", eipService),
		row(openapi.VPC, "UnTagResources", "remove tags", eipService),
		row(openapi.VPC, "DescribeRouteTableList", "find the route tables of the VPC", Routes, routeService),
		row(openapi.VPC, "CreateRouteTable", "create a route table", routeService),
		row(openapi.VPC, "DeleteRouteTable", "delete a route table", routeService),
		row(openapi.VPC, "AssociateRouteTable", "bind a route table to a vSwitch", routeService),
		row(openapi.VPC, "UnassociateRouteTable", "take a route table from a vSwitch", routeService),
		row(openapi.VPC, "DescribeRouteEntryList", "read routes", Routes, routeService),
		row(openapi.VPC, "CreateRouteEntry", "create a route with several next hops", routeService),
		row(openapi.VPC, "ModifyRouteEntry", "change a route", routeService),
		row(openapi.VPC, "CreateRouteEntries", "create routes", Routes),
		row(openapi.VPC, "DeleteRouteEntries", "delete routes", Routes),

		row(openapi.ECS, "DescribeInstances", "read instances", LoadBalancers, Nodes, Routes, instanceService),
		row(openapi.ECS, "DescribeNetworkInterfaces", "find the interfaces of nodes and pods", LoadBalancers, Nodes, Routes, networkInterfaceService),
		row(openapi.ECS, "ModifyNetworkInterfaceAttribute", "change the source/destination check and other attributes", Nodes, networkInterfaceService),
		row(openapi.ECS, "DescribeInstanceStatus", "see whether instances run", instanceService),
		row(openapi.ECS, "StartInstance", "start an instance", instanceService),
		row(openapi.ECS, "StopInstance", "stop an instance", instanceService),
		row(openapi.ECS, "DeleteInstance", "delete an instance", instanceService),
		row(openapi.ECS, "ModifyInstanceAttribute", "change the name, description and deletion protection", instanceService),
		row(openapi.ECS, "TagResources", "set tags of instances and network interfaces", instanceService, networkInterfaceService),
		row(openapi.ECS, "UntagResources", "remove tags of instances and network interfaces", instanceService, networkInterfaceService),
	}
}
