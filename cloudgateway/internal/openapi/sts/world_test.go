package sts_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// Addresses of loopback, which no proxy is asked for.
const (
	stsAddress = "127.0.0.1:9104"
	vpcAddress = "127.0.0.1:9102"
)

const (
	roleARN     = "acs:ram::1000000000000001:role/gateway"
	providerARN = "acs:ram::1000000000000001:oidc-provider/ack-rrsa-c1"
)

func role() config.AssumeRole {
	return config.AssumeRole{Session: config.Session{RoleARN: roleARN, SessionName: "gateway", DurationSeconds: 3600}}
}

// rrsa is the same role for the token in a file.
func rrsa(provider, file string) config.RRSA {
	return config.RRSA{Session: role().Session, OIDCProviderARN: provider, TokenFile: file}
}

// world is a simulated cloud whose clock is the test's.
type world struct {
	t       *testing.T
	sim     *openapisim.Simulator
	network memory
	sts     *sts.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	sim, err := openapisim.New(openapisim.Config{LimitsOff: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, sim: sim, network: serve(t, sim, map[string]string{"sts": stsAddress, "vpc": vpcAddress})}
	w.sts = sts.New(openapi.Config{
		Region: "cn-hangzhou", Endpoints: map[openapi.Product]string{openapi.STS: stsAddress}, Scheme: "HTTP",
		UserAgent: "test", Dial: w.network.Dial,
	})
	return w
}

// run keeps credentials fresh until the end of the test, and waits for the first.
func (w *world) run(source credentials.Source) *credentials.Provider {
	w.t.Helper()
	provider := credentials.New(source, nil, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := provider.Run(ctx); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(func() { stop(); running.Wait() })
	synctest.Wait()
	return provider
}

// call reads from the cloud with the provider's credentials and returns the id of the key that it used.
func (w *world) call(provider *credentials.Provider) (string, error) {
	w.t.Helper()
	client := openapi.New(openapi.Config{
		Region: "cn-hangzhou", Scheme: "HTTP", Endpoints: map[openapi.Product]string{openapi.VPC: vpcAddress},
		Credentials: provider, Budget: openapi.Unlimited{}, Dial: w.network.Dial,
	})
	defer client.Close()
	if _, err := client.Do(w.t.Context(), openapi.Call{Product: openapi.VPC, Action: "DescribeVpcs", Idempotent: true}, nil); err != nil {
		return "", err
	}
	calls := w.sim.Calls(0)
	return calls[len(calls)-1].Params["AccessKeyId"], nil
}

func (w *world) mustCall(provider *credentials.Provider) string {
	w.t.Helper()
	key, err := w.call(provider)
	if err != nil {
		w.t.Fatal(err)
	}
	return key
}

func (w *world) inject(rules ...fault.Rule) {
	w.t.Helper()
	if err := w.sim.SetFaults(rules...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) count(action string) int {
	n := 0
	for _, call := range w.sim.Calls(0) {
		if call.Action == action {
			n++
		}
	}
	return n
}

func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// key is the account's, as a source.
type key struct{}

func (key) Name() string { return "key" }

func (key) Fetch(context.Context) (credentials.Credentials, error) {
	return credentials.Credentials{AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret}, nil
}
