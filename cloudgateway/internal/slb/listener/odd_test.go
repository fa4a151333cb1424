package listener

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// listeners are those that a cloud has, by load balancer.
type listeners map[string]string

// Do answers a call for the listeners of some load balancers.
func (l listeners) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	var items []string
	for name, id := range call.Params {
		if strings.HasPrefix(name, "LoadBalancerId.") {
			items = append(items, l[id])
		}
	}
	return openapi.Result{}, json.Unmarshal(fmt.Appendf(nil, `{"Listeners":[%s]}`, strings.Join(items, ",")), out)
}

// TestOddListenersFailNoOthers: the cloud writes what is empty in many ways. Only what can't be understood is an error,
// and that for its load balancer alone.
func TestOddListenersFailNoOthers(t *testing.T) {
	const plain = `{"LoadBalancerId":"lb-1","ListenerPort":80,"ListenerProtocol":"udp","Status":"running"}`
	for odd, readable := range map[string]bool{
		`"ListenerPort":81,"ListenerProtocol":"tcp","Tags":""`:                                       true,
		`"ListenerPort":81,"ListenerProtocol":"tcp","Tags":{}`:                                       true,
		`"ListenerPort":81,"ListenerProtocol":"tcp","Tags":{"Tag":[{"TagKey":"k","TagValue":"v"}]}`:  true,
		`"ListenerPort":81,"ListenerProtocol":"tcp","TCPListenerConfig":""`:                          true,
		`"ListenerPort":81,"ListenerProtocol":"tcp","TCPListenerConfig":null`:                        true,
		`"ListenerPort":"the first","ListenerProtocol":"tcp"`:                                        false,
		`"ListenerPort":81,"ListenerProtocol":"tcp","TCPListenerConfig":[{"PersistenceTimeout":10}]`: false,
	} {
		t.Run(odd, func(t *testing.T) {
			cloudOf := listeners{"lb-1": plain, "lb-2": `{"LoadBalancerId":"lb-2",` + odd + `}`}
			s := New(slb.New(cloudOf, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)},
				func(*slbv1.LoadBalancer) {}))
			found := s.listeners.GetMany(t.Context(), []string{"lb-1", "lb-2"}, 0)
			if found[0].Err != nil || len(found[0].Value) != 1 {
				t.Errorf("the other load balancer: %v, %v", found[0].Value, found[0].Err)
			}
			if err := found[1].Err; (err == nil) != readable || err != nil && rpcerr.ReasonOf(err) != rpcerr.CloudUnavailable {
				t.Errorf("its own: %v, %v", found[1].Value, err)
			}
		})
	}
}
