package api

import "time"

// Settings are the windows and the limits of one call that the simulated cloud keeps. A duration of zero means that the
// change is complete when the call answers. What no published number exists for is our choice and says so.
type Settings struct {
	LoadBalancerActive time.Duration `json:"loadBalancerActive"` // CreateLoadBalancer until the status is active
	ListenerStart      time.Duration `json:"listenerStart"`      // starting until running
	ListenerSet        time.Duration `json:"listenerSet"`        // configuring until the former status
	// WriteTime is how long a write to a vServer group, a listener with its rules and domain extensions, the default group of a load
	// balancer or an access control list takes, by the real clock. Until it is answered, other writes to the same one are refused.
	WriteTime time.Duration `json:"writeTime"`
	// BusyAfterWrite and AclBusyAfterWrite go on refusing writes after the answer: to everything of the load balancer, and to the
	// entries of the access control list. The cloud is not known to be that strict; they are for tests of clients that must bear it.
	BusyAfterWrite    time.Duration `json:"busyAfterWrite"`
	AclBusyAfterWrite time.Duration `json:"aclBusyAfterWrite"`

	GroupReleased  time.Duration `json:"groupReleased"`  // deleting a listener until its group can be deleted
	BackendHealthy time.Duration `json:"backendHealthy"` // adding a server until its health is known
	ServersVanish  time.Duration `json:"serversVanish"`  // DeleteInstance until load balancers don't have the server any more
	TagIndexLag    time.Duration `json:"tagIndexLag"`    // TagResources until filters by tag see it
	NetworkPending time.Duration `json:"networkPending"` // CreateVpc, CreateVSwitch, CreateRouteTable until Available
	RoutePending   time.Duration `json:"routePending"`   // CreateRouteEntry until Available
	RouteDeleting  time.Duration `json:"routeDeleting"`  // DeleteRouteEntry until gone
	EipAssociating time.Duration `json:"eipAssociating"` // Associating until InUse, Unassociating until Available
	InstanceCreate time.Duration `json:"instanceCreate"` // RunInstances until Starting
	InstanceStart  time.Duration `json:"instanceStart"`  // Starting until Running
	InstanceStop   time.Duration `json:"instanceStop"`   // Stopping until Stopped
	InstanceDelete time.Duration `json:"instanceDelete"` // DeleteInstance until gone
	// InterfaceChange is how long network interfaces are Creating, Attaching and Detaching.
	InterfaceChange time.Duration `json:"interfaceChange"`
	DiskChange      time.Duration `json:"diskChange"`    // disks are Creating, Attaching and Detaching
	SnapshotReady   time.Duration `json:"snapshotReady"` // CreateSnapshot until accomplished
	NLBActive       time.Duration `json:"nlbActive"`     // NLB: CreateLoadBalancer until Active
	NLBJob          time.Duration `json:"nlbJob"`        // NLB: any other asynchronous job

	// ChargeTypeAtMidnight lets a load balancer keep the way in which its traffic is charged until the day ends in Beijing.
	ChargeTypeAtMidnight bool `json:"chargeTypeAtMidnight"`

	// Charging by specification has not been sold since 2025-06 and subscriptions not since 2024-12. Load balancers from before live
	// on, as those of a seed do; false sells new ones, as the cloud did.
	SpecificationsNotSold bool `json:"specificationsNotSold"`
	SubscriptionsNotSold  bool `json:"subscriptionsNotSold"`

	// What the documents leave open is decided for the client, unless these refuse it.
	StartOfRunningRefused bool `json:"startOfRunningRefused"` // StartLoadBalancerListener of a running listener
	SharedPortsRefused    bool `json:"sharedPortsRefused"`    // a UDP listener at a port that has another one, and the other way round
	PresentServersRefused bool `json:"presentServersRefused"` // AddVServerGroupBackendServers of a server that is in the group
	// LeastConnectionsRefused refuses wlc for TCP and UDP, which today's documents don't list; those of 2019 do.
	LeastConnectionsRefused bool `json:"leastConnectionsRefused"`
	NLBJobsLock             bool `json:"nlbJobsLock"` // NLB: a job of a load balancer or its listeners refuses every other write to them
	// SchedulersSwitch lets a TCP or UDP listener change between rr or wrr and consistent hashing, which the documents rule out today.
	SchedulersSwitch bool `json:"schedulersSwitch"`
	// Strict refuses calls with parameters that the cloud documents and that are not simulated. Otherwise they are carried out without
	// them, and the journal says so.
	Strict bool `json:"strict"`
	// Spelling is how answers spell enumerated values that clients spell otherwise than the documents: [SpellingEcho] or
	// [SpellingDocuments]. What the cloud does is not published; clients that compare what they sent with what they read, as
	// Terraform does, work with NLB, whose documents say "ipv4" and "tch" where these send "Ipv4" and "Tch".
	Spelling string `json:"spelling"`
	// ExactCase refuses enumerated values in another case than that of the documents. NLB and SLB are known not to: the existing
	// controllers have sent NLB "internet" and "tcp" since 2022. Of the other products nothing is known.
	ExactCase bool `json:"exactCase"`

	// ServersPerCall is the number of items of BackendServers in one call. The documents say 20; what clients of the cloud send for
	// years without being refused is 40.
	ServersPerCall int `json:"serversPerCall"`
	RoutesPerCall  int `json:"routesPerCall"` // items of RouteEntries in one call
	IDsPerCall     int `json:"idsPerCall"`    // ids or addresses in one describe of ECS

	Quotas Quotas `json:"quotas"`
}

