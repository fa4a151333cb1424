package model

import (
	"encoding/json"
	"testing"
)

// TestHashOfFurtherCertificates: the hash on a Service stays what it was when a CLB's domain extension stood for those of an NLB, too, so
// that an upgrade reads nothing anew.
func TestHashOfFurtherCertificates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		list []FurtherCertificates
		want string
	}{
		"none": {[]FurtherCertificates{}, `[]`},
		"of an NLB": {[]FurtherCertificates{{Certificates: []string{"1-a", "2-a"}}},
			`[{"ID":"other names","Domain":"other names","Certificate":"1-a,2-a"}]`},
		"not known yet": {[]FurtherCertificates{{}}, `[{"ID":"other names","Domain":"other names","Certificate":""}]`},
		"for a domain": {[]FurtherCertificates{{Domain: "a.example.com", Certificates: []string{"cert-1"}}},
			`[{"ID":"","Domain":"a.example.com","Certificate":"cert-1"}]`},
		"that stays": {[]FurtherCertificates{{Domain: "a.example.com"}}, `[{"ID":"","Domain":"a.example.com","Certificate":""}]`},
	} {
		got, err := json.Marshal(hashed(test.list))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.want)
		}
	}
}
