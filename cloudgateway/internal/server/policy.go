package server

import (
	"time"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/services/rpc"
)

// How long a method may take. Callers have shorter deadlines as they like; services/gateway has the same as defaults.
const (
	readTime  = 30 * time.Second
	writeTime = 60 * time.Second
	routeTime = 150 * time.Second // waits for the turn of a VPC, and until its entries, or an instance, are where they shall be
)

// Policies has one row per method: the virtual resource and verb that the caller must be allowed, and the priority of the calls
// to the cloud. Backends come first, since they decide who gets traffic; listings come last.
func Policies() rpc.Policies {
	read := func(resource, verb string, priority flow.Priority) rpc.Policy {
		return rpc.Policy{Resource: resource, Verb: verb, Priority: int(priority), Timeout: readTime}
	}
	write := func(resource, verb string, priority flow.Priority) rpc.Policy {
		return rpc.Policy{Resource: resource, Verb: verb, Priority: int(priority), Timeout: writeTime, Mutating: true}
	}
	slow := func(p rpc.Policy) rpc.Policy { p.Timeout = routeTime; return p }
	const (
		balancers  = "loadbalancers"
		listener   = "listeners"
		groups     = "servergroups"
		rules      = "forwardingrules"
		extensions = "domainextensions"

		acls               = "accesscontrollists"
		serverCertificates = "servercertificates"
		caCertificates     = "cacertificates"

		route      = "routes"
		network    = "networks"
		eip        = "eips"
		vswitch    = "vswitches"
		table      = "routetables"
		instance   = "instances"
		interfaces = "networkinterfaces"
	)
	return rpc.Policies{
		slbv1.LoadBalancerService_GetLoadBalancer_FullMethodName:    read(balancers, "get", flow.Change),
		slbv1.LoadBalancerService_ListLoadBalancers_FullMethodName:  read(balancers, "list", flow.Background),
		slbv1.LoadBalancerService_ListAvailableZones_FullMethodName: read(balancers, "list", flow.Change),
		slbv1.LoadBalancerService_CreateLoadBalancer_FullMethodName: write(balancers, "create", flow.Change),
		slbv1.LoadBalancerService_UpdateLoadBalancer_FullMethodName: write(balancers, "update", flow.Change),
		slbv1.LoadBalancerService_DeleteLoadBalancer_FullMethodName: write(balancers, "delete", flow.Deletion),

		slbv1.ListenerService_ListListeners_FullMethodName:  read(listener, "list", flow.Background),
		slbv1.ListenerService_CreateListener_FullMethodName: write(listener, "create", flow.Change),
		slbv1.ListenerService_UpdateListener_FullMethodName: write(listener, "update", flow.Change),
		slbv1.ListenerService_DeleteListener_FullMethodName: write(listener, "delete", flow.Deletion),
		slbv1.ListenerService_StartListener_FullMethodName:  write(listener, "update", flow.Change),
		slbv1.ListenerService_StopListener_FullMethodName:   write(listener, "update", flow.Change),

		slbv1.HealthService_ListHealthStatus_FullMethodName: read(listener, "list", flow.Background),

		slbv1.ServerGroupService_GetServerGroup_FullMethodName:            read(groups, "get", flow.Change),
		slbv1.ServerGroupService_ListServerGroups_FullMethodName:          read(groups, "list", flow.Background),
		slbv1.ServerGroupService_CreateServerGroup_FullMethodName:         write(groups, "create", flow.Change),
		slbv1.ServerGroupService_ApplyServerChanges_FullMethodName:        write(groups, "update", flow.Backend),
		slbv1.ServerGroupService_GetDefaultServerGroup_FullMethodName:     read(groups, "get", flow.Change),
		slbv1.ServerGroupService_ApplyDefaultServerChanges_FullMethodName: write(groups, "update", flow.Backend),
		slbv1.ServerGroupService_UpdateServerGroup_FullMethodName:         write(groups, "update", flow.Change),
		slbv1.ServerGroupService_DeleteServerGroup_FullMethodName:         write(groups, "delete", flow.Deletion),

		slbv1.ForwardingRuleService_ListForwardingRules_FullMethodName:        read(rules, "list", flow.Background),
		slbv1.ForwardingRuleService_BatchCreateForwardingRules_FullMethodName: write(rules, "create", flow.Change),
		slbv1.ForwardingRuleService_UpdateForwardingRule_FullMethodName:       write(rules, "update", flow.Change),
		slbv1.ForwardingRuleService_BatchDeleteForwardingRules_FullMethodName: write(rules, "delete", flow.Deletion),

		slbv1.DomainExtensionService_ListDomainExtensions_FullMethodName:  read(extensions, "list", flow.Background),
		slbv1.DomainExtensionService_CreateDomainExtension_FullMethodName: write(extensions, "create", flow.Change),
		slbv1.DomainExtensionService_UpdateDomainExtension_FullMethodName: write(extensions, "update", flow.Change),
		slbv1.DomainExtensionService_DeleteDomainExtension_FullMethodName: write(extensions, "delete", flow.Deletion),

		slbv1.AccessControlListService_GetAccessControlList_FullMethodName:    read(acls, "get", flow.Change),
		slbv1.AccessControlListService_ListAccessControlLists_FullMethodName:  read(acls, "list", flow.Background),
		slbv1.AccessControlListService_CreateAccessControlList_FullMethodName: write(acls, "create", flow.Change),
		slbv1.AccessControlListService_UpdateAccessControlList_FullMethodName: write(acls, "update", flow.Change),
		slbv1.AccessControlListService_DeleteAccessControlList_FullMethodName: write(acls, "delete", flow.Deletion),

		slbv1.CertificateService_ListServerCertificates_FullMethodName:  read(serverCertificates, "list", flow.Background),
		slbv1.CertificateService_UploadServerCertificate_FullMethodName: write(serverCertificates, "create", flow.Change),
		slbv1.CertificateService_UpdateServerCertificate_FullMethodName: write(serverCertificates, "update", flow.Change),
		slbv1.CertificateService_DeleteServerCertificate_FullMethodName: write(serverCertificates, "delete", flow.Deletion),
		slbv1.CertificateService_ListCaCertificates_FullMethodName:      read(caCertificates, "list", flow.Background),
		slbv1.CertificateService_UploadCaCertificate_FullMethodName:     write(caCertificates, "create", flow.Change),
		slbv1.CertificateService_UpdateCaCertificate_FullMethodName:     write(caCertificates, "update", flow.Change),
		slbv1.CertificateService_DeleteCaCertificate_FullMethodName:     write(caCertificates, "delete", flow.Deletion),

		vpcv1.RouteService_ListRouteTables_FullMethodName:         read(route, "list", flow.Background),
		vpcv1.RouteService_ListRouteEntries_FullMethodName:        read(route, "list", flow.Change),
		vpcv1.RouteService_BatchCreateRouteEntries_FullMethodName: slow(write(route, "create", flow.Change)),
		vpcv1.RouteService_BatchDeleteRouteEntries_FullMethodName: slow(write(route, "delete", flow.Deletion)),

		vpcv1.NetworkService_GetVpc_FullMethodName:        read(network, "get", flow.Change),
		vpcv1.NetworkService_ListVSwitches_FullMethodName: read(network, "list", flow.Change),
		vpcv1.NetworkService_ListEips_FullMethodName:      read(network, "list", flow.Change),

		vpcv1.RouteService_UpdateRouteEntry_FullMethodName:      slow(write(route, "update", flow.Change)),
		vpcv1.RouteService_CreateRouteTable_FullMethodName:      slow(write(table, "create", flow.Change)),
		vpcv1.RouteService_DeleteRouteTable_FullMethodName:      slow(write(table, "delete", flow.Deletion)),
		vpcv1.RouteService_AssociateRouteTable_FullMethodName:   slow(write(table, "update", flow.Change)),
		vpcv1.RouteService_UnassociateRouteTable_FullMethodName: slow(write(table, "update", flow.Change)),

		vpcv1.NetworkService_ListVpcs_FullMethodName: read(network, "list", flow.Background),

		vpcv1.VSwitchService_GetVSwitch_FullMethodName:    read(vswitch, "get", flow.Change),
		vpcv1.VSwitchService_CreateVSwitch_FullMethodName: slow(write(vswitch, "create", flow.Change)),
		vpcv1.VSwitchService_DeleteVSwitch_FullMethodName: slow(write(vswitch, "delete", flow.Deletion)),

		vpcv1.EipService_GetEip_FullMethodName:         read(eip, "get", flow.Change),
		vpcv1.EipService_ListEips_FullMethodName:       read(eip, "list", flow.Background),
		vpcv1.EipService_AllocateEip_FullMethodName:    write(eip, "create", flow.Change),
		vpcv1.EipService_UpdateEip_FullMethodName:      write(eip, "update", flow.Change),
		vpcv1.EipService_AssociateEip_FullMethodName:   write(eip, "update", flow.Change),
		vpcv1.EipService_UnassociateEip_FullMethodName: write(eip, "update", flow.Change),
		vpcv1.EipService_ReleaseEip_FullMethodName:     write(eip, "delete", flow.Deletion),

		ecsv1.InstanceService_GetInstance_FullMethodName:              read(instance, "get", flow.Change),
		ecsv1.InstanceService_BatchGetInstances_FullMethodName:        read(instance, "list", flow.Change),
		ecsv1.InstanceService_ListInstances_FullMethodName:            read(instance, "list", flow.Background),
		ecsv1.InstanceService_BatchGetInstanceStatuses_FullMethodName: read(instance, "list", flow.Change),
		ecsv1.InstanceService_UpdateInstance_FullMethodName:           write(instance, "update", flow.Change),
		ecsv1.InstanceService_StartInstance_FullMethodName:            slow(write(instance, "update", flow.Change)),
		ecsv1.InstanceService_StopInstance_FullMethodName:             slow(write(instance, "update", flow.Change)),
		ecsv1.InstanceService_DeleteInstance_FullMethodName:           slow(write(instance, "delete", flow.Deletion)),

		ecsv1.NetworkInterfaceService_GetNetworkInterface_FullMethodName:       read(interfaces, "get", flow.Change),
		ecsv1.NetworkInterfaceService_BatchGetNetworkInterfaces_FullMethodName: read(interfaces, "list", flow.Backend),
		ecsv1.NetworkInterfaceService_ListNetworkInterfaces_FullMethodName:     read(interfaces, "list", flow.Background),
		ecsv1.NetworkInterfaceService_UpdateNetworkInterface_FullMethodName:    write(interfaces, "update", flow.Change),

		commonv1.CapabilitiesService_GetCapabilities_FullMethodName: read("capabilities", "get", flow.Change),
	}
}
