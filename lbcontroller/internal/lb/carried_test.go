package lb_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// carriedField is a field of a message that changes something, and what of a Service changes it: annotations that are
// there before and after, as "key=value" with the keys of the table, and those that come with the change.
type carriedField struct {
	message proto.Message
	field   string // with those of the messages in it, e.g. health_check.interval
	before  []string
	after   []string
	given   func(*corev1.Service) // before the change, beside annotations
	edit    func(*corev1.Service) // in place of annotations
	never   string                // why no Service changes it
}

// secureNLB lets the port of an NLB end TLS.
var secureNLB = []string{"protocol-port=tcpssl:80", "cert-id=1-cn-hangzhou"}

func with(base []string, more ...string) []string { return slices.Concat(base, more) }

func carriedFields() []carriedField {
	group, balancer, config := &nlbv1.UpdateServerGroupRequest{}, &nlbv1.UpdateLoadBalancerRequest{}, &nlbv1.ListenerConfig{}
	clb, listener := &slbv1.UpdateLoadBalancerRequest{}, &slbv1.ListenerConfig{}
	list, rules := &slbv1.UpdateAccessControlListRequest{}, &ecsv1.UpdateSecurityGroupRequest{}
	extension := &slbv1.UpdateDomainExtensionRequest{}
	from := func(ranges ...string) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = ranges }
	}
	checks := []string{"health-check-flag=on", "health-check-type=http"}
	web := []string{"protocol-port=http:80", "health-check-flag=on", "health-check-type=http"}
	https := []string{"protocol-port=https:80", "cert-id=cert-1"}
	sticky := []string{"protocol-port=http:80", "sticky-session=on", "sticky-session-type=insert", "cookie-timeout=100"}
	const byHand, ours, fixed = "people may give it another in the console", "it says whose it is", "it can't be changed"
	const kept = "it is taken off when the Service goes and something else uses the list"
	const few, many = "10.0.0.0/8", "192.168.0.0/16"
	renumber := func(svc *corev1.Service) { svc.Spec.Ports[0].NodePort = 31080 }
	return []carriedField{
		{message: group, field: "name", never: ours},
		{message: group, field: "scheduler", after: []string{"scheduler=wlc"}},
		{message: group, field: "connection_drain_enabled", after: []string{"connection-drain=on"}},
		{message: group, field: "connection_drain_timeout",
			before: []string{"connection-drain=on", "connection-drain-timeout=20"},
			after:  []string{"connection-drain=on", "connection-drain-timeout=60"}},
		{message: group, field: "preserve_client_ip_enabled", after: []string{"preserve-client-ip=off"}},
		{message: group, field: "ip_version_affinity", before: []string{"ip-version=DualStack", "backend-ip-version=ipv6"},
			after: []string{"ip-version=DualStack", "backend-ip-version=dualstack"}},
		{message: group, field: "health_check.enabled", before: checks, after: []string{"health-check-flag=off"}},
		{message: group, field: "health_check.type", after: checks},
		{message: group, field: "health_check.connect_port", before: checks,
			after: with(checks, "health-check-connect-port=99")},
		{message: group, field: "health_check.healthy_threshold", before: checks, after: with(checks, "healthy-threshold=4")},
		{message: group, field: "health_check.unhealthy_threshold", before: checks,
			after: with(checks, "unhealthy-threshold=4")},
		{message: group, field: "health_check.connect_timeout", before: checks,
			after: with(checks, "health-check-connect-timeout=9")},
		{message: group, field: "health_check.interval", before: checks, after: with(checks, "health-check-interval=9")},
		{message: group, field: "health_check.domain", before: checks,
			after: with(checks, "health-check-domain=a.example.com")},
		{message: group, field: "health_check.url", before: checks, after: with(checks, "health-check-uri=/ready")},
		{message: group, field: "health_check.http_method", before: checks, after: with(checks, "health-check-method=HEAD")},
		{message: group, field: "health_check.http_codes", before: checks,
			after: with(checks, "health-check-httpcode=http_2xx,http_3xx")},
		{message: group, field: "resource_group_id", never: fixed},
		{message: group, field: "set_tags", never: ours},
		{message: group, field: "remove_tag_keys", never: ours},

		{message: balancer, field: "name", after: []string{"name=mine"}},
		{message: balancer, field: "cps", never: byHand},
		{message: balancer, field: "cross_zone_enabled", after: []string{"cross-zone-enabled=off"}},
		{message: balancer, field: "deletion_protection.enabled", after: []string{"delete-protection=off"}},
		{message: balancer, field: "deletion_protection.reason", never: "it is always the same"},
		{message: balancer, field: "modification_protection.enabled",
			after: []string{"modification-protection=NonProtection"}},
		{message: balancer, field: "modification_protection.reason", never: "it is always the same"},
		{message: balancer, field: "address_type", after: []string{"address-type=intranet"}},
		{message: balancer, field: "zone_mappings", before: []string{"zone-maps=cn-hangzhou-h:vsw-h,cn-hangzhou-i:vsw-i"},
			after: []string{"zone-maps=cn-hangzhou-h:vsw-h,cn-hangzhou-j:vsw-j"}},
		{message: balancer, field: "shifted_zones", after: []string{"shifted-zones=cn-hangzhou-h"}},
		{message: balancer, field: "ipv6_address_type", before: []string{"ip-version=DualStack"},
			after: []string{"ip-version=DualStack", "ipv6-address-type=internet"}},
		{message: balancer, field: "security_groups", before: []string{"security-group-ids=sg-user-1"},
			after: []string{"security-group-ids=sg-user-2"}},
		{message: balancer, field: "bandwidth_package_id", after: []string{"bandwidth-package-id=cbwp-1"}},
		{message: balancer, field: "resource_group_id", never: fixed},
		{message: balancer, field: "set_tags", after: []string{"additional-resource-tags=team=blue"}},
		{message: balancer, field: "remove_tag_keys", before: []string{"additional-resource-tags=team=blue"}},

		{message: config, field: "description", never: ours},
		{message: config, field: "server_group_id", edit: renumber},
		{message: config, field: "idle_timeout", after: []string{"idle-timeout=30"}},
		{message: config, field: "security_policy_id", before: secureNLB,
			after: with(secureNLB, "tls-cipher-policy=tls_cipher_policy_1_2")},
		{message: config, field: "certificate_ids", before: secureNLB,
			after: []string{"protocol-port=tcpssl:80", "cert-id=2-cn-hangzhou"}},
		{message: config, field: "ca_enabled", before: with(secureNLB, "cacert-id=ca-1"),
			after: with(secureNLB, "cacert-id=ca-1", "cacert=on")},
		{message: config, field: "ca_certificate_ids", before: with(secureNLB, "cacert-id=ca-1", "cacert=on"),
			after: with(secureNLB, "cacert-id=ca-2", "cacert=on")},
		{message: config, field: "alpn_enabled", before: secureNLB,
			after: with(secureNLB, "alpn=on", "alpn-policy=HTTP2Only")},
		{message: config, field: "alpn_policy", before: with(secureNLB, "alpn=on", "alpn-policy=HTTP2Only"),
			after: with(secureNLB, "alpn=on", "alpn-policy=HTTP1Only")},
		{message: config, field: "proxy_protocol_enabled", after: []string{"proxy-protocol=on"}},
		{message: config, field: "proxy_protocol_v2.private_link_ep_id_enabled", before: []string{"proxy-protocol=on"},
			after: []string{"proxy-protocol=on", annotation.PPv2EndpointID + "=on"}},
		{message: config, field: "proxy_protocol_v2.private_link_eps_id_enabled", before: []string{"proxy-protocol=on"},
			after: []string{"proxy-protocol=on", annotation.PPv2EndpointService + "=on"}},
		{message: config, field: "proxy_protocol_v2.vpc_id_enabled", before: []string{"proxy-protocol=on"},
			after: []string{"proxy-protocol=on", annotation.PPv2VPCID + "=on"}},
		{message: config, field: "cps", after: []string{annotation.ConnectionsPerSec + "=100"}},
		{message: config, field: "mss", never: byHand},
		{message: config, field: "sec_sensor_enabled", never: byHand},

		{message: clb, field: "name", after: []string{"name=mine"}},
		{message: clb, field: "instance_charge_type", before: []string{"instance-charge-type=PayBySpec", "spec=slb.s1.small"},
			after: []string{"instance-charge-type=PayByCLCU"}},
		{message: clb, field: "spec", before: []string{"instance-charge-type=PayBySpec", "spec=slb.s1.small"},
			after: []string{"instance-charge-type=PayBySpec", "spec=slb.s2.small"}},
		{message: clb, field: "internet_spec.charge_type",
			before: []string{"instance-charge-type=PayBySpec", "charge-type=paybytraffic"},
			after:  []string{"instance-charge-type=PayBySpec", "charge-type=paybybandwidth", "bandwidth=5"}},
		{message: clb, field: "internet_spec.bandwidth_mbps",
			before: []string{"instance-charge-type=PayBySpec", "charge-type=paybybandwidth", "bandwidth=5"},
			after:  []string{"instance-charge-type=PayBySpec", "charge-type=paybybandwidth", "bandwidth=10"}},
		{message: clb, field: "delete_protection", after: []string{"delete-protection=off"}},
		{message: clb, field: "modification_protection.enabled", after: []string{"modification-protection=NonProtection"}},
		{message: clb, field: "modification_protection.reason", never: "it is always the same"},
		{message: clb, field: "set_tags", after: []string{"additional-resource-tags=team=blue"}},
		{message: clb, field: "remove_tag_keys", before: []string{"additional-resource-tags=team=blue"}},
		{message: clb, field: "resource_group_id", never: fixed},
		{message: clb, field: "active", never: "one that is stopped is a user's wish"},

		{message: list, field: "name", never: ours},
		{message: list, field: "add_entries", given: from(few), edit: from(few, many)},
		{message: list, field: "remove_entries", given: from(few, many), edit: from(few)},
		{message: list, field: "remove_first", never: "what comes and what goes are calls of their own where the order matters"},
		{message: list, field: "set_tags", never: ours},
		{message: list, field: "remove_tag_keys", never: kept},
		{message: list, field: "resource_group_id", never: fixed},

		{message: rules, field: "name", never: ours},
		{message: rules, field: "description", never: ours},
		{message: rules, field: "add_rules", given: from(few), edit: from(few, many)},
		{message: rules, field: "remove_rules", given: from(few, many), edit: from(few)},
		{message: rules, field: "set_tags", never: ours},
		{message: rules, field: "remove_tag_keys", never: kept},

		{message: extension, field: "server_certificate_id", before: with(https, "domain-extensions=a.example.com:cert-1"),
			after: with(https, "domain-extensions=a.example.com:cert-2")},

		{message: listener, field: "description", never: ours},
		{message: listener, field: "server_group_id", edit: renumber},
		{message: listener, field: "scheduler", after: []string{"scheduler=wlc"}},
		{message: listener, field: "bandwidth_mbps", never: "it is the load balancer's"},
		{message: listener, field: "persistence_timeout", after: []string{"persistence-timeout=60"}},
		{message: listener, field: "established_timeout", after: []string{"established-timeout=60"}},
		{message: listener, field: "idle_timeout", before: web, after: with(web, "idle-timeout=30")},
		{message: listener, field: "request_timeout", before: web, after: with(web, "request-timeout=30")},
		{message: listener, field: "connection_drain", after: []string{"connection-drain=on", "connection-drain-timeout=20"}},
		{message: listener, field: "connection_drain_timeout",
			before: []string{"connection-drain=on", "connection-drain-timeout=20"},
			after:  []string{"connection-drain=on", "connection-drain-timeout=60"}},
		{message: listener, field: "proxy_protocol_v2", after: []string{"proxy-protocol=on"}},
		{message: listener, field: "acl_enabled", after: []string{"acl-status=on", "acl-id=acl-user-1", "acl-type=white"}},
		{message: listener, field: "acl_type", before: []string{"acl-status=on", "acl-id=acl-user-1", "acl-type=white"},
			after: []string{"acl-status=on", "acl-id=acl-user-1", "acl-type=black"}},
		{message: listener, field: "acl_ids", before: []string{"acl-status=on", "acl-id=acl-user-1", "acl-type=white"},
			after: []string{"acl-status=on", "acl-id=acl-user-2", "acl-type=white"}},
		{message: listener, field: "sticky_session", before: web, after: sticky},
		{message: listener, field: "sticky_session_type", before: sticky,
			after: []string{"protocol-port=http:80", "sticky-session=on", "sticky-session-type=server", "cookie=me"}},
		{message: listener, field: "cookie",
			before: []string{"protocol-port=http:80", "sticky-session=on", "sticky-session-type=server", "cookie=me"},
			after:  []string{"protocol-port=http:80", "sticky-session=on", "sticky-session-type=server", "cookie=you"}},
		{message: listener, field: "cookie_timeout", before: sticky,
			after: []string{"protocol-port=http:80", "sticky-session=on", "sticky-session-type=insert", "cookie-timeout=200"}},
		{message: listener, field: "x_forwarded_for_proto", before: web,
			after: with(web, annotation.XForwardedForProto+"=on")},
		{message: listener, field: "x_forwarded_for_slb_port", before: web,
			after: with(web, annotation.XForwardedForSLBPort+"=on")},
		{message: listener, field: "x_forwarded_for_client_src_port", before: web,
			after: with(web, annotation.XForwardedForSrcPort+"=on")},
		{message: listener, field: "server_certificate_id", before: https,
			after: []string{"protocol-port=https:80", "cert-id=cert-2"}},
		{message: listener, field: "tls_cipher_policy", before: https,
			after: with(https, "tls-cipher-policy=tls_cipher_policy_1_2")},
		{message: listener, field: "http2", before: https, after: with(https, annotation.HTTP2+"=off")},
		{message: listener, field: "forward_port", never: "the listener is replaced"},
		{message: listener, field: "health_check.enabled", before: web,
			after: []string{"protocol-port=http:80", "health-check-flag=off"}},
		{message: listener, field: "health_check.type", after: []string{"health-check-type=http"}},
		{message: listener, field: "health_check.uri", before: web, after: with(web, "health-check-uri=/ready")},
		{message: listener, field: "health_check.domain", before: web, after: with(web, "health-check-domain=a.example.com")},
		{message: listener, field: "health_check.http_code", before: web,
			after: with(web, "health-check-httpcode=http_2xx,http_3xx")},
		{message: listener, field: "health_check.method", before: web, after: with(web, "health-check-method=get")},
		{message: listener, field: "health_check.connect_port", before: web,
			after: with(web, "health-check-connect-port=99")},
		{message: listener, field: "health_check.interval", before: web, after: with(web, "health-check-interval=9")},
		{message: listener, field: "health_check.healthy_threshold", before: web, after: with(web, "healthy-threshold=4")},
		{message: listener, field: "health_check.unhealthy_threshold", before: web,
			after: with(web, "unhealthy-threshold=4")},
		{message: listener, field: "health_check.timeout", before: web, after: with(web, "health-check-timeout=9")},
		{message: listener, field: "health_check.request", never: byHand},
		{message: listener, field: "health_check.response", never: byHand},
		{message: listener, field: "ca_certificate_id", never: byHand},
		{message: listener, field: "x_forwarded_for", never: byHand},
		{message: listener, field: "x_forwarded_for_slb_id", never: byHand},
		{message: listener, field: "x_forwarded_for_slb_ip", never: byHand},
		{message: listener, field: "gzip", never: byHand},
		{message: listener, field: "syn_proxy", never: byHand},
		{message: listener, field: "backend_server_port", never: byHand},
	}
}

