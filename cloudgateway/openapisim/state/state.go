// Package state holds everything the simulated cloud knows, as plain values: a snapshot is its JSON, a restore is reading it
// back. It has no behaviour but lookups that several products need; transitions that take time are stored with the moment at
// which they end and are settled by the product that owns them.
package state

import (
	"cmp"
	"reflect"
	"time"
)

// Cloud is the state of one account in one region. The server guards it with one lock.
type Cloud struct {
	Region  string `json:"region"`
	Account string `json:"account"`
	// Sequence numbers every id that was ever handed out, so that ids are never reused.
	Sequence int64 `json:"sequence"`

	Vpcs           map[string]*Vpc              `json:"vpcs"`
	VSwitches      map[string]*VSwitch          `json:"vswitches"`
	RouteTables    map[string]*RouteTable       `json:"routeTables"`
	Eips           map[string]*Eip              `json:"eips"`
	Instances      map[string]*Instance         `json:"instances"`
	Interfaces     map[string]*NetworkInterface `json:"networkInterfaces"`
	Disks          map[string]*Disk             `json:"disks"`
	Snapshots      map[string]*Snapshot         `json:"snapshots"`
	KeyPairs       map[string]*KeyPair          `json:"keyPairs"` // by name
	DeploymentSets map[string]*DeploymentSet    `json:"deploymentSets"`

	LaunchTemplates      map[string]*LaunchTemplate      `json:"launchTemplates"`
	SnapshotGroups       map[string]*SnapshotGroup       `json:"snapshotGroups"`
	RulePrefixLists      map[string]*RulePrefixList      `json:"rulePrefixLists"` // of ECS, for rules of security groups
	Tasks                map[string]*Task                `json:"tasks"`           // of ECS
	InterfacePermissions map[string]*InterfacePermission `json:"interfacePermissions"`
	// InstanceEvents are the system events of instances. Nothing but a seed makes them or takes them further.
	InstanceEvents map[string]*InstanceEvent `json:"instanceEvents"`
	SecurityGroups map[string]*SecurityGroup `json:"securityGroups"`
	LoadBalancers  map[string]*LoadBalancer  `json:"loadBalancers"`
	ServerGroups   map[string]*ServerGroup   `json:"serverGroups"`
	Certificates   map[string]*Certificate   `json:"certificates"` // of SLB
	// CipherPolicies are the TLS cipher policies of the account, beside those of the cloud.
	CipherPolicies map[string]*CipherPolicy `json:"tlsCipherPolicies"`
	// UserCertificates are those of the Certificate Management Service, by their numbers.
	UserCertificates map[string]*UserCertificate `json:"userCertificates"`
	Acls             map[string]*Acl             `json:"acls"`

	NLBs                map[string]*NLB               `json:"nlbs"`
	NLBListeners        map[string]*NLBListener       `json:"nlbListeners"`
	NLBServerGroups     map[string]*NLBServerGroup    `json:"nlbServerGroups"`
	NLBSecurityPolicies map[string]*NLBSecurityPolicy `json:"nlbSecurityPolicies"`
	NLBJobs             map[string]*NLBJob            `json:"nlbJobs"`
	NLBMonitors         map[string]*NLBMonitor        `json:"nlbMonitors"` // by region
	// NLBRunningJobs are the ids of the jobs that have not ended, in the order of their start.
	NLBRunningJobs    []string                     `json:"nlbRunningJobs,omitempty"`
	BandwidthPackages map[string]*BandwidthPackage `json:"bandwidthPackages"`

	NatGateways    map[string]*NatGateway      `json:"natGateways"`
	SnatEntries    map[string]*SnatEntry       `json:"snatEntries"`
	ForwardEntries map[string]*ForwardEntry    `json:"forwardEntries"`
	Ipv4Gateways   map[string]*InternetGateway `json:"ipv4Gateways"`
	Ipv6Gateways   map[string]*InternetGateway `json:"ipv6Gateways"`
	EgressRules    map[string]*EgressRule      `json:"ipv6EgressRules"`
	Ipv6Bandwidths map[string]*Ipv6Bandwidth   `json:"ipv6Bandwidths"`

	HaVips           map[string]*HaVip           `json:"haVips"`
	PrefixLists      map[string]*PrefixList      `json:"prefixLists"`
	DhcpOptionsSets  map[string]*DhcpOptionsSet  `json:"dhcpOptionsSets"`
	CidrReservations map[string]*CidrReservation `json:"cidrReservations"`
	AddressPools     map[string]*AddressPool     `json:"addressPools"`
	EipSegments      map[string]*EipSegment      `json:"eipSegments"`

	// Clusters are those of ACK. Nothing but a seed makes them and their node pools.
	Clusters  map[string]*Cluster  `json:"clusters"`
	NodePools map[string]*NodePool `json:"nodePools"`

	// ZonesWithoutNLBs are zones in which no Network Load Balancer can be.
	ZonesWithoutNLBs []string `json:"zonesWithoutNlbs,omitempty"`

	// Vanishing are servers that are gone, but not yet from the groups of load balancers.
	Vanishing []Vanishing `json:"vanishing,omitempty"`
	// Tokens remembers the result of calls with a ClientToken, by product, action and token.
	Tokens map[string]*Token `json:"tokens"`

	attached *attachments // nil: not counted yet
}

