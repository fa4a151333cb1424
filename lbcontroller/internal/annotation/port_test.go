package annotation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOwnColons: what no row had read as a value for a port keeps its meaning, in each row of both tables.
func TestOwnColons(t *testing.T) {
	t.Parallel()
	values := []string{"a:b", "a:443", "a.example.com:8080", "10.0.0.1:80", "2001:db8::1", "/a:443", "/a,b", "/a,/b:c", "secret/web",
		"123-cn-hangzhou",
		"a.example.com:cert,*.b.com:secret/b", "443:cert-1", "https:443,http:80", "80:443", "rsp-1:443", "8000-8100:80",
		"cn-h:vsw-1:10.0.0.9:eip-1",
		"none", "-520", "http_2xx,http_3xx", "$_ip", ":443", "x,:1", "x::1", "a=b:c"}
	// Rows of ids took these, too, though the cloud has no such ids. Now they are for a port.
	noIDs := []string{"443:cert-1", "80:443", "2001:db8::1"}
	kept := 0
	for _, kind := range []LoadBalancer{CLB, NLB} {
		for _, spec := range TableFor(kind) {
			for _, value := range values {
				if _, want := spec.parse(value); want != "" || !spec.ByPort() {
					continue
				}
				if isAddress := value == "2001:db8::1"; slices.Contains(noIDs, value) && (isAddress || spec.Kind != Pairs) {
					continue
				}
				if parts := spec.split(value); len(parts) != 1 || parts[0] != (part{raw: value}) {
					t.Errorf("%s %s: %q is taken apart into %+v", kind, spec.Key, value, parts)
				}
				kept++
			}
		}
	}
	if kept < 50 {
		t.Errorf("only %d values were judged", kept)
	}
}

// TestAddressIsOneValue: a text that may be any may have colons like these.
func TestAddressIsOneValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"2001:db8::1", "443:a.example.com:8080", "/a,b:c"} {
		for _, key := range []string{HealthCheckDomain, CertID} {
			if v, _ := Parse(map[string]string{Prefix + key: value}); v.Text(key) != value {
				t.Errorf("%s %q is %q", key, value, v.Text(key))
			}
		}
	}
}

// TestWhole: the rows that decide who may connect, and those that name ports already, take no value for one port.
func TestWhole(t *testing.T) {
	t.Parallel()
	var whole []string
	for _, kind := range []LoadBalancer{CLB, NLB} {
		for _, spec := range TableFor(kind) {
			if spec.Whole {
				whole = append(whole, string(kind)+" "+spec.Key)
			}
		}
	}
	want := []string{"CLB protocol-port", "CLB forward-port", "CLB acl-status", "CLB acl-id", "CLB acl-type", "CLB node-health-check",
		"NLB node-health-check", "NLB protocol-port", "NLB listener-port-range"}
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, value := range []string{"443:acl-1", "acl-1,443:acl-2", "a b"} {
		if _, problems := Parse(map[string]string{Prefix + ACLID: value}); len(problems) != 1 {
			t.Errorf("acl-id %q: %v, want one problem", value, problems)
		}
	}
}

func TestProblemsByPort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key, value string
		want       []string
	}{
		{HealthCheckConnectPort, "9090,443:0",
			[]string{`-connect-port for port 443: value "0" is not allowed, use a whole number from 1 to 65535, or -520`}},
		{HealthCheckConnectPort, "x,443:0,80:y",
			[]string{`-connect-port: value "x" is not allowed`, `for port 80: value "y"`, `for port 443: value "0"`}},
		{HealthCheckConnectPort, "443:1,443:2", []string{`for port 443: value "1,2" is not allowed, use one value for port 443`}},
		{HealthCheckConnectPort, "443:1,2,3", []string{`value "2,3" is not allowed, use one value for all ports`}},
		{HealthCheckConnectPort, "443:1,443:1,2,2", nil},
		{HealthCheckConnectPort, "443:", []string{`for port 443: value "" is not allowed`}},
		{HealthCheckConnectPort, "0:1", []string{`use PORT:VALUE with a port from 1 to 65535: 0 is none`}},
		{HealthCheckConnectPort, "65536:1,65537:1", []string{`65536 is none`, `65537 is none`}},
		{HealthCheckURI, "443:/b,/a", nil},
		{HealthCheckURI, "/a,443:b", []string{`for port 443: value "b" is not allowed, use a path`}},
		{DomainExtensions, "443:cert-1", nil},
		{ProxyProtocol, "443:on,8443:maybe", []string{`proxy-protocol for port 8443: value "maybe" is not allowed, use on or off`}},
	} {
		values, problems := Parse(map[string]string{Prefix + test.key: test.value})
		if len(problems) != len(test.want) || len(problems) > 0 && (values.Has(test.key) || values.ByPort()) {
			t.Errorf("%s %q: %v, want %q and no value", test.key, test.value, problems, test.want)
			continue
		}
		for i, want := range test.want {
			if text := problems[i].String(); !strings.Contains(text, want) {
				t.Errorf("%s %q: %s, want %q", test.key, test.value, text, want)
			}
		}
	}
}