// leafFields are the fields of a message, those of the messages in it by their path.
func leafFields(m protoreflect.MessageDescriptor, prefix string) (paths []string) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		path := prefix + string(f.Name())
		whole := []string{"zone_mappings", "security_groups", "shifted_zones"}
		switch {
		case slices.Contains([]string{"load_balancer_id", "server_group_id", "acl_id", "security_group_id", "domain_extension_id", "request_id",
			"validate_only"}, path) &&
			!strings.HasSuffix(string(m.Name()), "Config"):
		case f.Kind() == protoreflect.MessageKind && !f.IsList() && !slices.Contains(whole, path):
			paths = append(paths, leafFields(f.Message(), path+".")...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// TestFieldsAreCarried: each field of the messages that change a load balancer, a listener or a server group is sent
// when the Service asks for it, is so in the cloud then, and is found there by the next looks: they write nothing. Or
// the table says why no Service changes it.
func TestFieldsAreCarried(t *testing.T) {
	t.Parallel()
	covered := map[protoreflect.FullName]map[string]bool{}
	for _, c := range carriedFields() {
		descriptor := c.message.ProtoReflect().Descriptor()
		if covered[descriptor.FullName()] == nil {
			covered[descriptor.FullName()] = map[string]bool{}
			for _, path := range leafFields(descriptor, "") {
				covered[descriptor.FullName()][path] = false
			}
		}
		if seen, known := covered[descriptor.FullName()][c.field]; seen || !known {
			t.Errorf("%s.%s: there is no such field, or it stands here twice", descriptor.FullName(), c.field)
		}
		covered[descriptor.FullName()][c.field] = true
		if c.never == "" {
			t.Run(string(descriptor.FullName())+"/"+c.field, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 2, func(w *world) { c.test(w) })
			})
			t.Run(string(descriptor.FullName())+"/"+c.field+"/created", func(t *testing.T) {
				t.Parallel()
				inWorld(t, 2, func(w *world) { c.created(w) })
			})
			if spec, isOne := c.removes(); isOne {
				t.Run(string(descriptor.FullName())+"/"+c.field+"/removed", func(t *testing.T) {
					t.Parallel()
					inWorld(t, 2, func(w *world) { c.removed(w, spec) })
				})
			}
		}
	}
	for message, fields := range covered {
		for _, path := range slices.Sorted(maps.Keys(fields)) {
			if !fields[path] {
				t.Errorf("%s.%s: say here what of a Service changes it, or why nothing does", message, path)
			}
		}
	}
}