// Quotas are the numbers of things an account can have.
type Quotas struct {
	LoadBalancers     int `json:"loadBalancers"`     // per account
	Listeners         int `json:"listeners"`         // per load balancer
	Servers           int `json:"servers"`           // backends per load balancer
	ServerAttachments int `json:"serverAttachments"` // times one server may be a backend
	Rules             int `json:"rules"`             // per listener
	DomainExtensions  int `json:"domainExtensions"`  // per listener
	Certificates      int `json:"certificates"`      // per region
	Acls              int `json:"acls"`              // per region
	AclEntries        int `json:"aclEntries"`        // per ACL
	AclEntriesPerCall int `json:"aclEntriesPerCall"` // per call
	ListenersPerAcl   int `json:"listenersPerAcl"`   // listeners that use one ACL
	Tags              int `json:"tags"`              // per resource
	RouteEntries      int `json:"routeEntries"`      // custom entries per route table
	Eips              int `json:"eips"`              // per account
	Vpcs              int `json:"vpcs"`              // per region
	VSwitches         int `json:"vswitches"`         // per VPC
	RouteTables       int `json:"routeTables"`       // custom ones per VPC
	SecurityGroups    int `json:"securityGroups"`    // per region
	SecurityRules     int `json:"securityRules"`     // per security group
	VServerGroups     int `json:"vserverGroups"`     // per load balancer; 0: no limit, none is documented
	ServersPerGroup   int `json:"serversPerGroup"`   // 0: no limit but Servers, none is documented

	NLBs                 int `json:"nlbs"`                 // per region
	NLBListeners         int `json:"nlbListeners"`         // per NLB
	NLBServers           int `json:"nlbServers"`           // per server group of NLB, and different ones per NLB
	NLBServerGroups      int `json:"nlbServerGroups"`      // per region
	NLBGroupsPerServer   int `json:"nlbGroupsPerServer"`   // server groups of NLB that one server is in
	NLBListenersPerGroup int `json:"nlbListenersPerGroup"` // listeners that use one server group of NLB
	NLBSecurityGroups    int `json:"nlbSecurityGroups"`    // per NLB
	NLBCertificates      int `json:"nlbCertificates"`      // additional ones per listener
}

// DefaultSettings are the documented numbers, with the windows of a cloud under light load.
func DefaultSettings() Settings {
	return Settings{
		LoadBalancerActive: time.Second,
		ListenerStart:      2 * time.Second,
		WriteTime:          50 * time.Millisecond,
		GroupReleased:      time.Second,
		BackendHealthy:     6 * time.Second,
		ServersVanish:      3 * time.Second,
		NetworkPending:     2 * time.Second,
		RoutePending:       3 * time.Second,
		RouteDeleting:      3 * time.Second,
		EipAssociating:     2 * time.Second,
		InstanceCreate:     2 * time.Second,
		InstanceStart:      5 * time.Second,
		InstanceStop:       5 * time.Second,
		InstanceDelete:     time.Second,
		InterfaceChange:    time.Second,
		DiskChange:         time.Second,
		SnapshotReady:      3 * time.Second,
		NLBActive:          5 * time.Second,
		NLBJob:             time.Second,

		ChargeTypeAtMidnight:  true,
		SpecificationsNotSold: true,
		SubscriptionsNotSold:  true,

		Spelling: SpellingEcho,

		ServersPerCall: 40,
		RoutesPerCall:  50,
		IDsPerCall:     100,
		Quotas: Quotas{
			LoadBalancers: 60, Listeners: 50, Servers: 200, ServerAttachments: 50, Rules: 40, DomainExtensions: 3,
			Certificates: 100, Acls: 50, AclEntries: 300, AclEntriesPerCall: 50, ListenersPerAcl: 50, Tags: 20,
			RouteEntries: 200, Eips: 20, Vpcs: 10, VSwitches: 150, RouteTables: 9, SecurityGroups: 100, SecurityRules: 200,
			NLBs: 60, NLBListeners: 50, NLBServers: 400, NLBServerGroups: 3000, NLBGroupsPerServer: 200, NLBListenersPerGroup: 50,
			NLBSecurityGroups: 4, NLBCertificates: 25,
		},
	}
}

// BusySettings are the default ones of a cloud that is busy after every write, for tests of clients that must bear that.
func BusySettings() Settings {
	s := DefaultSettings()
	s.ListenerSet, s.BusyAfterWrite, s.AclBusyAfterWrite = 500*time.Millisecond, 300*time.Millisecond, 500*time.Millisecond
	return s
}

// FastSettings are the default ones without any window: every change is complete when the call answers.
func FastSettings() Settings {
	s := DefaultSettings()
	return Settings{
		Strict:                s.Strict,
		Spelling:              s.Spelling,
		SpecificationsNotSold: s.SpecificationsNotSold, SubscriptionsNotSold: s.SubscriptionsNotSold,
		ServersPerCall: s.ServersPerCall, RoutesPerCall: s.RoutesPerCall, IDsPerCall: s.IDsPerCall, Quotas: s.Quotas,
	}
}
