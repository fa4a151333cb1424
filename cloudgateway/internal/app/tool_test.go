package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"alicloud-controllers.dev/proto/client"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// begin example

// join adds the instances of a VPC to a server group, with port 8080.
func join(ctx context.Context, cfg client.Config, vpcID, serverGroupID string) error {
	conn, err := client.Dial(cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	calls, change := conn.Client(), &slbv1.ApplyServerChangesRequest{ServerGroupId: serverGroupID, RequestId: uuid.NewString()}
	for instance, err := range client.All(ctx, calls.Instances.ListInstances,
		&ecsv1.ListInstancesRequest{VpcId: vpcID}, (*ecsv1.ListInstancesResponse).GetInstances) {
		if err != nil {
			return err
		}
		change.Add = append(change.Add, &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instance.GetInstanceId(), Port: 8080})
	}
	_, err = calls.ServerGroups.ApplyServerChanges(ctx, change)
	if after, ok := rpcerr.RetryAfter(err); ok {
		return fmt.Errorf("come back in %s: %w", after, err)
	}
	return err
}

// end example

// begin repetition

// buyOnce buys a load balancer, and repeats the request while the gateway can't be reached.
func buyOnce(ctx context.Context, calls *client.Client, request *slbv1.CreateLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	for {
		answer, err := calls.LoadBalancers.CreateLoadBalancer(ctx, request) // with the same request_id each time
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
			lb, err := buyOnce(ctx, &client.Client{LoadBalancers: gone}, &slbv1.CreateLoadBalancerRequest{RequestId: "r"})
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
	w := newWorld(t, instance)
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
	base := client.Config{Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway"}
	certified, foreign, tokened := base, base, base
	certified.CertFile, certified.KeyFile = filepath.Join(w.dir, "reader.crt"), filepath.Join(w.dir, "reader.key")
	foreign.CertFile, foreign.KeyFile = filepath.Join(w.dir, "writer.crt"), filepath.Join(w.dir, "writer.key")
	tokened.TokenFile = w.write("token", "writer")
	group := w.group()
	if err := join(t.Context(), tokened, "vpc-1", group); err != nil || w.servers(group) != 1 {
		t.Errorf("with a token: %d servers, %v", w.servers(group), err)
	}
	if err := join(t.Context(), certified, "vpc-1", group); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("with a certificate of one that may only read: %v", err)
	}
	if err := join(t.Context(), foreign, "vpc-1", group); rpcerr.ReasonOf(err) != rpcerr.CallerUnauthenticated {
		t.Errorf("a certificate of another authority: %v", err)
	}
	services, err := w.reflected("writer")
	if err != nil || !slices.Contains(services, slbv1.LoadBalancerService_ServiceDesc.ServiceName) {
		t.Errorf("the gateway shows the services %q, %v", services, err)
	}
	for token, code := range map[string]codes.Code{"": codes.Unauthenticated, "invented": codes.Unauthenticated,
		"reader": codes.PermissionDenied} {
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

// instance puts one into the VPC.
func instance(seed *state.Cloud) {
	seed.VSwitches["vsw-1"] = &state.VSwitch{VpcID: "vpc-1", CidrBlock: "192.168.1.0/24", ZoneID: "cn-hangzhou-h"}
	seed.Instances["i-1"] = &state.Instance{VpcID: "vpc-1", VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.1.1"}, Status: "Running"}
}

// group makes a server group of the load balancer that there is.
func (w *world) group() (id string) {
	w.t.Helper()
	writer := w.dial("writer")
	found, err := writer.LoadBalancers.ListLoadBalancers(w.t.Context(), &slbv1.ListLoadBalancersRequest{Name: "web"})
	if err != nil || len(found.GetLoadBalancers()) != 1 {
		w.t.Fatalf("found %v, %v", found, err)
	}
	made, err := writer.ServerGroups.CreateServerGroup(w.t.Context(), &slbv1.CreateServerGroupRequest{
		LoadBalancerId: found.GetLoadBalancers()[0].GetLoadBalancerId(), Name: "backends", RequestId: "group",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.GetServerGroupId()
}

// servers is how many a server group has.
func (w *world) servers(group string) (count int) {
	w.sim.View(func(c *state.Cloud) { count = len(c.ServerGroups[group].Servers) })
	return count
}

// TestGrpcurl: grpcurl, unmodified, finds the active replica by its own port, asks the gateway for the protocol, and
// adds a server; and the script of the page prints what there is.
func TestGrpcurl(t *testing.T) {
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	build.Dir, build.Env = filepath.Join("..", "..", "openapisim", "thirdparty"), append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newWorld(t, instance)
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.4", freePort(t)) // Tests beside it listen at 127.0.0.1.
	w.file = w.write("active.yaml", string(text)+"activeListen: "+address+"\n")
	w.start()
	if err := create(t.Context(), w.dial("writer")); err != nil {
		t.Fatal(err)
	}
	group := w.group()
	w.write("token", "writer")
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "gateway-for-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(page), "```sh\n#!/bin/sh\n")
	script, _, _ = strings.Cut(script, "```")
	gw := "gw() { grpcurl -cacert tls.crt -servername cloudgateway -H \"authorization: Bearer $(cat token)\" \"$@\"; }; "
	for _, tt := range []struct{ name, command, want string }{
		{"the protocol", gw + "gw $GATEWAY list cloudgateway.vpc.v1.VSwitchService", "cloudgateway.vpc.v1.VSwitchService.ListVSwitches"},
		{"a server", gw + `gw -d '{"server_group_id":"` + group + `","add":[{"type":"SERVER_TYPE_ECS","server_id":"i-1","port":8080}]}' ` +
			"$GATEWAY cloudgateway.slb.v1.ServerGroupService/ApplyServerChanges", `"cloudCalls": 1`},
		{"the inventory: instances", script, `"instanceId": "i-1"`},
		{"the inventory: vSwitches", script, `"vswitchId": "vsw-1"`},
	} {
		run := exec.CommandContext(t.Context(), "sh", "-euc", tt.command, "inventory.sh", "vpc-1")
		run.Dir, run.Env = w.dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GATEWAY="+address, "SERVER_NAME=cloudgateway")
		if err := os.Link(filepath.Join(w.dir, "tls.crt"), filepath.Join(w.dir, "ca.crt")); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
		}
	}
	if w.servers(group) != 1 {
		t.Errorf("the group has %d servers", w.servers(group))
	}
}

// TestToolsPageShowsTheExample: what readers copy is what is tested.
func TestToolsPageShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("tool_test.go")
	if err != nil {
		t.Fatal(err)
	}
	between := func(text, begin, end string) string {
		_, rest, _ := strings.Cut(text, begin)
		inside, _, _ := strings.Cut(rest, end)
		return strings.TrimSpace(inside)
	}
	for example, name := range map[string]string{"example": "gateway-for-tools.md", "repetition": "gateway-api.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		want := between(string(source), "// begin "+example+"\n", "// end "+example+"\n")
		begin, _, _ := strings.Cut(want, "\n")
		if diff := cmp.Diff(want, begin+"\n"+between(string(page), "```go\n"+begin+"\n", "```")); diff != "" {
			t.Errorf("docs/%s (-tested +shown):\n%s", name, diff)
		}
	}
}
