package inprocess

import (
	"testing"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Cloud is a simulated cloud with a gateway before it, as the controllers' tests use them: calls are recorded on the connection and
// fail there on demand. Ids are short, such as lb-1.
type Cloud struct {
	*gatewaytest.Connection

	// Cloud is what the cloud holds. Read and change it between Lock and Unlock.
	*state.Cloud

	// Console is a connection to the same gateway on which nothing is recorded and nothing fails.
	Console *gateway.Client

	// Sim is the cloud. It has no rate limits, and nothing takes time but what a setting or a fault lets take time.
	Sim *openapisim.Simulator

	t testing.TB
}

// New makes a cloud that holds what a seed says, and a gateway of a VPC. They end with the test. The region is that of the seed.
func New(t testing.TB, vpcID string, seed *state.Cloud) *Cloud {
	t.Helper()
	settings := api.FastSettings()
	sim, err := openapisim.New(openapisim.Config{Region: seed.Region, LimitsOff: true, ShortIDs: true, Settings: &settings, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	conn := Dial(t, sim, vpcID)
	held := sim.Hold()
	defer sim.Release()
	return &Cloud{Connection: gatewaytest.Connect(t, conn), Cloud: held, Console: gateway.NewClient(conn), Sim: sim, t: t}
}

// Lock keeps calls away while a test looks at what the cloud holds, or changes it as people do in the console. What it adds may be as
// short as a seed: ids are the keys, and what the cloud adds is added.
func (c *Cloud) Lock() { c.Cloud = c.Sim.Hold() }

// Unlock lets calls in again.
func (c *Cloud) Unlock() {
	if err := c.Check(); err != nil {
		c.t.Error(err)
	}
	c.Sim.Release()
}

// Look calls f with what the cloud holds, in which all that has ended by now is over. F must neither change nor keep it.
func (c *Cloud) Look(f func(*state.Cloud)) { c.Sim.View(f) }

// Change calls f with what the cloud holds, for changes that people make in the console. What f adds may be as short as a seed:
// ids are the keys, and what the cloud adds is added. F must not keep it.
func (c *Cloud) Change(f func(*state.Cloud)) {
	c.t.Helper()
	var err error
	c.Sim.Update(func(cloud *state.Cloud) {
		f(cloud)
		err = cloud.Check()
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// Add adds things to the cloud with all that it adds itself, such as the network interface of an instance.
func (c *Cloud) Add(things *state.Cloud) {
	c.t.Helper()
	if err := c.Sim.Seed(things); err != nil {
		c.t.Fatal(err)
	}
}
