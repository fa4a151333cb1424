package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"
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

// TestToolOutsideOfTheCluster: the example of docs/gateway-for-tools.md works, with a client certificate and with a token.
func TestToolOutsideOfTheCluster(t *testing.T) {
	w := newWorld(t)
	w.issue("writer")
	w.issue("reader")
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.file = w.write("tools.yaml", "reflection: true\n"+
		strings.Replace(string(text), "tls: {", "tls: {clientCAFile: "+filepath.Join(w.dir, "reader.crt")+", ", 1))
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
	if services := w.reflected(); !slices.Contains(services, slbv1.LoadBalancerService_ServiceDesc.ServiceName) {
		t.Errorf("the gateway shows the services %q", services)
	}
}

// reflected asks, as grpcurl does, which services there are.
func (w *world) reflected() []string {
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
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}); err != nil {
		w.t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names
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
	want := between(string(source), "// begin example\n", "// end example\n")
	if diff := cmp.Diff(want, between(string(page), "```go\n", "```")); diff != "" {
		t.Errorf("docs/gateway-for-tools.md (-tested +shown):\n%s", diff)
	}
}
