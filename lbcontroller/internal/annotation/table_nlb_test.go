package annotation

import (
	"strings"
	"testing"
)

// TestEveryAnnotationOfNLBs tries good and bad values of every row that only NLBs have.
func TestEveryAnnotationOfNLBs(t *testing.T) {
	t.Parallel()
	type values struct {
		good map[string]string // value to canonical value
		bad  []string
	}
	cases := map[string]values{
		ID: {map[string]string{"nlb-1": "nlb-1"}, []string{"nlb 1"}},
		ZoneMaps: {
			map[string]string{"cn-a:vsw-1, cn-b:vsw-2:10.0.0.1:eip-1": "cn-a\x00vsw-1,cn-b\x00vsw-2:10.0.0.1:eip-1"}, []string{"cn-a", "cn-a:"}},
		AddressType:      {map[string]string{"Intranet": "intranet"}, []string{"public"}},
		IPVersion:        {map[string]string{"dualstack": "DualStack", "IPv4": "ipv4"}, []string{"ipv6"}},
		IPv6AddressType:  {map[string]string{"Internet": "internet"}, []string{"on"}},
		Name:             {map[string]string{"web": "web"}, []string{strings.Repeat("n", 129)}},
		ResourceGroupID:  {map[string]string{"rg-1": "rg-1"}, []string{" "}},
		AdditionalTags:   {map[string]string{"a=1,b": "a\x001,b\x00"}, []string{"=1"}},
		SecurityGroupIDs: {map[string]string{"sg-1, sg-2": "sg-1,sg-2", "none": "none"}, []string{","}},
		ShiftedZones: {map[string]string{"cn-hangzhou-h, cn-hangzhou-i": "cn-hangzhou-h,cn-hangzhou-i", "none": "none"},
			[]string{","}},
		BandwidthPackageID:        {map[string]string{"cbwp-1": "cbwp-1", "none": "none"}, []string{"a b"}},
		ModificationProtection:    {map[string]string{"nonprotection": "NonProtection"}, []string{"on"}},
		ProtocolPort:              {map[string]string{"tcpssl:443": "tcpssl\x00443"}, []string{"443"}},
		ListenerPortRange:         {map[string]string{"80-100:80": "80-100\x0080"}, []string{"80-100"}},
		CertID:                    {map[string]string{"123-cn-hangzhou": "123-cn-hangzhou"}, []string{","}},
		AdditionalCertIDs:         {map[string]string{"1, 2": "1,2"}, []string{","}},
		CACertID:                  {map[string]string{"1": "1"}, []string{","}},
		TLSCipherPolicy:           {map[string]string{"tls-abc": "tls-abc"}, []string{"a b"}},
		ALPNPolicy:                {map[string]string{"http2only": "HTTP2Only"}, []string{"HTTP3"}},
		IdleTimeout:               {map[string]string{"10": "10", "900": "900"}, []string{"9", "901"}},
		ConnectionsPerSec:         {map[string]string{"0": "0", "1000000": "1000000"}, []string{"-1", "1000001"}},
		HealthCheckType:           {map[string]string{"UDP": "udp"}, []string{"icmp"}},
		HealthCheckURI:            {map[string]string{"/healthz": "/healthz"}, []string{"healthz"}},
		HealthCheckDomain:         {map[string]string{"$SERVER_IP": "$SERVER_IP"}, []string{" "}},
		HealthCheckHTTPCode:       {map[string]string{"http_3xx,http_2xx": "http_2xx,http_3xx"}, []string{"200"}},
		HealthCheckMethod:         {map[string]string{"head": "HEAD"}, []string{"post"}},
		HealthCheckConnectPort:    {map[string]string{"0": "0", "65535": "65535"}, []string{"-520", "65536"}},
		HealthCheckInterval:       {map[string]string{"1": "1", "300": "300"}, []string{"0", "301"}},
		HealthyThreshold:          {map[string]string{"2": "2", "10": "10"}, []string{"1", "11"}},
		UnhealthyThreshold:        {map[string]string{"2": "2", "10": "10"}, []string{"1", "11"}},
		HealthCheckConnectTimeout: {map[string]string{"1": "1", "300": "300"}, []string{"0", "301"}},
		ServerGroupType:           {map[string]string{"IP": "Ip", "instance": "Instance"}, []string{"eni"}},
		Scheduler:                 {map[string]string{"WLC": "wlc"}, []string{"random"}},
		ConnectionDrainTimeout:    {map[string]string{"0": "0", "900": "900"}, []string{"-1", "901"}},
		VGroupPort:                {map[string]string{"sgp-1:80": "sgp-1\x0080"}, []string{"sgp-1"}},
		BackendIPVersion:          {map[string]string{"DualStack": "dualstack", "ipv6": "ipv6"}, []string{"6"}},
	}
	for _, key := range []string{ForceOverride, CrossZone, DeleteProtection, PreserveOnDelete, CACert, ALPN, ProxyProtocol,
		PPv2EndpointID, PPv2EndpointService, PPv2VPCID,
		HealthCheckFlag, ConnectionDrain, PreserveClientIP} {
		cases[key] = values{map[string]string{"on": "on", "Off": "off"}, []string{"yes"}}
	}
	parser := NewParser(NLB)
	for _, spec := range nlbTable() {
		c, ok := cases[spec.Key]
		if !ok {
			t.Errorf("%s: no case", spec.Key)
		}
		delete(cases, spec.Key)
		for raw, want := range c.good {
			if v, problems := parser.Parse(map[string]string{Prefix + spec.Key: raw}); len(problems) > 0 || v.settings[spec.Key].value != want {
				t.Errorf("%s=%q: got %q, problems %v, want %q", spec.Key, raw, v.settings[spec.Key].value, problems, want)
			}
		}
		for _, raw := range c.bad {
			if v, problems := parser.Parse(map[string]string{Prefix + spec.Key: raw}); len(problems) != 1 || v.Has(spec.Key) {
				t.Errorf("%s=%q: got %q, problems %v, want one problem", spec.Key, raw, v.settings[spec.Key].value, problems)
			}
		}
		if spec.Reset != "" && spec.Removal != Reverts {
			t.Errorf("%s: it is reset to %q, but %s", spec.Key, spec.Reset, spec.Removal)
		}
		if _, want := spec.parse(spec.Reset); spec.Reset != "" && want != "" {
			t.Errorf("%s: it is reset to %q, which is not allowed: %s", spec.Key, spec.Reset, want)
		}
		if spec.Doc == "" || spec.Default == "" || spec.Since == "" || spec.Scope == "" || spec.Removal == "" {
			t.Errorf("%s: the row isn't complete", spec.Key)
		}
	}
	for key := range cases {
		t.Errorf("%s: not in the table", key)
	}
}

// TestTablesOfKinds: a key stands once in the table of a kind, and what is only for the other kind is unknown.
func TestTablesOfKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []LoadBalancer{CLB, NLB} {
		seen := map[string]bool{}
		for _, spec := range TableFor(kind) {
			if seen[spec.Key] {
				t.Errorf("%s: %s stands there twice", kind, spec.Key)
			}
			seen[spec.Key] = true
		}
	}
	annotations := map[string]string{Prefix + ZoneMaps: "a:b,c:d", Prefix + Bandwidth: "5", Prefix + BackendLabel: "a=b"}
	for kind, want := range map[LoadBalancer]string{CLB: Prefix + ZoneMaps, NLB: Prefix + Bandwidth} {
		if unknown := NewParser(kind).Unknown(annotations); len(unknown) != 1 || unknown[0].Key != want {
			t.Errorf("%s: unknown are %v, want %s", kind, unknown, want)
		}
	}
}
