package state

import (
	"slices"
	"strings"
	"time"
)

// NLB is a Network Load Balancer.
type NLB struct {
	ID                 string        `json:"id"`
	Number             int64         `json:"number,omitempty"` // of its creation; lists begin with the last one
	Name               string        `json:"name"`
	VpcID              string        `json:"vpcId"`
	AddressType        string        `json:"addressType"`      // Internet, Intranet
	AddressIPVersion   string        `json:"addressIpVersion"` // ipv4, DualStack
	Ipv6AddressType    string        `json:"ipv6AddressType,omitempty"`
	DNSName            string        `json:"dnsName"`
	Status             string        `json:"status"` // Provisioning, Active, Configuring, CreateFailed
	ResourceGroupID    string        `json:"resourceGroupId"`
	Zones              []*NLBZone    `json:"zones,omitempty"`
	SecurityGroupIDs   []string      `json:"securityGroupIds,omitempty"`
	BandwidthPackageID string        `json:"bandwidthPackageId,omitempty"`
	CrossZoneOff       bool          `json:"crossZoneOff,omitempty"`
	BusinessStatus     string        `json:"businessStatus,omitempty"` // Normal if empty; Locked while a bill is not paid
	Cps                int           `json:"cps,omitempty"`
	Deletion           NLBProtection `json:"deletionProtection,omitzero"`
	Modification       NLBProtection `json:"modificationProtection,omitzero"`
	Tags               []Tag         `json:"tags,omitempty"`
	Created            time.Time     `json:"created"`
	Spelling           Spelling      `json:"spelling,omitempty"`
}

// Place sorts lists of load balancers; the same in the other types.
func (lb *NLB) Place() (number int64, id string) { return lb.Number, lb.ID }

// Place sorts lists of listeners.
func (l *NLBListener) Place() (number int64, id string) { return l.Number, l.ID }

// Place sorts lists of server groups.
func (g *NLBServerGroup) Place() (number int64, id string) { return g.Number, g.ID }

// Place sorts lists of TLS policies.
func (p *NLBSecurityPolicy) Place() (number int64, id string) { return p.Number, p.ID }

// Place sorts lists of jobs.
func (j *NLBJob) Place() (number int64, id string) { return j.Number, j.ID }

