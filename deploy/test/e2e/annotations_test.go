package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
)

// badAnnotation is an annotation with a value that is not allowed, and what the warning about it must contain.
type badAnnotation struct {
	key, value string
	allowed    string
	protocol   string            // of port 80, if the annotation is for one protocol only
	with       map[string]string // what else is needed to get that far
	class      string            // of the Service; empty for a CLB
}

var tooLong = strings.Repeat("x", 200)

func badAnnotations() []badAnnotation {
	return []badAnnotation{
		{key: "address-type", value: "public", allowed: "internet, intranet"},
		{key: "name", value: tooLong, allowed: "80"},
		{key: "delete-protection", value: "maybe", allowed: "on"},
		{key: "modification-protection", value: "on", allowed: "ConsoleProtection, NonProtection"},
		{key: "preserve-lb-on-delete", value: "perhaps", allowed: "on"},
		{key: "charge-type", value: "free", allowed: "paybytraffic, paybybandwidth"},
		{key: "bandwidth", value: "0", allowed: "1"},
		{key: "instance-charge-type", value: "PayByLuck", allowed: "PayBySpec, PayByCLCU"},
		{key: "ip-version", value: "ipv5", allowed: "ipv4, ipv6"},
		{key: "ip", value: "somewhere", allowed: "IPv4"},
		{key: "external-ip-type", value: "floating", allowed: "eip"},
		{key: "protocol-port", value: "gopher:80", allowed: "http"},
		{key: "tls-cipher-policy", value: "none", allowed: "tls_cipher_policy_1_2", protocol: "https", with: map[string]string{"cert-id": "c"}},
		{key: "http2-enabled", value: "2", allowed: "on", protocol: "https", with: map[string]string{"cert-id": "c"}},
		{key: "scheduler", value: "fastest", allowed: "rr, wrr, wlc"},
		{key: "persistence-timeout", value: "-1", allowed: "3600"},
		{key: "established-timeout", value: "5", allowed: "900"},
		{key: "idle-timeout", value: "61", allowed: "60", protocol: "http"},
		{key: "request-timeout", value: "0", allowed: "180", protocol: "http"},
		{key: "connection-drain", value: "yes!", allowed: "on"},
		{key: "connection-drain-timeout", value: "1", allowed: "900", with: map[string]string{"connection-drain": "on"}},
		{key: "proxy-protocol", value: "v3", allowed: "on"},
		{key: "acl-status", value: "open", allowed: "on"},
		{key: "acl-type", value: "grey", allowed: "white, black"},
		{key: "sticky-session", value: "sometimes", allowed: "on", protocol: "http"},
		{key: "sticky-session-type", value: "client", allowed: "insert, server", protocol: "http"},
		{key: "cookie-timeout", value: "0", allowed: "86400", protocol: "http"},
		{key: "xforwardedfor-proto", value: "2", allowed: "on", protocol: "http"},
		{key: "health-check-switch", value: "of", allowed: "off"},
		{key: "health-check-flag", value: "of", allowed: "off", protocol: "http"},
		{key: "node-health-check", value: "of", allowed: "off"},
		{key: "health-check-type", value: "icmp", allowed: "tcp, http"},
		{key: "health-check-httpcode", value: "http_1xx", allowed: "http_2xx"},
		{key: "health-check-method", value: "post", allowed: "head, get", protocol: "http"},
		{key: "health-check-connect-port", value: "70000", allowed: "65535"},
		{key: "health-check-interval", value: "51", allowed: "50"},
		{key: "healthy-threshold", value: "1", allowed: "10"},
		{key: "unhealthy-threshold", value: "11", allowed: "10"},
		{key: "health-check-connect-timeout", value: "0", allowed: "300"},
		{key: "health-check-timeout", value: "301", allowed: "300", protocol: "http"},
		{key: "remove-unscheduled-backend", value: "2", allowed: "on"},
		{key: "default-weight", value: "101", allowed: "100"},
		{key: "ignore-weight-update", value: "2", allowed: "on"},
		{key: "backend-ip-version", value: "ipv5", allowed: "ipv4"},
		{key: "ip-mode", value: "dsr", allowed: "VIP, Proxy"},
		{key: "sync-policy", value: "dry-run", allowed: "upsert-only, report"},
		{key: "max-nodes-per-server-group", value: "0", allowed: "10000"},
		{key: "drain-terminating", value: "2", allowed: "on"},
		{key: "default-server-group", value: "2", allowed: "on"},
		{key: "allow-health-checks", value: "2", allowed: "on"},
		{key: "additional-resource-tags", value: "=blue", allowed: "key=value"},
		{key: "backend-label", value: "zone", allowed: "key=value"},
		{key: "forward-port", value: "eighty:443", allowed: "port:port", protocol: "http"},
		{key: "vgroup-port", value: "rsp-1", allowed: "key:value", with: map[string]string{"id": "lb-1"}},
		{key: "hostname", value: "no_host", allowed: "DNS name"},
		{key: "cookie", value: "bis;cuit", allowed: "letters, digits", protocol: "http"},
		{key: "health-check-uri", value: "healthz", allowed: "starts with /", protocol: "http"},
		{key: "xforwardedfor-slbport", value: "2", allowed: "on", protocol: "http"},
		{key: "xforwardedfor-clientsrcport", value: "2", allowed: "on", protocol: "http"},
		{key: "force-override-listeners", value: "2", allowed: "on", with: map[string]string{"id": "lb-1"}},
		{key: "weight", value: "101", allowed: "100", with: map[string]string{"id": "lb-1"}},
		{key: "acl-id", value: ",", allowed: "a comma list", with: map[string]string{"acl-status": "on", "acl-type": "white"}},
		{key: "cert-id", value: tooLong, allowed: "128", protocol: "https"},
		{key: "vswitch-id", value: tooLong, allowed: "64"},
		{key: "spec", value: tooLong, allowed: "64"},
		{key: "master-zoneid", value: tooLong, allowed: "64"},
		{key: "slave-zoneid", value: tooLong, allowed: "64"},
		{key: "resource-group-id", value: tooLong, allowed: "64"},
		{key: "health-check-domain", value: tooLong, allowed: "80"},
		{key: "network-type", value: "alibaba", allowed: "classic, vpc"},
		{key: "domain-extensions", value: "a.example.com", allowed: "key:value", protocol: "https", with: map[string]string{"cert-id": "c"}},
		{key: "tls-secret", value: "No_Secret", allowed: "DNS name", protocol: "https"},
		{key: "eip-id", value: tooLong, allowed: "64"},
		{key: "eip-allocate", value: "2", allowed: "on"},
		{key: "eip-bandwidth", value: "1001", allowed: "1000"},
		{key: "eip-internet-charge-type", value: "PayByHour", allowed: "PayByTraffic"},
		{class: nlbClass, key: "zone-maps", value: "cn-hangzhou-a", allowed: "key:value"},
		{class: nlbClass, key: "ipv6-address-type", value: "public", allowed: "internet, intranet"},
		{class: nlbClass, key: "security-group-ids", value: ",", allowed: "a comma list"},
		{class: nlbClass, key: "bandwidth-package-id", value: tooLong, allowed: "64"},
		{class: nlbClass, key: "cross-zone-enabled", value: "2", allowed: "on"},
		{class: nlbClass, key: "shifted-zones", value: ",", allowed: "a comma list"},
		{class: nlbClass, key: "listener-port-range", value: "8000", allowed: "key:value"},
		{class: nlbClass, key: "additional-cert-ids", value: ",", allowed: "a comma list", protocol: "tcpssl"},
		{class: nlbClass, key: "cacert", value: "2", allowed: "on", protocol: "tcpssl"},
		{class: nlbClass, key: "cacert-id", value: ",", allowed: "a comma list", protocol: "tcpssl"},
		{class: nlbClass, key: "alpn", value: "2", allowed: "on", protocol: "tcpssl"},
		{class: nlbClass, key: "alpn-policy", value: "HTTP3", allowed: "HTTP1Only, HTTP2Only", protocol: "tcpssl"},
		{class: nlbClass, key: "ppv2-pvl-ep-id-enabled", value: "2", allowed: "on"},
		{class: nlbClass, key: "ppv2-pvl-eps-id-enabled", value: "2", allowed: "on"},
		{class: nlbClass, key: "ppv2-pvl-vpc-id-enabled", value: "2", allowed: "on"},
		{class: nlbClass, key: "cps", value: "-1", allowed: "1000000"},
		{class: nlbClass, key: "server-group-type", value: "Pod", allowed: "Instance, Ip"},
		{class: nlbClass, key: "preserve-client-ip", value: "2", allowed: "on"},
	}
}

// nlbClass is the class of Services that want an NLB.
const nlbClass = "alibabacloud.com/nlb"

// TestBadAnnotationsAreAll: the page of all annotations names none that is not tried, but the one that may have any value.
func TestBadAnnotationsAreAll(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/annotations.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{"id": true}
	for _, bad := range badAnnotations() {
		tried[bad.key] = true
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|").FindAllSubmatch(page, -1)
	if len(rows) < len(badAnnotations()) {
		t.Fatalf("%d annotations on the page, want at least %d", len(rows), len(badAnnotations()))
	}
	for _, row := range rows {
		if key := string(row[1]); !tried[key] {
			t.Errorf("no bad value of %s is tried", key)
		}
	}
}

// TestBadAnnotations has one Service for each annotation: each has a warning that says what is wrong, and costs no write.
// The one Service among them that is right gets its load balancer.
func TestBadAnnotations(t *testing.T) {
	t.Parallel()
	w := boot(t, 1, instant)
	w.initialised(t)
	since := w.position(t)
	for _, bad := range badAnnotations() {
		annotations := map[string]string{}
		if bad.protocol != "" {
			annotations["protocol-port"] = bad.protocol + ":80"
		}
		maps.Copy(annotations, bad.with)
		annotations[bad.key] = bad.value
		svc := newService(bad.key, annotations, 80)
		if bad.class != "" {
			svc.Spec.LoadBalancerClass = &bad.class
		}
		w.create(t, svc)
	}
	w.create(t, newService("right", nil, 80))
	w.balanced(t, "right")

	for _, bad := range badAnnotations() {
		t.Run(bad.key, func(t *testing.T) {
			eventually(t, "one warning says what is wrong", func(ctx context.Context) error {
				warnings := 0
				for _, e := range w.events(ctx, bad.key) {
					if !strings.HasPrefix(e, "Warning ") {
						continue
					}
					warnings++
					for _, part := range []string{annotationPrefix + bad.key, bad.value, bad.allowed} {
						if !strings.Contains(e, part) {
							return fmt.Errorf("event %q does not have %q", e, part)
						}
					}
				}
				if warnings != 1 {
					return fmt.Errorf("%d warnings, want 1: %q", warnings, w.events(ctx, bad.key))
				}
				return nil
			})
		})
	}
	calls, _ := w.settle(t, since)
	writes := 0
	for _, call := range calls {
		if call.Product != "ecs" && call.Mutating {
			writes++
		}
	}
	if writes != 4 {
		t.Errorf("%d writes, want the 4 of the Service that is right: %v", writes, counts(calls, "slb"))
	}
}
