package check

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// message is what the messages of one type have to be, as the protocol says (cloudgateway/common/v1/options.proto).
type message struct {
	fields []field
	rules  *commonv1.MessageRules
	open   []string // fields with texts or numbers that no rule is about, also those of messages within
}

type field struct {
	protoreflect.FieldDescriptor
	rules   *commonv1.FieldRules
	message *message // what is within, nil for other kinds
}

// compile reads the rules of a type of message, and those of the messages within. Done are the ones that have been read before.
func compile(d protoreflect.MessageDescriptor, done map[protoreflect.FullName]*message) *message {
	if m, ok := done[d.FullName()]; ok {
		return m
	}
	m := &message{}
	done[d.FullName()] = m
	m.rules, _ = proto.GetExtension(d.Options(), commonv1.E_Message).(*commonv1.MessageRules)
	for i := range d.Fields().Len() {
		f := field{FieldDescriptor: d.Fields().Get(i)}
		f.rules, _ = proto.GetExtension(f.Options(), commonv1.E_Field).(*commonv1.FieldRules)
		switch {
		case common(f):
			continue
		case f.Message() != nil:
			f.message = compile(f.Message(), done)
			for _, name := range f.message.open {
				m.open = append(m.open, string(f.Name())+"."+name)
			}
		case f.rules == nil && f.Kind() != protoreflect.EnumKind && f.Kind() != protoreflect.BoolKind:
			m.open = append(m.open, string(f.Name()))
		}
		m.fields = append(m.fields, f)
	}
	return m
}

// common reports whether a field means the same in all requests. Table.Check looks at these.
func common(f field) bool {
	if f.Message() != nil {
		name := f.Message().FullName()
		return name == (*commonv1.Tag)(nil).ProtoReflect().Descriptor().FullName() || name.Parent() == "google.protobuf"
	}
	return slices.Contains([]protoreflect.Name{"request_id", "page_size", "page_token", "remove_tag_keys"}, f.Name())
}

// place is where a message stands in a request. Paths are made for what is wrong only: most requests are right.
type place struct {
	in    *place // nil: the request
	name  protoreflect.Name
	index int // in a list, or less than 0
}

func (p *place) String() string {
	text := string(p.name)
	if p.index >= 0 {
		text = fmt.Sprintf("%s[%d]", text, p.index)
	}
	if p.in != nil {
		text = p.in.String() + "." + text
	}
	return text
}

// report reports a violation in a field of the message at a place.
func (p *place) report(c *Request, name protoreflect.Name, index int, format string, args ...any) {
	c.Addf((&place{p, name, index}).String(), format, args...)
}

// check looks at a message. It reports whether all lists are short enough to be looked at again.
func (m *message) check(c *Request, at *place, v protoreflect.Message) (short bool) {
	at.known(c, v)
	short = true
	for _, f := range m.fields {
		switch {
		case f.IsList():
			short = f.list(c, at, v.Get(f.FieldDescriptor).List()) && short
		case v.Has(f.FieldDescriptor) || !f.HasPresence() || f.message != nil && f.rules.GetRequired():
			short = f.check(c, at, -1, v.Get(f.FieldDescriptor)) && short
		}
	}
	if m.rules != nil {
		m.together(c, at, v)
	}
	return short
}

func (f field) list(c *Request, at *place, list protoreflect.List) (short bool) {
	least, most := int(f.rules.GetItems().GetMin()), int(f.rules.GetItems().GetMax())
	if most == 0 {
		most = MaxItems
	}
	if n := list.Len(); n < least {
		at.report(c, f.Name(), -1, "at least %d is required", least)
	} else if n > most {
		at.report(c, f.Name(), -1, "has %d items, at most %d are allowed", n, most)
		return false
	}
	short = true
	for i := 0; i < list.Len() && !c.more; i++ {
		short = f.check(c, at, i, list.Get(i)) && short
	}
	return short
}

// check looks at a value, or at one item of a list.
func (f field) check(c *Request, at *place, index int, v protoreflect.Value) (short bool) {
	if f.message != nil {
		return f.message.check(c, &place{at, f.Name(), index}, v.Message())
	}
	if problem := f.problem(v); problem != "" {
		at.report(c, f.Name(), index, "%s", problem)
	}
	return true
}

// problem says what is wrong with a value, "" if nothing is.
func (f field) problem(v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		switch {
		case f.Enum().Values().ByNumber(v.Enum()) == nil:
			return fmt.Sprintf("%d is not known to this gateway", v.Enum())
		case v.Enum() == 0 && f.rules.GetRequired():
			return "is required"
		}
	case protoreflect.Int32Kind:
		if r := f.rules.GetRange(); r != nil && (int32(v.Int()) < r.GetMin() || int32(v.Int()) > r.GetMax()) {
			return fmt.Sprintf("%d is out of range, must be %d to %d", v.Int(), r.GetMin(), r.GetMax())
		}
	case protoreflect.StringKind:
		if f.rules != nil {
			return text(f.rules, v.String())
		}
	default:
	}
	return ""
}

