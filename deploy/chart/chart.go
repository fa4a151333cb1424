// Package chart holds the Helm chart, and gives the local world and the tests the parts of it that they apply themselves, so
// that what is tested is what is shipped.
package chart

import (
	"embed"
	"fmt"
)

//go:embed files/rbac/*.yaml
var rbac embed.FS

// SupportBundle is the script that collects what somebody needs to look into a problem.
//
//go:embed support-bundle.sh
var SupportBundle []byte

// Namespace is where the ServiceAccounts and Leases of RBAC live.
const Namespace = "kube-system"

// Components are the processes of the chart. Each has a ServiceAccount of its name.
func Components() []string {
	return []string{"cloudgateway", "lbcontroller", "nodecontroller", "routecontroller"}
}

// RBAC returns the ServiceAccount, roles and bindings of a component as YAML documents.
func RBAC(component string) ([]byte, error) {
	data, err := rbac.ReadFile("files/rbac/" + component + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("read RBAC of component %q: %w", component, err)
	}
	return data, nil
}
