package convert

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// Result is a Service of an NLB, with what its user has to know.
type Result struct {
	Service *corev1.Service
	lists
}

// lists are what a user has to know.
type lists struct {
	// First is to be done before the result is applied.
	First []string
	// Without is what the Service asks for and the result can't have.
	Without []string
	// Differs is what is another way with the result.
	Differs []string
}

const (
	on  = "on"
	tcp = "tcp"
)

// suffix tells the new Service from the old one, which stays beside it for a time.
const suffix = "-nlb"

// maxName is how long the name of a Service may be.
const maxName = 63

// noteDomain is that of what the controller notes on a Service, and noteHash what is apart from it (lb.LabelHash).
const (
	noteDomain = "service.k8s.alibaba/"
	noteHash   = "service.beta.kubernetes.io/hash"
)

// lastApplied is kubectl's note of another object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// conversion is one Service on its way.
type conversion struct {
	Result
	values annotation.Values
	// transport and web say that listeners of the CLB are for tcp and udp, and for http and https, and checked that it checks the servers
	// of some.
	transport, web, checked bool
	// unchecked are the ports whose servers the CLB doesn't check, if it checks those of others.
	unchecked []int32
}

// ToNLB converts a Service that has a CLB. A Service with a bad value is refused: what it asks for isn't known.
func ToNLB(svc *corev1.Service, class string) (Result, error) {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer || svc.Spec.LoadBalancerClass != nil {
		return Result{}, errors.New("it has no CLB: its type must be LoadBalancer, without a loadBalancerClass")
	}
	values, problems := annotation.Parse(svc.Annotations)
	if err := mend(problems); err != nil {
		return Result{}, err
	}
	c := &conversion{values: values}
	c.Service = skeleton(svc, class)
	c.listeners(svc)
	for _, spec := range annotation.Table() {
		c.apply(spec)
	}
	c.families()
	c.persistence()
	c.access(svc)
	c.health()
	c.fields(svc)
	return c.Result, nil
}

// mend is the error for a Service with bad values.
func mend(problems []annotation.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return fmt.Errorf("mend it first: %s", strings.Join(texts, "; "))
}

// skeleton is the Service without its annotations for a load balancer, and without what the API server and the controller have added.
func skeleton(svc *corev1.Service, class string) *corev1.Service {
	result := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name[:min(len(svc.Name), maxName-len(suffix))] + suffix,
			Labels: maps.Clone(svc.Labels), Annotations: map[string]string{},
		},
		Spec: *svc.Spec.DeepCopy(),
	}
	maps.DeleteFunc(result.Labels, func(key, _ string) bool { return strings.HasPrefix(key, noteDomain) || key == noteHash })
	for key, value := range svc.Annotations {
		isAsked := strings.HasPrefix(key, annotation.Prefix) || strings.HasPrefix(key, annotation.LegacyPrefix)
		if !isAsked && !strings.HasPrefix(key, noteDomain) && key != lastApplied {
			result.Annotations[key] = value
		}
	}
	s := &result.Spec
	s.LoadBalancerClass = &class
	s.ClusterIP, s.ClusterIPs, s.HealthCheckNodePort, s.ExternalIPs, s.LoadBalancerIP = "", nil, 0, nil, ""
	for i := range s.Ports {
		s.Ports[i].NodePort = 0
	}
	return result
}

// set puts an annotation on the Service.
func (c *conversion) set(key, value string) { c.Service.Annotations[annotation.Prefix+key] = value }

// asked is what an annotation of the NLB is to be, "" for nothing yet.
func (c *conversion) asked(key string) string { return c.Service.Annotations[annotation.Prefix+key] }

// has reports that the user has written an annotation, for all ports or for one: what takes the place of one that is gone isn't asked of
// another load balancer.
func (c *conversion) has(key string) bool { return c.values.Written(key) }

func (l *lists) first(format string, args ...any) {
	l.First = append(l.First, fmt.Sprintf(format, args...))
}

func (l *lists) without(format string, args ...any) {
	l.Without = append(l.Without, fmt.Sprintf(format, args...))
}

