package annotation

import (
	"fmt"
	"strings"
)

// Markdown renders the table as the reference page.
func Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Annotations of Services\n\n"+
		"<!-- Generated from lbcontroller/internal/annotation; do not edit. -->\n\n"+
		"Each key stands behind the prefix `%s`; the older `%s`\nis understood, too, and loses against the first. "+
		"Values of choices and switches may be in any case, and items of lists may have spaces around\nthem. A Service with a bad value gets one "+
		"Warning event that names annotation, value and what is allowed, and its configuration\nstays as it is until that is mended; "+
		"the backends of a CLB that there is go on following nodes and pods, with the weights that they have.\n"+
		"*Since* is the version of the existing CCM that introduced the annotation; *new* is one that it doesn't have.\n", Prefix, LegacyPrefix)
	scope := Scope("")
	for _, s := range Table() {
		if s.Scope != scope {
			scope = s.Scope
			fmt.Fprintf(&b, "\n## %s\n\n| key | values | default | what it does | when removed | since |\n|---|---|---|---|---|---|\n", scope)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", s.Key, s.Allowed(), s.Default, s.about(), s.Removal, s.Since)
	}
	fmt.Fprintf(&b, "\n## which Services and which backends\n\n| annotation | effect |\n|---|---|\n"+
		"| `%s` | any value: another controller's Service |\n"+
		"| `%s` | set: the Service is served through a tunnel, not by a CLB |\n"+
		"| `%s` | set: another controller's Service, if `loadBalancerTypeAnnotation` is on in the configuration |\n"+
		"| `%s` | `eni`: pods are the backends; anything else: nodes are; not set: `backendType` of the configuration |\n",
		Class, TunnelType, LoadBalancerType, BackendType)
	return b.String()
}

// about is the sentence of the row, and where it applies.
func (s Spec) about() string {
	text := s.Doc
	if len(s.Protocols) > 0 {
		text += " For " + strings.Join(s.Protocols, " and ") + "."
	}
	if s.Refused {
		text = "**Not supported by this version: a Service that carries it is refused.** " + text
	}
	return text
}
