package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestCallers calls the gateway as somebody who may not: the answer says so, and the cloud hears nothing of it.
func TestCallers(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{Nodes: 1, Controllers: world.Controllers(), Fast: bool(instant), Node: seldom(),
		Route: seldom(), BinDir: racing(t)})
	w.initialised(t)
	stranger := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "stranger", Namespace: chart.Namespace}}
	if _, err := w.Client().CoreV1().ServiceAccounts(chart.Namespace).Create(t.Context(), stranger, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create ServiceAccount: %v", err)
	}
	token := func(account, audience string) string {
		t.Helper()
		text, err := w.Token(t.Context(), chart.Namespace, account, audience)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	trust, err := credentials.NewClientTLSFromFile(w.CAFile(), "cloudgateway")
	if err != nil {
		t.Fatalf("read authority: %v", err)
	}
	conn, err := grpc.NewClient(w.GatewayAddress(), grpc.WithTransportCredentials(trust))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close()

	read := func(ctx context.Context) error {
		_, err := slbv1.NewLoadBalancerServiceClient(conn).GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
		return err
	}
	write := func(ctx context.Context) error {
		_, err := slbv1.NewLoadBalancerServiceClient(conn).DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-1"})
		return err
	}
	routes := func(ctx context.Context) error {
		_, err := vpcv1.NewRouteServiceClient(conn).ListRouteTables(ctx, &vpcv1.ListRouteTablesRequest{VpcId: world.VpcID})
		return err
	}
	instance := func(ctx context.Context) error {
		_, err := ecsv1.NewInstanceServiceClient(conn).GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: "i-local00001"})
		return err
	}
	tests := []struct {
		name          string
		authorization string
		call          func(ctx context.Context) error
		want          codes.Code
	}{
		{name: "no token", call: read, want: codes.Unauthenticated},
		{name: "no token, a write", call: write, want: codes.Unauthenticated},
		{name: "not a token", authorization: "Bearer secret", call: read, want: codes.Unauthenticated},
		{name: "a token for the API server", authorization: token(world.LB, "https://kubernetes.default.svc"), call: read,
			want: codes.Unauthenticated},
		{name: "a token for somebody else", authorization: token(world.LB, "vault"), call: write, want: codes.Unauthenticated},
		{name: "a ServiceAccount without permissions", authorization: token("stranger", world.Audience), call: read,
			want: codes.PermissionDenied},
		{name: "a ServiceAccount without permissions, a write", authorization: token("stranger", world.Audience), call: write,
			want: codes.PermissionDenied},
		{name: "lbcontroller has no business with routes", authorization: token(world.LB, world.Audience), call: routes,
			want: codes.PermissionDenied},
		{name: "nodecontroller has no business with load balancers", authorization: token(world.Node, world.Audience),
			call: write, want: codes.PermissionDenied},
		{name: "routecontroller has no business with instances", authorization: token(world.Route, world.Audience),
			call: instance, want: codes.PermissionDenied},
	}
	since := w.position(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			if tt.authorization != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", tt.authorization)
			}
			err := decided(ctx, t, tt.call)
			if w.seen.saw(tt.name, err); status.Code(err) != tt.want {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if calls, _ := w.settle(t, since); len(calls) > 0 {
		t.Errorf("the cloud was called %d times, first %s", len(calls), calls[0].Action)
	}

	allowed := metadata.AppendToOutgoingContext(t.Context(), "authorization", token(world.Node, world.Audience))
	if err := decided(allowed, t, instance); err != nil {
		t.Errorf("nodecontroller reads an instance: %v", err)
	}
	w.quoteSecrets(t, func() error { return instance(allowed) })
}

// decided is the answer to a call, which is repeated as long as the API server takes too long to review the caller.
func decided(ctx context.Context, t *testing.T, call func(ctx context.Context) error) (answer error) {
	t.Helper()
	eventually(t, "the gateway decides", func(context.Context) error {
		if answer = call(ctx); status.Code(answer) == codes.Unavailable {
			return answer
		}
		return nil
	})
	return answer
}

// quoteSecrets lets the cloud's answers to a read quote what was sent. That the answers, which the world's end looks at, do not
// pass it on is the point.
func (w testWorld) quoteSecrets(t *testing.T, read func() error) {
	t.Helper()
	for name, answer := range map[string]fault.Error{
		"wrongly signed": {Code: "SignatureDoesNotMatch", Message: "Specified signature is not matched with our calculation. " +
			"server string to sign is:POST&%2F&AccessKeyId%3DLTAI%26SecurityToken%3D" + planted + "%26Version%3D2014-05-26"},
		"a proxy that quotes the URL": {Status: http.StatusForbidden, Code: "ProxyDenied", Message: "Access to /?Action=DescribeInstances&" +
			"SecurityToken=" + planted + "&Signature=" + planted + " was denied."},
	} {
		answer.Status = cmp.Or(answer.Status, http.StatusBadRequest)
		if err := w.Cloud().SetFaults(t.Context(), fault.Rule{Action: "DescribeInstances", Error: &answer}); err != nil {
			t.Fatal(err)
		}
		err := read()
		if w.seen.saw("a read, "+name, err); err == nil || !strings.Contains(fmt.Sprint(status.Convert(err).Proto()), answer.Code) {
			t.Errorf("%s: got %v, want an error with the cloud's code", name, err)
		}
	}
	if err := w.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
}