func (l *lists) differs(format string, args ...any) {
	l.Differs = append(l.Differs, fmt.Sprintf(format, args...))
}

// said is a value as a user writes it, for one port, or for all with port 0.
type said struct {
	port  int32
	value string
}

// parts are what an annotation says for all ports and for single ones.
func (c *conversion) parts(spec annotation.Spec) []said {
	var parts []said
	if c.values.Origin(spec.Key) == annotation.Written {
		parts = append(parts, said{0, text(c.values, spec)})
	}
	for _, port := range c.values.Ports(spec.Key) {
		parts = append(parts, said{port, text(c.values.ForPort(port), spec)})
	}
	return parts
}

// text is a value as a user writes it.
func text(values annotation.Values, spec annotation.Spec) string {
	if spec.Kind != annotation.Pairs {
		return values.Text(spec.Key)
	}
	pairs := values.Pairs(spec.Key)
	items := make([]string, len(pairs))
	for i, p := range pairs {
		items[i] = p.Key + spec.Separator + p.Value
	}
	return strings.Join(items, ",")
}

// apply does with an annotation what its rule says.
func (c *conversion) apply(spec annotation.Spec) {
	r := rules()[spec.Key]
	if !c.has(spec.Key) {
		if r.other != "" && c.concerns(spec) && (c.checked || spec.Scope != annotation.Health) {
			c.differs("%s isn't set: %s on a CLB, %s on an NLB", spec.Key, bare(spec.Default), r.other)
		}
		return
	}
	if r.own { // By functions of their own.
		return
	}
	var values []string
	for _, part := range c.parts(spec) {
		if r.to == "" || r.fits != nil && !r.fits.MatchString(part.value) {
			c.without("%s: %s: %s", spec.Key, spec.ForPort(part.port, part.value), r.note)
			continue
		}
		if r.value != nil {
			part.value = r.value(part.value)
		}
		values = append(values, counterpart(r.to).ForPort(part.port, part.value))
	}
	if len(values) == 0 {
		return
	}
	value := strings.Join(values, ",")
	c.set(r.to, value)
	if ids := named(value); r.first && len(ids) > 0 {
		c.first("%s: %s: %s", r.to, strings.Join(ids, ","), r.note)
	}
	if r.unlike != "" {
		c.differs("%s: %s", spec.Key, r.unlike)
	}
}

// named are the certificates in a list that are not those of Secrets, which go along.
func named(list string) (ids []string) {
	for item := range strings.SplitSeq(list, ",") {
		_, id, isForPort := strings.Cut(item, ":")
		if !isForPort {
			id = item
		}
		if _, isSecret := annotation.SecretName(id); !isSecret {
			ids = append(ids, item)
		}
	}
	return ids
}

// counterpart is the row of an annotation of NLBs.
func counterpart(key string) annotation.Spec {
	table := annotation.TableFor(annotation.NLB)
	return table[slices.IndexFunc(table, func(s annotation.Spec) bool { return s.Key == key })]
}

// bare is a default without the words that say whose it is.
func bare(text string) string { return strings.TrimPrefix(text, "the cloud's, ") }

// concerns reports that listeners of the Service have the attribute.
func (c *conversion) concerns(spec annotation.Spec) bool {
	isWeb := slices.Contains(spec.Protocols, "http") || slices.Contains(spec.Protocols, "https")
	return len(spec.Protocols) == 0 || isWeb && c.web || c.transport && slices.Contains(spec.Protocols, tcp)
}

