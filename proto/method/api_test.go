package method

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// TestRulesOfTheAPI: every service has the same forms, so that who knows one method knows the others. docs/gateway-api.md says
// these rules to callers; google.aip.dev has most of them.
func TestRulesOfTheAPI(t *testing.T) {
	for _, m := range All() {
		rule := apiRule{t, m, m.Descriptor.Input(), m.Descriptor.Output()}
		switch name := m.Name; {
		case m.Options.GetResource() == "capabilities":
		case strings.HasPrefix(name, "List"):
			rule.list()
		case strings.HasPrefix(name, "BatchGet"), name == "ConfirmAbsent":
			rule.batchGet()
		case strings.HasPrefix(name, "Get"):
			rule.get()
		case strings.HasPrefix(name, "Update"):
			rule.update()
		case strings.HasPrefix(name, "Delete"):
			if rule.out.Fields().Len() > 0 {
				rule.failf("a deletion has an empty answer")
			}
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(file.Package()), "cloudgateway.") {
			enums(t, file.Enums())
			fields(t, file.Messages())
		}
		return true
	})
}

type apiRule struct {
	t       *testing.T
	m       Method
	in, out protoreflect.MessageDescriptor
}

func (r apiRule) failf(format string, args ...any) {
	r.t.Helper()
	r.t.Errorf(r.m.FullName()+": "+format, args...)
}

// has expects a field of a kind.
func (r apiRule) has(m protoreflect.MessageDescriptor, name protoreflect.Name, kind protoreflect.Kind) {
	r.t.Helper()
	if f := m.Fields().ByName(name); f == nil || f.Kind() != kind || f.IsList() {
		r.failf("%s needs %s %s", m.Name(), kind, name)
	}
}

// whole are lists that are always whole: what they have is few.
func whole() []string {
	return []string{
		"/cloudgateway.nlb.v1.ListenerService/ListServerHealth", "/cloudgateway.nlb.v1.LoadBalancerService/ListZones",
		"/cloudgateway.slb.v1.LoadBalancerService/ListAvailableZones", "/cloudgateway.slb.v1.ServerHealthService/ListServerHealth",
	}
}

// list: there are pages (AIP-158). No filter is asked for (AIP-132). A filter is called like the field of the items
// that it is about and is of its type; it is in the plural if it takes several values.
func (r apiRule) list() {
	r.has(r.in, "max_age", protoreflect.MessageKind)
	r.has(r.out, "as_of", protoreflect.MessageKind)
	if rules, ok := proto.GetExtension(r.in.Options(), commonv1.E_Message).(*commonv1.MessageRules); ok && len(rules.GetAnyOf()) > 0 {
		r.failf("%s asks for one of the filters %q", r.in.Name(), rules.GetAnyOf())
	}
	items := lists(r.out)
	if len(items) != 1 {
		r.failf("%s has the lists %q, and needs one", r.out.Name(), items)
		return
	}
	if slices.Contains(whole(), r.m.FullName()) {
		return
	}
	r.has(r.in, "page_size", protoreflect.Int32Kind)
	r.has(r.in, "page_token", protoreflect.StringKind)
	r.has(r.out, "next_page_token", protoreflect.StringKind)
	plural, item := regexp.MustCompile(`([^su]s|[^t]us)$`), r.out.Fields().ByName(items[0]).Message()
	if item == nil {
		r.failf("%s are no messages, to which fields can be added", items[0])
		return
	}
	for i := range r.in.Fields().Len() {
		filter := r.in.Fields().Get(i)
		if many := plural.MatchString(string(filter.Name())); many != filter.IsList() && filter.Kind() != protoreflect.BoolKind {
			r.failf("the filter %s takes several values: %t", filter.Name(), filter.IsList())
		}
		shown := item.Fields().ByName(filter.Name())
		if shown != nil && !shown.IsList() && (shown.Kind() != filter.Kind() || shown.Enum() != filter.Enum()) {
			r.failf("the filter %s is no %s, which the items have", filter.Name(), shown.Kind())
		}
	}
}

// batchGet: a result names what was asked for, and fails alone.
func (r apiRule) batchGet() {
	results := r.out.Fields().ByName("results")
	if results == nil || !results.IsList() {
		r.failf("%s needs results", r.out.Name())
		return
	}
	r.has(results.Message(), "requested", protoreflect.StringKind)
	r.has(results.Message(), "error", protoreflect.MessageKind)
}

// get: an id is required, and the answer has the thing and its age.
func (r apiRule) get() {
	r.has(r.in, "max_age", protoreflect.MessageKind)
	r.has(r.out, "as_of", protoreflect.MessageKind)
	first := r.in.Fields().ByNumber(1)
	if rules := rulesOf(first); !strings.HasSuffix(string(first.Name()), "_id") || !rules.GetRequired() {
		r.failf("%s names a resource by a required id first", r.in.Name())
	}
}

