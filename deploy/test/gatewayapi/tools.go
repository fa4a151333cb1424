//go:build tools

package gatewayapi

// What pods of the cases run is of the same version.
import _ "sigs.k8s.io/gateway-api/conformance/echo-basic"
