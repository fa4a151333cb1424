package e2e

import (
	"testing"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestGatewayIsFoundThroughTheAPIServer: with the permissions of the chart, and without DNS, the controllers find the gateway by the
// EndpointSlices of its Service.
func TestGatewayIsFoundThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{Nodes: 1, Controllers: world.Controllers(), Fast: true, Discovery: true})
	w.initialised(t)
	w.create(t, newService("web", nil, 80))
	w.balanced(t, "web")
	w.checkQueries(t) // All processes have worked.
	w.remove(t, "web")
}