// NLBProtection is a protection of a Network Load Balancer.
type NLBProtection struct {
	On     bool      `json:"on,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// NLBZone is a zone in which a Network Load Balancer has an address.
type NLBZone struct {
	ZoneID       string `json:"zoneId"`
	VSwitchID    string `json:"vswitchId"`
	Status       string `json:"status"` // Active, Shifted
	EniID        string `json:"eniId"`
	PrivateIP    string `json:"privateIp"`
	Ipv6Address  string `json:"ipv6Address,omitempty"`
	AllocationID string `json:"allocationId,omitempty"` // of the caller's EIP, or of one that the cloud provides
	PublicIP     string `json:"publicIp,omitempty"`
	// The addresses from which servers get traffic, if the caller chose them.
	Ipv4LocalAddresses []string `json:"ipv4LocalAddresses,omitempty"`
	Ipv6LocalAddresses []string `json:"ipv6LocalAddresses,omitempty"`
}

// NLBListener is a listener of a Network Load Balancer.
type NLBListener struct {
	ID               string           `json:"id"`
	Number           int64            `json:"number,omitempty"` // of its creation; lists begin with the last one
	NLBID            string           `json:"nlbId"`
	Protocol         string           `json:"protocol"` // TCP, UDP, TCPSSL
	Port             int              `json:"port"`     // 0: from StartPort to EndPort
	StartPort        int              `json:"startPort,omitempty"`
	EndPort          int              `json:"endPort,omitempty"`
	Status           string           `json:"status"`             // Provisioning, Running, Configuring, Starting, Stopping, Stopped, Deleting
	SettleTo         string           `json:"settleTo,omitempty"` // the status after Configuring or Deleting comes to nothing
	Description      string           `json:"description,omitempty"`
	ServerGroupID    string           `json:"serverGroupId"`
	IdleTimeout      int              `json:"idleTimeout"` // seconds
	Cps              int              `json:"cps,omitempty"`
	Mss              int              `json:"mss,omitempty"`
	ProxyProtocol    bool             `json:"proxyProtocol,omitempty"`
	ProxyV2          NLBProxyV2       `json:"proxyProtocolV2,omitzero"`
	SecSensor        bool             `json:"secSensor,omitempty"`
	Ca               bool             `json:"ca,omitempty"`
	Alpn             bool             `json:"alpn,omitempty"`
	AlpnPolicy       string           `json:"alpnPolicy,omitempty"`
	SecurityPolicyID string           `json:"securityPolicyId,omitempty"`
	CertificateIDs   []string         `json:"certificateIds,omitempty"`
	CaCertificateIDs []string         `json:"caCertificateIds,omitempty"`
	Additional       []NLBCertificate `json:"additionalCertificates,omitempty"`
	Tags             []Tag            `json:"tags,omitempty"`
	Created          time.Time        `json:"created"`
	Spelling         Spelling         `json:"spelling,omitempty"`
}

// UsesCertificate reports whether a certificate is one of the listener: its own, an authority of its clients, or an additional one.
func (l *NLBListener) UsesCertificate(id string) bool {
	return slices.Contains(l.CertificateIDs, id) || slices.Contains(l.CaCertificateIDs, id) ||
		slices.ContainsFunc(l.Additional, func(a NLBCertificate) bool { return a.ID == id })
}

// NLBProxyV2 says what the header of the proxy protocol carries beside addresses.
type NLBProxyV2 struct {
	EndpointID        bool `json:"endpointId,omitempty"`
	EndpointServiceID bool `json:"endpointServiceId,omitempty"`
	VpcID             bool `json:"vpcId,omitempty"`
}

// NLBCertificate is an additional certificate of a listener.
type NLBCertificate struct {
	ID     string `json:"id"`
	Status string `json:"status"` // Associating, Associated, Diassociating
}

// NLBServerGroup is a server group of Network Load Balancers.
type NLBServerGroup struct {
	ID               string         `json:"id"`
	Number           int64          `json:"number,omitempty"` // of its creation; lists begin with the last one
	Name             string         `json:"name"`
	Type             string         `json:"type"` // Instance, Ip
	VpcID            string         `json:"vpcId"`
	Protocol         string         `json:"protocol"`         // TCP, UDP, TCP_UDP, TCPSSL
	AddressIPVersion string         `json:"addressIpVersion"` // ipv4, DualStack
	IPAffinity       string         `json:"ipVersionAffinityMode,omitempty"`
	Scheduler        string         `json:"scheduler"`
	Status           string         `json:"status"` // Creating, Available, Configuring
	Drain            bool           `json:"connectionDrain,omitempty"`
	DrainTimeout     int            `json:"connectionDrainTimeout,omitempty"` // seconds
	ClientIPOff      bool           `json:"preserveClientIpOff,omitempty"`
	AnyPort          bool           `json:"anyPort,omitempty"`
	HealthCheck      NLBHealthCheck `json:"healthCheck"`
	ResourceGroupID  string         `json:"resourceGroupId"`
	Servers          []*NLBServer   `json:"servers,omitempty"` // in the order of their keys
	Tags             []Tag          `json:"tags,omitempty"`
	Created          time.Time      `json:"created"`
	Spelling         Spelling       `json:"spelling,omitempty"`
}

// NLBHealthCheck is how the servers of a group are checked. Times are seconds.
type NLBHealthCheck struct {
	Off                bool     `json:"off,omitempty"`
	Type               string   `json:"type"` // TCP, HTTP, UDP
	ConnectPort        int      `json:"connectPort,omitempty"`
	HealthyThreshold   int      `json:"healthyThreshold"`
	UnhealthyThreshold int      `json:"unhealthyThreshold"`
	ConnectTimeout     int      `json:"connectTimeout"`
	Interval           int      `json:"interval"`
	Domain             string   `json:"domain,omitempty"`
	URL                string   `json:"url,omitempty"`
	Method             string   `json:"method,omitempty"`
	HTTPCodes          []string `json:"httpCodes,omitempty"`
	HTTPVersion        string   `json:"httpVersion,omitempty"` // HTTP1.0, HTTP1.1
	Request            string   `json:"request,omitempty"`     // that a UDP check sends
	Response           string   `json:"response,omitempty"`    // that it expects
}

// NLBServer is a server of a group.
type NLBServer struct {
	Type        string    `json:"type"` // Ecs, Eni, Eci, Ip
	ServerID    string    `json:"serverId"`
	ServerIP    string    `json:"serverIp,omitempty"`
	Port        int       `json:"port"`
	Weight      int       `json:"weight"`
	Description string    `json:"description,omitempty"`
	Status      string    `json:"status"` // Adding, Available, Configuring, Removing
	Added       time.Time `json:"added"`
	Spelling    Spelling  `json:"spelling,omitempty"`
}

// NLBSecurityPolicy is a TLS policy of the account.
type NLBSecurityPolicy struct {
	ID              string   `json:"id"`
	Number          int64    `json:"number,omitempty"` // of its creation; lists begin with the last one
	Name            string   `json:"name"`
	TLSVersions     []string `json:"tlsVersions"`
	Ciphers         []string `json:"ciphers"`
	ResourceGroupID string   `json:"resourceGroupId"`
	Tags            []Tag    `json:"tags,omitempty"`
	Spelling        Spelling `json:"spelling,omitempty"`
}

// NLBJob is an asynchronous job of NLB.
type NLBJob struct {
	ID           string    `json:"id"`
	Number       int64     `json:"number,omitempty"` // of its creation; lists begin with the last one
	Action       string    `json:"action"`
	ResourceType string    `json:"resourceType"` // loadbalancer, listener, servergroup, securitypolicy
	ResourceID   string    `json:"resourceId"`
	NLBID        string    `json:"nlbId,omitempty"` // the load balancer that the job changes, or whose listener it changes
	Status       string    `json:"status"`          // Processing, Succeeded, Failed
	Items        []string  `json:"items,omitempty"` // the certificates that the job changes
	Created      time.Time `json:"created"`
	EndsAt       time.Time `json:"endsAt"`
	// ErrorCode and ErrorMessage say why the job fails, from its start on.
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// BandwidthPackage is an Internet Shared Bandwidth instance.
type BandwidthPackage struct {
	ID                 string    `json:"id"`
	Bandwidth          int       `json:"bandwidth"` // Mbit/s
	Name               string    `json:"name,omitempty"`
	Description        string    `json:"description,omitempty"`
	InternetChargeType string    `json:"internetChargeType,omitempty"` // PayByBandwidth if empty
	ISP                string    `json:"isp,omitempty"`                // BGP if empty
	ResourceGroupID    string    `json:"resourceGroupId,omitempty"`
	Tags               []Tag     `json:"tags,omitempty"`
	AllocationIDs      []string  `json:"allocationIds,omitempty"` // of the EIPs in it; those of load balancers are not among them
	Spelling           Spelling  `json:"spelling,omitempty"`
	Created            time.Time `json:"created,omitzero"`
	Ratio              int       `json:"ratio,omitempty"` // in percent; 100 if 0
	// Binding says until when an address that came into the package is still being bound.
	Binding         map[string]time.Time `json:"binding,omitempty"`
	ProtectionTypes []string             `json:"securityProtectionTypes,omitempty"`
	// Limits are what single addresses can have of the bandwidth at most, in Mbit/s; the others can have all of it.
	Limits             map[string]int `json:"limits,omitempty"`
	DeletionProtection bool           `json:"deletionProtection,omitempty"`
}

// NLBMonitor is where the fine-grained monitoring of a region keeps what it measures.
type NLBMonitor struct {
	ID          string `json:"id"` // of the region
	LogProject  string `json:"logProject"`
	MetricStore string `json:"metricStore"`
}

// UserCertificate returns a certificate by its number, or as load balancers name it: with the region ("10741304-cn-hangzhou").
func (c *Cloud) UserCertificate(id string) *UserCertificate {
	if cert := c.UserCertificates[id]; cert != nil {
		return cert
	}
	return c.UserCertificates[strings.TrimSuffix(id, "-"+c.Region)]
}