// TestEveryUpdateIsCarried: each message by which this module changes something in the cloud stands in the table of
// TestFieldsAreCarried. Those of rules for health checks, which follow nodes and no field of a Service, are told in
// stories.
func TestEveryUpdateIsCarried(t *testing.T) {
	t.Parallel()
	carried := map[string]bool{"nlbv1.UpdateListenerRequest": true, "slbv1.UpdateListenerRequest": true} // Their ListenerConfig stands there.
	for _, c := range carriedFields() {
		name := c.message.ProtoReflect().Descriptor()
		carried[strings.Split(string(name.ParentFile().Package()), ".")[1]+"v1."+string(name.Name())] = true
	}
	update := regexp.MustCompile(`\b(slbv1|nlbv1|ecsv1|vpcv1|casv1)\.(Update[A-Z]\w*Request)\{`)
	found := 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range update.FindAllStringSubmatch(string(text), -1) {
			if found++; !carried[m[1]+"."+m[2]] {
				t.Errorf("%s makes %s.%s, and carriedFields has none of its fields", path, m[1], m[2])
			}
		}
		return err
	})
	if err != nil || found < 5 {
		t.Errorf("%d updates are made, %v", found, err)
	}
}

// prepare makes what Services name, and returns one whose message c is about, as it is before the change.
func (c carriedField) prepare(w *world) *corev1.Service {
	w.config = bothKinds
	w.zones()
	addSecurityGroups(w)
	w.cloud.Lock()
	w.cloud.VSwitches["vsw-j"] = &state.VSwitch{}
	for _, id := range []string{"cbwp-1", "cbwp-2"} {
		w.cloud.BandwidthPackages[id] = &state.BandwidthPackage{Bandwidth: 100}
	}
	addZones(w.cloud.Cloud)
	for _, id := range []string{"acl-user-1", "acl-user-2"} {
		w.cloud.Acls[id] = &state.Acl{Name: id, IPVersion: "ipv4", Entries: []state.AclEntry{{Entry: "10.0.0.0/8"}}}
	}
	w.cloud.Unlock()
	w.restart()
	svc := web()
	annotatePairs(svc, c.before)
	if c.given != nil {
		c.given(svc)
	}
	_, isRules := c.message.(*ecsv1.UpdateSecurityGroupRequest)
	if isRules || strings.Contains(string(c.message.ProtoReflect().Descriptor().FullName()), ".nlb.") {
		ofClass(svc)
	}
	return svc
}

