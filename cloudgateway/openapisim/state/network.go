package state

import "time"

// HaVip is a private address that several instances or network interfaces of a vSwitch can take over from each other.
type HaVip struct {
	ID              string    `json:"id"`
	VSwitchID       string    `json:"vswitchId"`
	Address         string    `json:"address"`
	Name            string    `json:"name,omitempty"`
	Description     string    `json:"description,omitempty"`
	InstanceType    string    `json:"instanceType,omitempty"` // EcsInstance or NetworkInterface
	InstanceIDs     []string  `json:"instanceIds,omitempty"`
	ResourceGroupID string    `json:"resourceGroupId,omitempty"` // empty: that of the VPC
	Tags            []Tag     `json:"tags,omitempty"`
	Created         time.Time `json:"created,omitzero"`
	Stage           Stage     `json:"stage"`
	Spelling        Spelling  `json:"spelling,omitempty"`
}

// PrefixList is a list of blocks with a name.
type PrefixList struct {
	ID              string        `json:"id"`
	Name            string        `json:"name,omitempty"`
	Description     string        `json:"description,omitempty"`
	IPv6            bool          `json:"ipv6,omitempty"`
	MaxEntries      int           `json:"maxEntries"`
	Entries         []PrefixEntry `json:"entries,omitempty"`
	ResourceGroupID string        `json:"resourceGroupId,omitempty"`
	Tags            []Tag         `json:"tags,omitempty"`
	Created         time.Time     `json:"created,omitzero"`
	Stage           Stage         `json:"stage"`
}

// PrefixEntry is a block of a prefix list.
type PrefixEntry struct {
	Cidr        string `json:"cidr"`
	Description string `json:"description,omitempty"`
}

// DhcpOptionsSet is what the DHCP service of VPCs answers.
type DhcpOptionsSet struct {
	ID                string            `json:"id"`
	Name              string            `json:"name,omitempty"`
	Description       string            `json:"description,omitempty"`
	DomainName        string            `json:"domainName,omitempty"`
	DomainNameServers string            `json:"domainNameServers,omitempty"`
	LeaseTime         string            `json:"leaseTime,omitempty"`     // 3650d if empty
	Ipv6LeaseTime     string            `json:"ipv6LeaseTime,omitempty"` // 3650d if empty
	Attachments       []*DhcpAttachment `json:"attachments,omitempty"`
	ResourceGroupID   string            `json:"resourceGroupId,omitempty"`
	Tags              []Tag             `json:"tags,omitempty"`
	Created           time.Time         `json:"created,omitzero"`
	Stage             Stage             `json:"stage"`
}

// DhcpAttachment is a VPC that has a DHCP options set.
type DhcpAttachment struct {
	VpcID string `json:"vpcId"`
	Stage Stage  `json:"stage"`
}

// CidrReservation is a block of a vSwitch from which network interfaces get their prefixes.
type CidrReservation struct {
	ID          string    `json:"id"`
	VSwitchID   string    `json:"vswitchId"`
	Cidr        string    `json:"cidr"`
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Tags        []Tag     `json:"tags,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Stage       Stage     `json:"stage"`
	Spelling    Spelling  `json:"spelling,omitempty"`
}

// AddressPool has blocks of public addresses, from which elastic addresses can be taken.
type AddressPool struct {
	ID              string       `json:"id"`
	Name            string       `json:"name,omitempty"`
	Description     string       `json:"description,omitempty"`
	ISP             string       `json:"isp,omitempty"`     // BGP if empty
	BizType         string       `json:"bizType,omitempty"` // Default if empty
	Zones           []string     `json:"zones,omitempty"`
	ProtectionTypes []string     `json:"securityProtectionTypes,omitempty"`
	Blocks          []*PoolBlock `json:"blocks,omitempty"`
	ResourceGroupID string       `json:"resourceGroupId,omitempty"`
	Tags            []Tag        `json:"tags,omitempty"`
	Created         time.Time    `json:"created,omitzero"`
	Stage           Stage        `json:"stage"`
	Spelling        Spelling     `json:"spelling,omitempty"`
}

// PoolBlock is a block of a pool.
type PoolBlock struct {
	Cidr    string    `json:"cidr"`
	Created time.Time `json:"created,omitzero"`
	Stage   Stage     `json:"stage"`
}

// EipSegment is a block of elastic addresses that were made together, and go together.
type EipSegment struct {
	ID      string    `json:"id"`
	Cidr    string    `json:"cidr"`
	Zone    string    `json:"zone,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Stage   Stage     `json:"stage"`
}
