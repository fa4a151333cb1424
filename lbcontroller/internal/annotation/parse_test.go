package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryAnnotation tries good and bad values of every row of the table.
func TestEveryAnnotation(t *testing.T) {
	t.Parallel()
	switches := []string{DrainTerminating, DefaultServerGroup, ForceOverride, DeleteProtection, PreserveOnDelete, HTTP2,
		ConnectionDrain, ProxyProtocol, ACLStatus, StickySession,
		XForwardedForProto, XForwardedForSLBPort, XForwardedForSrcPort, HealthCheckSwitch,
		HealthCheckFlag, NodeHealthCheck, RemoveUnscheduled, IgnoreWeightUpdate, EIPAllocate, AllowHealthChecks}
	type values struct {
		good map[string]string // value to canonical value
		bad  []string
	}
	cases := map[string]values{
		SyncPolicy: {map[string]string{"Report": "report", "sync": "sync", "upsert-only": "upsert-only"},
			[]string{"upsert", "dry-run"}},
		IPMode:                 {map[string]string{"proxy": "Proxy", "VIP": "VIP"}, []string{"on", "dsr"}},
		AddressType:            {map[string]string{"internet": "internet", " Intranet": "intranet"}, []string{"public"}},
		Name:                   {map[string]string{"web": "web"}, []string{strings.Repeat("n", 81), " "}},
		ResourceGroupID:        {map[string]string{"rg-1": "rg-1"}, []string{" "}},
		AdditionalTags:         {map[string]string{"a=1, b=2=3 ,c=,d": "a\x001,b\x002=3,c\x00,d\x00"}, []string{"=1", ","}},
		ModificationProtection: {map[string]string{"consoleprotection": "ConsoleProtection"}, []string{"on"}},
		VSwitchID:              {map[string]string{"vsw-1": "vsw-1"}, []string{" "}},
		ChargeType:             {map[string]string{"PayByBandwidth": "paybybandwidth"}, []string{"free"}},
		Bandwidth:              {map[string]string{"1": "1", "5120": "5120", "0100": "100"}, []string{"0", "5121", "fast", "1.5"}},
		InstanceChargeType:     {map[string]string{"paybyspec": "PayBySpec"}, []string{"PayByHour"}},
		InstanceSpec:           {map[string]string{"slb.s1.small": "slb.s1.small"}, []string{" "}},
		MasterZone:             {map[string]string{"cn-hangzhou-b": "cn-hangzhou-b"}, []string{" "}},
		SlaveZone:              {map[string]string{"cn-hangzhou-b": "cn-hangzhou-b"}, []string{" "}},
		IPVersion:              {map[string]string{"IPv6": "ipv6"}, []string{"6"}},
		Address:                {map[string]string{"10.0.0.1": "10.0.0.1"}, []string{"10.0.0", "::1"}},
		ExternalIPType:         {map[string]string{"EIP": "eip"}, []string{"nat"}},
		EIPID:                  {map[string]string{" eip-1": "eip-1"}, []string{" ", "eip 1", "eip-1,eip-2", strings.Repeat("x", 65)}},
		EIPBandwidth:           {map[string]string{"1": "1", "1000": "1000"}, []string{"0", "1001"}},
		EIPChargeType:          {map[string]string{"paybytraffic": "PayByTraffic"}, []string{"PayByCLCU"}},
		Hostname: {map[string]string{"www.example.com": "www.example.com"},
			[]string{"a b", "Web.example.com", "a..b", "-a", "a-", "10.0.0.1"}},
		ProtocolPort: {map[string]string{"http:80, https:443": "http\x0080,https\x00443"}, []string{"http", "80:", ":80"}},
		CertID:       {map[string]string{"123_cn": "123_cn"}, []string{" "}},
		TLSSecret: {map[string]string{"web-tls": "web-tls", " a.b": "a.b", "ns/web": "ns/web", "10.0.0.1": "10.0.0.1"},
			[]string{"Web", "web_tls", "ns/", "/web", "a/b/c", "a.b/web", "Ns/web", strings.Repeat("n", 318)}},
		TLSCipherPolicy:           {map[string]string{"TLS_cipher_policy_1_2": "tls_cipher_policy_1_2"}, []string{"1.2"}},
		ForwardPort:               {map[string]string{"80:443, 81:443": "80\x00443,81\x00443"}, []string{"80"}},
		Scheduler:                 {map[string]string{"WRR": "wrr"}, []string{"random"}},
		PersistenceTimeout:        {map[string]string{"0": "0", "3600": "3600"}, []string{"-1", "3601"}},
		EstablishedTimeout:        {map[string]string{"10": "10", "900": "900"}, []string{"9", "901"}},
		IdleTimeout:               {map[string]string{"1": "1", "60": "60"}, []string{"0", "61"}},
		RequestTimeout:            {map[string]string{"1": "1", "180": "180"}, []string{"0", "181"}},
		ConnectionDrainTimeout:    {map[string]string{"10": "10", "900": "900"}, []string{"9", "901"}},
		ACLID:                     {map[string]string{"acl-1, acl-2": "acl-1,acl-2"}, []string{","}},
		ACLType:                   {map[string]string{"White": "white"}, []string{"grey"}},
		StickySessionType:         {map[string]string{"Insert": "insert"}, []string{"client"}},
		Cookie:                    {map[string]string{"SID_1-x": "SID_1-x"}, []string{"a b", strings.Repeat("c", 201)}},
		CookieTimeout:             {map[string]string{"1": "1", "86400": "86400"}, []string{"0", "86401"}},
		HealthCheckType:           {map[string]string{"HTTP": "http"}, []string{"udp"}},
		HealthCheckURI:            {map[string]string{"/healthz": "/healthz"}, []string{"healthz", "/" + strings.Repeat("p", 80)}},
		HealthCheckDomain:         {map[string]string{"$_ip": "$_ip"}, []string{" "}},
		HealthCheckHTTPCode:       {map[string]string{"http_3xx, HTTP_2xx": "http_2xx,http_3xx"}, []string{"200", "http_2xx,500"}},
		HealthCheckMethod:         {map[string]string{"GET": "get"}, []string{"post"}},
		HealthCheckConnectPort:    {map[string]string{"-520": "-520", "65535": "65535"}, []string{"0", "-1", "65536"}},
		HealthCheckInterval:       {map[string]string{"1": "1", "50": "50"}, []string{"0", "51"}},
		HealthyThreshold:          {map[string]string{"2": "2", "10": "10"}, []string{"1", "11"}},
		UnhealthyThreshold:        {map[string]string{"2": "2", "10": "10"}, []string{"1", "11"}},
		HealthCheckConnectTimeout: {map[string]string{"1": "1", "300": "300"}, []string{"0", "301"}},
		HealthCheckTimeout:        {map[string]string{"1": "1", "300": "300"}, []string{"0", "301"}},
		BackendLabel:              {map[string]string{"a=b, c=d=e": "a\x00b,c\x00d=e", "a=": "a\x00"}, []string{"a", "=b"}},
		VGroupPort: {map[string]string{"rsp-1:80, rsp-2:443": "rsp-1\x0080,rsp-2\x00443"},
			[]string{"rsp-1", "rsp/1:80", "rsp 1:80"}},
		Weight:           {map[string]string{"0": "0", "100": "100"}, []string{"-1", "101"}},
		DefaultWeight:    {map[string]string{"0": "0", "100": "100"}, []string{"-1", "101"}},
		BackendIPVersion: {map[string]string{"IPv4": "ipv4", "ipv6": "ipv6"}, []string{"ipv5", "dualstack"}},
		MaxNodes:         {map[string]string{"1": "1", "10000": "10000"}, []string{"0", "10001", "all"}},
		ID:               {map[string]string{" lb-1": "lb-1"}, []string{" ", "lb 1", "lb-1,lb-2", strings.Repeat("x", 65)}},
		NetworkType:      {map[string]string{"VPC": "vpc", "classic": "classic"}, []string{"alibaba"}},
		DomainExtensions: {map[string]string{"a.example.com:1, *.b.com:2": "a.example.com\x001,*.b.com\x002"},
			[]string{"a.example.com", ":1"}},
	}
	for _, key := range switches {
		cases[key] = values{map[string]string{"on": "on", "Off": "off", "true": "on", " FALSE ": "off"}, []string{"yes", "1"}}
	}
	for _, spec := range Table() {
		c, ok := cases[spec.Key]
		if !ok {
			t.Errorf("%s: no case", spec.Key)
		}
		delete(cases, spec.Key)
		for raw, want := range c.good {
			v, problems := Parse(map[string]string{Prefix + spec.Key: raw})
			if len(problems) > 0 || v.settings[spec.Key].value != want {
				t.Errorf("%s=%q: got %q, problems %v, want %q", spec.Key, raw, v.settings[spec.Key].value, problems, want)
			}
		}
		for _, raw := range c.bad {
			v, problems := Parse(map[string]string{Prefix + spec.Key: raw})
			if len(problems) != 1 || v.Has(spec.Key) {
				t.Fatalf("%s=%q: got %q, problems %v, want one problem", spec.Key, raw, v.settings[spec.Key].value, problems)
			}
			if p := problems[0]; p.Name != Prefix+spec.Key || p.Value != raw || !strings.Contains(p.String(), p.Name) ||
				(p.Want == "") != spec.Refused {
				t.Errorf("%s=%q: the problem doesn't name annotation, value and what is allowed: %s", spec.Key, raw, p)
			}
		}
		if spec.Doc == "" || spec.Default == "" || spec.Since == "" || spec.Scope == "" || spec.Removal == "" {
			t.Errorf("%s: the row isn't complete", spec.Key)
		}
	}
	for key := range cases {
		t.Errorf("%s: not in the table", key)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, problems := Parse(map[string]string{Prefix + Scheduler: "x", LegacyPrefix + Bandwidth: "y", Prefix + Cookie: "ok"})
	var names []string
	for _, p := range problems {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{LegacyPrefix + Bandwidth, Prefix + Scheduler}, names); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"current":                   {map[string]string{Prefix + InstanceSpec: "a"}, "a"},
		"legacy":                    {map[string]string{LegacyPrefix + InstanceSpec: "b"}, "b"},
		"current wins":              {map[string]string{Prefix + InstanceSpec: "a", LegacyPrefix + InstanceSpec: "b"}, "a"},
		"empty current hides":       {map[string]string{Prefix + InstanceSpec: "", LegacyPrefix + InstanceSpec: "b"}, ""},
		"unknown keys are not ours": {map[string]string{Prefix + "zone-maps": "x"}, ""},
	} {
		v, problems := Parse(c.annotations)
		if len(problems) > 0 || v.Text(InstanceSpec) != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, v.Text(InstanceSpec), problems, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	v, problems := Parse(map[string]string{
		Prefix + ACLID: " acl-1 ,, acl-2", Prefix + BackendLabel: "a=b, c=d=e", LegacyPrefix + Bandwidth: "7", Prefix + StickySession: "true",
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	n, ok := v.Number(Bandwidth)
	_, absent := v.Number(CookieTimeout)
	got := []any{v.List(ACLID), v.Pairs(BackendLabel), n, ok, absent, v.On(StickySession), v.On(HTTP2), v.Name(Bandwidth), v.Name(Cookie)}
	want := []any{[]string{"acl-1", "acl-2"}, []Pair{{"a", "b"}, {"c", "d=e"}}, int32(7), true, false, true, false,
		LegacyPrefix + Bandwidth, Prefix + Cookie}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// The existing CCM takes any value for a yes, "false" too. At deletion only a clear no may cost the user the CLB.
func TestB03Preserved(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "false": false, "off": false, "on": true, "TRUE": true, "yes please": true} {
		if got := Preserved(map[string]string{Prefix + PreserveOnDelete: value}); got != want {
			t.Errorf("%q: got %t", value, got)
		}
	}
	if Preserved(nil) {
		t.Error("nothing set: got true")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "on", "a=b,c", "http:80, https:443", "-520", "\x00", "a\x00b=c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, spec := range Table() {
			v, problems := Parse(map[string]string{Prefix + spec.Key: raw})
			if v.Has(spec.Key) == (len(problems) == 1) && raw != "" {
				t.Errorf("%s=%q is neither good nor bad", spec.Key, raw)
			}
			v.List(spec.Key)
			v.Pairs(spec.Key)
			v.Number(spec.Key)
		}
	})
}

func TestProblemQuotesTheUser(t *testing.T) {
	t.Parallel()
	v, problems := Parse(map[string]string{LegacyPrefix + ProtocolPort: " quic:80"})
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	want := Problem{Key: ProtocolPort, Name: LegacyPrefix + ProtocolPort, Value: " quic:80", Want: "a known protocol"}
	if diff := cmp.Diff(want, v.Problem(ProtocolPort, "a known protocol")); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
}
