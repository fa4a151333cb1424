package doctor

import (
	_ "embed"
	"strings"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

//go:embed harmless.txt
var harmlessText string

// harmless are parameters with which an action has no effect. Empty: nothing keeps the action from having one.
func harmless(row rampolicy.Row) cloud.Params {
	params := cloud.Params{}
	for line := range strings.Lines(harmlessText) {
		written, ok := strings.CutPrefix(line, string(row.Product)+" "+row.Action+" ")
		if !ok {
			continue
		}
		for word := range strings.FieldsSeq(written) {
			name, value, _ := strings.Cut(word, "=")
			params[name] = value
		}
	}
	return params
}
