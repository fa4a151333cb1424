//go:build tools

package main

// What pods of the tests run is of the same version.
import _ "k8s.io/kubernetes/test/images/agnhost"