// annotatePairs sets annotations, as "key=value".
func annotatePairs(svc *corev1.Service, pairs []string) {
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		svc.Annotations[annotation.Prefix+key] = value
	}
}

// change makes of a Service what it is after the change.
func (c carriedField) change(svc *corev1.Service) {
	if c.edit != nil {
		c.edit(svc)
		return
	}
	maps.DeleteFunc(svc.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, annotation.Prefix) })
	annotatePairs(svc, c.after)
}

func (c carriedField) test(w *world) {
	w.create(c.prepare(w))
	w.cloud.ResetCalls()
	w.events.take()
	w.update(c.change)
	if !slices.ContainsFunc(w.cloud.Writes(), func(call gatewaytest.Call) bool { return c.arrived(w, call) }) {
		w.t.Errorf("no call brings it to the cloud: %v; events %q", w.cloud.Writes(), w.events.take())
	}
	c.stays(w)
}

// created tests a Service that asks from its beginning for what it asks for after the change: what is made has it. A creation that lacks
// it is made good by an update of the next look.
func (c carriedField) created(w *world) {
	svc := c.prepare(w)
	c.change(svc)
	w.create(svc)
	if len(w.cloud.Writes()) == 0 {
		w.t.Errorf("nothing is made; events %q", w.events.take())
	}
	c.stays(w)
}

