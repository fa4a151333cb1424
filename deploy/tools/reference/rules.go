package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// fieldRules writes a row for each rule of a request's fields, and of those of the messages within. Before is the path to the message.
func fieldRules(rows *table, method, before string, m protoreflect.MessageDescriptor) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		name := before + string(f.Name())
		if f.IsList() {
			name += "[]"
		}
		rules, _ := proto.GetExtension(f.Options(), commonv1.E_Field).(*commonv1.FieldRules)
		if said := ruleText(f, rules); said != "" {
			rows.row(code(method), code(name), said)
		}
		if f.Message() != nil {
			fieldRules(rows, method, name+".", f.Message())
		}
	}
	rules, _ := proto.GetExtension(m.Options(), commonv1.E_Message).(*commonv1.MessageRules)
	where := code(strings.TrimSuffix(before, "."))
	if names := rules.GetAnyOf(); len(names) > 0 {
		rows.row(code(method), where, "at least one of "+codes(names))
	}
	if names := rules.GetAtMostOneOf(); len(names) > 0 {
		rows.row(code(method), where, "at most one of "+codes(names))
	}
	for _, need := range rules.GetNeeds() {
		rows.row(code(method), where, code(need.GetField())+" needs "+code(need.GetNeeds()))
	}
}

func ruleText(f protoreflect.FieldDescriptor, r *commonv1.FieldRules) string {
	var said []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			said = append(said, fmt.Sprintf(format, args...))
		}
	}
	required := "required"
	if f.HasOptionalKeyword() {
		required = "not empty"
	}
	add(r.GetRequired(), "%s", required)
	add(r.GetForm() != commonv1.Form_FORM_UNSPECIFIED, "%s",
		strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(r.GetForm().String(), "FORM_"), "_", " ")))
	add(len(r.GetOneOf()) > 0, "one of %s", codes(r.GetOneOf()))
	add(r.GetLength() != nil, "%d to %d characters", r.GetLength().GetMin(), r.GetLength().GetMax())
	add(r.GetNoLink(), "no link")
	add(r.GetRange() != nil, "%d to %d", r.GetRange().GetMin(), r.GetRange().GetMax())
	add(r.GetItems() != nil, "%d to %d in the list", r.GetItems().GetMin(), r.GetItems().GetMax())
	return strings.Join(said, ", ")
}

// codes are words as code, one after the other.
func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }
