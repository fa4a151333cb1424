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
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// bareServer has all services, with nothing behind them.
func bareServer(t *testing.T) *grpc.Server {
	t.Helper()
	services, err := New(Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(services.Close)
	pass := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(ctx, request)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(Checks().Before(pass)))
	services.Register(server)
	return server
}

// TestPoliciesFitTheMethods: every method has a row, every row a method, and only what the protocol calls free of side effects
// escapes the audit log. Whoever reads the cloud can say how old the answer may be.
func TestPoliciesFitTheMethods(t *testing.T) {
	server := bareServer(t)
	rows := Policies()
	for name, info := range server.GetServiceInfo() {
		descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range info.Methods {
			full := "/" + name + "/" + m.Name
			row, ok := rows[full]
			if !ok {
				t.Errorf("%s: no policy", full)
				continue
			}
			delete(rows, full)
			method := descriptor.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(m.Name))
			options, _ := method.Options().(*descriptorpb.MethodOptions)
			reads := options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
			if row.Mutating == reads {
				t.Errorf("%s: Mutating is %t, but the protocol says NO_SIDE_EFFECTS=%t", full, row.Mutating, reads)
			}
			if fresh := method.Input().Fields().ByName("max_age") != nil; fresh != reads && m.Name != "GetCapabilities" {
				t.Errorf("%s: max_age in the request is %t; every read of the cloud has one, and no write", full, fresh)
			}
			if id := method.Input().Fields().ByName("request_id"); (id != nil) == reads {
				t.Errorf("%s: request_id in the request is %t; every write has one, and no read", full, id != nil)
			}
			verbs := []string{"create", "update", "delete"}
			if reads {
				verbs = []string{"get", "list"}
			}
			if !slices.Contains(verbs, row.Verb) {
				t.Errorf("%s: verb %q is not one of %s", full, row.Verb, strings.Join(verbs, ", "))
			}
		}
	}
	for full := range rows {
		t.Errorf("%s: a policy without a method", full)
	}
}

// TestEveryWriteChecksItsRequestID: a handler that does not would remember answers by ids of any length.
func TestEveryWriteChecksItsRequestID(t *testing.T) {
	server := bareServer(t)
	conn := connect(t, server)
	for full, row := range Policies() {
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
	for full, row := range Policies() {
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
		if gone := strings.HasPrefix(name, "Delete") || strings.HasPrefix(name, "BatchDelete") || name == "ReleaseEip"; gone != (row.Verb == "delete") {
			t.Errorf("%s needs the verb %s", name, row.Verb)
		}
	}
}

// TestToolsAreTold of every service, and of every resource that a ClusterRole can name.
func TestToolsAreTold(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "gateway-for-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for full, row := range Policies() {
		service, _, _ := strings.Cut(strings.TrimPrefix(full, "/cloudgateway."), "/")
		told[row.Resource] = strings.Count(string(page), "`"+row.Resource+"`") >= 2 // in the text and in the table
		told[service] = strings.Contains(string(page), "| `"+service+"` |")
	}
	for what, is := range told {
		if !is {
			t.Errorf("docs/gateway-for-tools.md does not tell of %s", what)
		}
	}
}

func TestFeatures(t *testing.T) {
	names := features()
	for _, want := range []string{
		"slb.v1.ServerGroups.ApplyServerChanges", "vpc.v1.Routes.BatchCreateRouteEntries",
		"ecs.v1.NetworkInterfaces.GetNetworkInterface", "common.v1.Capabilities.GetCapabilities",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no feature %q in %q", want, names)
		}
	}
}
