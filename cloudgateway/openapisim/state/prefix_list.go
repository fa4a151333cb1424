package state

import (
	"slices"
	"time"
)

// RulePrefixList is a list of blocks of ECS, which rules of security groups name. [PrefixList] is one of VPC, for routes.
type RulePrefixList struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Family      string       `json:"family"` // IPv4, IPv6
	MaxEntries  int          `json:"maxEntries"`
	Entries     []RulePrefix `json:"entries,omitempty"`
	Created     time.Time    `json:"created"`
}

// RulePrefix is a block of a list.
type RulePrefix struct {
	Cidr        string `json:"cidr"`
	Description string `json:"description,omitempty"`
}

// Has reports whether a block is in the list.
func (l *RulePrefixList) Has(cidr string) bool {
	return slices.ContainsFunc(l.Entries, func(e RulePrefix) bool { return e.Cidr == cidr })
}