// New returns an empty cloud.
func New(region, account string) *Cloud {
	c := &Cloud{Region: region, Account: account}
	for kind := range c.kinds() {
		kind.Set(reflect.MakeMap(kind.Type()))
	}
	return c
}

// Vanishing says when servers disappear from the groups of load balancers.
type Vanishing struct {
	ServerIDs []string  `json:"serverIds"`
	At        time.Time `json:"at"`
}

// Tag is a key and a value.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Token is the remembered result of a call with a ClientToken.
type Token struct {
	Fingerprint string    `json:"fingerprint"` // of the parameters
	ResourceID  string    `json:"resourceId"`
	Created     time.Time `json:"created"`
}

// Vpc is a virtual private cloud.
type Vpc struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	CidrBlock      string   `json:"cidrBlock"`
	SecondaryCidrs []string `json:"secondaryCidrs,omitempty"`
	Ipv6Cidrs      []string `json:"ipv6Cidrs,omitempty"`
	Tags           []Tag    `json:"tags,omitempty"`
	Description    string   `json:"description,omitempty"`
	// PendingUntil is when a new VPC becomes available; the same in vSwitches and route tables.
	PendingUntil    time.Time `json:"pendingUntil,omitzero"`
	Created         time.Time `json:"created,omitzero"` // the zero time in a seed that does not say; the same in what is in a VPC
	ResourceGroupID string    `json:"resourceGroupId,omitempty"`
	UserCidrs       []string  `json:"userCidrs,omitempty"`
	DNSHostname     bool      `json:"dnsHostname,omitempty"`
	Default         bool      `json:"default,omitempty"` // the one of the region for what names none
	ClassicLink     bool      `json:"classicLink,omitempty"`
	// Ipv6Isps are the lines of IPv6 blocks, by block; BGP if none is named.
	Ipv6Isps map[string]string `json:"ipv6Isps,omitempty"`
}

// VSwitch is a subnet of a VPC in one zone.
type VSwitch struct {
	ID           string `json:"id"`
	VpcID        string `json:"vpcId"`
	ZoneID       string `json:"zoneId"`
	Name         string `json:"name"`
	CidrBlock    string `json:"cidrBlock"`
	Ipv6Cidr     string `json:"ipv6Cidr,omitempty"`
	RouteTableID string `json:"routeTableId"`
	Tags         []Tag  `json:"tags,omitempty"`
	Description  string `json:"description,omitempty"`

	PendingUntil time.Time `json:"pendingUntil,omitzero"`
	Created      time.Time `json:"created,omitzero"`
	Default      bool      `json:"default,omitempty"` // that of its zone in the default VPC
}

