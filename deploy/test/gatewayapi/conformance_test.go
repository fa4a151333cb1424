// Package gatewayapi runs the conformance suite of the Gateway API. It is built with go test -c and run by
// deploy/test/cluster, with the flags of the suite; make e2e-gateway-api does both.
package gatewayapi

import (
	"embed"
	"io/fs"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

// base are the objects that all cases share. Those of the suite want listeners of protocol HTTP.
//
//go:embed testdata/base.yaml
var base embed.FS

func TestConformance(t *testing.T) {
	options := conformance.DefaultOptions(t)
	options.BaseManifests = "testdata/base.yaml"
	options.ManifestFS = []fs.FS{&base, &conformance.Manifests}
	conformance.RunConformanceWithOptions(t, options)
}