// update: what can be changed has presence, in place of a mask (AIP-134), and one of it is required. An attribute that the cloud
// can't set to nothing refuses the empty text, so that nobody takes it for cleared.
func (r apiRule) update() {
	r.present(r.in, "")
	rules, _ := proto.GetExtension(r.in.Options(), commonv1.E_Message).(*commonv1.MessageRules)
	if config := r.in.Fields().ByName("config"); config != nil && slices.Contains(tabled(), config.Message().FullName()) {
		return // The table knows what changes something.
	}
	for i := range r.in.Fields().Len() {
		f := r.in.Fields().Get(i)
		named := strings.HasSuffix(string(f.Name()), "_id") && !f.HasPresence() || f.Name() == "key" || f.Name() == "request_id" ||
			f.Name() == "validate_only" || f.Name() == "remove_first"
		if one := rulesOf(f).GetRequired() && !f.HasPresence(); !named && !one && !slices.Contains(rules.GetAnyOf(), string(f.Name())) {
			r.failf("%s is missing in any_of", f.Name())
		}
	}
}

func (r apiRule) present(m protoreflect.MessageDescriptor, at string) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		switch name := at + string(f.Name()); {
		case f.IsList() || f.Message() != nil && f.Message().ParentFile() != r.in.ParentFile():
		case f.Message() != nil:
			r.present(f.Message(), name+".")
		case f.HasOptionalKeyword() && f.Kind() == protoreflect.StringKind && !cleared(name) && !slices.Contains(tabled(), f.Parent().FullName()):
			if rules := rulesOf(f); !rules.GetRequired() && rules.GetLength().GetMin() == 0 {
				r.failf("%s takes the empty text, which the cloud does not", name)
			}
		}
	}
}

// cleared reports whether an attribute can be set to nothing.
func cleared(name string) bool { return name == "bandwidth_package_id" }

// tabled are messages whose rules are those of the gateway's table of attributes, which refuses the empty text in updates.
func tabled() []protoreflect.FullName {
	const product = "cloudgateway.slb.v1."
	return []protoreflect.FullName{product + "ListenerConfig", product + "ForwardingRuleConfig", product + "HealthCheck"}
}

func lists(m protoreflect.MessageDescriptor) (names []protoreflect.Name) {
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); f.IsList() {
			names = append(names, f.Name())
		}
	}
	return names
}

func rulesOf(f protoreflect.FieldDescriptor) *commonv1.FieldRules {
	rules, _ := proto.GetExtension(f.Options(), commonv1.E_Field).(*commonv1.FieldRules)
	return rules
}

// enums begin with the value that means nothing, and their values with the name of the enum.
func enums(t *testing.T, list protoreflect.EnumDescriptors) {
	for i := range list.Len() {
		values := list.Get(i).Values()
		prefix := strings.ToUpper(regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(string(list.Get(i).Name()), "${1}_${2}")) + "_"
		if first := values.Get(0); first.Number() != 0 || string(first.Name()) != prefix+"UNSPECIFIED" {
			t.Errorf("%s begins with %s = %d", list.Get(i).FullName(), first.Name(), first.Number())
		}
		for j := range values.Len() {
			if !strings.HasPrefix(string(values.Get(j).Name()), prefix) {
				t.Errorf("%s does not begin with %s", values.Get(j).FullName(), prefix)
			}
		}
	}
}

// fields have the field's names: times end in _time or say since when, until when or of when; states are called status.
func fields(t *testing.T, list protoreflect.MessageDescriptors) {
	times := regexp.MustCompile(`(_time|_since|_until|^as_of)$`)
	wrong := regexp.MustCompile(`(^|_)(master|slave|whitelist|blacklist|state|vswitch_ip)(_|$)`)
	for i := range list.Len() {
		for j := range list.Get(i).Fields().Len() {
			f := list.Get(i).Fields().Get(j)
			name := string(f.Name())
			if f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp" && !times.MatchString(name) {
				t.Errorf("%s is a time", f.FullName())
			}
			if wrong.MatchString(name) {
				t.Errorf("%s has another name in the field", f.FullName())
			}
			states(t, f)
		}
	}
}

// states are the cloud's words, which it adds to without notice, but for those of NLB that its API has as a closed list.
func states(t *testing.T, f protoreflect.FieldDescriptor) {
	if f.Name() != "status" && f.Name() != "business_status" {
		return
	}
	closed := f.ParentFile().Package() == "cloudgateway.nlb.v1" && !slices.Contains([]protoreflect.Name{"ServerHealth", "ListenerCertificate"},
		f.Parent().Name())
	if enum := f.Kind() == protoreflect.EnumKind; enum != closed {
		t.Errorf("%s is an enum: %t", f.FullName(), enum)
	}
}
