package lb_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// read is the answer to a read, which has to go well.
func read[Q, A proto.Message](w *world, call func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) A {
	w.t.Helper()
	answer, err := call(w.t.Context(), request)
	if err != nil {
		w.t.Error(err)
	}
	return answer
}

// TestProcessLinksNoGateway: what tests take from the gateway is not in the process, nor is the cloud's SDK.
func TestProcessLinksNoGateway(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "alicloud-controllers.dev/lbcontroller/cmd/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "alicloud-controllers.dev/lbcontroller/internal/lb") {
		t.Fatal("the engine is not among what is linked, so nothing was found out")
	}
	for _, pkg := range linked {
		if strings.HasPrefix(pkg, "alicloud-controllers.dev/cloudgateway/") || strings.HasPrefix(pkg, "github.com/aliyun/") {
			t.Errorf("%s is linked", pkg)
		}
	}
}
