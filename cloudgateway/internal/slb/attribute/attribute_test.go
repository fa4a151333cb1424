package attribute

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// TestAttributesNameFields: a row with a misspelled field would silently never apply.
func TestAttributesNameFields(t *testing.T) {
	covered := map[string]Protocols{}
	for _, a := range Rows() {
		if _, field := find(&slbv1.ListenerConfig{}, a.Field, protoreflect.Message.Mutable); field == nil {
			t.Errorf("ListenerConfig has no field %q", a.Field)
		}
		if covered[a.Field]&a.Protocols != 0 {
			t.Errorf("two rows for %q of one protocol", a.Field)
		}
		covered[a.Field] |= a.Protocols
	}
	check := func(prefix string, m proto.Message) {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if name := prefix + string(fields.Get(i).Name()); covered[name] == 0 && name != "health_check" {
				t.Errorf("no row for field %q", name)
			}
		}
	}
	check("", &slbv1.ListenerConfig{})
	check("health_check.", &slbv1.HealthCheck{})
}