// TestSecretsByPort: the Secrets of all ports are read, and nothing else is.
func TestSecretsByPort(t *testing.T) {
	t.Parallel()
	got := Secrets(map[string]string{Prefix + TLSSecret: "web, 443:two,8443:two",
		Prefix + DomainExtensions: "a.example.com:secret/a,443:b.example.com:secret/b,c:1"})
	if diff := cmp.Diff([]string{"a", "b", "two", "web"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// FuzzByPort: whatever a user writes, each port has what is written for it and else what is written for all; what is read can be written
// again; and the note of what is applied brings nothing back while it is there.
func FuzzByPort(f *testing.F) {
	for i, value := range []string{"9090,443:10443", "443:a,443:b", "/a,443:/b", "a.b:c,443:d.e:f",
		"on,80:off", "x:1", "443:", "none,443:id", ",,", "0443:9"} {
		f.Add(uint8(i), value, uint16(443))
	}
	f.Fuzz(func(t *testing.T, row uint8, raw string, number uint16) {
		parser := NewParser([]LoadBalancer{CLB, NLB}[row%2])
		specs := slices.DeleteFunc(slices.Clone(parser.Table()), func(s Spec) bool { return !s.ByPort() })
		spec, port := specs[int(row)%len(specs)], int32(number)
		values, problems := parser.Parse(map[string]string{Prefix + spec.Key: raw})
		if strings.TrimSpace(raw) == "" || strings.Contains(raw, "\x00") {
			return
		}
		canonical, want := spec.parse(raw)
		if parts := spec.split(raw); len(parts) == 1 && parts[0].port == 0 && parts[0].wrong == "" && parts[0].raw == raw &&
			(len(problems) == 0) != (want == "") {
			t.Fatalf("%s %q: %v, but as one value it is %q, %q", spec.Key, raw, problems, canonical, want)
		}
		if len(problems) > 0 {
			if values.Has(spec.Key) || values.ByPort() {
				t.Fatalf("%s %q: a value in spite of %v", spec.Key, raw, problems)
			}
			return
		}
		own, isOwn := values.ForPort(port), slices.Contains(values.Ports(spec.Key), port)
		if own.IsOwn(spec.Key) != isOwn || !isOwn && own.Text(spec.Key) != values.Text(spec.Key) {
			t.Fatalf("%s %q: port %d has %q, own %t", spec.Key, raw, port, own.Text(spec.Key), isOwn)
		}
		var parts []string
		if values.Has(spec.Key) {
			parts = append(parts, strings.ReplaceAll(values.Text(spec.Key), "\x00", spec.Separator))
		}
		for _, p := range values.Ports(spec.Key) {
			parts = append(parts, spec.ForPort(p, strings.ReplaceAll(values.ForPort(p).Text(spec.Key), "\x00", spec.Separator)))
		}
		annotations := map[string]string{Prefix + spec.Key: strings.Join(parts, ",")}
		annotations[Applied] = parser.AppliedNote(annotations)
		again, problems := parser.Parse(annotations)
		if len(problems) > 0 || again.Text(spec.Key) != values.Text(spec.Key) || !slices.Equal(again.Ports(spec.Key), values.Ports(spec.Key)) ||
			again.ForPort(port).Text(spec.Key) != own.Text(spec.Key) || len(again.Kept()) > 0 || again.Has(spec.Key) != values.Has(spec.Key) {
			t.Fatalf("%s %q: written again as %q with the note %q: %v", spec.Key, raw, strings.Join(parts, ","), annotations[Applied], problems)
		}
	})
}