// removes reports the row of the annotation that comes with the change, if it is one that is not there before.
func (c carriedField) removes() (spec annotation.Spec, isOne bool) {
	kind := annotation.CLB
	if strings.Contains(string(c.message.ProtoReflect().Descriptor().FullName()), ".nlb.") {
		kind = annotation.NLB
	}
	keys := func(pairs []string) (keys []string) {
		for _, pair := range pairs {
			key, _, _ := strings.Cut(pair, "=")
			keys = append(keys, key)
		}
		return keys
	}
	added := slices.DeleteFunc(keys(c.after), func(key string) bool { return slices.Contains(keys(c.before), key) })
	for _, spec := range annotation.TableFor(kind) {
		if len(added) == 1 && spec.Key == added[0] {
			return spec, true
		}
	}
	return spec, false
}

// removed tests a Service that asks no longer: what it asked for goes back, which takes a write, or stays, as the table of annotations
// says.
func (c carriedField) removed(w *world, spec annotation.Spec) {
	w.create(c.prepare(w))
	w.update(c.change)
	w.cloud.ResetCalls()
	w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+spec.Key) })
	switch writes := w.cloud.Writes(); {
	case spec.Removal == annotation.Reverts && len(writes) == 0:
		w.t.Errorf("%s %s, and nothing is written: its row has no Reset, or nothing looks at it", spec.Key, spec.Removal)
	case spec.Removal != annotation.Reverts && len(writes) > 0:
		w.t.Errorf("%s %s, and there are writes: %v", spec.Key, spec.Removal, writes)
	}
	c.stays(w)
}

// stays looks again, as the same process and as a new one, and nothing may be written.
func (c carriedField) stays(w *world) {
	w.cloud.ResetCalls()
	w.after(10 * time.Hour)
	w.restart()
	w.patch("web", annotate("example.com/touched", "1"))
	w.settle()
	for _, call := range w.cloud.Writes() {
		w.t.Errorf("what is there is written again: %s %v", call.Method, call.Request)
	}
}
