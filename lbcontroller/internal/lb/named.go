package lb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// ofReasons are the annotations that name things which may not be there, by what the cloud says then.
var ofReasons = map[rpcerr.Reason][]string{ //nolint:gochecknoglobals // A constant.
	rpcerr.CertificateNotFound: {annotation.CertID, annotation.AdditionalCertIDs, annotation.CACertID, annotation.DomainExtensions},
	rpcerr.VSwitchNotFound:     {annotation.VSwitchID, annotation.ZoneMaps}, rpcerr.AclNotFound: {annotation.ACLID},
	rpcerr.EipNotFound:           {annotation.EIPID, annotation.ZoneMaps},
	rpcerr.SecurityGroupNotFound: {annotation.SecurityGroupIDs},
	rpcerr.NoFreeAddress:         {annotation.VSwitchID, annotation.ZoneMaps},
}

// ofFields are the annotations from which fields of requests are, by the name of the field, or with that of the one in which it is. A field
// that may be from more than one isn't there.
var ofFields = map[string]string{ //nolint:gochecknoglobals // A constant.
	"tags": annotation.AdditionalTags, "set_tags": annotation.AdditionalTags, "vswitch_id": annotation.VSwitchID,
	"address": annotation.Address, "primary_zone_id": annotation.MasterZone, "standby_zone_id": annotation.SlaveZone,
	"spec": annotation.InstanceSpec, "resource_group_id": annotation.ResourceGroupID, "internet_charge_type": annotation.ChargeType,
	"bandwidth_mbps": annotation.Bandwidth, "zone_mappings": annotation.ZoneMaps, "security_groups": annotation.SecurityGroupIDs,
	"security_group_ids": annotation.SecurityGroupIDs, "bandwidth_package_id": annotation.BandwidthPackageID,
	"acl_ids": annotation.ACLID, "server_certificate_id": annotation.CertID, "certificate_ids": annotation.CertID,
	"ca_certificate_ids": annotation.CACertID, "additional_certificate_ids": annotation.AdditionalCertIDs,
	"tls_cipher_policy": annotation.TLSCipherPolicy, "security_policy_id": annotation.TLSCipherPolicy, "cookie": annotation.Cookie,
	"cookie_timeout": annotation.CookieTimeout, "scheduler": annotation.Scheduler, "idle_timeout": annotation.IdleTimeout,
	"request_timeout": annotation.RequestTimeout, "health_check.domain": annotation.HealthCheckDomain,
	"health_check.uri": annotation.HealthCheckURI, "health_check.url": annotation.HealthCheckURI,
}

// named says, as text for users, which annotations of the Service, or fields of it, failed calls are about, and what is written there. It
// is empty if none is known.
func named(v desired.View, err error) string {
	var texts []string
	for _, cause := range causes(err) {
		for _, key := range keysOf(v, cause) {
			text := fmt.Sprintf("%s is %q", v.Values.Noun(key), written(v, key))
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "; ")
}

// foresee leaves out of what was decided what the cloud would refuse, so that nothing is written for it. Where no load
// balancer can be made nothing else is.
func (e *engine) foresee(ctx context.Context, s pass, d decision) decision {
	foreseer, can := e.Product.(Foreseer)
	creates := d.plan.CreatesInstance()
	if !can || d.refusal() != nil || creates && mayCreate(s, d) != nil {
		return d
	}
	key, why, hopeless := foreseer.Foresee(ctx, d.there(), d.plan, d.read || creates)
	if why == "" {
		return d
	}
	text := fmt.Sprintf("%s is %q: %s", s.view.Values.Noun(key), written(s.view, key), why)
	if creates {
		d.known = knowledge.Refused{Refusal: &reuse.Refusal{Text: text, Again: retryRefused}}
		return d
	}
	d.plan, _ = d.plan.Without(hopeless)
	d.plan.Refused = append(slices.Clone(d.plan.Refused), text)
	return d
}

// keysOf are those among what a Service asks for that a refused call may be about: if the answer names the id of a thing, what has that id.
func keysOf(v desired.View, err error) []string {
	e, ok := rpcerr.From(err)
	if !ok {
		return nil
	}
	keys := slices.Clone(ofReasons[e.Reason])
	for _, f := range e.Fields {
		if key := keyOfField(f.Field); key != "" {
			keys = append(keys, key)
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !v.Values.Written(key) && v.Values.Origin(key) != annotation.InSpec })
	has := func(key string) bool {
		items := strings.FieldsFunc(written(v, key), func(r rune) bool { return strings.ContainsRune(",: ", r) })
		return slices.ContainsFunc(items, func(item string) bool { return strings.Contains(e.Message, item) })
	}
	if slices.ContainsFunc(keys, has) {
		keys = slices.DeleteFunc(keys, func(key string) bool { return !has(key) })
	}
	return keys
}

// written is what stands in an annotation, or what a field asks for.
func written(v desired.View, key string) string {
	return cmp.Or(v.Service.Annotations[v.Values.Problem(key, "").Name], v.Values.Text(key))
}

// keyOfField is that from which a field is: the outermost part of its path that is in the table decides.
func keyOfField(path string) string {
	parent := ""
	for part := range strings.SplitSeq(path, ".") {
		part, _, _ = strings.Cut(part, "[")
		if key := cmp.Or(ofFields[part], ofFields[parent+"."+part]); key != "" {
			return key
		}
		parent = part
	}
	return ""
}