// RouteTable is a route table.
type RouteTable struct {
	ID      string        `json:"id"`
	VpcID   string        `json:"vpcId"`
	Name    string        `json:"name"`
	Type    string        `json:"type"` // System or Custom
	Tags    []Tag         `json:"tags,omitempty"`
	Entries []*RouteEntry `json:"entries,omitempty"`

	Description     string    `json:"description,omitempty"`
	PendingUntil    time.Time `json:"pendingUntil,omitzero"`
	Created         time.Time `json:"created,omitzero"`
	OfGateway       bool      `json:"ofGateway,omitempty"` // for gateways, not for vSwitches
	PropagationOff  bool      `json:"routePropagationOff,omitempty"`
	ResourceGroupID string    `json:"resourceGroupId,omitempty"` // empty: that of the VPC
}

// RouteEntry is an entry of a route table.
type RouteEntry struct {
	ID          string    `json:"id"`
	Cidr        string    `json:"cidr"`
	NextHopID   string    `json:"nextHopId"`
	NextHopType string    `json:"nextHopType"`
	Type        string    `json:"type"`   // System or Custom
	Status      string    `json:"status"` // Pending, Available, Modifying, Deleting
	BusyUntil   time.Time `json:"busyUntil,omitzero"`
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`

	// NextHops are those of an entry that has several; NextHopID and NextHopType are empty then.
	NextHops []NextHop `json:"nextHops,omitempty"`
}

// Hops are all next hops of an entry.
func (e *RouteEntry) Hops() []NextHop {
	if len(e.NextHops) > 0 {
		return e.NextHops
	}
	return []NextHop{{ID: e.NextHopID, Type: e.NextHopType}}
}

// NextHop is one of the next hops of a route entry.
type NextHop struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Weight int    `json:"weight,omitempty"`
}

// Eip is an elastic IP address.
type Eip struct {
	ID           string    `json:"id"`
	Address      string    `json:"address"`
	Bandwidth    string    `json:"bandwidth"`
	Status       string    `json:"status"` // Available, Associating, InUse, Unassociating
	BusyUntil    time.Time `json:"busyUntil,omitzero"`
	InstanceID   string    `json:"instanceId,omitempty"`
	InstanceType string    `json:"instanceType,omitempty"`
	Name         string    `json:"name,omitempty"`
	Description  string    `json:"description,omitempty"`
	Tags         []Tag     `json:"tags,omitempty"`

	InternetChargeType string    `json:"internetChargeType,omitempty"` // PayByTraffic if empty
	ISP                string    `json:"isp,omitempty"`                // BGP if empty
	InstanceChargeType string    `json:"instanceChargeType,omitempty"` // PostPaid if empty
	ResourceGroupID    string    `json:"resourceGroupId,omitempty"`
	PrivateIP          string    `json:"privateIp,omitempty"` // of several that a network interface has
	Spelling           Spelling  `json:"spelling,omitempty"`
	Created            time.Time `json:"created,omitzero"`
	ProtectionTypes    []string  `json:"securityProtectionTypes,omitempty"`
	Zone               string    `json:"zone,omitempty"`
	PoolID             string    `json:"publicIpAddressPoolId,omitempty"`
	SegmentID          string    `json:"segmentInstanceId,omitempty"`
	VpcID              string    `json:"vpcId,omitempty"` // of an address of a VPC that it belongs to
	DeletionProtection bool      `json:"deletionProtection,omitempty"`
	ForwardMode        string    `json:"forwardMode,omitempty"` // NAT if empty
	// Where the fine-grained monitoring of the address keeps what it measures; both empty: it is off.
	LogProject string `json:"logProject,omitempty"`
	LogStore   string `json:"logStore,omitempty"`
}

// Instance is an ECS instance.
type Instance struct {
	ID               string   `json:"id"`
	Name             string   `json:"name"`
	HostName         string   `json:"hostName"`
	ZoneID           string   `json:"zoneId"`
	InstanceType     string   `json:"instanceType"`
	Status           string   `json:"status"` // Pending, Running, Starting, Stopping, Stopped
	ChargeType       string   `json:"chargeType"`
	SpotStrategy     string   `json:"spotStrategy"`
	VpcID            string   `json:"vpcId"`
	VSwitchID        string   `json:"vswitchId"`
	PrivateIPs       []string `json:"privateIps"`
	InnerIPs         []string `json:"innerIps,omitempty"`
	PublicIPs        []string `json:"publicIps,omitempty"`
	EipID            string   `json:"eipId,omitempty"`
	SecurityGroupIDs []string `json:"securityGroupIds,omitempty"`
	Tags             []Tag    `json:"tags,omitempty"`

	// Created is the zero time, and ImageID empty, in a seed that does not say.
	Created            time.Time `json:"created,omitzero"`
	ImageID            string    `json:"imageId,omitempty"`
	KeyPairName        string    `json:"keyPairName,omitempty"`
	InternetBandwidth  int       `json:"internetBandwidth,omitempty"`  // outgoing, in Mbit/s; 0: no public address of its own
	InternetChargeType string    `json:"internetChargeType,omitempty"` // PayByTraffic if empty

	Description        string `json:"description,omitempty"`
	ResourceGroupID    string `json:"resourceGroupId,omitempty"`
	DeploymentSetID    string `json:"deploymentSetId,omitempty"`
	DeletionProtection bool   `json:"deletionProtection,omitempty"`
	// LockReasons are why it is locked, e.g. financial, or Recycling for a spot instance that is about to be released.
	LockReasons []string `json:"lockReasons,omitempty"`
	StoppedMode string   `json:"stoppedMode,omitempty"` // of a stopped one: KeepCharging, StopCharging; empty: the account's
	// Attributes holds what only the describing of the instance needs, by the names of the parameters that set it: UserData,
	// RamRoleName, SpotPriceLimit, HttpTokens and so on.
	Attributes map[string]string `json:"attributes,omitempty"`

	// SettleTo is the status that the instance has from SettleAt on; empty: it is gone then.
	SettleTo string    `json:"settleTo,omitempty"`
	SettleAt time.Time `json:"settleAt,omitzero"`
	// Healthy reports whether health checks of load balancers succeed; nil counts as true.
	Healthy  *bool    `json:"healthy,omitempty"`
	Spelling Spelling `json:"spelling,omitempty"`
}

// InstanceEvent is a system event: something that the cloud is about to do to an instance, or has done.
type InstanceEvent struct {
	ID         string    `json:"id"`
	InstanceID string    `json:"instanceId"`
	Type       string    `json:"type"`   // e.g. SystemMaintenance.Reboot
	Status     string    `json:"status"` // Scheduled, Inquiring, Executing, Executed, Avoided, Canceled, Failed
	Reason     string    `json:"reason,omitempty"`
	Published  time.Time `json:"published,omitzero"`
	NotBefore  time.Time `json:"notBefore,omitzero"`
	Finished   time.Time `json:"finished,omitzero"`
}

// NetworkInterface is an elastic network interface.
type NetworkInterface struct {
	ID               string    `json:"id"`
	Type             string    `json:"type"`   // Primary or Secondary
	Status           string    `json:"status"` // Creating, Available, Attaching, InUse, Detaching
	InstanceID       string    `json:"instanceId,omitempty"`
	VpcID            string    `json:"vpcId"`
	VSwitchID        string    `json:"vswitchId"`
	ZoneID           string    `json:"zoneId"`
	MacAddress       string    `json:"macAddress"`
	PrimaryIP        string    `json:"primaryIp"`
	PrivateIPs       []string  `json:"privateIps"` // the primary one included
	Ipv6Addresses    []string  `json:"ipv6Addresses,omitempty"`
	Ipv4Prefixes     []string  `json:"ipv4Prefixes,omitempty"`
	Ipv6Prefixes     []string  `json:"ipv6Prefixes,omitempty"`
	SourceDestCheck  bool      `json:"sourceDestCheck"`
	KeepOnRelease    bool      `json:"keepOnRelease,omitempty"` // outlives its instance
	ResourceGroupID  string    `json:"resourceGroupId,omitempty"`
	SecurityGroupIDs []string  `json:"securityGroupIds,omitempty"`
	Name             string    `json:"name,omitempty"`
	Description      string    `json:"description,omitempty"`
	Tags             []Tag     `json:"tags,omitempty"`
	Created          time.Time `json:"created,omitzero"`
	QueueNumber      int       `json:"queueNumber,omitempty"` // 0: that of the instance type
	TrafficMode      string    `json:"trafficMode,omitempty"` // Standard if empty
	ServiceManaged   bool      `json:"serviceManaged,omitempty"`

	// SettleTo is the status that the interface has from SettleAt on.
	SettleTo string    `json:"settleTo,omitempty"`
	SettleAt time.Time `json:"settleAt,omitzero"`
}

// SecurityGroup is a security group.
type SecurityGroup struct {
	ID              string         `json:"id"`
	Name            string         `json:"name"`
	Description     string         `json:"description,omitempty"`
	VpcID           string         `json:"vpcId"`
	Type            string         `json:"type"` // normal, enterprise
	Created         time.Time      `json:"created"`
	Tags            []Tag          `json:"tags,omitempty"`
	Rules           []SecurityRule `json:"rules,omitempty"`
	InnerAccess     string         `json:"innerAccess,omitempty"` // Accept, Drop; empty: as the type has it
	ResourceGroupID string         `json:"resourceGroupId,omitempty"`
}

// SecurityRule lets traffic in or out. The peer is where it comes from or goes to: a block, a group or a prefix list.
type SecurityRule struct {
	ID              string    `json:"id"`
	Direction       string    `json:"direction"`  // ingress, egress
	IPProtocol      string    `json:"ipProtocol"` // upper case
	PortRange       string    `json:"portRange"`
	SourcePortRange string    `json:"sourcePortRange,omitempty"`
	Policy          string    `json:"policy"` // Accept, Drop
	Priority        string    `json:"priority"`
	NicType         string    `json:"nicType"`
	SourceCidr      string    `json:"sourceCidr,omitempty"`
	DestCidr        string    `json:"destCidr,omitempty"`
	Ipv6SourceCidr  string    `json:"ipv6SourceCidr,omitempty"`
	Ipv6DestCidr    string    `json:"ipv6DestCidr,omitempty"`
	GroupID         string    `json:"groupId,omitempty"`
	PrefixListID    string    `json:"prefixListId,omitempty"`
	Description     string    `json:"description,omitempty"`
	Created         time.Time `json:"created"`
}

// LoadBalancer is a CLB instance.
type LoadBalancer struct {
	ID                 string    `json:"id"`
	Name               string    `json:"name"`
	Address            string    `json:"address"`
	AddressType        string    `json:"addressType"` // internet, intranet
	AddressIPVersion   string    `json:"addressIpVersion"`
	NetworkType        string    `json:"networkType"` // vpc, classic
	VpcID              string    `json:"vpcId"`
	VSwitchID          string    `json:"vswitchId"`
	MasterZoneID       string    `json:"masterZoneId"`
	SlaveZoneID        string    `json:"slaveZoneId"`
	Spec               string    `json:"spec"`
	InstanceChargeType string    `json:"instanceChargeType"`
	InternetChargeType string    `json:"internetChargeType"`
	Bandwidth          int       `json:"bandwidth"`
	PayType            string    `json:"payType"`
	DeleteProtection   string    `json:"deleteProtection"`
	ModificationStatus string    `json:"modificationProtectionStatus"`
	ModificationReason string    `json:"modificationProtectionReason"`
	ResourceGroupID    string    `json:"resourceGroupId"`
	Status             string    `json:"status"` // active, inactive, locked
	Created            time.Time `json:"created"`
	ActiveAt           time.Time `json:"activeAt,omitzero"`
	BusyUntil          time.Time `json:"busyUntil,omitzero"`
	Tags               []Tag     `json:"tags,omitempty"`
	// IndexedTags are what filters by tag see until IndexedAt; then they see Tags.
	IndexedTags    []Tag       `json:"indexedTags,omitempty"`
	IndexedAt      time.Time   `json:"indexedAt,omitzero"`
	Listeners      []*Listener `json:"listeners,omitempty"`
	DefaultServers []*Server   `json:"defaultServers,omitempty"`
	// Reserved is how the load balancer is charged from the next midnight on.
	Reserved *InternetSpec `json:"reserved,omitempty"`
	Spelling Spelling      `json:"spelling,omitempty"`

	PaidUntil   time.Time `json:"paidUntil,omitzero"`    // the end of a subscription
	UnpaidOrder int64     `json:"unpaidOrder,omitempty"` // an order that waits to be paid, which nobody can here
}

// InternetSpec is how traffic is charged.
type InternetSpec struct {
	ChargeType string    `json:"chargeType"`
	Bandwidth  int       `json:"bandwidth"`
	ActiveAt   time.Time `json:"activeAt"`
}

// Listener is a listener of a CLB instance. Attributes holds every parameter that was set, by its canonical wire name
// (HealthCheckInterval, not healthCheckInterval), defaults included.
type Listener struct {
	Port       int               `json:"port"`
	Protocol   string            `json:"protocol"` // tcp, udp, http, https
	Status     string            `json:"status"`   // starting, running, configuring, stopping, stopped
	SettleAt   time.Time         `json:"settleAt,omitzero"`
	SettleTo   string            `json:"settleTo,omitempty"`
	Attributes map[string]string `json:"attributes"`
	AclIDs     []string          `json:"aclIds,omitempty"`
	Tags       []Tag             `json:"tags,omitempty"`
	Domains    []*Domain         `json:"domains,omitempty"`
	Rules      []*Rule           `json:"rules,omitempty"`
	Spelling   Spelling          `json:"spelling,omitempty"`
}

// Group is the id of the vServer group or master-slave group that a listener sends its traffic to, "" if to the default servers.
func (l *Listener) Group() string {
	return cmp.Or(l.Attributes["VServerGroupId"], l.Attributes["MasterSlaveServerGroupId"])
}

// Domain is a domain extension of an HTTPS listener.
type Domain struct {
	ID            string `json:"id"`
	Domain        string `json:"domain"`
	CertificateID string `json:"certificateId"`
}

// Rule is a forwarding rule of an HTTP or HTTPS listener.
type Rule struct {
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	Domain        string            `json:"domain,omitempty"`
	URL           string            `json:"url,omitempty"`
	ServerGroupID string            `json:"serverGroupId"`
	Attributes    map[string]string `json:"attributes,omitempty"`
	Spelling      Spelling          `json:"spelling,omitempty"`
}

// ServerGroup is a vServer group.
type ServerGroup struct {
	ID             string    `json:"id"`
	LoadBalancerID string    `json:"loadBalancerId"`
	Name           string    `json:"name"`
	MasterSlave    bool      `json:"masterSlave,omitempty"` // a group of a master and a slave instead of a vServer group
	Servers        []*Server `json:"servers"`
	Tags           []Tag     `json:"tags,omitempty"`
	Created        time.Time `json:"created"`
	// InUseUntil keeps the group undeletable for a while after its last listener went.
	InUseUntil time.Time `json:"inUseUntil,omitzero"`
}

// Server is a backend server.
type Server struct {
	Type        string    `json:"type"` // ecs, eni, eci
	ServerID    string    `json:"serverId"`
	ServerIP    string    `json:"serverIp,omitempty"`
	Port        int       `json:"port"`
	Weight      int       `json:"weight"`
	Description string    `json:"description,omitempty"`
	Standby     bool      `json:"standby,omitempty"` // the slave of a master-slave group
	Added       time.Time `json:"added"`
}

// Acl is an access control list.
type Acl struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	IPVersion string     `json:"ipVersion"`
	Entries   []AclEntry `json:"entries,omitempty"`
	Tags      []Tag      `json:"tags,omitempty"`
	Created   time.Time  `json:"created,omitzero"`
	BusyUntil time.Time  `json:"busyUntil,omitzero"`

	ResourceGroupID string   `json:"resourceGroupId,omitempty"`
	Spelling        Spelling `json:"spelling,omitempty"`
}

// AclEntry is an entry of an access control list.
type AclEntry struct {
	Entry   string `json:"entry"`
	Comment string `json:"comment,omitempty"`
}
