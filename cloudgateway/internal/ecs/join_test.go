package ecs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/instance"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/networkinterface"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// everything is a cloud that has whatever is asked for, and takes 50 ms to say so.
type everything struct {
	forbidden string // an instance, by RAM

	mu    sync.Mutex
	reads map[string]int
}

func (e *everything) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	<-time.After(50 * time.Millisecond)
	e.mu.Lock()
	e.reads[call.Action]++
	e.mu.Unlock()
	type object = map[string]any
	answer := object{}
	switch call.Action {
	case "DescribeInstances":
		var ids []string
		if err := json.Unmarshal([]byte(call.Params["InstanceIds"]), &ids); err != nil {
			return openapi.Result{}, err
		}
		list := make([]any, len(ids))
		if slices.Contains(ids, e.forbidden) {
			return openapi.Result{}, &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "Forbidden.RAM"}
		}
		for i, id := range ids {
			list[i] = object{"InstanceId": id}
		}
		answer["Instances"] = object{"Instance": list}
	case "DescribeNetworkInterfaces":
		var list []any
		for i := 1; call.Params[fmt.Sprintf("NetworkInterfaceId.%d", i)] != ""; i++ {
			list = append(list, object{"NetworkInterfaceId": call.Params[fmt.Sprintf("NetworkInterfaceId.%d", i)]})
		}
		answer["NetworkInterfaceSets"] = object{"NetworkInterfaceSet": list}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return openapi.Result{}, err
	}
	return openapi.Result{}, json.Unmarshal(text, out)
}

// TestOneForbiddenInstance: an instance that a RAM policy hides takes nothing from those that are asked for with it.
func TestOneForbiddenInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &everything{reads: map[string]int{}, forbidden: "i-41"}
		cfg := ecs.Config{Caller: fake, Shared: cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}}
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("i-%d", i))
		}
		answer, err := instance.New(cfg, "", nil).BatchGetInstances(t.Context(), &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range answer.GetResults() {
			if (result.GetInstance() == nil) != (ids[i] == fake.forbidden) {
				t.Errorf("%s: %v", ids[i], result)
			}
		}
		if n := fake.reads["DescribeInstances"]; n > 15 {
			t.Errorf("%d reads, want at most 15", n)
		}
	})
}

// TestJoiningNodesShareReads: 200 nodes that join within two seconds are asked for one by one, the instance and then its interface.
func TestJoiningNodesShareReads(t *testing.T) {
	const nodes, most = 200, 6
	synctest.Test(t, func(t *testing.T) {
		fake := &everything{reads: map[string]int{}}
		cfg := ecs.Config{Caller: fake, Shared: cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}}
		interfaces := networkinterface.New(cfg)
		instances := instance.New(cfg, "", interfaces)
		var work sync.WaitGroup
		for i := range nodes {
			work.Go(func() {
				if _, err := instances.GetInstance(t.Context(), &ecsv1.GetInstanceRequest{InstanceId: fmt.Sprintf("i-%d", i)}); err != nil {
					t.Error(err)
				}
				if _, err := interfaces.GetNetworkInterface(t.Context(),
					&ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: fmt.Sprintf("eni-%d", i)}); err != nil {
					t.Error(err)
				}
			})
			<-time.After(2 * time.Second / nodes)
		}
		work.Wait()
		if sum := fake.reads["DescribeInstances"] + fake.reads["DescribeNetworkInterfaces"]; sum > most {
			t.Errorf("%d reads (%v) for %d nodes, want at most %d", sum, fake.reads, nodes, most)
		}
	})
}
