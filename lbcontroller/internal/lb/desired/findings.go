package desired

import (
	"fmt"
	"maps"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/certificate"
)

// findings are what is collected while a Service is looked at, as a whole and port by port.
type findings struct {
	problems []string
	warnings []string
	useless  []string
	// refused are the ports that can have no listener, by their index, and why.
	refused map[int]string
	// withdrawn says that one is so since a certificate may not be used any more.
	withdrawn    bool
	certificates map[string]certificate.Certificate
	lacking      []string
}

// once adds a text that isn't there: several ports may give the same.
func once(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}

// Problem refuses the Service for a reason that is for the user to mend. Nothing is written then.
func (b *Builder) Problem(format string, args ...any) {
	b.problems = once(b.problems, fmt.Sprintf(format, args...))
}

// RefusePort is Problem for the port of an index: all others are served.
func (b *Builder) RefusePort(index int, format string, args ...any) {
	if b.refused == nil {
		b.refused = map[int]string{}
	}
	b.refused[index] = fmt.Sprintf("spec.ports[%d]: ", index) + fmt.Sprintf(format, args...)
}

// refusals are the texts about ports that can have no listener. Where there is no other, nothing is made, or withdrawn only.
func (b *Builder) refusals() []string {
	var texts []string
	for _, index := range slices.Sorted(maps.Keys(b.refused)) {
		texts = append(texts, b.refused[index])
	}
	if len(texts) == len(b.View.Service.Spec.Ports) && !b.withdrawn {
		b.problems = append(b.problems, texts...)
	}
	return texts
}

// Misfit is Problem for an annotation whose value doesn't fit the rest of the Service.
func (b *Builder) Misfit(key, want string) {
	b.problems = once(b.problems, b.Values.Problem(key, want).String())
}

// Warn reports what has not the whole effect, such as backends that are left out. The Service is served all the same.
func (b *Builder) Warn(format string, args ...any) {
	b.warnings = once(b.warnings, fmt.Sprintf(format, args...))
}

// NoEffect adds what the user wrote and that has no effect, as text for users.
func (b *Builder) NoEffect(format string, args ...any) {
	b.useless = once(b.useless, fmt.Sprintf(format, args...))
}
