package server

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestDeletionOfWhatComesMeanwhile: that there is nothing with an id is no permission to delete what gets it. A caller with a scope asks to
// delete what the gateway remembers not to be there; meanwhile it was made beside the gateway, by somebody else.
func TestDeletionOfWhatComesMeanwhile(t *testing.T) {
	recent := durationpb.New(time.Hour)
	other := []state.Tag{{Key: "ack.aliyun.com", Value: "c-2"}}
	for name, tt := range map[string]struct {
		remember, remove func(ctx context.Context, w *world) error
		come             func(*state.Cloud)
		there            func(*state.Cloud) bool
	}{
		"a certificate whose number is the next": {
			func(ctx context.Context, w *world) error {
				_, err := w.UserCertificates.GetCertificate(ctx, &casv1.GetCertificateRequest{CertificateId: "100", MaxAge: recent})
				if !rpcerr.IsNotFound(err) {
					return err
				}
				return nil
			},
			func(ctx context.Context, w *world) error {
				return second(w.UserCertificates.DeleteCertificate(ctx, &casv1.DeleteCertificateRequest{CertificateId: "100"}))
			},
			func(c *state.Cloud) {
				c.UserCertificates["100"] = &state.UserCertificate{ID: "100", Name: "k8s-c-2-0123456789ab"}
			},
			func(c *state.Cloud) bool { return c.UserCertificates["100"] != nil },
		},
		"a certificate that a list of before lacks": {
			func(ctx context.Context, w *world) error {
				return second(w.Certificates.ListServerCertificates(ctx, &slbv1.ListServerCertificatesRequest{MaxAge: recent}))
			},
			func(ctx context.Context, w *world) error {
				return second(w.Certificates.DeleteServerCertificate(ctx, &slbv1.DeleteServerCertificateRequest{ServerCertificateId: "cert-2"}))
			},
			func(c *state.Cloud) {
				c.Certificates["cert-2"] = &state.Certificate{ID: "cert-2", Name: "other", Tags: other}
			},
			func(c *state.Cloud) bool { return c.Certificates["cert-2"] != nil },
		},
		"an EIP taken off what it is bound to": {
			func(ctx context.Context, w *world) error {
				_, err := w.Eips.GetEip(ctx, &vpcv1.GetEipRequest{AllocationId: "eip-2", MaxAge: recent})
				if !rpcerr.IsNotFound(err) {
					return err
				}
				return nil
			},
			func(ctx context.Context, w *world) error {
				return second(w.Eips.UnassociateEip(ctx, &vpcv1.UnassociateEipRequest{AllocationId: "eip-2"}))
			},
			func(c *state.Cloud) {
				c.Eips["eip-2"] = &state.Eip{
					ID: "eip-2", Address: "198.51.100.2", Status: "InUse", InstanceID: instanceID(1), InstanceType: "EcsInstance", Tags: other,
				}
			},
			func(c *state.Cloud) bool { return c.Eips["eip-2"].InstanceID != "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1"}}
			w.startGateway(t)
			if err := tt.remember(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			w.sim.Update(tt.come)
			if err := tt.remove(t.Context(), w); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
				t.Errorf("got %v, want CALLER_FORBIDDEN", err)
			}
			w.sim.View(func(c *state.Cloud) {
				if !tt.there(c) {
					t.Error("what was another's is gone")
				}
			})
		})
	}
}

// TestNothingIsSentOfWhatIsGone: between a look and a call there may be a minute, in which what was not there may come to be.
func TestNothingIsSentOfWhatIsGone(t *testing.T) {
	w := newWorld(t)
	w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1", Controller: true}}
	w.startGateway(t)
	ctx := t.Context()
	for what, err := range map[string]error{
		"user certificate": second(w.UserCertificates.DeleteCertificate(ctx, &casv1.DeleteCertificateRequest{CertificateId: "100"})),
		"server certificate": second(w.Certificates.DeleteServerCertificate(ctx,
			&slbv1.DeleteServerCertificateRequest{ServerCertificateId: "cert-2"})),
		"load balancer": second(w.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-gone"})),
		"listener": second(w.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{
			Key: &slbv1.ListenerKey{LoadBalancerId: "lb-gone", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
		})),
		"EIP": second(w.Eips.UnassociateEip(ctx, &vpcv1.UnassociateEipRequest{AllocationId: "eip-2", InstanceId: "lb-1"})),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if sent := w.actions(false); len(sent) > 0 {
		t.Errorf("%q were sent", sent)
	}
}
