package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

// begin example

// report prints the load balancers of a cluster, as they were a minute ago or later.
func report(ctx context.Context, cfg gateway.Config, clusterID string, out io.Writer) error {
	conn, err := gateway.Dial(cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := conn.Client().LoadBalancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{
		Tags:   []*commonv1.Tag{{Key: "ack.aliyun.com", Value: clusterID}},
		MaxAge: durationpb.New(time.Minute),
	})
	if after, ok := rpcerr.RetryAfter(err); ok {
		return fmt.Errorf("come back in %s: %w", after, err)
	}
	if err != nil {
		return err
	}
	for _, lb := range answer.GetLoadBalancers() {
		fmt.Fprintln(out, lb.GetLoadBalancerId(), lb.GetName(), lb.GetAddress())
	}
	return nil
}

// end example

// begin repetition

// buyOnce buys a load balancer, and repeats the request while the gateway can't be reached.
func buyOnce(ctx context.Context, client *gateway.Client, request *slbv1.CreateLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	for {
		answer, err := client.LoadBalancers.CreateLoadBalancer(ctx, request) // with the same request_id each time
		if status.Code(err) != codes.Unavailable {
			return answer.GetLoadBalancer(), err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// end repetition

// unreachable is a gateway that can't be reached for a while.
type unreachable struct {
	slbv1.LoadBalancerServiceClient

	left int
	ids  []string
}

func (u *unreachable) CreateLoadBalancer(
	_ context.Context, r *slbv1.CreateLoadBalancerRequest, _ ...grpc.CallOption,
) (*slbv1.CreateLoadBalancerResponse, error) {
	u.ids = append(u.ids, r.GetRequestId())
	if u.left--; u.left >= 0 {
		return nil, &rpcerr.Error{Code: codes.Unavailable, Message: "connection refused"}
	}
	return &slbv1.CreateLoadBalancerResponse{LoadBalancer: &slbv1.LoadBalancer{LoadBalancerId: "lb-1"}}, nil
}

// TestBuyOnce: the example repeats the same request, as long as its caller has time.
func TestBuyOnce(t *testing.T) {
	for _, tc := range []struct{ failures, attempts int }{{0, 1}, {3, 4}, {100, 10}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
			defer cancel()
			gone := &unreachable{left: tc.failures}
			lb, err := buyOnce(ctx, &gateway.Client{LoadBalancers: gone}, &slbv1.CreateLoadBalancerRequest{RequestId: "r"})
			if bought := tc.failures < tc.attempts; (err == nil) != bought || (lb.GetLoadBalancerId() == "lb-1") != bought {
				t.Errorf("%d failures: got %v, %v", tc.failures, lb, err)
			}
			if want := slices.Repeat([]string{"r"}, tc.attempts); !slices.Equal(gone.ids, want) {
				t.Errorf("%d failures: requests %q, want %d", tc.failures, gone.ids, tc.attempts)
			}
		})
	}
}

// TestToolOutsideOfTheCluster: the example of docs/gateway-for-tools.md works, with a client certificate and with a token.
func TestToolOutsideOfTheCluster(t *testing.T) {
	w := newWorld(t)
	w.issue("writer")
	w.issue("reader")
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.file = w.write("tools.yaml", strings.Replace(string(text), "tls: {", "tls: {clientCAFile: "+filepath.Join(w.dir, "reader.crt")+", ", 1))
	w.start()
	if err := create(t.Context(), w.dial("writer")); err != nil {
		t.Fatal(err)
	}
	base := gateway.Config{Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway"}
	certified, foreign, tokened := base, base, base
	certified.CertFile, certified.KeyFile = filepath.Join(w.dir, "reader.crt"), filepath.Join(w.dir, "reader.key")
	foreign.CertFile, foreign.KeyFile = filepath.Join(w.dir, "writer.crt"), filepath.Join(w.dir, "writer.key")
	tokened.TokenFile = w.write("token", "reader")
	for name, cfg := range map[string]gateway.Config{"certificate": certified, "token": tokened} {
		var out bytes.Buffer
		if err := report(t.Context(), cfg, "c-1", &out); err != nil || !strings.Contains(out.String(), " web ") {
			t.Errorf("%s: got %q and %v", name, out.String(), err)
		}
	}
	if err := report(t.Context(), foreign, "c-1", io.Discard); rpcerr.ReasonOf(err) != rpcerr.CallerUnauthenticated {
		t.Errorf("a certificate of another authority: %v", err)
	}
	services, err := w.reflected("writer")
	if err != nil || !slices.Contains(services, slbv1.LoadBalancerService_ServiceDesc.ServiceName) {
		t.Errorf("the gateway shows the services %q, %v", services, err)
	}
	for token, code := range map[string]codes.Code{"": codes.Unauthenticated, "invented": codes.Unauthenticated, "reader": codes.PermissionDenied} {
		if services, err := w.reflected(token); status.Code(err) != code {
			t.Errorf("the token %q: the gateway shows the services %q, %v", token, services, err)
		}
	}
}

// reflected asks, as grpcurl does, which services there are.
func (w *world) reflected(token string) (names []string, err error) {
	w.t.Helper()
	transport, err := credentials.NewClientTLSFromFile(filepath.Join(w.dir, "tls.crt"), "cloudgateway")
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := grpc.NewClient(w.addr, grpc.WithTransportCredentials(transport))
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	ctx := w.t.Context()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}); err != nil && !errors.Is(err, io.EOF) {
		w.t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names, nil
}

// TestToolsPageShowsTheExample: what readers copy is what is tested.
func TestToolsPageShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("tool_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "gateway-for-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	between := func(text, begin, end string) string {
		_, rest, _ := strings.Cut(text, begin)
		inside, _, _ := strings.Cut(rest, end)
		return strings.TrimSpace(inside)
	}
	for _, example := range []string{"example", "repetition"} {
		want := between(string(source), "// begin "+example+"\n", "// end "+example+"\n")
		begin, _, _ := strings.Cut(want, "\n")
		if diff := cmp.Diff(want, begin+"\n"+between(string(page), "```go\n"+begin+"\n", "```")); diff != "" {
			t.Errorf("docs/gateway-for-tools.md (-tested +shown):\n%s", diff)
		}
	}
}