// listeners converts protocols, and what only listeners for http and https have.
func (c *conversion) listeners(svc *corev1.Service) {
	var kept, secure, plain []string
	web := map[string]bool{}
	for _, p := range c.values.Pairs(annotation.ProtocolPort) {
		switch protocol := strings.ToLower(p.Key); protocol {
		case "https":
			kept, secure, web[p.Value] = append(kept, "tcpssl:"+p.Value), append(secure, p.Value), true
		case "http":
			plain, web[p.Value] = append(plain, p.Value), true
		default:
			kept = append(kept, protocol+":"+p.Value)
		}
	}
	if len(kept) > 0 {
		c.set(annotation.ProtocolPort, strings.Join(kept, ","))
	}
	for _, port := range svc.Spec.Ports {
		isWeb := web[strconv.Itoa(int(port.Port))]
		c.web, c.transport = c.web || isWeb, c.transport || !isWeb
	}
	c.checks(svc, web)
	if len(plain) > 0 {
		c.without("protocol-port: http:%s: an NLB passes the bytes on, as tcp. Servers see the address of the client and no "+
			"X-Forwarded-For, and each connection goes to one server, not each request", strings.Join(plain, ", "))
	}
	if len(secure) > 0 {
		c.without("protocol-port: https:%s: an NLB ends TLS and passes the bytes on, as tcpssl. Servers see the NLB's address and no "+
			"X-Forwarded-For: proxy-protocol: on tells them the client's. Clients get HTTP/2 only by alpn, from servers that speak it",
			strings.Join(secure, ", "))
	}
}

// checks looks which ports have health checks: those of web are for http and https, and are checked only if that is asked for.
func (c *conversion) checks(svc *corev1.Service, web map[string]bool) {
	isOn := map[int32]bool{}
	for _, port := range svc.Spec.Ports {
		values, isWeb := c.values.ForPort(port.Port), web[strconv.Itoa(int(port.Port))]
		on := values.On(annotation.HealthCheckFlag)
		if !isWeb {
			on = values.Origin(annotation.HealthCheckSwitch) != annotation.Written || values.On(annotation.HealthCheckSwitch)
		}
		isOn[port.Port] = isOn[port.Port] || on
		c.checked = c.checked || on
	}
	for _, port := range slices.Sorted(maps.Keys(isOn)) {
		if c.checked && !isOn[port] {
			c.unchecked = append(c.unchecked, port)
		}
	}
}

// families converts the family of the address. An NLB has no IPv6 addresses alone, and the cloud gives it private ones.
func (c *conversion) families() {
	if !c.has(annotation.IPVersion) {
		return
	}
	if c.values.Text(annotation.IPVersion) != "ipv6" {
		c.set(annotation.IPVersion, "ipv4")
		return
	}
	c.set(annotation.IPVersion, "DualStack")
	c.set(annotation.IPv6AddressType, "internet")
	if c.has(annotation.AddressType) {
		c.set(annotation.IPv6AddressType, c.values.Text(annotation.AddressType))
	}
	c.differs("ip-version: DualStack: the NLB has IPv4 addresses, too, and its vSwitches need IPv6")
}

// persistence keeps clients with their servers by the scheduler, unless the Service asks for another one.
func (c *conversion) persistence() {
	table := annotation.Table()
	spec := table[slices.IndexFunc(table, func(s annotation.Spec) bool { return s.Key == annotation.PersistenceTimeout })]
	var schedulers []string
	for _, part := range c.parts(spec) {
		written := spec.ForPort(part.port, part.value)
		switch isOff := part.value == "0"; {
		case isOff && len(schedulers) > 0: // All others are kept.
			schedulers = append(schedulers, spec.ForPort(part.port, "wrr"))
		case isOff:
		case c.has(annotation.Scheduler):
			c.without("persistence-timeout: %s: an NLB keeps clients by scheduler: sch, and the Service asks for another scheduler", written)
		default:
			schedulers = append(schedulers, spec.ForPort(part.port, "sch"))
			c.differs("scheduler: %s: it keeps clients by their addresses, without a time and without weights, in place of "+
				"persistence-timeout: %s", spec.ForPort(part.port, "sch"), written)
		}
	}
	if len(schedulers) > 0 {
		c.set(annotation.Scheduler, strings.Join(schedulers, ","))
	}
}

// nobody is a network that no client is in: it is reserved for documentation.
const nobody = "192.0.2.0/32"

