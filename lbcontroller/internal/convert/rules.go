package convert

import (
	"regexp"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// rule says what becomes of an annotation of a CLB.
type rule struct {
	// to is the annotation of an NLB that asks for the same; empty if there is none.
	to string
	// value is its value, the same if it is nil.
	value func(string) string
	// fits says which values have a counterpart; nil for all.
	fits *regexp.Regexp
	// note says why there is no counterpart, or with first, what to do before the Service is applied.
	note  string
	first bool
	// unlike says what is different with an NLB.
	unlike string
	// other is the default of an NLB, where it differs from that of a CLB.
	other string
	// own says that a function converts the annotation, together with others.
	own bool
}

const (
	noZones = "an NLB is in the zones of annotation zone-maps, or of vswitchIDs of the configuration"
	noBill  = "an NLB is billed by use"
	noHTTP  = "an NLB knows no HTTP"
	noReuse = "it is about a CLB that exists; the new Service gets an NLB of its own"
	noEIP   = "an NLB has an EIP in each zone: those of annotation zone-maps, or with address-type internet some that come and go with it"
	newCert = "NLBs take certificates of the certificate service, such as 123-cn-hangzhou: put their ids in place of these, or " +
		"name Secrets by tls-secret, and by secret/NAME in additional-cert-ids"
)

// rules has each annotation of a CLB.
func rules() map[string]rule {
	same := func(key string) rule { return rule{to: key} }
	none := func(note string) rule { return rule{note: note} }
	unlike := func(key, other string) rule { return rule{to: key, other: other} }
	upper := func(v string) string { return strings.ToUpper(v) }
	return map[string]rule{
		annotation.SyncPolicy:             same(annotation.SyncPolicy),
		annotation.ID:                     none(noReuse),
		annotation.ForceOverride:          none(noReuse),
		annotation.AddressType:            same(annotation.AddressType),
		annotation.Name:                   {to: annotation.Name, fits: nameForm, note: "an NLB's name has letters, digits and ._- only"},
		annotation.ResourceGroupID:        same(annotation.ResourceGroupID),
		annotation.AdditionalTags:         same(annotation.AdditionalTags),
		annotation.DeleteProtection:       same(annotation.DeleteProtection),
		annotation.ModificationProtection: same(annotation.ModificationProtection),
		annotation.PreserveOnDelete:       same(annotation.PreserveOnDelete),
		annotation.VSwitchID:              none(noZones),
		annotation.NetworkType:            none("an NLB is in the VPC"),
		annotation.ChargeType:             none(noBill),
		annotation.Bandwidth:              none(noBill + "; annotation bandwidth-package-id names a shared bandwidth"),
		annotation.InstanceChargeType:     none(noBill),
		annotation.InstanceSpec:           none(noBill),
		annotation.MasterZone:             none(noZones),
		annotation.SlaveZone:              none(noZones),
		annotation.IPVersion:              {own: true},
		annotation.Address:                none("chosen addresses are in annotation zone-maps"),
		annotation.ExternalIPType:         none("an NLB publishes its name, which leads to its EIPs, too; annotation zone-maps names those"),
		annotation.EIPID:                  none(noEIP),
		annotation.EIPAllocate:            none(noEIP),
		annotation.EIPBandwidth:           none(noEIP),
		annotation.EIPChargeType:          none(noEIP),
		annotation.Hostname:               none("an NLB publishes a name of its own"),
		annotation.IPMode:                 none("an NLB publishes a name, for which kube-proxy doesn't answer"),

		annotation.ProtocolPort: {own: true},
		annotation.CertID:       {to: annotation.CertID, note: newCert, first: true},
		annotation.TLSSecret:    same(annotation.TLSSecret),
		annotation.DomainExtensions: {to: annotation.AdditionalCertIDs, value: certificates, first: true,
			note: newCert, unlike: "an NLB takes the names from the certificates of additional-cert-ids"},
		annotation.TLSCipherPolicy: same(annotation.TLSCipherPolicy),
		annotation.HTTP2: none("an NLB passes HTTP/2 on instead of ending it; if the servers speak it, alpn: on with alpn-policy: " +
			"HTTP2Optional offers it"),
		annotation.ForwardPort:            none(noHTTP + ": the servers have to redirect"),
		annotation.Scheduler:              unlike(annotation.Scheduler, "wrr"),
		annotation.PersistenceTimeout:     {own: true},
		annotation.EstablishedTimeout:     same(annotation.IdleTimeout),
		annotation.IdleTimeout:            none(noHTTP + "; its idle-timeout ends a connection also while a server works on an answer"),
		annotation.RequestTimeout:         none(noHTTP),
		annotation.ConnectionDrain:        same(annotation.ConnectionDrain),
		annotation.ConnectionDrainTimeout: same(annotation.ConnectionDrainTimeout),
		annotation.ProxyProtocol:          same(annotation.ProxyProtocol),
		annotation.ACLStatus:              {own: true},
		annotation.ACLID:                  {own: true},
		annotation.ACLType:                {own: true},
		annotation.StickySession:          none(noHTTP + "; scheduler: sch keeps clients by their addresses"),
		annotation.StickySessionType:      none(noHTTP),
		annotation.Cookie:                 none(noHTTP),
		annotation.CookieTimeout:          none(noHTTP),
		annotation.XForwardedForProto:     none(noHTTP),
		annotation.XForwardedForSLBPort:   none(noHTTP),
		annotation.XForwardedForSrcPort:   none(noHTTP + "; proxy-protocol: on tells servers the client's address and port"),

		annotation.HealthCheckSwitch:         {own: true},
		annotation.HealthCheckFlag:           {own: true},
		annotation.HealthCheckType:           same(annotation.HealthCheckType),
		annotation.HealthCheckURI:            same(annotation.HealthCheckURI),
		annotation.HealthCheckDomain:         {to: annotation.HealthCheckDomain, value: instead("$_ip", "$SERVER_IP")},
		annotation.HealthCheckHTTPCode:       same(annotation.HealthCheckHTTPCode),
		annotation.HealthCheckMethod:         {to: annotation.HealthCheckMethod, value: upper, other: "GET"},
		annotation.HealthCheckConnectPort:    {to: annotation.HealthCheckConnectPort, value: instead("-520", "0")},
		annotation.HealthCheckInterval:       unlike(annotation.HealthCheckInterval, "5"),
		annotation.HealthyThreshold:          unlike(annotation.HealthyThreshold, "2"),
		annotation.UnhealthyThreshold:        unlike(annotation.UnhealthyThreshold, "2"),
		annotation.HealthCheckConnectTimeout: same(annotation.HealthCheckConnectTimeout),
		annotation.HealthCheckTimeout:        same(annotation.HealthCheckConnectTimeout),
		annotation.NodeHealthCheck:           same(annotation.NodeHealthCheck),

		annotation.BackendLabel:       same(annotation.BackendLabel),
		annotation.RemoveUnscheduled:  same(annotation.RemoveUnscheduled),
		annotation.VGroupPort:         none(noReuse),
		annotation.Weight:             none(noReuse),
		annotation.DefaultWeight:      same(annotation.DefaultWeight),
		annotation.IgnoreWeightUpdate: same(annotation.IgnoreWeightUpdate),
		annotation.BackendIPVersion:   same(annotation.BackendIPVersion),
		annotation.MaxNodes:           same(annotation.MaxNodes),
		annotation.DrainTerminating:   same(annotation.DrainTerminating),
		annotation.AllowHealthChecks:  same(annotation.AllowHealthChecks),
		annotation.DefaultServerGroup: none("an NLB has no default server group"),
	}
}

// instead replaces a value that is written another way.
func instead(before, after string) func(string) string {
	return func(v string) string {
		if v == before {
			return after
		}
		return v
	}
}

// certificates are those of a list of domain:certificate.
func certificates(pairs string) string {
	var ids []string
	for pair := range strings.SplitSeq(pairs, ",") {
		_, id, _ := strings.Cut(pair, ":")
		ids = append(ids, id)
	}
	return strings.Join(ids, ",")
}
