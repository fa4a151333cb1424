package annotation

import "testing"

// TestOrigins: an annotation counts more than a field of the Service, and that more than the value that a removal leaves behind.
func TestOrigins(t *testing.T) {
	t.Parallel()
	parser := Parser{specs: []Spec{
		{Key: "timeout", Kind: Number, Min: 0, Max: 3600, Reset: "0", Removal: Reverts},
		{Key: "name", Kind: Text, Removal: Keeps},
	}}
	field := Field{Key: "timeout", Name: "spec.sessionAffinityConfig", Value: "10"}
	for name, tt := range map[string]struct {
		annotations map[string]string
		fields      []Field
		origin      Origin
		value, note string
	}{
		"nothing":       {},
		"an annotation": {annotations: map[string]string{Prefix + "timeout": "5"}, origin: Written, value: "5", note: "timeout"},
		"a field":       {fields: []Field{field}, origin: InSpec, value: "10", note: "timeout"},
		"both": {annotations: map[string]string{Prefix + "timeout": "5"}, fields: []Field{field},
			origin: Written, value: "5", note: "timeout"},
		"gone": {annotations: map[string]string{Applied: "timeout"}, origin: Reset, value: "0"},
		"gone, and a field says more": {annotations: map[string]string{Applied: "timeout"}, fields: []Field{field},
			origin: InSpec, value: "10", note: "timeout"},
	} {
		v, problems := parser.Parse(tt.annotations, tt.fields...)
		if len(problems) > 0 || v.Origin("timeout") != tt.origin || v.Text("timeout") != tt.value || v.Has("timeout") != (tt.origin != Unset) {
			t.Errorf("%s: %d %q, %v", name, v.Origin("timeout"), v.Text("timeout"), problems)
		}
		if note := parser.AppliedNote(tt.annotations, tt.fields...); note != tt.note {
			t.Errorf("%s: noted is %q, want %q", name, note, tt.note)
		}
	}
	v, problems := parser.Parse(map[string]string{Applied: "timeout:80"}, field) // It asks for all ports.
	if len(problems) > 0 || v.Text("timeout") != "10" || v.ForPort(80).Text("timeout") != "10" {
		t.Errorf("gone for a port, and a field says more: %q, of the port %q", v.Text("timeout"), v.ForPort(80).Text("timeout"))
	}
	v, _ = parser.Parse(map[string]string{Applied: "name"})
	if v.Has("name") || len(v.Kept()) != 1 {
		t.Errorf("what the cloud keeps is asked for: %t, kept %q", v.Has("name"), v.Kept())
	}
	field.Value = "5000"
	_, problems = parser.Parse(nil, field)
	if len(problems) != 1 ||
		problems[0].String() != `spec.sessionAffinityConfig: value "5000" is not allowed, use a whole number from 0 to 3600` {
		t.Errorf("problems %v", problems)
	}
}