// access keeps everybody out of an NLB in place of restrictions that it would not have, until the user has said who may come.
func (c *conversion) access(svc *corev1.Service) {
	isOn := c.has(annotation.ACLStatus) && c.values.On(annotation.ACLStatus)
	if isOn || annotation.AccessUnsaid(svc.Annotations) != "" {
		c.Service.Spec.LoadBalancerSourceRanges = []string{nobody}
		c.first("loadBalancerSourceRanges: %s: nobody may connect: put the networks of the access control lists %s there. Of a list that keeps "+
			"networks out, name those that may come, or set annotation security-group-ids instead", nobody,
			strings.Join(c.values.List(annotation.ACLID), ", "))
	}
}

// health converts the switches of health checks. An NLB looks at the other annotations only if its one switch is on.
func (c *conversion) health() {
	var options []string
	for _, spec := range annotation.TableFor(annotation.NLB) {
		isOption := spec.Scope == annotation.Health && spec.Key != annotation.NodeHealthCheck // Which sets them by itself.
		if isOption && c.asked(spec.Key) != "" {
			options = append(options, spec.Key)
		}
	}
	switch written := c.has(annotation.HealthCheckSwitch) && c.transport || c.has(annotation.HealthCheckFlag) && c.web; {
	case c.checked && (len(options) > 0 || written || len(c.unchecked) > 0):
		flags := []string{on}
		for _, port := range c.unchecked {
			flags = append(flags, fmt.Sprintf("%d:off", port))
		}
		c.set(annotation.HealthCheckFlag, strings.Join(flags, ","))
		if c.web && !c.transport && c.asked(annotation.HealthCheckType) == "" {
			c.set(annotation.HealthCheckType, "http")
		}
	case c.checked:
	case written:
		c.set(annotation.HealthCheckFlag, "off")
	default:
		c.differs("health-check-flag isn't set: the CLB doesn't check the servers of http and https listeners, an NLB does, by tcp")
	}
	if !c.checked {
		for _, key := range options {
			delete(c.Service.Annotations, annotation.Prefix+key)
		}
	}
}

// fields says what becomes of fields of the Service, and what is another way with each NLB.
func (c *conversion) fields(svc *corev1.Service) {
	spec := svc.Spec
	if len(spec.Selector) == 0 {
		c.first("the Service has no selector: give the new one its own EndpointSlices")
	}
	if len(spec.ExternalIPs) > 0 {
		c.without("spec.externalIPs: nodes answer them for one Service only")
	}
	if spec.LoadBalancerIP != "" {
		c.without("spec.loadBalancerIP: it has no effect; chosen addresses are in annotation zone-maps")
	}
	c.differs("the status has a host name, not an address: DNS records for it are of type CNAME")
	c.differs("an NLB is in at least two zones: in those of vswitchIDs of the configuration, or of annotation zone-maps")
	if c.transport {
		c.differs("source address: servers see the address of the client (preserve-client-ip); a server can't be its own client")
	}
	if c.web {
		c.differs("timeouts: an NLB ends a connection after 900 seconds without data (idle-timeout); it knows no requests")
	}
}

// WriteYAML returns the Service with the lists in front of it, as comments: the whole can be applied.
func (r Result) WriteYAML() ([]byte, error) {
	text := r.comments("What an NLB doesn't have:")
	object, err := yaml.Marshal(r.Service)
	if err != nil {
		return nil, fmt.Errorf("encode the Service: %w", err)
	}
	const status = "status:\n  loadBalancer: {}\n"
	return []byte(text + strings.Replace(string(object), status, "", 1)), nil
}

// comments are the lists as text, under a title for what the result can't have.
func (l lists) comments(without string) string {
	var text strings.Builder
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		text.WriteString("# " + title + "\n")
		for _, line := range lines {
			text.WriteString("# - " + strings.ReplaceAll(line, "\n", " ") + "\n")
		}
	}
	section("Before you apply this:", l.First)
	section(without, l.Without)
	section("What is different:", l.Differs)
	return text.String()
}

// nameForm is how the cloud wants the name of an NLB.
var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{1,127}$`)
