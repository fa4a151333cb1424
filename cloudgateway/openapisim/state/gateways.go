package state

import "time"

// Stage is the status of something that takes time to be made, changed and deleted.
type Stage struct {
	Status    string    `json:"status"`
	BusyUntil time.Time `json:"busyUntil,omitzero"` // when the status ends
}

// NatGateway gives the vSwitches of a VPC a way out, and servers in it a way in.
type NatGateway struct {
	ID                 string    `json:"id"`
	VpcID              string    `json:"vpcId"`
	VSwitchID          string    `json:"vswitchId"`
	Name               string    `json:"name,omitempty"`
	Description        string    `json:"description,omitempty"`
	NatType            string    `json:"natType,omitempty"`            // Enhanced if empty
	NetworkType        string    `json:"networkType,omitempty"`        // internet if empty
	InternetChargeType string    `json:"internetChargeType,omitempty"` // PayByLcu if empty
	Spec               string    `json:"spec,omitempty"`               // of one that is paid by specification
	EipBindMode        string    `json:"eipBindMode,omitempty"`        // MULTI_BINDED if empty
	IcmpReplyOff       bool      `json:"icmpReplyOff,omitempty"`
	PrivateLink        bool      `json:"privateLink,omitempty"`
	PrivateLinkMode    string    `json:"privateLinkMode,omitempty"`
	AccessMode         string    `json:"accessMode,omitempty"` // of one with a private network: route, tunnel
	TunnelType         string    `json:"tunnelType,omitempty"`
	Protected          bool      `json:"securityProtection,omitempty"`
	SessionLog         bool      `json:"sessionLog,omitempty"`
	LogDestination     string    `json:"logDestination,omitempty"`
	LogDeliveryType    string    `json:"logDeliveryType,omitempty"`
	PrivateIP          string    `json:"privateIp,omitempty"`
	SnatTableID        string    `json:"snatTableId"`
	ForwardTableID     string    `json:"forwardTableId"`
	DeletionProtection bool      `json:"deletionProtection,omitempty"`
	ResourceGroupID    string    `json:"resourceGroupId,omitempty"` // empty: that of the VPC
	Tags               []Tag     `json:"tags,omitempty"`
	Created            time.Time `json:"created,omitzero"`
	Stage              Stage     `json:"stage"`
	Spelling           Spelling  `json:"spelling,omitempty"`
}

// SnatEntry lets a vSwitch or a block out by the addresses of a NAT gateway.
type SnatEntry struct {
	ID           string   `json:"id"`
	NatGatewayID string   `json:"natGatewayId"`
	Name         string   `json:"name,omitempty"`
	SourceCidr   string   `json:"sourceCidr"`
	VSwitchID    string   `json:"vswitchId,omitempty"` // whose block it is, if it is that of a vSwitch
	IPs          []string `json:"ips"`
	EipAffinity  bool     `json:"eipAffinity,omitempty"`
	Stage        Stage    `json:"stage"`
}

// ForwardEntry lets clients reach a private address by one of a NAT gateway. Ports are "any", a number, or a range "a/b".
type ForwardEntry struct {
	ID           string   `json:"id"`
	NatGatewayID string   `json:"natGatewayId"`
	Name         string   `json:"name,omitempty"`
	ExternalIP   string   `json:"externalIp"`
	ExternalPort string   `json:"externalPort"`
	InternalIP   string   `json:"internalIp"`
	InternalPort string   `json:"internalPort"`
	Protocol     string   `json:"protocol"` // tcp, udp, any
	Stage        Stage    `json:"stage"`
	Spelling     Spelling `json:"spelling,omitempty"`
}

// InternetGateway is the IPv4 or the IPv6 gateway of a VPC.
type InternetGateway struct {
	ID              string    `json:"id"`
	VpcID           string    `json:"vpcId"`
	Name            string    `json:"name,omitempty"`
	Description     string    `json:"description,omitempty"`
	Enabled         bool      `json:"enabled,omitempty"` // an IPv4 gateway only
	RouteTableID    string    `json:"routeTableId,omitempty"`
	ResourceGroupID string    `json:"resourceGroupId,omitempty"` // empty: that of the VPC
	Tags            []Tag     `json:"tags,omitempty"`
	Created         time.Time `json:"created,omitzero"`
	Stage           Stage     `json:"stage"`
}

// EgressRule lets an IPv6 address out and nobody in.
type EgressRule struct {
	ID          string `json:"id"`
	GatewayID   string `json:"gatewayId"`
	AddressID   string `json:"addressId"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Stage       Stage  `json:"stage"`
}

// Ipv6Bandwidth is what an IPv6 address has of the internet.
type Ipv6Bandwidth struct {
	ID                 string `json:"id"`
	AddressID          string `json:"addressId"`
	GatewayID          string `json:"gatewayId"`
	Bandwidth          int    `json:"bandwidth"`                    // Mbit/s
	InternetChargeType string `json:"internetChargeType,omitempty"` // PayByBandwidth if empty
}
