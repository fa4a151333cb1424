// Package examples has what the demo applies, as files that can be applied with kubectl as well.
package examples

import _ "embed"

//go:embed web.yaml
var web []byte

// Web returns the manifest of a Deployment and its Service.
func Web() []byte { return web }

//go:embed web-nlb.yaml
var webNLB []byte

// WebNLB returns the manifest of a Service of class NLB, for the pods of Web.
func WebNLB() []byte { return webNLB }
