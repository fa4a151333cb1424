package doctor

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// patient is a configuration and the simulated cloud that it points to.
type patient struct {
	Config

	t   *testing.T
	sim *openapisim.Simulator
	sts openapi.Config
}

// nowhere are endpoints at which nobody listens.
var nowhere = map[openapi.Product]string{openapi.STS: "127.0.0.1:1"}

// newPatient makes one that is in good health.
func newPatient(t *testing.T) *patient {
	t.Helper()
	settings := api.FastSettings()
	sim, err := openapisim.New(openapisim.Config{
		LimitsOff: true, Settings: &settings,
		AccessKeys: []openapisim.AccessKey{{ID: "LTAIgood", Secret: "good-secret"}, {ID: "LTAIoff", Secret: "good-secret", Disabled: true}},
		Seed: &state.Cloud{
			Vpcs: map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	limits, err := flow.Limits()
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{t: t, sim: sim}
	granted := limit.Table{}
	for _, row := range rampolicy.Rows() { // The account has what the gateway takes it to have. Unless told so, the simulator is stricter.
		action := string(row.Product) + "/" + row.Action
		granted[action] = limit.Limit{Calls: limits[action].Calls, Window: api.Duration(limits[action].Window)}
	}
	if err := sim.SetLimits(granted); err != nil {
		t.Fatal(err)
	}
	endpoints := map[openapi.Product]string{}
	for _, product := range []openapi.Product{openapi.SLB, openapi.NLB, openapi.VPC, openapi.ECS, openapi.CAS, openapi.Quotas, openapi.STS} {
		endpoints[product] = p.serve(string(product))
	}
	p.Config = Config{
		OpenAPI: openapi.Config{
			Region: "cn-hangzhou", Scheme: "HTTP", Endpoints: endpoints, Retry: time.Millisecond,
		},
		Source: p.key("LTAIgood", "good-secret"), Metadata: elsewhere{}, VpcID: "vpc-1", Features: rampolicy.Features(), Limits: limits,
		Now: time.Now,
	}
	p.sts = p.OpenAPI
	return p
}

func (p *patient) serve(product string) string {
	server := httptest.NewServer(p.sim.Handler(product))
	p.t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func (p *patient) key(id, secret string) credentials.Files {
	p.t.Helper()
	dir := p.t.TempDir()
	files := credentials.Files{IDFile: filepath.Join(dir, "id"), SecretFile: filepath.Join(dir, "secret")}
	for path, text := range map[string]string{files.IDFile: id, files.SecretFile: secret} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	return files
}

func (p *patient) onInstance() {
	p.t.Helper()
	p.sim.Update(func(c *state.Cloud) {
		c.Instances["i-1"] = &state.Instance{ID: "i-1", VpcID: "vpc-1", Status: "Running"}
	})
	p.Metadata = metadata.New("http://" + p.serve("metadata"))
}

func (p *patient) examine() *Report {
	p.t.Helper()
	p.STS = sts.New(p.sts)
	report, err := Run(p.t.Context(), p.Config)
	if err != nil {
		p.t.Fatal(err)
	}
	return report
}

// elsewhere is no ECS instance.
type elsewhere struct{}

func (elsewhere) Get(context.Context, string) (string, error) {
	return "", errors.New("no route to host")
}

// unwell lists what is not in order.
func unwell(r *Report) map[string]Result {
	found := map[string]Result{}
	for _, f := range r.Findings {
		if f.Result != OK && !strings.Contains(f.Detail, "without buying") {
			found[f.Check] = f.Result
		}
	}
	return found
}

func written(t *testing.T, r *Report) string {
	t.Helper()
	var text strings.Builder
	if _, err := r.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func (p *patient) inject(rules ...fault.Rule) {
	p.t.Helper()
	if err := p.sim.SetFaults(rules...); err != nil {
		p.t.Fatal(err)
	}
}
