package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
)

// bareServer has all services, with nothing behind them.
func bareServer(t *testing.T) *grpc.Server {
	t.Helper()
	services := New(Config{Shared: cloud.Shared{Logger: slog.New(slog.DiscardHandler)}})
	pass := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(ctx, request)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(Intercept(pass)))
	services.Register(server)
	return server
}

// TestPoliciesFitTheMethods: every method has a row, every row a method. Whoever reads the cloud can say how old the answer may be, and
// whoever changes it can make a repetition recognisable.
func TestPoliciesFitTheMethods(t *testing.T) {
	server := bareServer(t)
	rows := Policies(config.API{Enable: method.ToolServices()})
	served := map[string]bool{}
	for name, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			served["/"+name+"/"+m.Name] = true
		}
	}
	for _, m := range method.All() {
		if !served[m.FullName()] {
			t.Errorf("%s is not served", m.FullName())
		}
		delete(served, m.FullName())
		row := rows[m.FullName()]
		if p := m.Options.GetPriority(); p < flow.Background || p > flow.Backend || row.Priority != int(p) {
			t.Errorf("%s: the priority %s is %d in its row", m.FullName(), m.Priority(), row.Priority)
		}
		if row.Mutating == m.Reads() {
			t.Errorf("%s: Mutating is %t, but the protocol says that it reads: %t", m.FullName(), row.Mutating, m.Reads())
		}
		fields := m.Descriptor.Input().Fields()
		// What a deletion rests on is read now.
		old := m.Reads() && m.Options.GetResource() != "capabilities" && m.Name != "ConfirmAbsent"
		if fresh := fields.ByName("max_age") != nil; fresh != old && m.Options.GetResource() != "capabilities" {
			t.Errorf("%s: max_age in the request is %t; every other read of the cloud has one, and no write", m.FullName(), fresh)
		}
		if id := fields.ByName("request_id") != nil; id == m.Reads() {
			t.Errorf("%s: request_id in the request is %t; every write has one, and no read", m.FullName(), id)
		}
	}
	for full := range served {
		t.Errorf("%s is served and has no options", full)
	}
}

// TestRequestIDsAreRequired of exactly those methods that the protocol says so of.
func TestRequestIDsAreRequired(t *testing.T) {
	checks := Checks()
	for _, m := range method.All() {
		request, err := protoregistry.GlobalTypes.FindMessageByName(m.Descriptor.Input().FullName())
		if err != nil {
			t.Fatal(err)
		}
		e, _ := rpcerr.From(checks.Check(request.New().Interface()))
		required := e != nil && slices.ContainsFunc(e.Fields, func(v rpcerr.FieldViolation) bool { return v.Field == "request_id" })
		if want := m.Options.GetIdempotency() == commonv1.Idempotency_IDEMPOTENCY_REQUEST_ID; required != want {
			t.Errorf("%s: a request without request_id is refused: %t, want %t", m.FullName(), required, want)
		}
	}
}

// TestEveryWriteChecksItsRequestID: a handler that does not would remember answers by ids of any length.
func TestEveryWriteChecksItsRequestID(t *testing.T) {
	server := bareServer(t)
	conn := pipes.ServeGRPC(t, server)
	for full, row := range Policies(config.API{Enable: method.ToolServices()}) {
		if !row.Mutating {
			continue
		}
		name := strings.ReplaceAll(strings.TrimPrefix(full, "/"), "/", ".")
		descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		method := descriptor.(protoreflect.MethodDescriptor)
		request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
		request.Set(method.Input().Fields().ByName("request_id"), protoreflect.ValueOfString("two words"))
		e, ok := rpcerr.From(conn.Invoke(t.Context(), full, request, response))
		if !ok || e.Code != codes.InvalidArgument || !slices.ContainsFunc(e.Fields, func(v rpcerr.FieldViolation) bool {
			return v.Field == "request_id"
		}) {
			t.Errorf("%s: got %v, want a refusal of request_id", full, e)
		}
	}
}

// TestPrioritiesOfWrites: who gets traffic comes first, what is to go comes after what is to come.
func TestPrioritiesOfWrites(t *testing.T) {
	for full, row := range Policies(config.API{Enable: method.ToolServices()}) {
		if !row.Mutating {
			continue
		}
		name := full[strings.LastIndex(full, "/")+1:]
		want := flow.Change
		switch {
		case strings.HasSuffix(name, "ServerChanges"):
			want = flow.Backend
		case row.Verb == "delete":
			want = flow.Deletion
		}
		if row.Priority != int(want) {
			t.Errorf("%s has priority %d, want %d", name, row.Priority, want)
		}
		if gone := strings.HasPrefix(name, "Delete") || strings.HasPrefix(name, "BatchDelete") ||
			name == "ReleaseEip"; gone != (row.Verb == "delete") {
			t.Errorf("%s needs the verb %s", name, row.Verb)
		}
	}
}

// TestPageForTools has every service, and every resource that a ClusterRole can name.
func TestPageForTools(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "gateway-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for full, row := range Policies(config.API{Enable: method.ToolServices()}) {
		service, _, _ := strings.Cut(strings.TrimPrefix(full, "/cloudgateway."), "/")
		documented[row.Resource] = strings.Count(string(page), "`"+row.Resource+"`") >= 2 // in the text and in the table
		documented[service] = strings.Contains(string(page), "| `"+service+"` |")
	}
	for what, is := range documented {
		if !is {
			t.Errorf("docs/gateway-api.md does not mention %s in its table, or not among the resources of ClusterRoles above it", what)
		}
	}
}

// TestOfferedMethods: callers of a newer version see what this one lacks.
func TestOfferedMethods(t *testing.T) {
	names := methods(config.API{})
	for _, want := range []string{
		"slb.v1.ServerGroupService.ApplyServerChanges", "vpc.v1.RouteService.BatchCreateRouteEntries",
		"ecs.v1.NetworkInterfaceService.GetNetworkInterface", "common.v1.CapabilitiesService.GetCapabilities",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no method %q in %q", want, names)
		}
	}
}

// TestMethodsOfTools are off until their service is enabled, and then those of no other service are on.
func TestMethodsOfTools(t *testing.T) {
	const enabled = "slb.v1.CertificateService"
	before, after := Policies(config.API{}), Policies(config.API{Enable: []string{enabled}})
	for _, m := range method.All() {
		full := m.FullName()
		if off := before[full].Off != ""; off != m.Options.GetToolOnly() {
			t.Errorf("%s is off by default: %t, want %t", full, off, m.Options.GetToolOnly())
		}
		if off := after[full].Off != ""; off != (m.Options.GetToolOnly() && m.Service != enabled) {
			t.Errorf("%s is off with %s: %t", full, enabled, off)
		}
	}
	why := before[slbv1.CertificateService_ListCaCertificates_FullMethodName].Off
	if !strings.Contains(why, "api.enable") || !strings.Contains(why, enabled) {
		t.Errorf("the refusal %q does not name the setting and the service", why)
	}
	const offered = "slb.v1.CertificateService.ListCaCertificates"
	if slices.Contains(methods(config.API{}), offered) || !slices.Contains(methods(config.API{Enable: []string{enabled}}), offered) {
		t.Errorf("%s is offered exactly if it is on", offered)
	}
}
