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
			// What is longer is refused for its length. Paths are made for what is wrong only: the lists of most requests are right.
			for i := range min(value.List().Len(), MaxItems) {
				if item := value.List().Get(i).Message(); strange(item) {
					c.known(fmt.Sprintf("%s[%d].", at, i), item)
				}
			}
		default:
			c.known(at+".", value.Message())
		}
		return true
	})
}

// strange reports whether a message has fields that this version of the protocol lacks, itself or in a message within.
func strange(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := 0; i < value.List().Len() && !found; i++ {
				found = strange(value.List().Get(i).Message())
			}
		default:
			found = found || strange(value.Message())
		}
		return !found
	})
	return found
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
