package check

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// known reports fields that this version of the protocol lacks, also those of messages within. A caller that is newer than the gateway
// means something by them: a filter that was dropped would make the answer too broad, and an attribute that was dropped would not be set.
func (c *Request) known(path string, m protoreflect.Message) {
	for _, number := range unknown(m.GetUnknown()) {
		c.Addf(fmt.Sprintf("%s%d", path, number), "is not a field that this gateway knows; the gateway is older than its caller")
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		at := path + string(field.Name())
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				c.known(fmt.Sprintf("%s[%d].", at, i), value.List().Get(i).Message())
			}
		default:
			c.known(at+".", value.Message())
		}
		return true
	})
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
