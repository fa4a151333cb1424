package server

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const otherCert = "cert-2"

func newExtensionSite(t *testing.T) webSite {
	t.Helper()
	s := newWebSite(t)
	if err := s.sim.Seed(&state.Cloud{Certificates: map[string]*state.Certificate{otherCert: {}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s webSite) extend(t *testing.T, requestID, domain, certificate string) (string, error) {
	t.Helper()
	answer, err := s.DomainExtensions.CreateDomainExtension(t.Context(), &slbv1.CreateDomainExtensionRequest{
		RequestId: requestID, Key: s.key, Domain: domain, ServerCertificateId: certificate,
	})
	return answer.GetDomainExtensionId(), err
}

func (s webSite) wantExtensions(t *testing.T, age time.Duration, want ...*slbv1.DomainExtension) {
	t.Helper()
	answer, err := s.DomainExtensions.ListDomainExtensions(t.Context(),
		&slbv1.ListDomainExtensionsRequest{Key: s.key, MaxAge: durationpb.New(age)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, answer.GetDomainExtensions(), protocmp.Transform()); diff != "" {
		t.Errorf("domain extensions (-want +got):\n%s", diff)
	}
}

// TestLifeOfADomainExtension also shows that every write of the gateway's ends what is remembered.
func TestLifeOfADomainExtension(t *testing.T) {
	s := newExtensionSite(t)
	s.wantExtensions(t, time.Hour)
	id, err := s.extend(t, "r-1", "*.example.com", testCert)
	if err != nil {
		t.Fatal(err)
	}
	s.wantExtensions(t, time.Hour, &slbv1.DomainExtension{DomainExtensionId: id, Domain: "*.example.com", ServerCertificateId: testCert})
	if _, err := s.DomainExtensions.UpdateDomainExtension(t.Context(), &slbv1.UpdateDomainExtensionRequest{
		LoadBalancerId: s.key.GetLoadBalancerId(), DomainExtensionId: id, ServerCertificateId: otherCert,
	}); err != nil {
		t.Fatal(err)
	}
	s.wantExtensions(t, time.Hour, &slbv1.DomainExtension{DomainExtensionId: id, Domain: "*.example.com", ServerCertificateId: otherCert})
	for range 2 { // The second one finds it gone.
		if _, err := s.DomainExtensions.DeleteDomainExtension(t.Context(), &slbv1.DeleteDomainExtensionRequest{
			LoadBalancerId: s.key.GetLoadBalancerId(), DomainExtensionId: id,
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.wantExtensions(t, time.Hour)
	s.wantExtensions(t, time.Hour)
	const read = "DescribeDomainExtensions"
	s.wantActions(t, read, "CreateDomainExtension", read, "SetDomainExtensionAttribute", read, "DeleteDomainExtension",
		"DeleteDomainExtension", read)
}

func TestCreationOfADomainExtension(t *testing.T) {
	const create, look, domain = "CreateDomainExtension", "DescribeDomainExtensions", "www.example.com"
	refused := func(status int, code string) *fault.Error { return &fault.Error{Status: status, Code: code} }
	tests := []struct {
		name   string
		before func(t *testing.T, s webSite)
		want   rpcerr.Reason
		calls  []string
	}{
		{name: "at peace", calls: []string{create}},
		{
			name: "an answer is lost",
			before: func(t *testing.T, s webSite) {
				s.strike(t, fault.Rule{Action: create, Times: 1, When: fault.After, Error: refused(500, "InternalError")})
			},
			calls: []string{create, look},
		},
		{
			name:   "a call is lost",
			before: func(t *testing.T, s webSite) { s.strike(t, fault.Rule{Action: create, Times: 1, Drop: true}) },
			calls:  []string{create, look, create},
		},
		{
			name: "an answer is lost, and so is the look",
			before: func(t *testing.T, s webSite) {
				s.strike(t, fault.Rule{Action: create, Times: 1, When: fault.After, Error: refused(500, "InternalError")},
					fault.Rule{Action: look, Times: 1, Error: refused(403, "Forbidden.RAM")})
			},
			calls: []string{create, look, create, look},
		},
		{
			name: "an answer is lost, and nobody can look",
			before: func(t *testing.T, s webSite) {
				s.strike(t, fault.Rule{Action: create, Times: 1, When: fault.After, Error: refused(500, "InternalError")},
					fault.Rule{Action: look, Times: 2, Error: refused(403, "Forbidden.RAM")})
			},
			want: rpcerr.CloudForbidden, calls: []string{create, look, create, look},
		},
		{
			name: "another one has the domain, in other letters",
			before: func(t *testing.T, s webSite) {
				if _, err := s.extend(t, "by-hand", "WWW.example.com", testCert); err != nil {
					t.Fatal(err)
				}
			},
			want: rpcerr.AlreadyExists, calls: []string{create},
		},
		{
			name: "a call is lost, and another one with another certificate was faster",
			before: func(t *testing.T, s webSite) {
				if _, err := s.extend(t, "by-hand", domain, otherCert); err != nil {
					t.Fatal(err)
				}
				s.strike(t, fault.Rule{Action: create, Times: 1, Drop: true})
			},
			want: rpcerr.AlreadyExists, calls: []string{create, look, create, look},
		},
		{
			name: "an earlier attempt of the request has made it",
			before: func(t *testing.T, s webSite) {
				s.strike(t, fault.Rule{Action: create, Times: 1, When: fault.After, Error: refused(500, "InternalError")},
					fault.Rule{Action: look, Times: 1, Error: refused(403, "Forbidden.RAM")},
					fault.Rule{Action: create, Times: 1, Error: refused(400, "Throttling.User")})
				if _, err := s.extend(t, "r-1", domain, testCert); rpcerr.ReasonOf(err) != rpcerr.Throttled {
					t.Fatalf("got %v, want THROTTLED", err)
				}
			},
			calls: []string{create, look},
		},
		{
			name: "more than a listener can have",
			before: func(t *testing.T, s webSite) {
				for _, label := range []string{"a", "b", "c"} {
					if _, err := s.extend(t, label, label+".example.com", testCert); err != nil {
						t.Fatal(err)
					}
				}
			},
			want: rpcerr.QuotaExceeded, calls: []string{create},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newExtensionSite(t)
			if tt.before != nil {
				tt.before(t, s)
			}
			s.forget()
			id, err := s.extend(t, "r-1", domain, testCert)
			if rpcerr.ReasonOf(err) != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			s.wantActions(t, tt.calls...)
			if err == nil {
				s.wantExtensions(t, 0, &slbv1.DomainExtension{DomainExtensionId: id, Domain: domain, ServerCertificateId: testCert})
			}
		})
	}
}

func TestRefusalsOfDomainExtensions(t *testing.T) {
	s := newExtensionSite(t)
	lb := s.key.GetLoadBalancerId()
	_, err := s.extend(t, "r-1", "www.example.com", "cert-gone")
	wantNotFound(t, err, rpcerr.CertificateNotFound)
	id, err := s.extend(t, "r-2", "www.example.com", testCert)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id, certificate string
		want            rpcerr.Reason
	}{{id, "cert-gone", rpcerr.CertificateNotFound}, {"de-gone", testCert, rpcerr.DomainExtensionNotFound}} {
		_, err := s.DomainExtensions.UpdateDomainExtension(t.Context(), &slbv1.UpdateDomainExtensionRequest{
			LoadBalancerId: lb, DomainExtensionId: tt.id, ServerCertificateId: tt.certificate,
		})
		wantNotFound(t, err, tt.want)
	}
	s.byHand(t, "www.example.com", s.group)
	_, err = s.DomainExtensions.DeleteDomainExtension(t.Context(),
		&slbv1.DeleteDomainExtensionRequest{LoadBalancerId: lb, DomainExtensionId: id})
	if e, ok := rpcerr.From(err); !ok || e.Code != codes.FailedPrecondition || e.Reason != rpcerr.DomainExtensionInUse {
		t.Errorf("got %v, want DOMAIN_EXTENSION_IN_USE", err)
	}
	s.key.Port = 8443
	_, err = s.DomainExtensions.ListDomainExtensions(t.Context(), &slbv1.ListDomainExtensionsRequest{Key: s.key})
	wantNotFound(t, err, rpcerr.ListenerNotFound)
	_, err = s.extend(t, "r-3", "www.example.com", testCert)
	wantNotFound(t, err, rpcerr.ListenerNotFound)
}