func text(r *commonv1.FieldRules, s string) string {
	switch {
	case s != "" || !r.GetRequired():
	case len(r.GetOneOf()) > 0:
		return "is required, one of " + strings.Join(r.GetOneOf(), ", ")
	default:
		return "is required"
	}
	if n, l := utf8.RuneCountInString(s), r.GetLength(); l != nil && (n < int(l.GetMin()) || n > int(l.GetMax())) {
		return fmt.Sprintf("is %d characters long, must be %d to %d", n, l.GetMin(), l.GetMax())
	}
	switch {
	case s == "":
		return ""
	case len(r.GetOneOf()) > 0 && !slices.Contains(r.GetOneOf(), s):
		return fmt.Sprintf("%q is not one of %s", Shorten(s), strings.Join(r.GetOneOf(), ", "))
	case r.GetNoLink() && (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")):
		return "must not begin with http:// or https://"
	}
	return form(r.GetForm(), s)
}

var (
	idForm     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	domainForm = regexp.MustCompile(`^[A-Za-z0-9*-]+(\.[A-Za-z0-9*-]+)+$`)
)

// form says what is wrong with a text that is to stand for something, "" if nothing is.
func form(want commonv1.Form, s string) string {
	const longestDomain = 253
	switch want {
	case commonv1.Form_FORM_ID: // Ids end up in comma lists, so their characters matter.
		if !idForm.MatchString(s) {
			return fmt.Sprintf("%q is not an id of the cloud", Shorten(s))
		}
	case commonv1.Form_FORM_IP_ADDRESS:
		if address, err := netip.ParseAddr(s); err != nil || address.Zone() != "" { // A zone may be any text, of any length.
			return fmt.Sprintf("%q is not an IP address", Shorten(s))
		}
	case commonv1.Form_FORM_NETWORK: // Networks are compared as text.
		switch prefix, err := netip.ParsePrefix(s); {
		case err != nil:
			return fmt.Sprintf(`%q is not of the form "10.1.2.0/24"`, Shorten(s))
		case prefix != prefix.Masked():
			return fmt.Sprintf("%q has bits outside of its mask, write %q", s, prefix.Masked())
		case prefix.String() != s:
			return fmt.Sprintf("%q is not the usual form, write %q", s, prefix)
		}
	case commonv1.Form_FORM_DOMAIN: // The cloud decides about the details.
		if len(s) > longestDomain || !domainForm.MatchString(s) {
			return fmt.Sprintf(`%q is not of the form "www.example.com" or "*.example.com", with at most %d characters`, Shorten(s), longestDomain)
		}
	case commonv1.Form_FORM_UNSPECIFIED:
	}
	return ""
}

// together looks at what the fields of a message have to be together.
func (m *message) together(c *Request, at *place, v protoreflect.Message) {
	set := func(name string) bool {
		return v.Has(v.Descriptor().Fields().ByName(protoreflect.Name(name)))
	}
	if names := m.rules.GetAnyOf(); len(names) > 0 && !slices.ContainsFunc(names, set) {
		at.report(c, protoreflect.Name(names[0]), -1, "at least one of %s is required", strings.Join(names, ", "))
	}
	if first := slices.IndexFunc(m.rules.GetAtMostOneOf(), set); first >= 0 {
		names := m.rules.GetAtMostOneOf()
		if slices.ContainsFunc(names[first+1:], set) {
			at.report(c, protoreflect.Name(names[0]), -1, "only one of %s is allowed", strings.Join(names, ", "))
		}
	}
	for _, need := range m.rules.GetNeeds() {
		if set(need.GetField()) && !set(need.GetNeeds()) {
			at.report(c, protoreflect.Name(need.GetNeeds()), -1, "is required with %s", need.GetField())
		}
	}
}

// known reports fields of a message that this version of the protocol lacks. A caller that is newer than the gateway
// means something by them: a filter that was dropped would make the answer too broad, and an attribute that was dropped
// would not be set.
func (p *place) known(c *Request, m protoreflect.Message) {
	for _, number := range unknown(m.GetUnknown()) {
		name := protoreflect.Name(strconv.Itoa(int(number)))
		p.report(c, name, -1, "is not a field that this gateway knows; the gateway is older than its caller")
	}
}

// unknown are the numbers of the fields, each once.
func unknown(fields protoreflect.RawFields) []protowire.Number {
	var numbers []protowire.Number
	for len(fields) > 0 {
		number, _, length := protowire.ConsumeField(fields)
		if length < 0 {
			break // The parser lets no such thing in.
		}
		if !slices.Contains(numbers, number) && len(numbers) <= maxViolations {
			numbers = append(numbers, number)
		}
		fields = fields[length:]
	}
	return numbers
}
